"""Who differs from whom: every pair of systems under every measure, tested and corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.scores import Scores, means
from calipers.results.tables import Table
from calipers.stats.correction import CORRECTIONS, correction_name
from calipers.stats.differences import Bools, against, all_pairs
from calipers.stats.significance import (
    CORRECTED,
    DEFAULT_SAMPLES,
    SEED,
    TESTS,
    Outcome,
    Samples,
    Settings,
    test_name,
)

COLUMNS = ("measure", "system_a", "system_b", "difference", "low", "high", "p", "p_adjusted", "effect", "n")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(
    scores: Scores,
    test: str = "t",
    correction: str | None = "holm",
    baseline: str | None = None,
    *,
    alpha: float = 0.05,
    level: float | None = None,
    samples: Samples | None = None,
    seed: int = SEED,
) -> Comparison:
    """Test every pair of systems, or every system against a baseline, under each measure.

    test: `t` (paired), `wilcoxon`, `randomization` (sign flips), `bootstrap` (Sakai's) or `tukey` (randomised HSD).
    correction: `none`, `bonferroni`, `holm` or `bh`, over the pairs of one measure; Tukey's p values need none.
    baseline: compare the others with this system; a positive difference is then an improvement on it.
    level: of the intervals, 1 - alpha where not given. They are of one difference each, except Tukey's.
    samples, seed: of the tests that sample; `all` enumerates, where few queries allow it.

    A query that is undefined for one of two systems is left out of that pair; `n` says how many are in.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]], systems=["new", "old"], measure="AP")
    >>> print(compare(scores, correction=None).table())
    measure  system_a  system_b  difference      low    high       p  p_adjusted  effect  n
    -------  --------  --------  ----------  -------  ------  ------  ----------  ------  -
    AP       new       old           0.1375  -0.1001  0.3751  0.1627      0.1627  0.9209  4
    <BLANKLINE>
    """
    name, correct = test_name(test), correction_name(correction)
    if name in CORRECTED:
        correct = "none"
    if len(scores.systems) < 2:
        raise CalipersError(f"there is only one system ({', '.join(scores.systems)}): nothing to compare it with")
    if len(scores.queries) < 2:
        raise CalipersError("there are fewer than two queries: no test can be made")
    if not 0 < alpha < 1:
        raise CalipersError(f"alpha {alpha} is not between 0 and 1")
    level = 1 - alpha if level is None else level
    if not 0 < level < 1:
        raise CalipersError(f"confidence level {level} is not between 0 and 1")
    chosen = DEFAULT_SAMPLES.get(name, 0) if samples is None else samples
    if name in DEFAULT_SAMPLES and chosen != "all" and (not isinstance(chosen, int) or chosen < 1):
        raise CalipersError(f"samples {chosen!r} is not a whole number of at least 1, or 'all'")
    settings = Settings(level, chosen, seed)
    a, b = _pairs(scores.systems, baseline)
    outcomes = [TESTS[name](values, a, b, settings) for values in scores.values]
    p = np.array([outcome.p for outcome in outcomes])
    return Comparison(
        measures=scores.measures,
        systems=scores.systems,
        a=a,
        b=b,
        outcomes=tuple(outcomes),
        p_adjusted=CORRECTIONS[correct](p),
        means=means(scores.values),
        alpha=alpha,
        metadata={
            "test": name,
            "correction": correct,
            "baseline": baseline,
            "alpha": alpha,
            "level": level,
            "queries": len(scores.queries),
            "like": scores.metadata.get("like"),
            "exactness": scores.metadata.get("exactness", {}),
            **({"samples": chosen, "seed": seed} if name in DEFAULT_SAMPLES else {}),
        },
    )


def _pairs(systems: Sequence[str], baseline: str | None) -> tuple[Ints, Ints]:
    if baseline is None:
        return all_pairs(len(systems))
    if baseline not in systems:
        near = get_close_matches(baseline, systems, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(systems[:10])}"
        raise CalipersError(f"the baseline '{baseline}' is not among the systems{hint}")
    return against(list(systems).index(baseline), len(systems))


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcome of a test for each pair under each measure."""

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    a: Ints  # of each pair, the place of its first system
    b: Ints
    outcomes: tuple[Outcome, ...]  # one a measure
    p_adjusted: Floats  # [measure, pair]
    means: Floats  # [measure, system]
    alpha: float = 0.05
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(self.systems[a], self.systems[b]) for a, b in zip(self.a.tolist(), self.b.tolist(), strict=True)]

    @property
    def p(self) -> Floats:
        """As the test gave them: [measure, pair]."""
        return np.array([outcome.p for outcome in self.outcomes])

    @property
    def significant(self) -> Bools:
        """Where the adjusted p is below alpha: [measure, pair]."""
        return np.asarray(self.p_adjusted < self.alpha)

    def incomplete(self) -> Table:
        """Of each measure: the pairs that miss some of the queries, and the fewest queries that a pair has."""
        queries = self.metadata.get("queries", 0)
        rows = [
            (measure, int((outcome.n < queries).sum()), int(outcome.n.min(initial=queries)), len(outcome.n))
            for measure, outcome in zip(self.measures, self.outcomes, strict=True)
        ]
        return Table(("measure", "incomplete", "fewest", "pairs"), tuple(rows), self.metadata)

    # -- tables ------------------------------------------------------------------------------------

    def table(self) -> Table:
        """One row a measure and pair."""
        columns = self._columns()
        marks = {(row, COLUMNS.index("difference")): "*" for row in np.flatnonzero(self.significant.ravel()).tolist()}
        return Table(
            COLUMNS,
            tuple(zip(*(columns[name] for name in COLUMNS), strict=True)),
            self.metadata,
            marks=marks,
            notes=(f"*: significant, adjusted p < {self.alpha:g}.",) if marks else (),
        )

    def wins(self, measure: str | None = None) -> Table:
        """The systems by their means: how many others each beats and is beaten by, and its letters.

        Systems that share a letter do not differ significantly. There are no letters where there is a baseline, or
        where more than fifty-two would be needed.
        """
        m = self._place(measure)
        beats = self._beats(m)
        order = self._order(m)
        letters = self._letters(m, order)
        rows = [
            (self.systems[s], float(self.means[m, s]), int(beats[s].sum()), int(beats[:, s].sum()), letters.get(s, ""))
            for s in order
        ]
        columns = ("system", self.measures[m], "beats", "beaten by", "letters")
        return Table(columns, tuple(rows), self.metadata).with_best(columns[1:2])

    def matrix(self, measure: str | None = None) -> Table:
        """Who beats whom: + where the row's system is significantly better than the column's, - where it is worse."""
        m = self._place(measure)
        beats = self._beats(m)
        order = self._order(m)
        rows = [
            (
                self.systems[s],
                *("+" if beats[s, t] else "-" if beats[t, s] else "" if s == t else "." for t in order),
            )
            for s in order
        ]
        return Table(("system", *(self.systems[t] for t in order)), tuple(rows), self.metadata)

    def to_csv(self) -> str:
        return self.table().to_csv()

    def to_pandas(self) -> Any:
        """A pandas frame, one row a measure and pair: measure, system_a, system_b, difference, low, high, p, ..."""
        import pandas

        return pandas.DataFrame(self._columns(), columns=list(COLUMNS))

    def to_polars(self) -> Any:
        """A polars frame of the same form."""
        import polars

        return polars.DataFrame(self._columns())

    def __repr__(self) -> str:
        about = self.metadata
        head = f"<Comparison: {len(self.a)} pairs x {len(self.measures)} measures, {about['test']} test"
        head += "" if about["correction"] == "none" else f", {about['correction']}"
        counts = ", ".join(
            f"{name}: {count}" for name, count in zip(self.measures, self.significant.sum(axis=1).tolist(), strict=True)
        )
        return f"{head}; significant at {self.alpha:g}: {counts}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>" + "".join(self.wins(name)._repr_html_() for name in self.measures)

    # -- pieces ------------------------------------------------------------------------------------

    def _columns(self) -> dict[str, list[Any]]:
        names = np.array(self.systems, dtype=object)
        times = len(self.measures)

        def joined(name: str) -> list[Any]:
            found: list[Any] = np.concatenate([getattr(outcome, name) for outcome in self.outcomes]).tolist()
            return found

        return {
            "measure": [measure for measure in self.measures for _ in range(len(self.a))],
            "system_a": names[self.a].tolist() * times,
            "system_b": names[self.b].tolist() * times,
            "difference": joined("difference"),
            "low": joined("low"),
            "high": joined("high"),
            "p": joined("p"),
            "p_adjusted": self.p_adjusted.ravel().tolist(),
            "effect": joined("effect"),
            "n": joined("n"),
        }

    def _place(self, measure: str | None) -> int:
        if measure is None:
            if len(self.measures) > 1:
                raise CalipersError(f"which measure? There are {', '.join(self.measures)}")
            return 0
        if measure not in self.measures:
            raise CalipersError(f"no comparison under '{measure}'; there are {', '.join(self.measures)}")
        return self.measures.index(measure)

    def _order(self, m: int) -> list[int]:
        """Best first; systems without a mean last."""
        order: list[int] = np.argsort(-np.nan_to_num(self.means[m], nan=-np.inf), kind="stable").tolist()
        return order

    def _beats(self, m: int) -> Bools:
        """Whether each system is significantly better than each other one."""
        beats = np.zeros((len(self.systems), len(self.systems)), bool)
        better = self.significant[m] & (self.outcomes[m].difference > 0)
        worse = self.significant[m] & (self.outcomes[m].difference < 0)
        beats[self.a[better], self.b[better]] = True
        beats[self.b[worse], self.a[worse]] = True
        return beats

    def _letters(self, m: int, order: Sequence[int]) -> dict[int, str]:
        if self.metadata.get("baseline") is not None:
            return {}
        beats = self._beats(m)
        columns = letter_groups((beats | beats.T)[np.ix_(order, order)])
        if len(columns) > len(LETTERS):
            return {}
        found = dict.fromkeys(order, "")
        for letter, members in zip(LETTERS, columns, strict=False):
            for place in members:
                found[order[place]] += letter
        return found


def letter_groups(different: Bools) -> list[list[int]]:
    """Groups such that two items share one exactly where they do not differ: the compact letter display.

    By insertion and absorption. Piepho, An algorithm for a letter-based representation of all-pairwise comparisons,
    Journal of Computational and Graphical Statistics 2004. Gives up, with many groups, where letters would not help.

    >>> letter_groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    [[0, 1], [1, 2]]
    """
    size = len(different)
    columns = {(1 << size) - 1}
    for i, j in np.argwhere(np.triu(different)).tolist():
        both = 1 << i | 1 << j
        split = {column for column in columns if column & both == both}
        if not split:
            continue
        kept = columns - split
        fresh = {column & ~(1 << i) for column in split} | {column & ~(1 << j) for column in split}
        for column in sorted(fresh, key=int.bit_count, reverse=True):
            if not any(column & other == column for other in kept):
                kept.add(column)
        columns = kept
        if len(columns) > 8 * len(LETTERS):
            break
    members = [[place for place in range(size) if column >> place & 1] for column in columns]
    return sorted(members)
