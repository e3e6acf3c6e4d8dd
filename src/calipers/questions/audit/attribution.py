"""Causes of the difference between the figures of two conventions, and advice in one sentence.

Two conventions differ in a few switches. Turning one switch after the other leads from one figure to the other figure.
The effect of a switch depends on the order of turning, so we take the mean over all orders, which is Shapley's value.
The parts add up to the difference:

    part_i = sum over sets S of other switches of |S|! (m - |S| - 1)! / m! * (v(S and i) - v(S))

Shapley, A value for n-person games, 1953.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.conventions import Convention
from calipers.lists import Floats
from calipers.questions.audit.rescoring import Rescorer
from calipers.questions.audit.terms import order_reach
from calipers.results.result import protect_arrays
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.questions.audit.tool_audit import Audit


NOISE = 1e-13  # parts below this are rounding

# Switches, and the fields of a convention that each one sets.
SWITCHES: dict[str, tuple[str, ...]] = {
    "no relevant document": ("empty",),
    "lists shorter than k": ("short",),
    "tied scores": ("ties", "precision"),
    "gain": ("gain",),
    "discount": ("discount",),
    "relevance level": ("rel",),
    "where the ideal comes from": ("ideal",),
    "missing queries": ("missing",),
    "mean over cutoffs": ("averaged",),
    "divisor of AP@k": ("norm",),
    "largest grade": ("max_grade",),
    "fractions of grades": ("whole_grades",),
    "grades below 0": ("labels",),
    "documents named as their query": ("drops_query",),
    "further parameters": ("parameters",),
}


@dataclass(frozen=True, eq=False)
class Attribution:
    """Part of each cause in the difference between a tool and the reference, for each system.

    A switch without an effect on these lists is not a cause.
    """

    causes: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]  # by cause: the choices of the reference and of the tool
    lists: tuple[int, ...]  # by cause: number of lists that it affects
    parts: Floats  # [cause, system]
    difference: Floats  # by system: figure of the tool minus figure of the reference

    def __post_init__(self) -> None:
        protect_arrays(self)


def attribute(rescorer: Rescorer, name: str, reference: Convention, tool: Convention) -> Attribution:
    """Divide the difference between the figures of a tool and of the reference among its causes."""
    causes = [cause for cause in SWITCHES if _matters(rescorer, name, reference, tool, cause)]
    value = {
        chosen: rescorer.means(name, turned(reference, tool, chosen))
        for size in range(len(causes) + 1)
        for chosen in combinations(causes, size)
    }
    parts = shapley(causes, lambda chosen: value[chosen]) if causes else np.zeros((0, len(rescorer.systems)))
    moving = [place for place, part in enumerate(parts) if np.abs(part).max(initial=0.0) > NOISE]
    found = [causes[place] for place in moving]
    return Attribution(
        causes=tuple(found),
        settings=tuple((chosen(reference, name, cause), chosen(tool, name, cause)) for cause in found),
        lists=tuple(_concerned(rescorer, name, reference, tool, cause) for cause in found),
        parts=parts[moving],
        difference=value[tuple(causes)] - value[()],
    )


def shapley(causes: Sequence[str], value: Callable[[tuple[str, ...]], Floats]) -> Floats:
    """Return the part of each cause: [cause, ...].

    value: gives the value of a set of causes, which keeps the order of `causes`.

    >>> shapley(["a", "b"], lambda chosen: np.array([3.0 * ("a" in chosen) + 2.0 * (len(chosen) == 2)]))
    array([[4.],
           [1.]])
    """
    count = len(causes)
    parts = []
    for cause in causes:
        part = np.zeros_like(value(()))
        for size in range(count):
            weight = factorial(size) * factorial(count - size - 1) / factorial(count)
            for others in combinations([each for each in causes if each != cause], size):
                together = tuple(each for each in causes if each == cause or each in others)
                part = part + weight * (value(together) - value(others))
        parts.append(part)
    return np.array(parts)


def turned(reference: Convention, tool: Convention, causes: Sequence[str]) -> Convention:
    """Return the reference with the choices of the tool in these switches."""
    fields = [each for cause in causes for each in SWITCHES[cause]]
    return reference.with_(**{each: getattr(tool, each) for each in fields})


def chosen(convention: Convention, name: str, cause: str) -> str:
    """Return the choice of a convention in one switch, in a few words."""
    values: list[Any] = [getattr(convention, field) for field in SWITCHES[cause]]
    if cause == "lists shorter than k":
        from calipers.measures.grammar import parse

        values = [convention.short_for(parse(name).name)]
    if cause == "grades below 0":
        return "as they are" if convention.labels.lowest is None else f"as {convention.labels.lowest:g}"
    if cause == "tied scores":
        return convention.ties + (", float32" if convention.precision == "single" else "")
    if cause == "further parameters":
        return _further_parameters(convention, name)
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _further_parameters(convention: Convention, name: str) -> str:
    """Return the further parameters of a convention that one measure has, such as `gain=grade`."""
    from calipers.measures.grammar import parse

    measure = parse(name)
    further = {key.rpartition(".")[2] for key in convention.parameters} & {*measure.parameters}
    own = convention.defaults(measure.name, {})
    return ", ".join(f"{key}={own[key]}" for key in sorted(further) if key in own) or "none"


def _matters(rescorer: Rescorer, name: str, reference: Convention, tool: Convention, cause: str) -> bool:
    """Return True if a switch can change a score of these lists under this measure."""
    if rescorer.setting(name, turned(reference, tool, [cause])) == rescorer.setting(name, reference):
        return False
    if cause == "tied scores":
        return bool(rescorer.tied(reference, tool).any())
    if cause == "missing queries":
        return bool((rescorer.length == 0).any())
    if cause == "lists shorter than k":
        cutoff = rescorer.measure(name, reference).cutoff
        return cutoff is not None and bool((rescorer.length < cutoff).any())
    return True


def _concerned(rescorer: Rescorer, name: str, reference: Convention, tool: Convention, cause: str) -> int:
    """Return the number of lists that a cause affects: lists of its kind, or lists with another score."""
    length = rescorer.length
    if cause == "no relevant document":
        form = rescorer.measure(name, tool).form
        undefined = form.undefined_for_any_ranking(rescorer.lists(tool, order_reach(form))).reshape(length.shape)
        return int((undefined & (length > 0)).sum())
    if cause == "lists shorter than k":
        return int(((length < (rescorer.measure(name, tool).cutoff or 0)) & (length > 0)).sum())
    if cause == "tied scores":
        return int(rescorer.tied(reference, tool).sum())
    if cause == "missing queries":
        return int((length == 0).sum())
    before = rescorer.scores(name, reference).values[0]
    after = rescorer.scores(name, turned(reference, tool, [cause])).values[0]
    return int((~np.isclose(before, after, rtol=0, atol=1e-12, equal_nan=True)).sum())


SHOWN = 5e-5  # smallest difference that four digits show


def advice(audit: Audit) -> str:
    """Return which figure to report, and which figures not to compare it with.

    The figure to report is that of the reference, by default the figure that `calipers evaluate` prints.
    """
    if not audit.attributions:
        return f"No other tool has a figure for {', '.join(audit.measures)} here, so there is nothing to compare."
    name = max(audit.measures, key=lambda each: _largest(audit, each))
    if _largest(audit, name) < SHOWN:
        return f"All tools agree on {', '.join(audit.measures)} here; report it, and name the tool."
    found = [about for cause, sentence in SENTENCES.items() if (about := _about(audit, name, cause, sentence))]
    said = [about for _, about in sorted(found, reverse=True)[:MOST]]
    swap = audit.largest_swap
    if len(audit.systems) > 1:
        if swap is None:
            said.append("the order of the systems is the same under all tools")
        else:
            measure, one, other, count = swap
            pairs = f"{counted(count, 'pair')} of systems {verb(count, 'changes', 'change')} places"
            said.append(f"{pairs} between {one} and {other} under {measure}, so never mix the figures of two tools")
    return f"Report {name} as {_reported(audit, name)}, and say so: {'; '.join(said)}."


def _reported(audit: Audit, name: str) -> str:
    """Return the name of the figure to report, and the convention that gives it."""
    from calipers.conventions import PLAIN
    from calipers.measures.grammar import parse_all

    reference = audit.reference
    [(_, measure)] = parse_all([name], reference.defaults)
    gain = measure.parameters.get("gain")
    with_gain = f", with the {gain} gain" if isinstance(gain, str) else ""
    if reference == PLAIN.with_(rel=reference.rel):
        return f"calipers evaluate prints it{with_gain}"
    return f"{reference.name} has it (like={reference.name!r}){with_gain}"


def _largest(audit: Audit, name: str) -> float:
    """Return the largest difference from the reference."""
    return max((float(abs(a.difference).max()) for (of, _), a in audit.attributions.items() if of == name), default=0.0)


MOST = 2  # causes that the sentence names
SENTENCES = {
    "no relevant document": "{lists} lists belong to queries without a relevant document, which {tools} {verb} as "
    "{setting} for any ranking ({part}): leave such queries out",
    "lists shorter than k": "{lists} lists are shorter than k, which {tools} {verb} {setting} ({part}): do not "
    "compare with such figures",
    "where the ideal comes from": "{tools} {verb} the ideal of {setting} ({part})",
    "gain": "{tools} {verb} the {setting} gain ({part})",
    "discount": "{tools} {verb} the {setting} discount ({part})",
    "relevance level": "{tools} {verb} relevant what has grade {setting} or more ({part})",
    "tied scores": "{tools} {verb} tied scores by {setting} ({part})",
}
_SETTINGS = {
    ("lists shorter than k", "zero"): "0",
    ("lists shorter than k", "n"): "lists of n documents",
    ("where the ideal comes from", "list"): "the retrieved documents alone, which rewards leaving relevant ones out",
    ("where the ideal comes from", "pool"): "all judged documents",
    ("where the ideal comes from", "whole"): "all judged documents without a cutoff",
    ("where the ideal comes from", "k"): "k relevant documents, even if there are fewer",
}
_VERBS = {
    "no relevant document": "count",
    "lists shorter than k": "count as",
    "where the ideal comes from": "take",
    "gain": "use",
    "discount": "use",
    "relevance level": "call",
    "tied scores": "order",
}
_FOR_ONE = {
    "count": "counts",
    "count as": "counts as",
    "take": "takes",
    "use": "uses",
    "call": "calls",
    "order": "orders",
}


def _about(audit: Audit, name: str, cause: str, sentence: str) -> tuple[float, str] | None:
    """Return the largest effect of one cause, and a sentence on the tools that it affects most."""
    moved = {}
    for tool in audit.tools:
        found = audit.attributions.get((name, tool.name))
        if found is None or cause not in found.causes:
            continue
        place = found.causes.index(cause)
        part = float(found.parts[place].mean())
        if abs(part) >= SHOWN:
            setting = _SETTINGS.get((cause, found.settings[place][1]), found.settings[place][1])
            moved[tool.name] = (setting, found.lists[place], part)
    if not moved:
        return None
    setting = max(moved.values(), key=lambda each: abs(each[2]))[0]
    alike = {tool: each for tool, each in moved.items() if each[0] == setting}
    parts = sorted(each[2] for each in alike.values())
    span = f"{parts[0]:+.4f}" if parts[-1] - parts[0] < SHOWN else f"{parts[0]:+.4f} to {parts[-1]:+.4f}"
    tools = list(alike)
    several = len(tools) > 1
    verb = _VERBS[cause] if several else _FOR_ONE[_VERBS[cause]]
    listed = ", ".join(tools[:-1]) + " and " + tools[-1] if several else tools[0]
    lists = max(each[1] for each in alike.values())
    size = max(abs(part) for part in parts)
    return size, sentence.format(lists=lists, tools=listed, verb=verb, setting=setting, part=span)
