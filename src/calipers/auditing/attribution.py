"""The difference between two conventions, divided among its causes.

Two conventions differ in a few switches. Turning them one after the other leads from one figure to the other, and each
step is what that switch adds; but the steps depend on the order of turning. Shapley's value is their mean over all
orders, so that the parts add up to the difference whatever the switches do to each other:

    part_i = sum over sets S of other switches of |S|! (m - |S| - 1)! / m! * (v(S and i) - v(S))

Shapley, A value for n-person games, 1953.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from calipers.auditing.rescoring import Rescorer
from calipers.auditing.terms import order_reach
from calipers.conventions import Convention
from calipers.lists import Floats

NOISE = 1e-13  # parts below this are rounding

# What conventions differ in, and the fields that say it.
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
    """What each cause adds to the figures of each system, going from the reference to a tool.

    What the two do differently, but to no effect on these lists, is no cause.
    """

    causes: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]  # of each cause: the reference's choice and the tool's
    lists: tuple[int, ...]  # of each cause: lists that it concerns
    parts: Floats  # [cause, system]
    difference: Floats  # of each system, the tool's figure less the reference's


def attribute(rescorer: Rescorer, name: str, reference: Convention, tool: Convention) -> Attribution:
    """Divide the difference between the figures of a tool and of the reference among what they do differently."""
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
    """The part of each cause: [cause, ...], from the values of all sets of causes, each in their order.

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
    """The reference, but with the tool's choices in these switches."""
    fields = [each for cause in causes for each in SWITCHES[cause]]
    return reference.with_(**{each: getattr(tool, each) for each in fields})


def chosen(convention: Convention, name: str, cause: str) -> str:
    """A convention's choice, in a word."""
    values: list[Any] = [getattr(convention, field) for field in SWITCHES[cause]]
    if cause == "lists shorter than k":
        from calipers.measures.grammar import parse

        values = [convention.short_for(parse(name).name)]
    if cause == "grades below 0":
        return "as they are" if convention.labels.lowest is None else f"as {convention.labels.lowest:g}"
    if cause == "tied scores":
        return convention.ties + (", float32" if convention.precision == "single" else "")
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _matters(rescorer: Rescorer, name: str, reference: Convention, tool: Convention, cause: str) -> bool:
    """Whether a switch can change a score: the tools differ in it, the measure knows it, and there are such lists."""
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
    """How many lists a cause concerns: those of the kind, or those whose score it changes when it alone is turned."""
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
