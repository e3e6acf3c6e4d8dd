"""Numbers and facts that the manual states, computed again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import calipers as cal
from calipers.errors import CalipersError, CheckFailed
from conftest import ROOT
from run_calipers import calipers


def manual(page: str) -> str:
    """Return the text of a page of the manual, each run of blanks as one space."""
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def test_how_much_larger_inst_and_insq_are_to_rank_1000() -> None:
    """By at most the share of the weights that lies below, where a list has 1,000 relevant documents."""
    documents = [f"d{rank}" for rank in range(1000)]
    judged = {"q": dict.fromkeys(documents, 1)}
    ranking = {"q": {document: -float(rank) for rank, document in enumerate(documents)}}
    found = {}
    for target in (1, 10):
        names = [f"{name}(T={target}{ranks})" for name in ("INSQ", "INST") for ranks in ("", ",ranks=1000")]
        insq, insq_1000, inst, inst_1000 = cal.evaluate(judged, ranking, names).values[:, 0, 0]
        found[target] = insq_1000 - insq
        assert 0 <= inst_1000 - inst <= found[target]
    assert f"({found[1]:.4f} for T=1, {found[10]:.3f} for T=10)" in manual("trec_eval.md")


def test_what_a_grade_below_0_means(tmp_path: Path) -> None:
    """`b` comes first, and has the grade -2, the grade 0, or none."""
    others = {"a": 1, "c": 0, "d": 1, "e": 0}
    grades: list[Mapping[str, int]] = [{**others, "b": -2}, {**others, "b": 0}, others]

    def scored(measure: str, condensed: bool = False) -> list[float]:
        run = {"q": ["b", "a", "c", "d"]}
        found = (cal.evaluate({"q": each}, run, measure, warn=False, condensed=condensed) for each in grades)
        return [float(scores[measure][0, 0]) for scores in found]

    for measure in ("bpref", "RIC", "unj@3"):
        below, zero, none = scored(measure)
        assert below == none != zero, f"{measure} takes it for unjudged"
    for measure in ("AP", "nDCG@3", "RBP"):
        for condensed in (False, True):
            below, zero, none = scored(measure, condensed)
            assert below == zero, f"{measure} takes it for not relevant"
            assert (zero == none) != condensed
    assert len({*scored("infAP")}) == 3
    assert "not relevant, also for `--condensed`; bpref, RIC and unj take it for unjudged, and infAP" in manual(
        "evaluate.md"
    )
    (tmp_path / "qrels").write_text("".join(f"q 0 {document} {grade}\n" for document, grade in grades[0].items()))
    (tmp_path / "run").write_text("".join(f"q Q0 {document} 1 {9 - i} t\n" for i, document in enumerate("bacd")))
    of_trec_eval = calipers("trec_eval", "-J", "-m", "map", tmp_path / "qrels", tmp_path / "run").stdout.split()[-1]
    assert float(of_trec_eval) == pytest.approx(
        cal.evaluate({"q": others}, {"q": [*"acd"]}, "AP")["AP"].item(), abs=1e-4
    )
    assert "`-J` also leaves out documents with a grade below 0" in manual("coming-from.md")


@pytest.mark.parametrize(("name", "meant"), [("hit rate", "Success@10"), ("f1 score", "F@10")])
def test_what_other_names_mean(name: str, meant: str) -> None:
    with pytest.raises(CalipersError, match=meant):
        cal.parse(name)
    assert f"`{name}` is `{meant}`" in manual("evaluate.md")


def test_measures_that_small_pools_leave_nothing_to_rank_for() -> None:
    for documents in (4, 5, 6):
        judged = {f"q{q}": {f"d{place}": int(place < 2) for place in range(documents)} for q in range(3)}
        for name in ("U", "V1", "V2", "W", "Z"):
            if documents > 5:
                cal.evaluate(judged, {query: [*of] for query, of in judged.items()}, f"{name}(P@5)")
                continue
            with pytest.raises(CheckFailed, match="every ranking of the judged documents of the query scores the same"):
                cal.evaluate(judged, {query: [*of] for query, of in judged.items()}, f"{name}(P@5)")
    assert "`evaluate` refuses U, V1, V2, W and Z of a measure" in manual("bounds.md")
    assert "such as P@5 where pools have at most 5 documents" in manual("bounds.md")


def test_the_queries_that_are_needed_are_those_of_the_table() -> None:
    rows = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8").splitlines()
    needed = {row.split("|")[1].strip(): row.split("|")[7].strip() for row in rows if row.startswith(("| AP", "| RR"))}
    assert f"AP needs {needed['AP']} queries and RR needs {needed['RR']}." in manual("plan.md")
