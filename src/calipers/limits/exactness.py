"""What is not exact, said in one way everywhere.

An average over ties or over random rankings is `sampled` where there is no closed form and too much to enumerate. An
ideal or a worst ranking is `greedy` where it takes the best or the worst document at each rank, and `sorted` where it
has the documents by grade, though for that measure no proof says that either is extreme. It is a `bound` where a search
for it was stopped, and what no ranking passes stands for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from calipers.lists import Lists
from calipers.measures.forms.base import inexact
from calipers.measures.registry import Measure

SENTENCES = {
    "sampled": "sampled, not exact (seed {seed})",
    "greedy": "rests on a ranking that was found greedily: a better or a worse one may exist",
    "bound": "rests on the best or worst ranking that there is or, where the search for it was stopped, on a bound "
    "that none passes",
    "sorted": "rests on the documents sorted by grade: a better or a worse ranking may exist",
}


def drawn_among(measures: Iterable[Measure], lists: Lists) -> Iterator[int]:
    """The places of the measures whose average over the ties of some list was drawn."""
    for place, measure in enumerate(measures):
        if lists.tied and measure.form.may_draw_ties and (measure.form.error(lists) > 0).any():
            yield place


def inexact_measures(measures: Mapping[str, Measure], drawn: Collection[int] = ()) -> dict[str, str]:
    """Of each measure whose scores are not exact: why.

    >>> from calipers.measures.grammar import parse_all
    >>> inexact_measures(dict(parse_all("nDCG@10 V2(infAP) Z(ERR)")))
    {'V2(infAP)': 'sampled, sorted', 'Z(ERR)': 'sampled'}
    """
    found = {}
    for place, (name, measure) in enumerate(measures.items()):
        words = inexact(*(("sampled",) if place in drawn else ()), *measure.form.rests_on)
        if words:
            found[name] = ", ".join(words)
    return found


def exactness_notes(found: Mapping[str, str]) -> list[str]:
    """A sentence for each kind of inexactness, naming what it concerns.

    >>> exactness_notes({"Z(ERR)": "sampled", "infAP": "sampled", "P@5": "exact"})
    ['Z(ERR), infAP: sampled, not exact (seed 42)']
    """
    from calipers.measures.random_rankings import SEED

    notes = []
    for word, sentence in SENTENCES.items():
        if names := [name for name, words in found.items() if word in words.split(", ")]:
            notes.append(f"{', '.join(names)}: {sentence.format(seed=SEED)}")
    return notes
