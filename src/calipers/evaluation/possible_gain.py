"""Upper bounds on what judging could add to the mean score of each run, for a note about unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

import numpy as np

from calipers.lists import Floats, Lists
from calipers.measures.forms import Form, Linear, Share
from calipers.measures.gains import Judged, as_gain
from calipers.measures.registry import Measure
from calipers.results.averages import mean


@singledispatch
def possible_gain(form: Form, lists: Lists) -> Floats | None:
    """Return how much each score could rise if all unjudged documents were judged, or None if no cheap bound is known.

    The bound is known for weighted sums of relevant documents, divided by a constant or not: P@k, RBP and others.
    """
    return None


@possible_gain.register(Linear)
def possible_gain_of_linear(form: Linear, lists: Lists) -> Floats | None:
    """The weight of the unjudged documents, if a document is either relevant or not."""
    level = as_gain(form.value).level
    if level is None or level <= 0:
        return None
    if lists.pool.largest_grade < level:
        return np.zeros(len(lists))
    weight = form.weight.of_ranks(int(lists.length.max(initial=0)))
    whole = np.concatenate([[0.0], np.cumsum(weight)])[np.minimum(lists.length, len(weight))]
    return np.maximum(whole - Linear(form.weight, Judged()).score(lists), 0.0)


@possible_gain.register(Share)
def possible_gain_of_share(form: Share, lists: Lists) -> Floats | None:
    gain = possible_gain(form.of, lists)
    return None if gain is None or form.by.constant is None else gain / form.by.constant


class PossibleGains:
    """Upper bounds on the rise of the mean of each run, under the first measure for which a bound is known."""

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._measures = measures
        self.measure: str | None = None
        self.means: list[float] = []

    def add(self, lists: Lists, runs: int) -> None:
        """Add the means of some runs."""
        for name, measure in self._measures.items():
            if self.measure in (None, name) and (gain := possible_gain(measure.form, lists)) is not None:
                self.measure = name
                self.means += [mean(row) for row in gain.reshape(runs, -1).tolist()]
                return
