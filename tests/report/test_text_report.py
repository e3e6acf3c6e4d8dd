"""The report on summaries and answers: what it says, and that it opens in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import calipers as cal
from browser_page import Opened
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.texts import Evaluation, as_collection
from conftest import Require
from example_files import _summaries

HOSTILE = '</script><img src=x onerror="alert(1)">\u202e{{7*7}}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    Require().module("vl_convert")
    where = tmp_path_factory.mktemp("texts")
    _summaries(where)
    return where


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    path = folder / "summaries.html"
    lines = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0]) | {"summary": HOSTILE}
    odd = folder / "odd.jsonl"
    odd.write_text("\n".join([json.dumps(first), *lines[1:]]), encoding="utf-8")
    shown = run("report", odd, "-m", "ROUGE-1 V2(ROUGE-1) ROUGE-L", "-o", path, "--title", "Ours", "--top", "3")
    assert shown.exception is None, shown.output
    assert "3 systems, 6 documents" in shown.stderr
    return path


def test_sections_and_figures(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    keys = re.findall(r'<section id="(\w+)"', text)
    assert keys == ["top", "systems", "chance", "differs", "people", "plan", "texts", "trust", "method"]
    assert "Nothing to show here" not in text
    assert "6 documents" in text
    assert "queries" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
    found = Evaluation(as_collection(folder / "odd.jsonl"), "ROUGE-1 V2(ROUGE-1)").scores.mean()
    for system in ("s0", "s1", "s2"):
        assert f'data-value="{found[system, "ROUGE-1"]!r}"' in text
        assert f'data-value="{found[system, "V2(ROUGE-1)"]!r}"' in text
    assert text.count('<details class="texts">') == 3
    assert "<img src=x" not in text
    assert "SHA-256" in text


def test_answers_have_no_chance_and_nobody_judged_them(folder: Path) -> None:
    path = folder / "answers.html"
    arguments = ("report", folder / "answers.jsonl", "-m", "NuggetRecall nDCG@10", "-o", path)
    shown = run(*arguments)
    assert shown.exception is None, shown.output
    (warning,) = [line for line in shown.stderr.splitlines() if "warning: " in line]
    assert "50.0% of the documents in the top 10 are unjudged" in warning
    assert "(--strict)" in str(run(*arguments, "--strict").exception)
    keys = re.findall(r'<section id="(\w+)"', path.read_text(encoding="utf-8"))
    assert keys == ["top", "systems", "changes", "plan", "texts", "method"]


def test_a_page_is_ordered_by_what_is_better(folder: Path, require: Require) -> None:
    """Under an error the lowest system leads, beats others and is in bold, in tables as in sentences."""
    require.module("sacrebleu")
    path, data = folder / "edits.html", folder / "edits.jsonl"
    first, *others = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    data.write_text("".join([first.replace("the cat", "a dog and the cat", 1), *others]), encoding="utf-8")
    shown = run("report", data, "-m", "TER ROUGE-1 V2(TER)", "-o", path)
    assert shown.exception is None, shown.output
    scores = Evaluation(as_collection(data), "TER ROUGE-1 V2(TER)").scores
    means = dict(zip(scores.systems, scores.mean()["TER"], strict=True))
    order = sorted(means, key=means.__getitem__)
    text = path.read_text(encoding="utf-8")
    assert f"{order[0]} has the lowest mean TER, {means[order[0]]:.4f}. Smaller values are better." in text
    assert f"{order[0]} is better than all 2 other systems in TER" in text
    grids = dict(re.findall(r'aria-label="systems, (\w+)">(.*?)</table>', text, re.S))
    for key in ("systems", "wins"):
        assert 'aria-sort="ascending"' in grids[key]
        places = [grids[key].index(f">{system}<") for system in order]
        assert places == sorted(places), key
    bold = rf'class="[^"]*\bbest\b[^"]*" data-value="{re.escape(repr(means[order[0]]))}"'
    assert re.search(bold, grids["systems"])
    compared = cal.compare(scores)
    beats = {row[0]: (row[2], row[3]) for row in compared.wins("TER").rows}
    for m, name in enumerate(scores.measures):
        for pair in range(len(compared.a)):
            a, b = int(compared.a[pair]), int(compared.b[pair])
            less = compared.means[m, a] < compared.means[m, b]
            assert (compared.improvement(m)[pair] > 0) == (less if name == "TER" else not less)
    assert list(beats) == order


def test_of_two_systems_the_one_with_fewer_edits_is_better(folder: Path, require: Require) -> None:
    require.module("sacrebleu")
    path, data = folder / "pair.html", folder / "pair.jsonl"
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text(encoding="utf-8").splitlines()]
    pair = [row for row in rows if row["system"] in ("s0", "s1")]
    worse = next(row for row in pair if row["system"] == "s1")
    worse["summary"] += " and more"
    data.write_text("\n".join(map(json.dumps, pair)), encoding="utf-8")
    shown = run("report", data, "-m", "TER", "-o", path, "--baseline", "s1")
    assert shown.exception is None, shown.output
    edits = Evaluation(as_collection(data), "TER").scores.mean()
    assert edits["s0", "TER"] < edits["s1", "TER"]
    text = re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8"))
    assert "s0 is better than s1: mean TER from" in text
    assert "6 : 0" in text


def test_a_baseline(folder: Path) -> None:
    path = folder / "against.html"
    call = ("report", folder / "data.jsonl", "-m", "ROUGE-1", "-o", path)
    shown = run(*call, "--baseline", "s1")
    assert shown.exception is None, shown.output
    text = path.read_text(encoding="utf-8")
    assert "Against s1, in ROUGE-1" in text
    assert "Each system against s1" in text
    assert "unknown system 's9'" in str(run(*call, "--baseline", "s9").exception)


def test_an_experiment_of_two_systems_writes_the_same_page(folder: Path) -> None:
    """Of two systems, the page shows what changed: errors are negated, and there are no rankings to choose."""
    exp = cal.Experiment(cal.read_texts(folder / "answers.jsonl"), measures="F1 nDCG@10", warn=False)
    path = folder / "python.html"
    assert exp.report(path, title="Two", query_groups={f"q{q}": "ab"[q % 2] for q in range(6)}, warn=False).notes == ()
    text = path.read_text(encoding="utf-8")
    assert "Each bar is a query" in text
    assert "to see both rankings" not in text
    assert "data-query" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    assert "calipers diff" in text
    keys = re.findall(r'<section id="(\w+)"', text)
    assert keys == ["top", "systems", "changes", "groups", "plan", "texts", "method"]
    for more in ({"judges": {"q0": {"d1": 1}}}, {"query_texts": {"q0": "what?"}}):
        with pytest.raises(CalipersError, match="are for rankings"):
            exp.report(path, **more)
    with pytest.raises(CalipersError, match="none of these sections applies"):
        exp.report(path, sections=["unjudged"])


def test_all_files_of_texts_are_named(folder: Path) -> None:
    lines = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for system in ("s0", "s1"):
        own = [line for line in lines if f'"{system}"' in line]
        (folder / f"{system}.jsonl").write_text("".join(own), encoding="utf-8")
    path = folder / "files.html"
    assert run("report", f"old={folder}/s0.jsonl", f"new={folder}/s1.jsonl", "-m", "F1", "-o", path).exception is None
    text = path.read_text(encoding="utf-8")
    assert "old and new on 2 sources" in text
    for name in ("s0.jsonl", "s1.jsonl"):
        assert f"<bdi>{folder / name}</bdi>" in text
    assert "exp.diff(&#39;old&#39;, &#39;new&#39;)" in text


@pytest.mark.browser
@pytest.mark.slow
def test_opens_in_a_browser(browser: Any, page: Path) -> None:
    found = Opened(browser, page, viewport={"width": 1300, "height": 900})
    opened = found.page
    for _ in range(3):
        opened.mouse.wheel(0, 4000)
    assert found.requests == [page.as_uri()]
    assert not found.complaints
    for figure in opened.query_selector_all(".chart"):
        box = figure.query_selector("svg, canvas").bounding_box()
        assert box["width"] > 100, figure.get_attribute("data-chart")
        assert box["height"] > 40
    assert len(opened.query_selector_all(".chart")) == 6
    for width in (390, 1100, 1600):
        opened.set_viewport_size({"width": width, "height": 900})
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert opened.evaluate(beyond) == 0, width
    opened.locator('[data-grid="systems"] thead th').nth(0).locator("button").click()
    names = opened.locator('[data-grid="systems"] tbody td:nth-child(1)').all_inner_texts()
    assert sorted(names) in (names, names[::-1])
    opened.select_option("#measure", "V2(ROUGE-1)")
    found.drawn()
    details = opened.locator("details.texts")
    texts = details.evaluate_all("all => all.map(each => { each.open = true; return each.textContent; })")
    assert len(texts) == 3
    assert any("onerror" in text for text in texts)  # as text
    assert opened.evaluate("document.querySelectorAll('details.texts img').length") == 0
    found.context.close()
