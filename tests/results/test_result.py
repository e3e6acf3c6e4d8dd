"""Results and tables: how they are printed, converted and asked for their parts."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import dataclass

import pytest

from calipers.errors import UnknownName
from calipers.results.result import Result
from calipers.results.tables import PValue, Table

NAN = float("nan")
TABLE = Table(("system", "AP", "n"), (("bm25", 0.25, 3), ("dense", 0.5, 4), ("random", NAN, 0)))


@dataclass(frozen=True, eq=False, repr=False)
class Example(Result):
    """A result of some systems."""

    systems: int
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.systems} systems"

    @property
    def summary(self) -> str:
        return "The last one is best."

    def tables(self) -> dict[str, Table]:
        rows = tuple((f"s{i}", i / 100) for i in range(self.systems))
        return {"means": Table(("system", "AP"), rows), "other": TABLE}


def test_columns_rows_and_cells_of_a_table_have_names() -> None:
    assert TABLE["system"] == ["bm25", "dense", "random"]
    assert TABLE.row("dense") == {"system": "dense", "AP": 0.5, "n": 4}
    assert TABLE["bm25", "n"] == 3
    assert len(TABLE) == 3
    assert [row["n"] for row in TABLE] == [3, 4, 0]
    with pytest.raises(UnknownName, match="unknown column 'MAP'"):
        TABLE["MAP"]
    with pytest.raises(UnknownName, match="unknown row 'bm52'; did you mean bm25"):
        TABLE.row("bm52")


def test_frames_are_made_of_a_table_as_of_any_data() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    for frame in (pandas.DataFrame(TABLE), TABLE.to_pandas()):
        assert list(frame.columns) == ["system", "AP", "n"]
        assert frame["AP"].tolist()[:2] == [0.25, 0.5]
        assert math.isnan(frame["AP"][2])
        assert frame["n"].tolist() == [3, 4, 0]
    for frame in (polars.DataFrame(TABLE), TABLE.to_polars(), polars.from_arrow(TABLE.to_arrow())):
        assert frame.columns == ["system", "AP", "n"]
        assert frame["n"].to_list() == [3, 4, 0]
        assert frame["AP"].dtype == polars.Float64


def test_a_column_with_text_and_numbers_becomes_text_in_arrow() -> None:
    pytest.importorskip("pyarrow")
    mixed = Table(("name", "value"), (("a", 0.1), ("b", "many"), ("c", None), ("d", 2)))
    assert mixed.to_arrow()["value"].to_pylist() == ["0.1", "many", None, "2"]
    assert Table(("x",), ((1,), (0.5,))).to_arrow()["x"].to_pylist() == [1.0, 0.5]


def test_digits_and_percentages() -> None:
    table = Table(("system", "AP", "p", "n"), (("a", 0.12345, PValue(0.04), 7),))
    assert table.to_markdown(digits=1, percent=True).splitlines()[2] == "| a | 12.3 | 0.0400 | 7 |"
    assert table.to_markdown(digits=2, percent=["AP"]).splitlines()[2] == "| a | 12.35 | 0.0400 | 7 |"
    assert r"a & 12.35 & 0.0400 & 7 \\" in table.to_latex(digits=2, percent=True)
    with pytest.raises(UnknownName, match="unknown column 'MAP'"):
        table.to_latex(percent=["MAP"])


def test_best_figures_are_those_that_are_printed_alike() -> None:
    table = Table(("system", "AP"), (("a", 0.251), ("b", 0.249), ("c", 0.2), ("d", 0.1))).with_best(second=True)
    assert table.best_cells() == ({(0, 1)}, {(1, 1)})
    assert table.best_cells(digits=2) == ({(0, 1), (1, 1)}, {(2, 1)})
    assert r"\underline{0.2490}" in table.to_latex()
    assert "<u>0.2490</u>" in table._repr_html_()
    assert "<u>" not in table.with_best().changed(second_best=False).to_markdown()


def test_a_table_with_caption_or_label_floats() -> None:
    text = TABLE.to_latex(caption="Means of 50_000 queries", label="tab:means")
    assert text.splitlines()[1:5] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Means of 50\_000 queries}",
        r"\label{tab:means}",
    ]
    assert text.endswith("\\end{tabular}\n\\end{table}\n")
    assert TABLE.to_markdown(caption="Means").startswith("Means\n\n| system |")


def test_head_counts_the_rows_that_it_leaves_out() -> None:
    table = TABLE.changed(marks={(0, 1): "*", (2, 1): "*"})
    assert table.head(3) is table
    assert table.head(2).marks == {(0, 1): "*"}
    assert table.head(2).notes == ("... 1 more row",)


def test_printing_a_result_shows_ten_rows_and_the_conclusion() -> None:
    lines = str(Example(25)).splitlines()
    assert lines[0] == "25 systems"
    assert lines[3].split() == ["s0", "0.0000"]
    assert lines[-2:] == ["... 15 more rows", "The last one is best."]
    assert len(lines) == 15
    assert repr(Example(25)) == str(Example(25))


def test_tables_of_a_result_have_names() -> None:
    result = Example(2)
    assert result.table() == result.table("means")
    assert result.to_csv("other").startswith("system,AP,n\n")
    with pytest.raises(UnknownName, match="unknown table 'mean'; did you mean means"):
        result.table("mean")


def test_json_of_a_result() -> None:
    result = Example(2, notes=("a note",))
    found = json.loads(result.to_json())
    assert found == {
        "title": "2 systems",
        "summary": "The last one is best.",
        "notes": ["a note"],
        "tables": {
            "means": [{"system": "s0", "AP": 0.0}, {"system": "s1", "AP": 0.01}],
            "other": [
                {"system": "bm25", "AP": 0.25, "n": 3},
                {"system": "dense", "AP": 0.5, "n": 4},
                {"system": "random", "AP": None, "n": 0},
            ],
        },
    }
    assert json.loads(result.to_json("means")) == found["tables"]["means"]


def test_notebooks_show_title_table_summary_and_notes() -> None:
    html = Example(60, notes=("<b> & c",))._repr_html_()
    assert html.startswith("<h4>60 systems</h4><table>")
    assert html.count("<tr>") == 51
    assert "... 10 more rows" in html
    assert html.endswith("<p>The last one is best.</p><p>&lt;b&gt; &amp; c</p>")


def test_tables_pickle_with_what_stands_out() -> None:
    table = TABLE.with_best().head(2)
    assert pickle.loads(pickle.dumps(table)) == table
