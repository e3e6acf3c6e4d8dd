"""Meta-evaluation: agreement of each text measure with people, and tests of which measure agrees better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.random_rankings import SEED
from calipers.questions.metaeval.human_agreement import COEFFICIENTS, LEVELS, both_defined, by_name
from calipers.questions.metaeval.measure_tests import (
    SAMPLES,
    agreement_of,
    check_agreement,
    permutation_test,
    williams_test,
)
from calipers.questions.metaeval.power import discriminative_power
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Table
from calipers.statistics.correction import CORRECTIONS, correction_name
from calipers.statistics.differences import all_pairs
from calipers.support.plurals import counted

BELIEVE = {
    "system": "Believe p: a permutation test assumes nothing about the distribution of scores, while Williams' test "
    "assumes normally distributed means of systems, of which there are few.",
    "pooled": "Believe p: Williams' test takes all texts for independent, which those about one document are not, so "
    "that its p values are too small.",
}


@dataclass(frozen=True, eq=False, repr=False)
class TextMetaEvaluation(Result):
    """Agreement of text measures with people, and tests of which measure agrees better."""

    scores: Scores
    human: Mapping[str, Floats]  # by aspect: [system, document]; may be empty
    samples: int = SAMPLES  # of permutation tests
    seed: int = SEED
    alpha: float = 0.05
    about: tuple[str, ...] = ()  # notes, for example about missing human scores

    @property
    def measures(self) -> tuple[str, ...]:
        return self.scores.measures

    @cached_property
    def values(self) -> Floats:
        """Scores for which higher is better: [measure, system, document]. Errors such as TER are negated."""
        return np.asarray(self.scores.values * self.scores.signs[:, None, None])

    @property
    def title(self) -> str:
        measures, systems = counted(len(self.measures), "measure"), counted(len(self.scores.systems), "system")
        return f"meta-evaluation of {measures} over {systems} and {counted(len(self.scores.queries), self.scores.unit)}"

    @property
    def summary(self) -> str:
        if not self.human:
            power = discriminative_power(self.scores, "t", self.alpha)
            best = max(self.measures, key=lambda name: np.nan_to_num(power[name], nan=-1.0))
            return f"{best} tells most pairs of systems apart: {power[best]:.0%}. There are no human scores."
        said = []
        for aspect, judged in self.human.items():
            pairs = [both_defined(each, judged) for each in self.values]
            found = [float(agreement_of(x[None], y, "system", "tau-b")[0]) for x, y in pairs]
            if not np.isnan(found).all():
                place = int(np.nanargmax(found))
                said.append(f"{self.measures[place]} agrees best with {aspect} (tau-b of systems {found[place]:.3f})")
        return f"{'; '.join(said)}." if said else "No correlation with people is defined at the level of systems."

    @property
    def notes(self) -> tuple[str, ...]:
        return self.about

    def tables(self) -> Mapping[str, Table]:
        """Return tables: `agreement` and `tests` if there are human scores, and discriminative `power`."""
        found: dict[str, Callable[[], Table]] = {}
        if self.human:
            found["agreement"] = self.agreement
        if self.human and len(self.measures) > 1:
            found["tests"] = self.tests
        return Tables({**found, "power": self.power})

    def power(self) -> Table:
        """Return the share of pairs of systems that each measure tells apart, without correction."""
        return discriminative_power(self.scores, "t", self.alpha).table()

    def agreement(self, levels: Sequence[str] = LEVELS) -> Table:
        """Return correlations per measure, aspect and level."""
        rows: list[tuple[Cell, ...]] = []
        for m, name in enumerate(self.measures):
            for aspect, judged in self.human.items():
                x, y = both_defined(self.values[m], judged)
                for level in levels:
                    found = [float(agreement_of(x[None], y, level, each)[0]) for each in COEFFICIENTS]
                    rows.append((name, aspect, level, *found))
        return Table(("measure", "human", "level", *COEFFICIENTS), tuple(rows))

    def tests(
        self,
        level: str = "system",
        agreement: str = "pearson",
        *,
        exchange: str = "summaries",
        correction: str | None = "holm",
    ) -> Table:
        """Test for each aspect and pair of measures whether one agrees better with people.

        `p` is that of the permutation test of `agreement`, `p_adjusted` corrected for all pairs of measures of all
        aspects; `p_williams` is of Pearson's r, at the levels that Williams' test is for. The notes say which of two
        tests to believe if they disagree.
        """
        check_agreement(level, agreement)
        alpha = self.alpha
        if len(self.measures) < 2:
            raise CalipersError(f"there is only one measure ({self.measures[0]}): nothing to compare it with")
        a, b = all_pairs(len(self.measures))
        rows: list[list[Cell]] = []
        disagree = 0
        for aspect, judged in self.human.items():
            for one, other in zip(a.tolist(), b.tolist(), strict=True):
                given = self.values[one], self.values[other], judged
                found = permutation_test(
                    *given, level, agreement, exchange=exchange, samples=self.samples, seed=self.seed
                )
                known = williams_test(*given, level) if level != "summary" else None
                p_williams = np.nan if known is None else known.p
                disagree += bool(
                    not np.isnan([found.p, p_williams]).any() and (found.p < alpha) != (p_williams < alpha)
                )
                rows.append(
                    [
                        aspect,
                        self.measures[one],
                        self.measures[other],
                        found.difference,
                        PValue(found.p),
                        found.p,
                        np.nan if known is None else known.statistic,
                        PValue(p_williams),
                    ]
                )
        adjusted = CORRECTIONS[correction_name(correction)](np.array([[float(row[5] or 0.0) for row in rows]]))[0]
        for row, p in zip(rows, adjusted.tolist(), strict=True):
            row[5] = PValue(p)
        marks = {(place, 3): "*" for place in np.flatnonzero(adjusted < alpha).tolist()}
        columns = ("human", "measure_a", "measure_b", "difference", "p", "p_adjusted", "t_williams", "p_williams")
        about = {
            "level": level,
            "agreement": agreement,
            "exchange": exchange,
            "samples": self.samples,
            "seed": self.seed,
            "correction": correction,
        }
        notes = [f"*: significant, adjusted p < {alpha:g}."] if marks else []
        if disagree:
            notes.append(
                f"In {counted(disagree, 'row')} p and p_williams are on different sides of {alpha:g}. {BELIEVE[level]}"
            )
        return Table(columns, tuple(map(tuple, rows)), about, marks=marks, notes=tuple(notes))


def meta(
    scores: Scores,
    human: Mapping[str, Floats],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
    alpha: float = 0.05,
    notes: Sequence[str] = (),
) -> TextMetaEvaluation:
    """Compare measures of texts by their agreement with human scores by aspect ([system, document] each).

    samples: permutations of the tests. alpha: level of the tests.

    >>> from calipers import as_scores
    >>> scores = as_scores([[[0.8, 0.7], [0.4, 0.5]]], ["a", "b"], ["d1", "d2"], ["ROUGE-1"])
    >>> found = meta(scores, {"relevance": np.array([[4.0, 5.0], [2.0, 4.0]])})
    >>> found.agreement(["system"])["tau-b"]
    [1.0]
    """
    if samples < 1:
        raise CalipersError(f"samples {samples} is not a whole number of at least 1")
    ordered, people = by_name(scores, human)
    return TextMetaEvaluation(ordered, people, samples, seed, alpha, tuple(notes))
