"""Every tool's figures for the same systems, why they differ, and whether it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.auditing.attribution import Attribution, attribute
from calipers.auditing.rescoring import Rescorer
from calipers.collection.mismatch import notes_on_matching
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.conventions import PLAIN, TOOLS, Convention, convention
from calipers.errors import CalipersError, chosen_measure, warn_user
from calipers.evaluation.inputs import as_judgments, as_runs, notes_on_reading
from calipers.lists import Floats
from calipers.measures.exactness import inexact_measures, sampling_errors
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.plurals import counted
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Table
from calipers.stats.comparison import Comparison, compare
from calipers.stats.correlation import kendall_b

SAME = 1e-9  # figures that differ by less are the same


def audit(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    like: Sequence[str | Convention] = TOOLS,
    reference: str | Convention = PLAIN,
    depth: int | None = None,
    alpha: float = 0.05,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> Audit:
    """What each tool makes of the same rankings, and why.

    like: the tools: names of conventions, TOML files or conventions. reference: what the others are compared with, by
    default what `evaluate` does, which has a column in any case. A tool that lacks a measure, or could not read the
    labels, has no figure, and `unavailable` says why; labels below 0 count as 0 for a tool that has none (`raised`).

    >>> labels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 0}}
    >>> found = audit(labels, {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}, "nDCG@10", like=["letor4", "yahoo"])
    >>> print(found.figures())
    system  calipers  letor4   yahoo
    ------  --------  ------  ------
    run       0.3155  0.0000  0.8155
    <BLANKLINE>
    >>> found.attribution("yahoo").causes
    ('no relevant document',)
    """
    names = [name for name, _ in parse_all(measures)]
    base = convention(reference)
    others = [each for each in map(convention, like) if each.name != base.name]
    if PLAIN.name not in (base.name, *(each.name for each in others)):
        others.insert(0, PLAIN)  # what `evaluate` prints is one of the columns, whatever the others are compared with
    if len({each.name for each in others}) != len(others):
        raise CalipersError("a tool is named twice")
    known = as_judgments(judgments)
    systems = as_runs(runs)
    rescorer = Rescorer(known, systems, depth, jobs, progress)
    matching = notes_on_matching(known, dict(zip(rescorer.systems, systems, strict=True)), rescorer.retrieved(PLAIN))
    warn_user([*notes_on_reading(known, systems), *matching], warn)
    unavailable: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str], Floats] = {}
    means: dict[tuple[str, str], Floats] = {}
    attributions: dict[tuple[str, str], Attribution] = {}
    for name in names:
        for each in (base, *others):
            if reason := _refusal(rescorer, name, each):
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
    )


def _refusal(rescorer: Rescorer, name: str, tool: Convention) -> str | None:
    """Why a tool has no figure, or None."""
    try:
        measure = rescorer.measure(name, tool)
        if not tool.offers(measure):
            return f"{tool.name} has no {measure!r}"
        if reason := tool.refusal(rescorer.known(tool), [measure]):
            return reason
        rescorer.scores(name, tool)
    except CalipersError as error:
        return error.message
    return None


def _exactness(rescorer: Rescorer, names: Sequence[str], reference: Convention) -> dict[str, Any]:
    measures = {name: rescorer.measure(name, reference) for name in names}
    errors = sampling_errors(measures.values(), rescorer.lists(reference))
    return {
        "exactness": inexact_measures(measures, errors),
        "errors": {name: errors[place] for place, name in enumerate(measures) if place in errors},
    }


def _facts(rescorer: Rescorer, names: Sequence[str]) -> dict[str, int]:
    """What there is that tools treat differently."""
    pool, length = rescorer.judgments.pool, rescorer.length
    cutoffs = [cutoff for name in names if (cutoff := parse_all([name])[0][1].cutoff) is not None]
    facts = {
        "queries": len(rescorer.queries),
        "queries without a relevant document": int((pool.relevant(1) == 0).sum()),
        "lists": int(length.size),
        "lists with tied scores": int(rescorer.tied(PLAIN).sum()),
        "lists that a run lacks": int((length == 0).sum()),
    }
    for cutoff in dict.fromkeys(cutoffs):
        facts[f"lists of fewer than {counted(cutoff, 'document')}"] = int(((length < cutoff) & (length > 0)).sum())
    return facts


@dataclass(frozen=True, eq=False)
class Audit:
    """The figures of systems under tools, and what makes them differ from those of the reference."""

    measures: tuple[str, ...]
    reference: Convention
    tools: tuple[Convention, ...]
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: dict[tuple[str, str], Floats]  # of a measure and a tool: [system, query]
    means: dict[tuple[str, str], Floats]  # [system]
    unavailable: dict[tuple[str, str], str]
    attributions: dict[tuple[str, str], Attribution]
    facts: dict[str, int]
    exactness: dict[str, str] = field(default_factory=dict)  # of measures that are not exact: why
    errors: dict[str, float] = field(default_factory=dict)  # of measures that are sampled: the largest standard error
    raised: dict[str, int] = field(default_factory=dict)  # of tools: labels that are too low, and count as 0
    alpha: float = 0.05
    _compared: dict[str, Comparison] = field(default_factory=dict, repr=False)

    @property
    def metadata(self) -> dict[str, Any]:
        return {"reference": self.reference.name, "tools": [tool.name for tool in self.tools]}

    def attribution(self, tool: str, measure: str | None = None) -> Attribution:
        """The parts of the difference between a tool and the reference."""
        name = self._measure(measure)
        if (name, tool) in self.unavailable:
            raise CalipersError(f"{tool} has no figure for {name}: {self.unavailable[name, tool]}")
        if (name, tool) not in self.attributions:
            raise CalipersError(f"'{tool}' was not audited; there are {', '.join(each.name for each in self.tools)}")
        return self.attributions[name, tool]

    # -- tables ------------------------------------------------------------------------------------

    def figures(self, measure: str | None = None) -> Table:
        """Systems x tools, the reference first."""
        name = self._measure(measure)
        columns = (self.reference.name, *(tool.name for tool in self.tools))
        rows = tuple(
            (system, *(float(self.means[name, tool][s]) if (name, tool) in self.means else "n/a" for tool in columns))
            for s, system in enumerate(self.systems)
        )
        return Table(("system", *columns), rows, self.metadata)

    def causes(self, measure: str | None = None) -> Table:
        """What makes each tool differ from the reference: means of the parts over the systems, and their range.

        Tools with the same figures for the same causes share a line.
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
        columns = ("tools", "cause", self.reference.name, "they", "lists", "part", "least", "most")
        return Table(columns, tuple(rows), self.metadata)

    def parts(self, measure: str | None = None) -> Table:
        """The part of each cause in the difference of each tool and system; they add up to it."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = []
        for tool in self._available(name)[1:]:
            found = self.attributions[name, tool]
            for s, system in enumerate(self.systems):
                rows += [(tool, system, c, float(found.parts[i, s])) for i, c in enumerate(found.causes)]
                rows.append((tool, system, "difference", float(found.difference[s])))
        return Table(("tool", "system", "cause", "part"), tuple(rows), self.metadata)

    def correlations(self, measure: str | None = None) -> Table:
        """Kendall's tau-b between the orders of the systems under each two tools; alike ones share a line."""
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
        """The pairs of systems that two tools order differently, and both differences."""
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
        """Of each tool: the pairs that differ significantly, those where that appears or vanishes, or turns round.

        A paired t test, Holm's correction over the pairs.
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
        """The significant differences between two systems that a tool makes appear, vanish or turn round."""
        name = self._measure(measure)
        rows: list[tuple[Cell, ...]] = [
            (", ".join(group), *change) for group in self._groups(name) for change in self._changes(name, group[0])
        ]
        columns = ("tools", "difference", "system", "other system", f"p, {self.reference.name}", "p")
        return Table(columns, tuple(rows), self.metadata)

    def advice(self) -> str:
        """One sentence: what to report, and what not to compare."""
        from calipers.auditing.advice import advice

        return advice(self)

    def __repr__(self) -> str:
        shape = f"{counted(len(self.systems), 'system')} x {len(self.tools) + 1} tools, {', '.join(self.measures)}"
        return f"<Audit: {shape}>\n" + "\n".join(str(self.figures(name)) for name in self.measures)

    def _repr_html_(self) -> str:
        tables = "".join(
            f"<h4>{escape(name)}</h4>{self.figures(name)._repr_html_()}{self.causes(name)._repr_html_()}"
            for name in self.measures
        )
        return f"{tables}<p>{escape(self.advice())}</p>"

    # -- pieces ------------------------------------------------------------------------------------

    def _measure(self, measure: str | None) -> str:
        return self.measures[chosen_measure(measure, self.measures)]

    def _available(self, name: str) -> list[str]:
        every = (self.reference.name, *(tool.name for tool in self.tools))
        return [tool for tool in every if (name, tool) in self.means]

    def _rounded(self, name: str, tool: str) -> Floats:
        """Figures without the noise of sums of floats, which would tell equal systems apart."""
        return np.round(self.means[name, tool], 12)

    def groups(self, measure: str | None = None) -> list[list[str]]:
        """The tools, those that score every list alike together."""
        return self._groups(self._measure(measure))

    def _groups(self, name: str) -> list[list[str]]:
        return _grouped(self._available(name), lambda a, b: self._same(name, a, b))

    def _alike(self, name: str) -> list[list[str]]:
        """Tools other than the reference that have the same figures for the same causes."""
        return _grouped(
            self._available(name)[1:],
            lambda a, b: (
                self._same(name, a, b) and self.attributions[name, a].causes == self.attributions[name, b].causes
            ),
        )

    def _same(self, name: str, a: str, b: str) -> bool:
        return np.allclose(self.values[name, a], self.values[name, b], rtol=0, atol=SAME, equal_nan=True)

    def _comparison(self, name: str) -> Comparison | None:
        """Every pair of systems under one tool of each group."""
        if len(self.systems) < 2 or len(self.queries) < 2:
            return None
        if name not in self._compared:
            tools = [group[0] for group in self._groups(name)]
            values = np.stack([self.values[name, tool] for tool in tools])
            scores = Scores(tuple(tools), self.systems, self.queries, values, np.zeros(values.shape, np.uint8))
            self._compared[name] = compare(scores, "t", "holm", alpha=self.alpha, warn=False)
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
        """The measure and the two tools between which most pairs of systems change places, and how many."""
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
