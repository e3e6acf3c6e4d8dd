"""The notes below the table: what a plain yes or no leaves out. All come out of the search or the form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calipers.questions.properties.examined_measures import Subject
from calipers.questions.properties.proofs import has_residual, stops_at_first_relevant
from calipers.questions.properties.search import Scored, attained, ever_falls, only_across_the_cutoff

NOTES = {
    "a": "The score is the lower end of a range: documents beyond k could still add to it. The lower end is meant.",
    "b": "One document settles the score: swapping relevant documents upwards never lowers it, but need not raise it.",
    "c": "The score is taken to be 0 where no relevant document is among the top k.",
    "d": "Undefined wherever no relevant document is among the top k, even if there are some.",
    "e": "Realizes its largest value only if k <= R.",
    "f": "Realizes its largest value only if k >= R.",
    "g": "Only ties that the cutoff cuts change the score.",
}


def note_letters(subject: Subject, many: Scored, holds: Mapping[str, bool]) -> dict[str, str]:
    """Return the letter of the note for each property that has one, from the states over two kinds of documents."""
    letters: dict[str, str] = {}
    form = subject.form(1)
    if has_residual(form):
        letters.update({name: "a" for name in ("monotone", "convergent", "localized") if holds[name]})
    scores = many.scores[many.space.possible]
    settled = not holds["convergent"] and not holds["top-weighted"] and holds["monotone"] and holds["bounded"]
    if settled and not np.isnan(scores).any() and np.ptp(scores) > 0 and not ever_falls(many):
        letters.update({"convergent": "b", "top-weighted": "b"})
    if stops_at_first_relevant(form):
        letters.update({"localized": "c", "complete": "c"})
    if not holds["complete"] and _needs_something_found(many):
        letters["complete"] = "d"
    if holds["bounded"] and not holds["realizable"]:
        reached, k, relevant = attained(many)
        if (reached == (k <= relevant)).all():
            letters["realizable"] = "e"
        elif (reached == (k >= relevant)).all():
            letters["realizable"] = "f"
    if not holds["tie-invariant"] and only_across_the_cutoff(many):
        letters["tie-invariant"] = "g"
    return letters


def _needs_something_found(many: Scored) -> bool:
    """Return True if the measure is undefined exactly for rankings without a gain in the top k."""
    found = np.cumsum(many.space.level > 0, axis=1).T > 0  # [k - 1, ranking]
    possible = many.space.possible
    return bool((np.isnan(many.scores) == ~found)[possible].all())
