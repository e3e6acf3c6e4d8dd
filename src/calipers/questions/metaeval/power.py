"""Discriminative power: the share of pairs of systems that a measure tells apart, and conflicts between two measures.

Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.errors import CalipersError, place_of
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.questions.compare.comparison import Comparison, compare
from calipers.results.messages import with_incomplete_runs
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.scores import Scores
from calipers.results.tables import PValue, Table
from calipers.statistics.significance import SEED, Samples
from calipers.support.choices import Correction, TestName


@dataclass(frozen=True, eq=False)
class DiscriminativePower:
    """Achieved significance levels of each family of measures, one per pair of systems and cutoff."""

    families: tuple[Family, ...]
    levels: tuple[Floats, ...]  # p values of each family, in descending order
    alpha: float
    metadata: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, family: str) -> float:
        """Return the share of significant tests of a family."""
        levels = self.levels[place_in(self.families, family)]
        return float((levels < self.alpha).mean()) if len(levels) else float("nan")

    def table(self) -> Table:
        """Return one row per measure, the most discriminative first: measure, significant, tests, power."""
        rows = [
            (family.name, int((levels < self.alpha).sum()), len(levels), self[family.name])
            for family, levels in zip(self.families, self.levels, strict=True)
        ]
        rows.sort(key=lambda row: -row[3])
        return Table(("measure", "significant", "tests", "power"), tuple(rows), self.metadata).with_best(("power",))

    def curve(self, family: str | None = None) -> Table:
        """Return the curve of achieved significance levels, one row per pair, by descending p. Lower is better."""
        chosen = self.families if family is None else (self.families[place_in(self.families, family)],)
        rows = [
            (each.name, rank, PValue(p))
            for each in chosen
            for rank, p in enumerate(self.levels[place_in(self.families, each.name)], 1)
        ]
        return Table(("measure", "pair", "p"), tuple(rows), self.metadata)

    def __repr__(self) -> str:
        about = ", ".join(f"{key} {value}" for key, value in self.metadata.items() if value is not None)
        return f"<DiscriminativePower: {about}>\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def discriminative_power(
    scores: ScoresLike,
    test: TestName = "t",
    alpha: float = 0.05,
    *,
    correction: Correction | None = None,
    samples: Samples | None = None,
    seed: int = SEED,
) -> DiscriminativePower:
    """Return the share of pairs of systems that differ significantly under each measure, over all its cutoffs.

    As in the literature, p values are by default not corrected for the number of pairs.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31], [0.5, 0.41, 0.3]], measure="AP")
    >>> discriminative_power(scores)["AP"]
    0.6666666666666666
    """
    scores = with_incomplete_runs(as_scores(scores))
    compared = compare(scores, test=test, correction=correction, alpha=alpha, samples=samples, seed=seed, warn=False)
    return power_of(compared, families(scores))


def power_of(compared: Comparison, of: Sequence[Family]) -> DiscriminativePower:
    """Return the discriminative power from a comparison of all pairs."""
    levels = []
    for family in of:
        p = compared.p_adjusted[list(family.members)].ravel()
        levels.append(np.sort(p[~np.isnan(p)])[::-1])
    kept = ("test", "correction", "samples", "seed", "queries")
    about = {"alpha": compared.alpha, **{key: compared.metadata.get(key) for key in kept}}
    return DiscriminativePower(tuple(of), tuple(levels), compared.alpha, about)


@dataclass(frozen=True)
class Conflicts:
    """Numbers of tests in which two measures agree or disagree about the significance of a difference."""

    only_one: int  # significant only under the first
    only_other: int  # significant only under the second
    opposite: int  # significant under both, in opposite directions
    both: int  # significant under both, in the same direction
    tests: int

    @property
    def count(self) -> int:
        """The number of tests that are significant under exactly one. Opposite directions are not included."""
        return self.only_one + self.only_other


def conflicts(compared: Comparison, one: Family, other: Family) -> Conflicts:
    """Count the tests in which two families of measures disagree, cutoff by cutoff."""
    pairs = at_same_cutoffs(one, other)
    first, second = [m for m, _ in pairs], [m for _, m in pairs]
    significant = compared.significant
    sign = np.sign(np.array([outcome.difference for outcome in compared.outcomes]))
    x, y = significant[first], significant[second]
    opposite = x & y & (sign[first] != sign[second])
    return Conflicts(
        only_one=int((x & ~y).sum()),
        only_other=int((y & ~x).sum()),
        opposite=int(opposite.sum()),
        both=int((x & y & ~opposite).sum()),
        tests=x.size,
    )


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


def bases_by_name(measures: Sequence[str]) -> dict[str, str]:
    """Return the measure that each normalised measure is made from, if that is among the measures.

    >>> bases_by_name(["ROUGE-1", "V2(ROUGE-1, random=sentences)", "V2(ROUGE-L)"])
    {'V2(ROUGE-1, random=sentences)': 'ROUGE-1'}
    """
    inside = {name: _inside(name) for name in measures}
    return {name: inner for name, inner in inside.items() if inner in inside}


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
    found = _inside(name)
    return without_cutoff(found) if found else None


def _inside(name: str) -> str:
    """Return the measure that a normalised one is made from, without options of the normalisation, or nothing.

    >>> _inside("V2(ROUGE-1(stem=true, part=recall), random=sentences)"), _inside("AP")
    ('ROUGE-1(stem=true, part=recall)', '')
    """
    found = _NORMALISED.match(name)
    inside, depth = found[1] if found else "", 0
    for place, letter in enumerate(inside):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            return inside[:place]
    return inside
