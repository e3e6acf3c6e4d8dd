"""Repeated runs of one system (seeds, folds): variance components, and tests that account for the variance of repeats.

    score = mean + system + query + system x query + repeat (within its system) + residual

query, system x query, repeat and residual are random effects. The residual is the effect of a repeat on a single query.
If all systems have the same number of repeats, the variances follow from the mean squares of the analysis of variance
(Q queries, R repeats, S systems):

    E MS(residual)     = residual
    E MS(repeat)       = residual + Q repeat
    E MS(interaction)  = residual + R interaction
    E MS(query)        = residual + R interaction + S R query
    E MS(system)       = residual + R interaction + Q repeat + Q R system

Otherwise they are estimated from the mixed model by restricted maximum likelihood. The variance of the difference of
two systems is

    2 interaction / Q + 2 repeat / R + 2 residual / (Q R)

More queries do not reduce the second term, and more repeats do not reduce the first term.

Searle, Casella & McCulloch, Variance components, 1992. Satterthwaite, An approximate distribution of estimates of
variance components, Biometrics Bulletin 1946.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.compare.comparison import Comparison, pairs_of
from calipers.results.averages import known_mean
from calipers.results.messages import refuse_ambiguous_names
from calipers.results.result import Result, Tables
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.scores import Reason, Scores
from calipers.results.tables import Cell, Table
from calipers.statistics.correction import CORRECTIONS, correction_name
from calipers.statistics.differences import Differences, ratio
from calipers.statistics.significance import Outcome
from calipers.support.checks import check_alpha, check_level, check_type
from calipers.support.choices import Correction
from calipers.support.plurals import counted

COMPONENTS = ("query", "system", "repeat", "interaction", "residual")
COLUMNS = (
    "measure",
    *COMPONENTS,
    "queries",
    "repeats",
    "error",
    "error_2x_queries",
    "error_2x_repeats",
    "buy",
)
MOST_RUNS = 300  # largest number of runs for the mixed model, because the time grows with its cube


# -- runs that are repeats of one system -----------------------------------------------------------------------------


def groups_by_pattern(runs: Sequence[str], pattern: str) -> dict[str, tuple[str, str]]:
    """Return the system and the repeat of each run, from its name. A run that does not match is a separate system.

    pattern: a text with {system} and {repeat}.

    >>> groups_by_pattern(["bert-s1", "bert-s2", "bm25"], "{system}-s{repeat}")
    {'bert-s1': ('bert', '1'), 'bert-s2': ('bert', '2'), 'bm25': ('bm25', '')}
    """
    parts = re.split(r"\{(system|repeat)\}", pattern)
    if sorted(parts[1::2]) != ["repeat", "system"]:
        raise CalipersError(
            f"the pattern of repeats '{pattern}' does not say where system and repeat are: '{{system}}-seed{{repeat}}'"
        )
    before, first, between, second, after = parts
    expression = rf"{re.escape(before)}(?P<{first}>.+){re.escape(between)}(?P<{second}>.+){re.escape(after)}"
    found = {}
    for run in runs:
        match = re.fullmatch(expression, run)
        found[run] = (match["system"], match["repeat"]) if match else (run, "")
    if len({system for system, _ in found.values()}) == len(found):
        raise CalipersError(f"by the pattern '{pattern}', no system has more than one run ({', '.join(runs[:5])})")
    return found


# -- variances and tests ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedRuns(Result):
    """Variance components of the scores of repeated runs, and a comparison of the systems."""

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    runs: tuple[tuple[int, ...], ...]  # indices of the runs of each system
    values: tuple[Floats, ...]  # [run, query] for each measure, without queries that are undefined for a run
    comparison: Comparison  # of the systems
    scores: Scores  # the means over the repeats: [measure, system, query]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def repeats(self) -> tuple[int, ...]:
        """The number of runs of each system."""
        return tuple(map(len, self.runs))

    @property
    def balanced(self) -> bool:
        """True if all systems have the same number of runs."""
        return len(set(self.repeats)) == 1

    @cached_property
    def components(self) -> tuple[dict[str, float], ...]:
        """The variances of query, system, repeat, interaction (system x query) and residual, for each measure."""
        if self.balanced:
            return tuple(components_by_anova(values[np.array(self.runs)]) for values in self.values)
        return tuple(components_by_reml(values, self.runs) for values in self.values)

    @property
    def title(self) -> str:
        """The systems and their numbers of runs."""
        runs = ", ".join(
            f"{system} {count}" for system, count in zip(self.systems[:10], self.repeats[:10], strict=True)
        )
        more = f" and {len(self.systems) - 10} more" if len(self.systems) > 10 else ""
        return (
            f"{counted(sum(self.repeats), 'run')} of {counted(len(self.systems), 'system')} ({runs}{more}); a run's "
            "luck is a random effect"
        )

    @property
    def summary(self) -> str:
        """The systems that differ, and the effect of more queries or more repeats, under the first measure."""
        row = self.table().row(self.measures[0])
        buy = row["buy"]
        return (
            f"{self.comparison.conclusions()[0]}. Twice as many {buy} reduce the standard error of a difference from "
            f"{row['error']:.4f} to {row[f'error_2x_{buy}']:.4f}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The number of queries that were left out under each measure."""
        queries = self.metadata["queries"]
        return tuple(
            f"{queries - values.shape[1]} of {counted(queries, 'query')} undefined for a run under {measure}; left out"
            for measure, values in zip(self.measures, self.values, strict=True)
            if values.shape[1] < queries
        )

    def tables(self) -> Tables:
        """Return the variances, and the tables of the comparison of the systems."""
        compared = self.comparison.tables()
        return Tables({"variance": self.variance, **{name: partial(compared.__getitem__, name) for name in compared}})

    def variance(self) -> Table:
        """Return the variances, and the standard error of a difference now and with twice the queries or repeats.

        The column `buy` names the one of the two that helps more. Negative estimates of variances become 0. If systems
        have unequal numbers of repeats, the harmonic mean is used.
        """
        repeats = len(self.repeats) / sum(1 / r for r in self.repeats)
        rows: list[tuple[Cell, ...]] = []
        for name, values, of in zip(self.measures, self.values, self.components, strict=True):
            n = values.shape[1]
            now, queries, runs = (error_of(of, n * q, repeats * r) for q, r in ((1, 1), (2, 1), (1, 2)))
            buy = "queries" if queries <= runs else "repeats"
            rows.append((name, *(of[part] for part in COMPONENTS), n, _whole(repeats), now, queries, runs, buy))
        method = "analysis of variance" if self.balanced else "restricted maximum likelihood"
        return Table(COLUMNS, tuple(rows), {**self.metadata, "method": method})


def repeated_runs(
    scores: ScoresLike,
    *,
    repeats: str,
    correction: Correction | None = "holm",
    baseline: str | None = None,
    alpha: float = 0.05,
    level: float | None = None,
) -> RepeatedRuns:
    """Compare systems that have several runs each, with the repeat as a random effect.

    repeats: a pattern of the runs' names, such as "{system}-seed{repeat}". A run that does not match is a separate
        system.

        t = (mean_a - mean_b) / SE,  SE^2 = A + B - C
        A = variance over queries of the mean difference / Q,          Q - 1 degrees of freedom
        B = variance over repeats of a run's mean x (1/R_a + 1/R_b),   R_a + R_b - 2
        C = residual mean square x (1/R_a + 1/R_b) / Q,                (R_a + R_b - 2)(Q - 1)

    The degrees of freedom are Satterthwaite's. If B < C, SE^2 is A. With one run per system it is the paired t test.
    Queries that are undefined for any run are left out.

    >>> import calipers as cal
    >>> values = [[0.5, 0.3, 0.6], [0.52, 0.3, 0.55], [0.4, 0.2, 0.5], [0.41, 0.25, 0.45]]
    >>> scores = cal.as_scores(values, systems=["new-1", "new-2", "old-1", "old-2"], measure="AP")
    >>> found = repeated_runs(scores, repeats="{system}-{repeat}")
    >>> round(float(found.comparison.p[0, 0]), 4)
    0.0097
    """
    scores = as_scores(scores)
    refuse_ambiguous_names(scores, [] if baseline is None else [baseline])
    check_type("repeats", repeats, str, "a pattern such as {system}-{repeat}")
    groups = groups_by_pattern(scores.systems, repeats)
    alpha = check_alpha(alpha)
    level = 1 - alpha if level is None else check_level(level)
    correct = correction_name(correction)
    systems = tuple(dict.fromkeys(groups[run][0] for run in scores.systems))
    if len(systems) < 2:
        raise CalipersError(f"all runs are repeats of one system ({systems[0]}): nothing to compare it with")
    runs = tuple(tuple(i for i, run in enumerate(scores.systems) if groups[run][0] == system) for system in systems)
    values, means = [], np.full((len(scores.measures), len(systems), len(scores.queries)), np.nan)
    a, b = pairs_of(systems, baseline)
    outcomes = []
    for m, (measure, of_measure) in enumerate(zip(scores.measures, scores.values, strict=True)):
        complete = ~np.isnan(of_measure).any(axis=0)
        kept = of_measure[:, complete]
        if kept.shape[1] < 2:
            raise CalipersError(
                f"fewer than two queries are defined for every run under {measure}: nothing can be tested"
            )
        values.append(kept)
        of_systems = np.array([kept[list(places)].mean(axis=0) for places in runs])
        means[m][:, complete] = of_systems
        outcomes.append(_tested(kept, runs, of_systems, a, b, level))
    about = {
        "test": "t",
        "repeats": tuple(map(len, runs)),
        "correction": correct,
        "baseline": baseline,
        "alpha": alpha,
        "level": level,
        "queries": len(scores.queries),
        "like": scores.metadata.get("like"),
    }
    comparison = Comparison(
        measures=scores.measures,
        systems=systems,
        a=a,
        b=b,
        outcomes=tuple(outcomes),
        p_adjusted=CORRECTIONS[correct](np.array([outcome.p for outcome in outcomes])),
        means=known_mean(means, axis=2),
        alpha=alpha,
        metadata=about,
    )
    reasons = np.where(np.isnan(means), Reason.MISSING, 0).astype(np.uint8)
    averaged = Scores(
        scores.measures, systems, scores.queries, means, reasons, scores.definitions, None, dict(scores.metadata)
    )
    return RepeatedRuns(scores.measures, systems, runs, tuple(values), comparison, averaged, about)


def _tested(values: Floats, runs: Sequence[Sequence[int]], means: Floats, a: Any, b: Any, level: float) -> Outcome:
    from scipy.special import stdtr, stdtrit

    n = values.shape[1]
    r = np.array([len(places) for places in runs])
    # For each system: sums of squares of the runs' means around their mean, and of the residuals.
    between, residual = np.zeros(len(runs)), np.zeros(len(runs))
    for s, places in enumerate(runs):
        own = values[list(places)]
        main = own.mean(axis=1) - own.mean()
        between[s] = np.square(main).sum()
        residual[s] = np.square(own - means[s] - main[:, None]).sum()
    free = (r[a] - 1) + (r[b] - 1)
    share = 1 / r[a] + 1 / r[b]
    differences = Differences.of(means, a, b)
    mean, spread = differences.mean, differences.deviation
    by_query = np.square(spread) / n
    some = np.maximum(free, 1)
    by_repeat = np.where(free > 0, (between[a] + between[b]) / some * share, 0.0)
    doubly = np.where(free > 0, (residual[a] + residual[b]) / (some * (n - 1)) * share / n, 0.0)
    more = by_repeat > doubly
    square = np.where(more, by_query + by_repeat - doubly, by_query)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.square(by_query) / (n - 1) + np.square(by_repeat) / some + np.square(doubly) / (some * (n - 1))
        freedom = np.where(more, np.square(square) / parts, n - 1.0)
    freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), n - 1.0)
    error = np.sqrt(square)
    t = ratio(mean, error)
    width = np.where(np.isnan(t), np.nan, stdtrit(freedom, (1 + level) / 2) * error)
    return Outcome(
        difference=mean,
        low=mean - width,
        high=mean + width,
        p=np.minimum(2 * stdtr(freedom, -np.abs(t)), 1.0),
        effect=ratio(mean, spread),
        n=np.full(len(mean), n),
    )


def components_by_anova(values: Floats) -> dict[str, float]:
    """Return the variances, computed from the mean squares of scores of system x repeat x query.

    >>> values = np.array([[[0.5, 0.3, 0.6], [0.52, 0.3, 0.55]], [[0.4, 0.2, 0.5], [0.41, 0.25, 0.45]]])
    >>> {name: round(value, 5) for name, value in components_by_anova(values).items()}["system"]
    0.00446
    """
    s, r, q = values.shape
    whole, system, query = values.mean(), values.mean(axis=(1, 2)), values.mean(axis=(0, 1))
    cell, run = values.mean(axis=1), values.mean(axis=2)
    of_system = r * q * np.square(system - whole).sum() / (s - 1)
    of_query = s * r * np.square(query - whole).sum() / (q - 1)
    interaction = cell - system[:, None] - query + whole
    of_interaction = r * np.square(interaction).sum() / ((s - 1) * (q - 1))
    if r > 1:
        of_repeat = q * np.square(run - system[:, None]).sum() / (s * (r - 1))
        left = values - cell[:, None] - run[:, :, None] + system[:, None, None]
        of_residual = np.square(left).sum() / (s * (r - 1) * (q - 1))
    else:
        of_repeat = of_residual = 0.0
    found = {
        "query": (of_query - of_interaction) / (s * r),
        "system": (of_system - of_interaction - of_repeat + of_residual) / (q * r),
        "repeat": (of_repeat - of_residual) / q,
        "interaction": (of_interaction - of_residual) / r,
        "residual": of_residual,
    }
    return {name: max(float(value), 0.0) for name, value in found.items()}


def components_by_reml(values: Floats, runs: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return the variances by restricted maximum likelihood, from scores of run x query and the runs of each system.

    As every run has every query, the likelihood falls into two parts: Q - 1 contrasts between queries, each with the
    covariance of runs V = query J + interaction B + residual I, and the runs' means, with V + Q (system B + repeat I);
    J is all ones, and B is one where two runs are of the same system.
    """
    from scipy.optimize import minimize

    count, n = values.shape
    if count > MOST_RUNS:
        raise CalipersError(
            f"{counted(count, 'run')} of unequal systems are too many for a mixed model (at most {MOST_RUNS})"
        )
    system = np.empty(count, np.int64)
    for s, places in enumerate(runs):
        system[list(places)] = s
    same = (system[:, None] == system).astype(np.float64)
    ones, one = np.ones((count, count)), np.eye(count)
    spread = float(values.std())
    if spread == 0:
        return dict.fromkeys(COMPONENTS, 0.0)
    scaled = (values - values.mean()) / spread
    mean = scaled.mean(axis=1)
    contrasts = (scaled - mean[:, None]) @ (scaled - mean[:, None]).T

    def lost(logarithms: Floats) -> float:
        query, between, repeat, interaction, residual = np.exp(logarithms)
        inner = query * ones + interaction * same + residual * one
        outer = inner + n * (between * same + repeat * one)
        inverse = np.linalg.inv(outer)
        weight = inverse.sum()
        left = mean - inverse.sum(axis=0) @ mean / weight
        return float(
            (n - 1) * np.linalg.slogdet(inner)[1]
            + np.trace(np.linalg.solve(inner, contrasts))
            + np.linalg.slogdet(outer)[1]
            + math.log(n * weight)
            + n * left @ inverse @ left
        )

    start = np.log(np.array([0.4, 0.1, 0.05, 0.2, 0.25]))
    found = minimize(lost, start, method="L-BFGS-B", bounds=[(math.log(1e-9), math.log(1e3))] * len(start), tol=1e-12)
    variances = np.exp(found.x) * spread**2
    negligible = 1e-7 * variances.sum()
    named = zip(COMPONENTS, variances.tolist(), strict=True)
    return {name: value if value > negligible else 0.0 for name, value in named}


def error_of(components: Mapping[str, float], queries: float, repeats: float) -> float:
    """Return the standard error of the difference between two systems with these numbers of queries and repeats."""
    variance = (
        components["interaction"] / queries
        + components["repeat"] / repeats
        + components["residual"] / (queries * repeats)
    )
    return math.sqrt(2 * variance)


def _whole(number: float) -> float | int:
    return round(number) if abs(number - round(number)) < 1e-9 else number
