"""Families of measures that differ only in their cutoff. The papers evaluate nDCG at five cutoffs as one measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import CalipersError, place_of
from calipers.measures.registry import Measure
from calipers.results.scores import Scores

_CUTOFF = re.compile(r"@(\d+)(?![\w.])")
_NORMALISED = re.compile(r"(?:U|W|V1|V2|V2s|Z)\((.*)\)$")


@dataclass(frozen=True)
class Family:
    """A measure at several cutoffs."""

    name: str  # as typed; without the cutoff if there are several
    members: tuple[int, ...]  # indices among the measures of the scores
    cutoffs: tuple[str, ...]  # cutoff of each member; empty if it has none
    base: str | None = None  # name of the family that this family normalises, if it is among the measures


def without_cutoff(name: str) -> str:
    """Return the name of a measure without its cutoff.

    >>> without_cutoff("V1(nDCG(gain=exp)@10)")
    'V1(nDCG(gain=exp))'
    """
    return _CUTOFF.sub("", name)


def families(scores: Scores, only: Sequence[str] | None = None) -> tuple[Family, ...]:
    """Return the families of the measures of some scores, in the order of their first members."""
    exact = [repr(measure) for measure in scores.definitions] or list(scores.measures)
    members: dict[str, list[int]] = {}
    for place, name in enumerate(exact):
        if only is None or scores.measures[place] in only:
            members.setdefault(without_cutoff(name), []).append(place)
    shown = {
        key: scores.measures[places[0]] if len(places) == 1 else without_cutoff(scores.measures[places[0]])
        for key, places in members.items()
    }
    found = []
    for key, places in members.items():
        base = _base(scores.definitions[places[0]] if scores.definitions else None, exact[places[0]])
        found.append(
            Family(
                name=shown[key],
                members=tuple(places),
                cutoffs=tuple(",".join(_CUTOFF.findall(exact[place])) for place in places),
                base=shown.get(base) if base is not None else None,
            )
        )
    return tuple(found)


def place_in(families: Sequence[Family], name: str) -> int:
    """Return the index of the family with this name."""
    return place_of("measure", name, [family.name for family in families])


def base_measure(measure: Measure) -> Measure:
    """Return the measure that a normalised measure is made from. Any other measure is returned unchanged."""
    of = measure.parameters.get("of")
    return of if isinstance(of, Measure) and measure.form.traits.is_normalised else measure


def confronted(of: Sequence[Family]) -> list[tuple[Family, Family]]:
    """Return the pairs of families to compare: each normalised family with its base, or else all pairs."""
    by_name = {family.name: family for family in of}
    with_base = [(by_name[family.base], family) for family in of if family.base is not None]
    return with_base or [(one, other) for i, one in enumerate(of) for other in of[i + 1 :]]


def at_same_cutoffs(one: Family, other: Family) -> list[tuple[int, int]]:
    """Pair the members of two families that have the same cutoff."""
    if len(one.members) == len(other.members) == 1:
        return [(one.members[0], other.members[0])]
    place = dict(zip(other.cutoffs, other.members, strict=True))
    pairs = [(m, place[cutoff]) for cutoff, m in zip(one.cutoffs, one.members, strict=True) if cutoff in place]
    if not pairs:
        raise CalipersError(f"{one.name} and {other.name} have no cutoff in common")
    return pairs


def _base(measure: Measure | None, name: str) -> str | None:
    if measure is not None:
        inner = base_measure(measure)
        return None if inner is measure else without_cutoff(repr(inner))
    found = _NORMALISED.match(name)
    return without_cutoff(found[1]) if found else None
