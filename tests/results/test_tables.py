"""Tables for papers and notebooks: LaTeX, Markdown, HTML; the best in bold, marks for what is significant."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calipers as cal
from calipers.errors import CalipersError
from calipers.questions.compare.significance_marks import MOST, mark_significance, means_with_p
from calipers.results.tables import Table
from calipers.support import progress
from conftest import Require

NEW = [0.9, 0.8, 0.7, 0.85, 0.75]
OLD = [0.5, 0.41, 0.3, 0.44, 0.36]
WORSE = [0.3, 0.2, 0.1, 0.24, 0.12]


def scores(**rows: list[float]) -> cal.Scores:
    return cal.as_scores(list(rows.values()), systems=list(rows), measure="AP")


class Cells(HTMLParser):
    """The texts of table cells, and the tags inside them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")
        elif self.inside:
            self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.cells[-1] += data


# -- the best ------------------------------------------------------------------------------------------------


def test_the_largest_of_each_column_is_best_and_alike_ones_are_best_together() -> None:
    table = Table(("s", "x", "y"), (("a", 0.5, 1.0), ("b", 0.50000001, 2.0), ("c", 0.1, float("nan"))))
    assert table.with_best().best_cells()[0] == {(0, 1), (1, 1), (1, 2)}
    assert table.with_best(("y",), smallest=True).best_cells()[0] == {(0, 2)}


def test_a_column_of_one_value_or_of_none_has_no_best() -> None:
    table = Table(("s", "x", "y"), (("a", 1.0, float("nan")), ("b", 1.0, None)))
    assert table.with_best().best_cells()[0] == frozenset()
    assert Table(("s", "x"), ()).with_best().best_cells()[0] == frozenset()


# -- LaTeX -----------------------------------------------------------------------------------------------------


def test_latex_is_booktabs_with_numbers_to_the_right() -> None:
    table = Table(("system", "AP", "n"), (("a_b&c%", -0.25, 3), ("[x]", 0.5, 4))).with_best(("AP",))
    lines = table.to_latex().splitlines()
    assert lines[0].startswith("%")
    assert lines[1] == r"\begin{tabular}{lrr}"
    assert lines[2:4] == [r"\toprule", r"system & AP & n \\"]
    assert lines[5] == r"a\_b\&c\% & $-$0.2500 & 3 \\"
    assert lines[6] == r"{}[x] & \textbf{0.5000} & 4 \\"  # a bracket would be an option of the line break
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_latex_never_lets_a_special_character_through(text: str) -> None:
    body = Table((text,), ((text,),)).to_latex().splitlines()
    assert len(body) == 8  # no name breaks a line
    for line in (body[3], body[5]):
        bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}", "", line)
        bare = re.sub(r"\\[&%$#_{}]|\$\\d?dagger\$|(?<=-)\{\}(?=-)", "", bare.removeprefix("{}").removesuffix(r" \\"))
        assert not set(bare) & set("&%$#_{}~^\\<>|")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here")
def test_latex_compiles(tmp_path: Path) -> None:
    text = mark_significance(scores(**{"a_b": NEW, "[c]": OLD})).to_latex()
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "t.tex").write_text(document)
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)


# -- Markdown --------------------------------------------------------------------------------------------------


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1), min_size=2, max_size=3)
)
def test_a_markdown_table_keeps_its_shape_whatever_is_in_it(require: Require, names: list[str]) -> None:
    rows = tuple((name, 0.5) for name in names)
    parser = require.module("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    rendered = parser.render(Table(("s", "x"), rows).to_markdown())
    found = Cells(rendered)
    assert len(found.cells) == 2 + 2 * len(names)
    assert not set(found.tags) & {"script", "img", "a"} or any("](" in name for name in names)


def test_markdown_escapes_bars_lines_and_tags() -> None:
    text = Table(("s",), (("a|b\nc<script>",),)).to_markdown()
    assert text.splitlines()[2] == "| a\\|b c&lt;script> |"


# -- significance ------------------------------------------------------------------------------------------------


def test_letters_name_the_systems_that_are_beaten() -> None:
    table = mark_significance(scores(new=NEW, old=OLD, same=OLD))
    assert [row[0] for row in table.rows] == ["a", "b", "c"]
    assert table.marks == {(0, 2): "bc"}
    assert table.best_cells()[0] == {(0, 2)}
    assert "paired t test" in table.notes[0]
    assert r"\textbf{0.8000}$^{\mathrm{bc}}$" in table.to_latex()
    assert "**0.8000**<sup>bc</sup>" in table.to_markdown()


def test_daggers_say_who_differs_from_the_baseline() -> None:
    table = mark_significance(scores(base=OLD, new=NEW, worse=WORSE), baseline="base")
    assert table.marks == {(1, 1): "†", (2, 1): "‡"}
    text = table.to_latex()
    assert r"$^{\dagger}$" in text
    assert r"$^{\ddagger}$" in text
    assert r"$\dagger$, $\ddagger$: significantly better, worse than base" in text


def test_each_of_several_baselines_has_a_mark() -> None:
    """A system that beats only one of two baselines is marked for that one, whatever the order of the baselines."""
    made = scores(base=OLD, new=NEW, worse=WORSE, like=[x + 0.2 * (-1) ** i for i, x in enumerate(OLD)])
    alone = {name: mark_significance(made, baseline=name).marks for name in ("base", "new")}
    both = mark_significance(made, baseline=["base", "new"])
    for name, number in (("base", "1"), ("new", "2")):
        of_baseline = {
            place: symbol
            for place, mark in both.marks.items()
            for symbol, baseline in zip(mark[::2], mark[1::2], strict=True)
            if baseline == number
        }
        assert of_baseline == alone[name]
    assert both.marks[2, 1] == "‡1‡2"
    assert both.marks[1, 1] == "†1"
    assert both.marks[0, 1] == "‡2"
    assert "worse than base (1) and new (2)" in both.notes[0]
    assert r"$^{\mathrm{\ddagger1\ddagger2}}$" in both.to_latex()
    starred = mark_significance(made, baseline=["base", "new"], stars=True)
    assert starred.marks == {place: mark.replace("†", "*").replace("‡", "*") for place, mark in both.marks.items()}


def test_each_of_several_baselines_has_a_column_of_p_values() -> None:
    made = scores(base=OLD, new=NEW, worse=WORSE)
    table, compared = (
        means_with_p(made, baseline=["base", "new"]),
        cal.compare(made, baseline=["base", "new"], warn=False),
    )
    assert table.columns == ("system", "AP", "AP p base", "AP p new")
    for (a, b), p in zip(compared.pairs, compared.p_adjusted[0].tolist(), strict=True):
        assert table[a, f"AP p {b}"] == p
    assert table["base", "AP p new"] == table["new", "AP p base"]
    assert table["base", "AP p base"] is None


def test_the_marks_are_those_of_compare() -> None:
    random = np.random.default_rng(3)
    values = {f"s{i}": (random.random(20) * 0.5 + 0.02 * i).tolist() for i in range(6)}
    made = scores(**values)
    compared = cal.compare(made)
    beaten = {
        (max(pair, key=made.mean()["system"].index), min(pair))
        for pair, yes in zip(compared.pairs, compared.significant[0].tolist(), strict=True)
        if yes
    }
    assert sum(len(mark) for mark in mark_significance(made).marks.values()) == len(beaten)


def test_many_systems_one_system_one_query() -> None:
    many = {f"s{i:02d}": [0.1 * i, 0.2, 0.3] for i in range(MOST + 1)}
    assert mark_significance(scores(**many)).marks == {}
    assert mark_significance(scores(only=NEW)).notes == ()
    assert mark_significance(scores(a=[0.5], b=[0.6])).columns == ("system", "AP")
    with pytest.raises(CalipersError, match="baseline"):
        mark_significance(scores(only=NEW), baseline="only")
    with pytest.raises(CalipersError, match="did you mean new"):
        mark_significance(scores(new=NEW, old=OLD), baseline="nwe")


def test_every_comparison_marks_what_is_significant() -> None:
    table = cal.compare(scores(new=NEW, old=OLD, same=OLD)).table()
    assert set(table.marks.values()) == {"*"}
    assert len(table.marks) == 2
    assert "adjusted p < 0.05" in table.to_markdown()
    assert table.to_csv().count("*") == 0


# -- notebooks ---------------------------------------------------------------------------------------------------


def test_notebooks_show_scores_comparisons_properties_and_bounds() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "c": 1}}
    runs = {"<b>one": {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}, "two": {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}}
    made = cal.evaluate(qrels, runs, ["AP", "RR"])
    for shown in (made, cal.compare(made), cal.properties("RR"), cal.bounds(qrels, ["AP"])):
        text = shown._repr_html_()
        found = Cells(text)
        assert len(found.cells) > 4
        assert set(found.tags) <= {"b", "sup"}
        assert "<b>one" not in html.unescape(re.sub(r"&lt;.*?&gt;", "", text))
    cells = Cells(made._repr_html_()).cells
    assert "<b>one" in cells
    assert any("±" in cell for cell in cells)


def test_notebooks_show_the_first_of_many_systems() -> None:
    many = scores(**{f"s{i:03d}": [0.1, 0.2] for i in range(60)})
    text = many._repr_html_()
    assert text.count("<tr>") == 51
    assert "10 more rows" in text
    assert "AP: s000, s001, s002 and 57 more are best (0.1500)." in text


# -- progress ----------------------------------------------------------------------------------------------------


class Shown:
    """Stands for IPython: keeps what is displayed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def HTML(self, text: str) -> str:
        return text

    def display(self, text: str, display_id: bool) -> Shown:
        self.texts.append(text)
        return self

    def update(self, text: str) -> None:
        self.texts.append(text)


def test_a_notebook_has_a_bar_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(kernel=object())
    module, shown = types.SimpleNamespace(get_ipython=lambda: shell), Shown()
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(progress, "WAIT", -1.0)
    with cal.progress_bar(3, "runs") as advance:
        advance(1)
        advance(2)
    assert [re.findall(r'value="(\d+)"', text) for text in shown.texts] == [["0"], ["1"], ["3"], []]
    assert "3 of 3 runs" in shown.texts[2]


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "WAIT", -1.0)
    with cal.progress_bar(3) as advance:
        advance(3)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "WAIT", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with cal.progress_bar(3, "runs") as advance:
        advance(3)
    shown = capfd.readouterr().err
    assert "runs  [####################################]  100%" in shown
    assert shown.endswith("\r\033[K\033[?25h"), "the bar disappears, and the cursor is shown again"


def test_a_table_for_a_paper_has_all_that_papers_ask_for() -> None:
    made = scores(base=OLD, new=NEW, worse=WORSE)
    table = mark_significance(made, baseline=["base", "worse"], second_best=True)
    text = table.to_latex(digits=1, percent=True, caption="Means & marks", label="tab:means")
    assert r"\caption{Means \& marks}" in text
    assert r"\label{tab:means}" in text
    assert rf"\textbf{{{100 * np.mean(NEW):.1f}}}" in text
    assert rf"\underline{{{100 * np.mean(OLD):.1f}}}" in text
    assert "base (1) and worse (2)" in text
    many = mark_significance(scores(**{f"s{i}": [x + i / 100 for x in OLD] for i in range(MOST + 1)}))
    assert many.notes[0].startswith(
        f"No letters of significance: {MOST + 1} systems, and letters are for {MOST} at most"
    )
