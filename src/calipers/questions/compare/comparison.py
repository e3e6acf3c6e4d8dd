"""Comparison of systems: a significance test for every pair of systems under every measure, with correction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Never

import numpy as np

from calipers.collection.query_facts import QueryGroups, QueryWeights
from calipers.errors import CalipersError, chosen_measure, place_of, warn_user
from calipers.lists import Floats, Ints
from calipers.results.averages import stacked
from calipers.results.messages import refuse_ambiguous_names, refuse_incomplete_runs
from calipers.results.result import Result, Tables, in_short
from calipers.results.score_files import ScoresLike, as_scores, only_scores
from calipers.results.scores import Scores, means, order_of
from calipers.results.tables import PValue, Statistic, Table
from calipers.statistics.correction import CORRECTIONS, TIMES_TESTS, correction_name, dunnett
from calipers.statistics.differences import Bools, against, all_pairs
from calipers.statistics.effect_sizes import EFFECTS, effect_name
from calipers.statistics.equivalence_tests import (
    BAYESIAN_COLUMNS,
    DEFAULT_ROPE,
    VERDICTS,
    bayes,
    check_margin,
    p_equivalence,
    turned,
)
from calipers.statistics.significance import (
    CORRECTED,
    DEFAULT_SAMPLES,
    SEED,
    STUDENTISED,
    TESTS as PAIRWISE,
    Outcome,
    Settings,
    Test,
    equal_differences,
    samples_for,
    smallest_p,
    test_name,
)
from calipers.statistics.weighted import WEIGHTED_TESTS, check_weighted
from calipers.support.checks import (
    Samples,
    check_alpha,
    check_level,
    check_number,
    check_samples,
    check_seed,
    check_type,
)
from calipers.support.choices import ComparisonTest, Correction, EffectSize
from calipers.support.plurals import counted, plural_of, verb

# The pairwise tests, and two tests that only `compare` offers.
TESTS: dict[str, Test] = {**PAIRWISE, "dunnett": dunnett, "bayes": bayes}
UNCORRECTED = CORRECTED | {"dunnett", "bayes"}  # tests whose p values need no correction
COLUMNS = ("measure", "system_a", "system_b", "difference", "low", "high", "p", "p_adjusted", "effect", "n")
EQUIVALENCE_COLUMNS = ("p_equivalence", "p_equivalence_adjusted", "verdict")
STATISTICS: dict[str, type[Statistic]] = {
    **dict.fromkeys(("low", "high", "effect", *BAYESIAN_COLUMNS), Statistic),
    **dict.fromkeys(("p", "p_adjusted", *EQUIVALENCE_COLUMNS[:2]), PValue),
}
NAMED = 3  # pairs that a note names
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(
    scores: ScoresLike,
    *others: Never,
    baseline: str | Sequence[str] | None = None,
    test: ComparisonTest = "t",
    correction: Correction | None = "holm",
    alpha: float = 0.05,
    level: float | None = None,
    samples: Samples | None = None,
    seed: int = SEED,
    effect: EffectSize = "d",
    equivalence: float | None = None,
    rope: float | None = None,
    query_groups: QueryGroups | None = None,
    query_weights: QueryWeights | None = None,
    warn: bool = True,
) -> Comparison:
    """Test every pair of systems, or every system against a baseline, under each measure.

    test: `t` (paired), `wilcoxon`, `sign`, `randomization` (sign flips), `bootstrap` (Sakai's), `tukey` (randomised
        HSD), `dunnett` (against a baseline), or `bayes` (posterior probabilities instead of p values).
    correction: `none`, `bonferroni`, `holm` or `bh`, for the pairs of one measure. Tukey's and Dunnett's p values and
        posterior probabilities are not corrected again.
    baseline: compare all other systems with this system, or with each of these systems. A positive difference is then
        an improvement (under TER and other measures where less is better, a negative one).
    level: confidence level of the intervals, by default 1 - alpha. Each interval is for one difference. Tukey's and
        Dunnett's intervals hold for all pairs together.
    samples, seed: number of samples and seed of the tests that sample. `all` enumerates all samples if there are few
        queries.
    effect: `d` (mean difference in standard deviations), `cliff` (Cliff's delta) or `rank-biserial`.
    equivalence: a margin. A pair is `equal` if two one-sided t tests show that its difference is within the margin. It
        is `different` if it is not equal and differs significantly, and `undecided` otherwise. The default level is
        then 1 - 2 alpha: before the correction, systems are equal exactly if the interval is inside the margin.
    rope: half the width of the region of practical equivalence of `bayes`, by default 0.01.
    query_groups: {query: group} or a file. Each group is compared as well (`Comparison.groups`). The p values of the
        groups are corrected over all pairs and groups of a measure.
    query_weights: {query: weight} or a file, for weighted means. Only `bootstrap` and `randomization` take weights.
    warn: give one CalipersWarning with the notes about queries left out and about significant pairs that one query
        decides. `Comparison.notes` has these notes in any case.

    A query that is undefined for one of two systems is left out of that pair. `n` is the number of queries used. If all
    differences of a pair are equal and not 0, what rests on their spread is undefined (NaN): intervals, the effect `d`,
    and p of the tests `t`, `bootstrap`, `dunnett` and `bayes`. A note says so.
    Runs that lack more than half of the judged queries are refused unless `evaluate` was given `missing` or `like`.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]], systems=["new", "old"], measure="AP")
    >>> print(compare(scores, correction=None).table())
    measure  system_a  system_b  difference      low    high       p  p_adjusted  effect  n
    -------  --------  --------  ----------  -------  ------  ------  ----------  ------  -
    AP       new       old           0.1375  -0.1001  0.3751  0.1627      0.1627  0.9209  4
    <BLANKLINE>
    """
    only_scores("compare", others)
    scores = as_scores(scores)
    refuse_incomplete_runs(scores)
    name, correct, size = test_name(test, TESTS), correction_name(correction), effect_name(effect)
    if name in UNCORRECTED:
        correct = "none"
    baselines = baseline_names(baseline)
    refuse_ambiguous_names(scores, baselines)
    _check_method(name, size, baselines, equivalence, rope, weighted=query_weights is not None)
    weights = None if query_weights is None else scores.weights(query_weights)
    rope = DEFAULT_ROPE if rope is None else check_number("rope", rope, least=0)
    alpha, seed = check_alpha(alpha), check_seed(seed)
    samples = None if samples is None else check_samples(samples)
    if len(scores.systems) < 2:
        raise CalipersError(f"there is only one system ({', '.join(scores.systems)}): nothing to compare it with")
    if len(scores.queries) < 2:
        raise CalipersError(f"there are fewer than two {plural_of(scores.unit)}: no test can be made")
    if level is None:
        level = 1 - alpha if equivalence is None else max(1 - 2 * alpha, 1e-9)
    level = check_level(level)
    a, b = pairs_of(scores.systems, baselines)
    chosen: Samples = 0
    if name in DEFAULT_SAMPLES:
        tests = 1 if correct == "none" else len(a)
        chosen = samples_for(name, tests, len(scores.queries), alpha) if samples is None else samples
    settings = Settings(level, chosen, seed, rope)
    place = np.argsort(order_of(scores.systems))  # samples are drawn for the systems in the order of their names
    run_test = TESTS[name]
    if weights is not None:
        run_test = partial(WEIGHTED_TESTS[name], weights=weights[order_of(scores.queries)])
    outcomes = [run_test(values, place[a], place[b], settings) for values in scores.by_name().values]
    if size != "d":
        found = (EFFECTS[size](values, a, b) for values in scores.values)
        outcomes = [replace(outcome, effect=each) for outcome, each in zip(outcomes, found, strict=True)]
    if equivalence is not None:
        margin = check_margin(equivalence)
        equal = np.array([p_equivalence(values, a, b, margin) for values in scores.values])
        both = zip(outcomes, equal, CORRECTIONS[correct](equal), strict=True)
        outcomes = [
            replace(outcome, more=dict(zip(EQUIVALENCE_COLUMNS, each, strict=False))) for outcome, *each in both
        ]
    if name == "bayes":
        outcomes = [
            turned(outcome) if measure in scores.lower else outcome
            for measure, outcome in zip(scores.measures, outcomes, strict=True)
        ]
    p = np.array([outcome.p for outcome in outcomes])
    compared = Comparison(
        measures=scores.measures,
        systems=scores.systems,
        a=a,
        b=b,
        outcomes=tuple(outcomes),
        p_adjusted=CORRECTIONS[correct](p),
        means=means(scores.values) if weights is None else scores.weighted_means(weights),
        alpha=alpha,
        metadata={
            "test": name,
            "correction": correct,
            "baseline": None if not baselines else baselines[0] if len(baselines) == 1 else baselines,
            "alpha": alpha,
            "level": level,
            "queries": len(scores.queries),
            **({"unit": scores.unit} if scores.unit != "query" else {}),
            "like": scores.metadata.get("like"),
            "exactness": scores.metadata.get("exactness", {}),
            "standard_error": scores.errors,
            **({"lower": sorted(scores.lower)} if scores.lower else {}),
            **({"samples": chosen, "seed": seed} if name in DEFAULT_SAMPLES else {}),
            **({"effect": size} if size != "d" else {}),
            **({"equivalence": equivalence} if equivalence is not None else {}),
            **({"rope": rope} if name == "bayes" else {}),
            **({"weighted": True} if weights is not None else {}),
        },
        scores=scores,
    )
    if query_groups is not None:
        compared = replace(
            compared,
            groups=_by_group(
                scores.by(query_groups),
                "none" if name == "bayes" else correction_name(correction),
                test=test,
                baseline=baseline,
                alpha=alpha,
                level=level,
                samples=samples,
                seed=seed,
                effect=effect,
                equivalence=equivalence,
                rope=rope if name == "bayes" else None,
                query_weights=query_weights,
            ),
        )
    if warn:
        warn_user(compared.notes)
    return compared


def _check_method(
    test: str, effect: str, baselines: Sequence[str], equivalence: float | None, rope: float | None, weighted: bool
) -> None:
    """Refuse options that do not belong together."""
    if test == "dunnett" and len(baselines) != 1:
        raise CalipersError("Dunnett's test compares systems with one baseline: name it", parameter="baseline")
    if equivalence is not None and test != "t":
        raise CalipersError(
            f"equivalence is shown by t tests, not by the test '{test}'; the test 'bayes' has a rope instead"
        )
    if rope is not None and test != "bayes":
        raise CalipersError(f"only the test 'bayes' has a rope, not '{test}'")
    if weighted:
        check_weighted(test)
        if effect != "d":
            raise CalipersError(f"the effect size '{effect}' takes no weights; use d")


def _by_group(groups: Mapping[str, Scores], correction: str, **method: Any) -> dict[str, Comparison]:
    """Compare the systems on each group of queries, and correct the p values over all pairs and groups."""
    found = {
        group: compare(scores, correction=None, warn=False, **method)
        for group, scores in groups.items()
        if len(scores.queries) > 1
    }
    if not found:
        return {}
    adjusted = CORRECTIONS[correction](np.concatenate([each.p for each in found.values()], axis=1))
    parts = np.split(adjusted, len(found), axis=1)
    return {
        group: replace(each, p_adjusted=p, metadata={**each.metadata, "correction": correction})
        for (group, each), p in zip(found.items(), parts, strict=True)
    }


def baseline_names(baseline: str | Sequence[str] | None) -> list[str]:
    """Return the names of the baselines, each once."""
    named = baseline or ()
    check_type("baseline", named, Iterable, "the name of a system, or several names")
    return [baseline] if isinstance(baseline, str) else list(dict.fromkeys(named))


def pairs_of(systems: Sequence[str], baseline: str | Sequence[str] | None) -> tuple[Ints, Ints]:
    """Return all pairs of systems, or each system with each baseline. Two baselines are one pair, not two."""
    baselines = baseline_names(baseline)
    if not baselines:
        return all_pairs(len(systems))
    found: dict[tuple[int, int], None] = {}
    for name in baselines:
        others, place = against(place_of("baseline", name, systems), len(systems))
        pairs = zip(others.tolist(), place.tolist(), strict=True)
        found.update({(a, b): None for a, b in pairs if (b, a) not in found})
    a, b = np.array([*found], np.int64).reshape(-1, 2).T
    return a, b


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The outcome of a test for each pair under each measure."""

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    a: Ints  # index of the first system of each pair
    b: Ints  # index of the second system of each pair
    outcomes: tuple[Outcome, ...]  # one per measure
    p_adjusted: Floats  # [measure, pair]
    means: Floats  # [measure, system]
    alpha: float = 0.05
    metadata: dict[str, Any] = field(default_factory=dict)
    scores: Scores | None = None  # the scores that were compared
    groups: Mapping[str, Comparison] = field(default_factory=dict)  # the comparison of each group of queries

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences about queries that pairs lack, what the test cannot show, and pairs that one query decides."""
        from calipers.questions.compare.leave_one_out import influence, influence_warnings

        unit = self.metadata.get("unit", "query")
        lacking = [
            f"{incomplete} of {counted(pairs, 'pair')} {verb(incomplete, 'misses', 'miss')} {plural_of(unit)} under "
            f"{measure}, which are undefined for one of the systems "
            f"(the fewest have {fewest} of {self.metadata['queries']}); left out pairwise"
            for measure, incomplete, fewest, pairs in self._incomplete()
            if incomplete
        ]
        decided = []
        if self.scores is not None and "weighted" not in self.metadata:
            decided = influence_warnings(influence(self.scores, self), self, unit)
        return (*lacking, *self.limits, *decided)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Sentences about what the test cannot show here: too few queries or samples, and equal differences."""
        return (*self._too_few_queries(), *self._too_few_samples(), *self._equal_differences())

    def _too_few_queries(self) -> list[str]:
        """Return sentences about measures with too few queries for any p value to be significant."""
        test, unit = self.metadata["test"], self.metadata.get("unit", "query")
        measures: dict[int, list[str]] = {}
        for measure, outcome in zip(self.measures, self.outcomes, strict=True):
            if (most := int(outcome.n.max(initial=0))) > 1:
                measures.setdefault(most, []).append(measure)
        found = []
        for n, names in measures.items():
            least = self._corrected(smallest_p(test, n, len(self.systems)))
            if least < self.alpha:
                continue
            needed = n + 1
            while self._corrected(smallest_p(test, needed, len(self.systems))) >= self.alpha:
                needed += 1
            under = "" if len(names) == len(self.measures) else f" under {', '.join(names)}"
            found.append(
                f"no difference can be significant{under}: with {counted(n, unit)} the smallest p of the {test} test"
                f"{self._correction} is {least:.2g}; use at least {needed:,} {plural_of(unit)}{self._or_another_test}"
            )
        return found

    def _too_few_samples(self) -> list[str]:
        """Return a sentence if there are too few samples for any p value to be significant."""
        samples = self.metadata.get("samples", "all")
        if samples == "all" or (least := self._corrected(1 / (samples + 1))) < self.alpha:
            return []
        return [
            f"no difference can be significant: with {counted(samples, 'sample')} the smallest p{self._correction} is "
            f"{least:.2g}; use at least {math.floor(self._tests / self.alpha):,} samples{self._or_another_test}"
        ]

    @property
    def _tests(self) -> int:
        return len(self.a) if self.metadata["correction"] in TIMES_TESTS else 1

    @property
    def _correction(self) -> str:
        return f", corrected for {counted(self._tests, 'pair')}," if self._tests > 1 else ""

    @property
    def _or_another_test(self) -> str:
        return "" if "weighted" in self.metadata else ", or the t test"

    def _corrected(self, p: float) -> float:
        return min(self._tests * p, 1.0)

    def _equal_differences(self) -> list[str]:
        """Return a sentence about the pairs whose differences are all equal and not 0."""
        places = [(m, pair) for m in range(len(self.measures)) for pair in np.flatnonzero(self._equal(m)).tolist()]
        if not places:
            return []
        pairs = self.pairs
        named = [f"{' and '.join(pairs[pair])} under {self.measures[m]}" for m, pair in places[:NAMED]]
        more = [f"{len(places) - NAMED:,} more"] if len(places) > NAMED else []
        n = max(int(self.outcomes[m].n[pair]) for m, pair in places)
        test, unit = self.metadata["test"], self.metadata.get("unit", "query")
        return [equal_differences(", ".join(named + more), test, n, unit)]

    def _equal(self, m: int) -> Bools:
        """Return True for the pairs whose differences are all equal and not 0."""
        outcome = self.outcomes[m]
        plain = outcome.low if "effect" in self.metadata else outcome.effect
        undefined = outcome.p if self.metadata["test"] in STUDENTISED else plain
        return np.asarray(np.isnan(undefined) & (outcome.n > 1))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of the two systems of each pair."""
        return [(self.systems[a], self.systems[b]) for a, b in zip(self.a.tolist(), self.b.tolist(), strict=True)]

    @property
    def p(self) -> Floats:
        """The p values of the test before the correction: [measure, pair]."""
        return np.array([outcome.p for outcome in self.outcomes])

    @property
    def significant(self) -> Bools:
        """True for each adjusted p value below alpha: [measure, pair]."""
        return np.asarray(self.p_adjusted < self.alpha)

    def less_is_better(self, m: int) -> bool:
        """Return True if smaller values of the m-th measure are better, as for an error rate."""
        return self.measures[m] in self.metadata.get("lower", ())

    def improvement(self, m: int) -> Floats:
        """Return the advantage of the first system of each pair over the second under the m-th measure."""
        difference = self.outcomes[m].difference
        return -difference if self.less_is_better(m) else difference

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table of pairs: those of every test, and those that only this test has."""
        if self.metadata["test"] == "bayes":
            return tuple(
                name
                for each in COLUMNS
                for name in (BAYESIAN_COLUMNS if each == "p" else () if each == "p_adjusted" else (each,))
            )
        return (*COLUMNS, *EQUIVALENCE_COLUMNS) if "equivalence" in self.metadata else COLUMNS

    @property
    def verdicts(self) -> list[list[str]]:
        """The verdict for each measure and pair, if a margin was given: different, equal or undecided."""
        equal = np.array([outcome.more["p_equivalence_adjusted"] for outcome in self.outcomes]) < self.alpha
        place = np.where(equal, 1, np.where(self.significant, 0, 2))
        return [[VERDICTS[i] for i in row] for row in place.tolist()]

    def incomplete(self) -> Table:
        """Return for each measure how many pairs lack queries, and the smallest number of queries of a pair."""
        return Table(("measure", "incomplete", "fewest", "pairs"), tuple(self._incomplete()), self.metadata)

    def _incomplete(self) -> list[tuple[str, int, int, int]]:
        queries = self.metadata.get("queries", 0)
        return [
            (measure, int((outcome.n < queries).sum()), int(outcome.n.min(initial=queries)), len(outcome.n))
            for measure, outcome in zip(self.measures, self.outcomes, strict=True)
        ]

    @property
    def title(self) -> str:
        """The number of pairs, and how they were tested."""
        about = self.metadata
        sampled = ""
        if about.get("samples") == "all":
            sampled = ", all samples enumerated"
        elif "samples" in about:
            sampled = f", {counted(about['samples'], 'sample')}, seed {about['seed']}"
        corrected = "" if about["correction"] == "none" else f", corrected by {about['correction']}"
        within = f", rope {about['rope']:g}" if "rope" in about else ""
        pairs = counted(len(self.a), "pair")
        return f"{pairs}, {about['test']} test{within}{sampled}{corrected}, alpha {self.alpha:g}"

    @property
    def summary(self) -> str:
        """The systems that differ and the size of the difference, under the first two measures."""
        return in_short(self.conclusions())

    def conclusions(self) -> list[str]:
        """Return one sentence per measure about the systems that differ, and one about equivalence if tested."""
        from calipers.questions.compare.significance_marks import conclusions

        return conclusions(self)

    # -- tables ------------------------------------------------------------------------------------

    def tables(self) -> Tables:
        """Return the pairs, and for each measure a table of wins and a matrix of significant differences."""
        makers = {"pairs": self._pairs}
        makers |= {"groups": self.group_table} if self.groups else {}
        makers |= {f"wins-{name}": partial(self.wins, name) for name in self.measures}
        makers |= {f"matrix-{name}": partial(self.matrix, name) for name in self.measures}
        return Tables(makers)

    def _pairs(self) -> Table:
        """Return one row per measure and pair."""
        columns = self._columns()
        for name, kind in STATISTICS.items():
            if name in self.columns:
                columns[name] = [kind(value) for value in columns[name]]
        marks = {(row, COLUMNS.index("difference")): "*" for row in np.flatnonzero(self.significant.ravel()).tolist()}
        by_bayes = self.metadata["test"] == "bayes"
        meaning = (
            f"probability of being better above {1 - self.alpha:g}" if by_bayes else f"adjusted p < {self.alpha:g}"
        )
        return Table(
            self.columns,
            tuple(zip(*(columns[name] for name in self.columns), strict=True)),
            self.metadata,
            marks=marks,
            notes=(f"*: {'' if by_bayes else 'significant, '}{meaning}.",) if marks else (),
        )

    def group_table(self) -> Table:
        """Return one row per group of queries, measure and pair. p_adjusted is corrected over all groups."""
        if not self.groups:
            raise CalipersError("the systems were not compared by groups of queries, or no group has two queries")
        return stacked(("group",), {(group,): compared.table() for group, compared in self.groups.items()})

    def wins(self, measure: str | None = None) -> Table:
        """Return the systems, best first, with the number of systems that each beats and is beaten by, and letters.

        Systems that share a letter do not differ significantly. There are no letters if there is a baseline, or if
        more than fifty-two letters are needed.
        """
        m = chosen_measure(measure, self.measures)
        beats = self._beats(m)
        order = self.best_first(m)
        letters = self._letters(m, order)
        rows = [
            (self.systems[s], float(self.means[m, s]), int(beats[s].sum()), int(beats[:, s].sum()), letters.get(s, ""))
            for s in order
        ]
        columns = ("system", self.measures[m], "beats", "beaten by", "letters")
        return Table(columns, tuple(rows), self.metadata).with_best(columns[1:2], smallest=self.less_is_better(m))

    def matrix(self, measure: str | None = None) -> Table:
        """Return a matrix of systems: + if the row's system is significantly better than the column's, - if worse.

        A dot means that no difference is shown. Pairs without a p value are left blank.
        """
        m = chosen_measure(measure, self.measures)
        beats = self._beats(m)
        order = self.best_first(m)
        tested = np.zeros_like(beats)
        tested[self.a, self.b] = tested[self.b, self.a] = ~np.isnan(self.p_adjusted[m])
        rows = [
            (
                self.systems[s],
                *("+" if beats[s, t] else "-" if beats[t, s] else "." if tested[s, t] else "" for t in order),
            )
            for s in order
        ]
        legend = (
            "+, -: the system of the row is significantly better, worse than that of the column. "
            ".: no difference is shown. Blank: not tested."
        )
        return Table(("system", *(self.systems[t] for t in order)), tuple(rows), self.metadata, notes=(legend,))

    # -- pieces ------------------------------------------------------------------------------------

    def _columns(self) -> dict[str, list[Any]]:
        names = np.array(self.systems, dtype=object)
        times = len(self.measures)

        def joined(name: str) -> list[Any]:
            found: list[Any] = np.concatenate([getattr(outcome, name) for outcome in self.outcomes]).tolist()
            return found

        more: dict[str, list[Any]] = {
            name: np.concatenate([outcome.more[name] for outcome in self.outcomes]).tolist()
            for name in self.outcomes[0].more
        }
        if "equivalence" in self.metadata:
            more["verdict"] = [verdict for row in self.verdicts for verdict in row]
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
            **more,
        }

    def best_first(self, m: int) -> list[int]:
        """Return the indices of the systems, best mean first. Systems without a mean are last."""
        means = -self.means[m] if self.less_is_better(m) else self.means[m]
        order: list[int] = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable").tolist()
        return order

    def _beats(self, m: int) -> Bools:
        """Return [system, other system]: True if the first is significantly better."""
        beats = np.zeros((len(self.systems), len(self.systems)), bool)
        better = self.significant[m] & (self.improvement(m) > 0)
        worse = self.significant[m] & (self.improvement(m) < 0)
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
    """Group items so that two items share a group exactly if they do not differ (the compact letter display).

    The algorithm is insertion and absorption (Piepho, An algorithm for a letter-based representation of all-pairwise
    comparisons, Journal of Computational and Graphical Statistics 2004). It stops early if there are far more groups
    than letters.

    >>> letter_groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    [[0, 1], [1, 2]]
    """
    size = len(different)
    columns = [(1 << size) - 1]  # sets of items as bits; no set contains another
    for i, j in np.argwhere(np.triu(different)).tolist():
        both = 1 << i | 1 << j
        split = [column for column in columns if column & both == both]
        if not split:
            continue
        columns = [column for column in columns if column & both != both]
        for gone, left in ((1 << i, 1 << j), (1 << j, 1 << i)):
            others = [~column for column in columns if column & both == left]  # one of these may contain a new one
            parts = [column ^ gone for column in split]
            columns += [column for column in parts if all(column & other for other in others)]
        if len(columns) > 8 * len(LETTERS):
            break
    members = [[place for place in range(size) if column >> place & 1] for column in columns]
    return sorted(members)
