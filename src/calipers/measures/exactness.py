"""Notes about numbers that are not exact.

An average over ties or over random rankings is `sampled` if there is no closed form and enumeration takes too long. An
ideal or a worst ranking is `greedy` if it takes the best or the worst document at each rank, and `sorted` if it has the
documents by grade, without a proof that this order is extreme. It is a `bound` if the search for it was stopped: then a
value is used that no ranking exceeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from calipers.lists import Lists
from calipers.measures.forms.base import inexact
from calipers.measures.registry import Measure

NOISE = 1e-12
SENTENCES = {
    "sampled": "sampled, not exact (seed {seed}{error})",
    "greedy": "rests on a ranking that was found greedily: a better or a worse one may exist",
    "bound": "rests on the best or worst of all rankings or, if the search for it was stopped, on a bound that no "
    "ranking exceeds",
    "sorted": "rests on the documents sorted by grade: a better or a worse ranking may exist",
}


def may_sample(measures: Iterable[Measure], ties: bool) -> Iterator[int]:
    """Yield the positions of measures that may sample: orders of ties, or random rankings for bounds."""
    for place, measure in enumerate(measures):
        how = measure.form.exactness()
        if "sampled" in how.inexact_bounds or (ties and how.samples_ties):
            yield place


def sampling_errors(measures: Iterable[Measure], lists: Lists) -> dict[int, float]:
    """Return the largest standard error of a score, by the position of each measure that sampled."""
    each = list(measures)
    found = {}
    for place in may_sample(each, lists.tied):
        largest = float(np.nan_to_num(each[place].form.error(lists)).max(initial=0.0))
        if largest > NOISE:
            found[place] = largest
    return found


def drawn_orders(measures: Mapping[str, Measure], errors: Collection[str]) -> list[str]:
    """Return the measures whose ties were averaged over drawn orders. errors: the measures that sampled."""
    return [name for name in measures if name in errors and measures[name].form.exactness().samples_ties]


def inexact_measures(measures: Mapping[str, Measure], drawn: Collection[int]) -> dict[str, str]:
    """Return the reasons why scores of measures are not exact. drawn: positions of the measures that sampled.

    >>> from calipers.measures.grammar import parse_all
    >>> asked = dict(parse_all("nDCG@10 V2(infAP) Z(ERR)"))
    >>> inexact_measures(asked, list(may_sample(asked.values(), ties=False)))
    {'V2(infAP)': 'sampled, sorted', 'Z(ERR)': 'sampled'}
    """
    found = {}
    for place, (name, measure) in enumerate(measures.items()):
        others = (word for word in measure.form.exactness().inexact_bounds if word != "sampled")
        words = inexact(*(("sampled",) if place in drawn else ()), *others)
        if words:
            found[name] = ", ".join(words)
    return found


def exactness_notes(found: Mapping[str, str], errors: Mapping[str, float] | None = None) -> list[str]:
    """Return a sentence for each kind of inexactness, with the measures. errors: their largest standard errors.

    >>> exactness_notes({"Z(ERR)": "sampled", "infAP": "sampled", "P@5": "exact"}, {"Z(ERR)": 0.03, "infAP": 0.01})
    ['Z(ERR), infAP: sampled, not exact (seed 42, standard error up to 0.03)']
    """
    from calipers.measures.random_rankings import SEED

    notes = []
    for word, sentence in SENTENCES.items():
        if names := [name for name, words in found.items() if word in words.split(", ")]:
            largest = max(((errors or {}).get(name, 0.0) for name in names), default=0.0)
            error = f", standard error up to {largest:.2g}" if largest else ""
            notes.append(f"{', '.join(names)}: {sentence.format(seed=SEED, error=error)}")
    return notes
