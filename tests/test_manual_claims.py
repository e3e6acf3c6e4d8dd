"""Numbers that the manual states, computed again."""

from __future__ import annotations

import calipers as cal
from conftest import ROOT


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
