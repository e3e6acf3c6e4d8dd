"""Figures of several tools for the same rankings, the causes of their differences, and their consequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from calipers.conventions import PLAIN, TOOLS, Convention, convention
from calipers.errors import CalipersError, chosen_measure, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.options import ScoringOptions
from calipers.lists import Floats
from calipers.measures.exactness import exactness_notes, inexact_measures, sampling_errors
from calipers.questions.audit.attribution import Attribution, attribute
from calipers.questions.audit.matching_conventions import MatchingConventions, matching_conventions
from calipers.questions.audit.rescoring import Rescorer
from calipers.questions.compare.comparison import Comparison, compare
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Table
from calipers.statistics.correlation import kendall_b
from calipers.support.plurals import counted

SAME = 1e-9  # figures that differ by less are the same
KINDS = ("figures", "causes", "correlations", "swaps", "significance", "changes", "parts")  # tables per measure


@overload
def audit(
    evaluation: Evaluation,
    *,
    like: Sequence[str | Convention] = TOOLS,
    reference: str | Convention | None = None,
    alpha: float = 0.05,
    number: None = None,
    run: str | None = None,
) -> Audit: ...
@overload
def audit(
    evaluation: Evaluation,
    *,
    like: Sequence[str | Convention] = TOOLS,
    reference: str | Convention | None = None,
    alpha: float = 0.05,
    number: str | float,
    run: str | None = None,
) -> MatchingConventions: ...
def audit(
    evaluation: Evaluation,
    *,
    like: Sequence[str | Convention] = TOOLS,
    reference: str | Convention | None = None,
    alpha: float = 0.05,
    number: str | float | None = None,
    run: str | None = None,
) -> Audit | MatchingConventions:
    """Return the figures of other tools for the same rankings, and the causes of the differences.

    like: the tools: names of conventions, or conventions.
    reference: the convention that the tools are compared with; by default the options of the experiment.
    alpha: level of the tests that count significant differences.
    number: a printed figure. The result is then a list of the conventions that print it. Text keeps zeros at the end:
        "0.70" has two digits, 0.70 has one.
    run: the run that the number belongs to; by default any run.

    A tool that lacks a measure or cannot read the labels has no figure; a note says why. Labels below 0 count as 0 for
    tools that have no such labels.

    >>> import calipers as cal
    >>> labels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 0}}
    >>> exp = cal.Experiment(labels, {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}, "nDCG@10")
    >>> found = exp.audit(like=["letor4", "yahoo"])
    >>> print(found.figures())
    system  calipers  letor4   yahoo
    ------  --------  ------  ------
    run       0.3155  0.0000  0.8155
    <BLANKLINE>
    >>> found.attribution("yahoo").causes
    ('no relevant document',)
    >>> exp.audit(number=0.8155).tools_that_match()
    ('yahoo', 'lightgbm', 'xgboost', 'yahoo:stated')
    """
    if number is not None:
        return matching_conventions(evaluation, number=number, run=run)
    names = list(evaluation.measures)
    relevant = evaluation.options.relevant
    base = own_convention(evaluation.options) if reference is None else convention(reference).with_relevant(relevant)
    others = [each.with_relevant(relevant) for each in map(convention, like) if each.name != base.name]
    if PLAIN.name not in (base.name, *(each.name for each in others)):
        others.insert(0, PLAIN.with_relevant(relevant))  # the default of `evaluate` is always one of the columns
    if len({each.name for each in others}) != len(others):
        raise CalipersError("a tool is named twice")
    rescorer = Rescorer.of(evaluation)
    notes = rescorer.notes(evaluation)
    warn_user(notes, evaluation.warn)
    unavailable: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str], Floats] = {}
    means: dict[tuple[str, str], Floats] = {}
    attributions: dict[tuple[str, str], Attribution] = {}
    for name in names:
        for each in (base, *others):
            if reason := rescorer.refusal(name, each):
                unavailable[name, each.name] = reason
                if each is base:
                    raise CalipersError(f"{base.name} cannot be the reference for {name}: {reason}")
                continue
            values[name, each.name] = rescorer.scores(name, each).values[0]
            means[name, each.name] = rescorer.means(name, each)
            if each is not base:
                attributions[name, each.name] = attribute(rescorer, name, base, each)
    return Audit(
        measures=tuple(names),
        reference=base,
        tools=tuple(others),
        systems=rescorer.systems,
        queries=rescorer.queries,
        values=values,
        means=means,
        unavailable=unavailable,
        attributions=attributions,
        facts=_facts(rescorer, names),
        **_exactness(rescorer, names, base),
        raised={each.name: count for each in (base, *others) if (count := rescorer.raised(each))},
        alpha=alpha,
        reading_notes=tuple(notes),
    )


def own_convention(options: ScoringOptions) -> Convention:
    """Return the convention of an experiment: its `like` with the options that were given in addition.

    >>> own_convention(ScoringOptions(like="letor4")).name, own_convention(ScoringOptions(ties="docid")).name
    ('letor4', 'experiment')
    """
    like = options.like
    missing = like.missing if options.missing == "error" else options.missing_counts
    empty = like.empty if options.empty_plain == "error" else options.empty_plain
    given = like.with_(ties=options.ties, precision=options.precision, missing=missing, empty=empty)
    if given == like:
        return like
    return given.with_(name="experiment", sentence=f"{like.name}, with the options of the experiment")


def _exactness(rescorer: Rescorer, names: Sequence[str], reference: Convention) -> dict[str, Any]:
    measures = {name: rescorer.measure(name, reference) for name in names}
    errors = sampling_errors(measures.values(), rescorer.lists(reference))
    return {
        "exactness": inexact_measures(measures, errors),
        "errors": {name: errors[place] for place, name in enumerate(measures) if place in errors},
    }


def _facts(rescorer: Rescorer, names: Sequence[str]) -> dict[str, int]:
    """Return counts of the queries and lists that tools treat differently."""
    pool, length = rescorer.judgments.pool, rescorer.length
    cutoffs = [cutoff for name in names if (cutoff := rescorer.measure(name, PLAIN).cutoff) is not None]
    facts = {
        "queries": len(rescorer.queries),
        "queries without a relevant document": int((pool.relevant(rescorer.convention(PLAIN).rel) == 0).sum()),
        "lists": int(length.size),
        "lists with tied scores": int(rescorer.tied(PLAIN).sum()),
        "lists that a run lacks": int((length == 0).sum()),
    }
    for cutoff in dict.fromkeys(cutoffs):
        facts[f"lists of fewer than {counted(cutoff, 'document')}"] = int(((length < cutoff) & (length > 0)).sum())
    return facts


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """Figures of systems under the conventions of several tools, and the causes of their differences."""

    measures: tuple[str, ...]
    reference: Convention
    tools: tuple[Convention, ...]
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: dict[tuple[str, str], Floats]  # by measure and tool: [system, query]
    means: dict[tuple[str, str], Floats]  # [system]
    unavailable: dict[tuple[str, str], str]
    attributions: dict[tuple[str, str], Attribution]
    facts: dict[str, int]
    exactness: dict[str, str] = field(default_factory=dict)  # by measure that is not exact: the reason
    errors: dict[str, float] = field(default_factory=dict)  # by measure that is sampled: the largest standard error
    raised: dict[str, int] = field(default_factory=dict)  # by tool: number of labels below 0, which count as 0
    alpha: float = 0.05
    reading_notes: tuple[str, ...] = ()
    _compared: dict[str, Comparison] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title of the result."""
        tools = counted(len(self.tools) + 1, "tool")
        return f"{', '.join(self.measures)} of {counted(len(self.systems), 'system')} under {tools}"

    @property
    def summary(self) -> str:
        """Advice in one sentence: the figure to report, and the figures not to compare it with."""
        from calipers.questions.audit.attribution import advice

        return advice(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the input, and the reasons why tools have no figure."""
        said = [*self.reading_notes, *exactness_notes(self.exactness, self.errors)]
        said.append(", ".join(f"{count:,} {what}" for what, count in self.facts.items() if count))
        if self.raised:
            count = counted(max(self.raised.values()), "label")
            said.append(f"{count} below 0 counted as 0 for {', '.join(self.raised)}, which have no labels below 0")
        reasons: dict[str, list[str]] = {}
        for (name, tool), reason in self.unavailable.items():
            reasons.setdefault(reason, []).append(f"{tool} ({name})")
        return (*said, *(f"no figure for {', '.join(tools)}: {reason}" for reason, tools in reasons.items()))

    def plot(self, measure: str | None = None) -> Any:
        """Draw the score of each system under each tool. See `calipers.plot.tool_scores`."""
        from calipers.plot import tool_scores

        return tool_scores(self, measure)

    def tables(self) -> Tables:
        """Return the tables by name, such as `figures-nDCG@10`. Each kind has one table per measure."""
        return Tables(
            {f"{kind}-{name}": partial(getattr(self, kind), name) for kind in KINDS for name in self.measures}
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """Reference and tools, as the tables record them."""
        return {"reference": self.reference.name, "tools": [tool.name for tool in self.tools]}

    def attribution(self, tool: str, measure: str | None = None) -> Attribution:
        """Return the parts of the difference between a tool and the reference."""
        name = self._measure(measure)
        if (name, tool) in self.unavailable:
            raise CalipersError(f"{tool} has no figure for {name}: {self.unavailable[name, tool]}")
        if (name, tool) not in self.attributions:
            raise CalipersError(f"'{tool}' was not audited; there are {', '.join(each.name for each in self.tools)}")
        return self.attributions[name, tool]

    def figures(self, measure: str | None = None) -> Table:
        """Return the mean score of each system under each tool. The reference is the first tool."""
        name = self._measure(measure)
        columns = (self.reference.name, *(tool.name for tool in self.tools))
        rows = tuple(
            (system, *(float(self.means[name, tool][s]) if (name, tool) in self.means else "n/a" for tool in columns))
            for s, system in enumerate(self.systems)
        )
        return Table(("system", *columns), rows, self.metadata)

    def figures_by_tool(self, measure: str | None = None) -> Table:
        """Return the mean score of each system, with one row per tool. Tools that score alike share a row."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = [
            (", ".join(group), *self.means[name, group[0]].tolist()) for group in self._groups(name)
        ]
        return Table(("tools", *self.systems), tuple(rows), self.metadata)

    def causes(self, measure: str | None = None) -> Table:
        """Return the causes of each tool's difference from the reference: means over the systems, and ranges.

        Tools with the same figures and the same causes share a row.
        """
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = []
        for tools in self._alike(name):
            found = self.attributions[name, tools[0]]
            label = ", ".join(tools)
            for cause, (here, there), lists, part in zip(
                found.causes, found.settings, found.lists, found.parts, strict=True
            ):
                rows.append((label, cause, here, there, lists, *_spread(part)))
            rows.append((label, "difference", "", "", None, *_spread(found.difference)))
        columns = ("tools", "cause", self.reference.name, "tool", "lists", "part", "least", "most")
        return Table(columns, tuple(rows), self.metadata)

    def parts(self, measure: str | None = None) -> Table:
        """Return the part of each cause in the difference, per tool and system. The parts add up to the difference."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = []
        for tool in self._available(name)[1:]:
            found = self.attributions[name, tool]
            for s, system in enumerate(self.systems):
                rows += [(tool, system, c, float(found.parts[i, s])) for i, c in enumerate(found.causes)]
                rows.append((tool, system, "difference", float(found.difference[s])))
        return Table(("tool", "system", "cause", "part"), tuple(rows), self.metadata)

    def correlations(self, measure: str | None = None) -> Table:
        """Return Kendall's tau-b between the orders of the systems under each two tools. Equal tools share a row."""
        name = self._measure(measure)
        groups = self._groups(name)
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                ", ".join(group),
                *(kendall_b(self._rounded(name, group[0]), self._rounded(name, other[0])) for other in groups),
            )
            for group in groups
        )
        return Table(("tools", *(group[0] for group in groups)), rows, self.metadata)

    def swaps(self, measure: str | None = None) -> Table:
        """Return the pairs of systems that two tools order differently, with both differences."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = []
        for one, other in combinations(self._groups(name), 2):
            x, y = self._rounded(name, one[0]), self._rounded(name, other[0])
            for a, b in np.argwhere(_opposed(x, y)).tolist():
                better, worse = (a, b) if x[a] > x[b] else (b, a)
                rows.append(
                    (
                        one[0],
                        other[0],
                        self.systems[better],
                        self.systems[worse],
                        float(x[better] - x[worse]),
                        float(y[better] - y[worse]),
                    )
                )
        columns = ("tool", "other tool", "system", "other system", "difference", "other difference")
        return Table(columns, tuple(rows), self.metadata)

    def significance(self, measure: str | None = None) -> Table:
        """Return the number of significant differences per tool, and how many appear, vanish or change sign.

        The test is a paired t test with Holm's correction over the pairs.
        """
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = []
        for group in self._groups(name):
            changes = [change for change, *_ in self._changes(name, group[0])]
            compared = self._comparison(name)
            count = int(compared.significant[compared.measures.index(group[0])].sum()) if compared else 0
            kinds = (changes.count(kind) for kind in ("appears", "vanishes", "turns"))
            rows.append((", ".join(group), count, *kinds))
        return Table(("tools", "significant", "appear", "vanish", "turn"), tuple(rows), self.metadata)

    def changes(self, measure: str | None = None) -> Table:
        """Return the significant differences that appear, vanish or change sign under a tool."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = [
            (", ".join(group), *change) for group in self._groups(name) for change in self._changes(name, group[0])
        ]
        columns = ("tools", "difference", "system", "other system", f"p, {self.reference.name}", "p")
        return Table(columns, tuple(rows), self.metadata)

    def _measure(self, measure: str | None) -> str:
        return self.measures[chosen_measure(measure, self.measures)]

    def _available(self, name: str) -> list[str]:
        every = (self.reference.name, *(tool.name for tool in self.tools))
        return [tool for tool in every if (name, tool) in self.means]

    def _rounded(self, name: str, tool: str) -> Floats:
        """Return figures without rounding noise, which would order equal systems."""
        return np.round(self.means[name, tool], 12)

    def groups(self, measure: str | None = None) -> list[list[str]]:
        """Return the tools in groups. Tools of one group give every list the same score."""
        return self._groups(self._measure(measure))

    def _groups(self, name: str) -> list[list[str]]:
        return _grouped(self._available(name), partial(self._same, name))

    def _alike(self, name: str) -> list[list[str]]:
        """Return groups of tools, without the reference, that have the same figures and the same causes."""
        return _grouped(
            self._available(name)[1:],
            lambda a, b: (
                self._same(name, a, b) and self.attributions[name, a].causes == self.attributions[name, b].causes
            ),
        )

    def _same(self, name: str, a: str, b: str) -> bool:
        return np.allclose(self.values[name, a], self.values[name, b], rtol=0, atol=SAME, equal_nan=True)

    def _comparison(self, name: str) -> Comparison | None:
        """Return the comparison of every pair of systems under one tool of each group."""
        if len(self.systems) < 2 or len(self.queries) < 2:
            return None
        if name not in self._compared:
            tools = [group[0] for group in self._groups(name)]
            values = np.stack([self.values[name, tool] for tool in tools])
            scores = Scores(tuple(tools), self.systems, self.queries, values, np.zeros(values.shape, np.uint8))
            self._compared[name] = compare(scores, test="t", correction="holm", alpha=self.alpha, warn=False)
        return self._compared[name]

    def _changes(self, name: str, tool: str) -> list[tuple[str, str, str, float, float]]:
        compared = self._comparison(name)
        if compared is None:
            return []
        here, there = compared.measures.index(self.reference.name), compared.measures.index(tool)
        before, after = compared.significant[here], compared.significant[there]
        turned = before & after & (_signs(compared, here) != _signs(compared, there))
        found: list[tuple[str, str, str, float, float]] = []
        for kind, chosen in (("appears", after & ~before), ("vanishes", before & ~after), ("turns", turned)):
            for pair in np.flatnonzero(chosen).tolist():
                a, b = compared.pairs[pair]
                p = compared.p_adjusted
                found.append((kind, a, b, PValue(p[here, pair]), PValue(p[there, pair])))
        return found

    @cached_property
    def largest_swap(self) -> tuple[str, str, str, int] | None:
        """Measure and two tools between which most pairs of systems change places, and the number of pairs."""
        found = [
            (int(_opposed(self._rounded(name, one[0]), self._rounded(name, other[0])).sum()), name, one, other)
            for name in self.measures
            for one, other in combinations(self._groups(name), 2)
        ]
        count, name, one, other = max(found, key=lambda each: each[0], default=(0, "", [""], [""]))
        return (name, one[0], other[0], count) if count else None


def _opposed(x: Floats, y: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.triu((x[:, None] - x) * (y[:, None] - y) < 0))


def _signs(compared: Comparison, place: int) -> NDArray[Any]:
    return np.asarray(np.sign(compared.outcomes[place].difference))


def _grouped(names: Sequence[str], alike: Callable[[str, str], bool]) -> list[list[str]]:
    groups: list[list[str]] = []
    for name in names:
        for group in groups:
            if alike(group[0], name):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _spread(values: Floats) -> tuple[float, float, float]:
    return float(values.mean()), float(values.min()), float(values.max())
