"""Causes of the difference between the figures of two conventions.

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
from typing import Any

import numpy as np

from calipers.conventions import Convention
from calipers.lists import Floats
from calipers.questions.audit.rescoring import Rescorer
from calipers.questions.audit.terms import order_reach
from calipers.results.result import protect_arrays

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
