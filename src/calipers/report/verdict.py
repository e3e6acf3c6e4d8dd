"""The verdict at the top of a report: one sentence with a badge, the figures behind it, and what to do next."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from calipers.errors import CalipersError
from calipers.questions.compare.comparison import Comparison
from calipers.report.section import p_text
from calipers.results.tables import as_number
from calipers.statistics.differences import Differences
from calipers.statistics.power import smallest_n
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.report.material import Material

POWER = 0.8  # for the number of queries that would detect a difference
NAMED = 3  # number of systems that a sentence names
BUDGET = 200  # number of documents that the suggested command selects for judging
MAX_DROP = 0.01  # of the suggested check
INTERVALS = {"bootstrap": "bootstrap", "tukey": "Tukey's"}  # methods of intervals; those of other tests are Student's

Badge = Literal["better", "worse", "undecided"]
Figure = tuple[str, str]  # a number as text, and the words that explain it


@dataclass(frozen=True)
class Conclusion:
    """The conclusion under one measure."""

    sentence: str
    badge: Badge | None = None  # None if there is nothing to compare
    figures: tuple[Figure, ...] = ()
    next_steps: tuple[tuple[str, str], ...] = ()  # what to do, and the command for it


def verdict(material: Material, measure: str) -> Conclusion:
    """Return the verdict: that of the scores, the effect of unjudged documents, and commands."""
    found = _of_scores(material, measure)
    if len(material.scores.systems) == 1:
        return replace(found, figures=_random_figure(material, measure), next_steps=_steps_for_one(material, measure))
    if len(material.scores.systems) == 2:
        old, new = material.old_and_new
    else:
        new, old = material.order_by(measure)[:2]
    reversible, figure = _effect_of_judging(material, measure, new, old)
    figures = (*found.figures, *figure)
    if len(material.scores.systems) == 2:
        figures += _random_figure(material, measure)
    return replace(found, figures=figures, next_steps=_steps(material, measure, found, old, new, reversible))


# -- from scores alone ---------------------------------------------------------------------------------


def _of_scores(material: Material, measure: str) -> Conclusion:
    """Return the verdict that follows from the scores of the systems."""
    scores = material.scores
    order = material.order_by(measure)
    best = scores.systems[order[0]]
    mean = _mean(material, measure, order[0])
    over = counted(len(scores.queries), material.unit)
    if math.isnan(mean):
        return Conclusion(f"{measure} is undefined for all systems.")
    if len(scores.systems) == 1:
        return Conclusion(f"{best} has a mean {measure} of {mean:.4f} over {over}.")
    if len(scores.systems) == 2:
        return _of_two(material, measure)
    top = (f"{mean:.4f}", f"{'lowest' if measure in scores.lower else 'highest'} mean {measure}: {best}")
    if len(scores.queries) < 2:
        sentence = f"{best} leads {len(scores.systems)} systems, but one {material.unit} shows nothing about others."
        return Conclusion(sentence, "undecided", (top,))
    if material.choices.baseline:
        return _against_baseline(material, measure, top)
    return _of_many(material, measure, top)


def _mean(material: Material, measure: str, system: int) -> float:
    return as_number(material.scores.mean()[material.scores.systems[system], measure])


def _of_two(material: Material, measure: str) -> Conclusion:
    """Return the verdict on an old and a new system."""
    old, new = material.old_and_new
    names = material.scores.systems
    means = [_mean(material, measure, place) for place in (old, new)]
    values = material.scores.values[material.scores.measures.index(measure)]
    differences = Differences.of(values, np.array([new]), np.array([old]))
    gain = differences.value[differences.shared]
    difference = float(differences.mean[0])
    sign = -1 if measure in material.scores.lower else 1
    won, lost = (int((sign * side * gain > 0).sum()) for side in (1, -1))
    same = len(gain) - won - lost
    figures = [(f"{difference:+.4f}", f"difference in mean {measure}: from {means[0]:.4f} to {means[1]:.4f}")]
    units = material.units
    counts = (
        f"{won:,} : {lost:,}",
        f"{units} won and lost by {names[new]}" + (f"; {same:,} are equal" if same else ""),
    )
    if not won and not lost:
        return Conclusion(f"{names[new]} and {names[old]} have the same {measure} on all {units}.", "undecided")
    if len(gain) < 2:
        return Conclusion(
            f"{names[new]} and {names[old]} share one {material.unit}: too few to say which one is better.",
            "undecided",
            (*figures, counts),
        )
    found = material.comparison
    m, pair = found.measures.index(measure), 0
    p = float(found.p_adjusted[m][pair])
    interval, detail = _interval(found, m, pair, new)
    figures += [(interval, f"{detail} of the difference ({_p(found, p)})")] if interval else []
    figures.append(counts)
    moved = f"mean {measure} from {means[0]:.4f} to {means[1]:.4f}"
    if found.significant[m][pair]:
        badge: Badge = "better" if sign * difference > 0 else "worse"
        return Conclusion(f"{names[new]} is {badge} than {names[old]}: {moved}.", badge, tuple(figures))
    side = "better" if sign * difference > 0 else "worse"
    sentence = f"{names[new]} scores {side} than {names[old]} here ({moved}), but the difference may be chance."
    if math.isnan(p):
        sentence = (
            f"{names[new]} scores {side} than {names[old]} here ({moved}), by the same difference on all {units}. "
            f"The {found.metadata['test']} test says nothing about that; the tests sign and randomization do."
        )
    return Conclusion(sentence, "undecided", (*figures, *_needed(material, measure, old, new)))


def _interval(found: Comparison, m: int, pair: int, system: int) -> tuple[str, str]:
    """Return the interval of how far a system is above the other one of a pair, and its name."""
    outcome = found.outcomes[m]
    ends = (float(outcome.low[pair]), float(outcome.high[pair]))
    low, high = ends if found.a[pair] == system else (-ends[1], -ends[0])
    method = INTERVALS.get(found.metadata["test"], "Student's")
    name = f"{method} {100 * (1 - found.alpha):g}% interval"
    return ("", "") if math.isnan(low) else (f"{low:+.4f} to {high:+.4f}", name)


def _p(found: Comparison, p: float) -> str:
    """Return an adjusted p value with the name of its test."""
    return f"p {p_text(p)}, {found.metadata['test']} test"


def _of_many(material: Material, measure: str, top: Figure) -> Conclusion:
    """Return the verdict on the leader of three or more systems."""
    scores, found = material.scores, material.comparison
    m = found.measures.index(measure)
    order = material.order_by(measure)
    leader, second = order[0], order[1]
    mine = np.flatnonzero((found.a == leader) | (found.b == leader))
    others = np.where(found.a == leader, found.b, found.a)[mine]
    beaten = found.significant[m][mine]
    pair = int(mine[np.flatnonzero(others == second)[0]])
    lead = _mean(material, measure, leader) - _mean(material, measure, second)
    interval, detail = _interval(found, m, pair, leader)
    p = f"adjusted {_p(found, float(found.p_adjusted[m][pair]))}"
    explained = f"{detail} {interval}, {p}" if interval else p
    ahead = (f"{lead:+.4f}", f"difference from {scores.systems[second]} ({explained})")
    name, over = scores.systems[leader], counted(len(scores.queries), material.unit)
    equal = sorted((int(s) for s in others[~beaten]), key=order.index)
    if not equal:
        sentence = f"{name} is better than all {len(others)} other systems in {measure}, over {over}."
        return Conclusion(sentence, "better", (top, ahead))
    listed = ", ".join(scores.systems[s] for s in equal[:NAMED])
    listed += f" and {counted(len(equal) - NAMED, 'other')}" if len(equal) > NAMED else ""
    sentence = (
        f"{name} leads {counted(len(scores.systems), 'system')} in {measure} over {over}, but is not shown to differ "
        f"from {listed}."
    )
    needed = _needed(material, measure, leader, second) if second in equal else ()
    return Conclusion(sentence, "undecided", (top, ahead, *needed))


def _against_baseline(material: Material, measure: str, top: Figure) -> Conclusion:
    """Return the verdict on all systems against one of them."""
    found, baseline = material.comparison, material.choices.baseline
    m = found.measures.index(measure)
    improvement, significant = found.improvement(m), found.significant[m]
    better, worse = (int((significant & (side * improvement > 0)).sum()) for side in (1, -1))
    total = len(found.a)
    badge: Badge = "better" if better else "worse" if worse == total else "undecided"
    sentence = (
        f"{better:,} of {counted(total, 'system')} {verb(better, 'is', 'are')} better than {baseline} in {measure}, "
        f"{worse:,} {verb(worse, 'is', 'are')} worse, and {total - better - worse:,} are not shown to differ."
    )
    return Conclusion(sentence, badge, (top,))


def _needed(material: Material, measure: str, one: int, other: int) -> tuple[Figure, ...]:
    """Return how many queries would detect the observed difference of two systems, as a figure."""
    needed = queries_needed(material, measure, one, other)
    if needed is None:
        return ()
    words = f"{material.units} needed to detect a true difference of this size (paired t test, power {POWER:g})"
    return ((f"{needed:,}", words),)


def queries_needed(material: Material, measure: str, one: int, other: int) -> int | None:
    """Return how many queries a t test needs if the true difference of two systems equals the observed one."""
    values = material.scores.values[material.scores.measures.index(measure)]
    effect = abs(float(Differences.of(values, np.array([one]), np.array([other])).standardised[0]))
    if not effect > 0:  # no difference, or no spread
        return None
    try:
        return smallest_n(effect, POWER, material.choices.alpha)
    except CalipersError:
        return None


# -- with judgments and rankings -----------------------------------------------------------------------


def _effect_of_judging(material: Material, measure: str, one: int, other: int) -> tuple[bool, tuple[Figure, ...]]:
    """Return whether judging could reverse the order of two rankings, and a figure about it."""
    try:
        ranges = material.ranges
        found = ranges.pair_ranges(material.plain_of[measure]) if measure in material.ranged else None
    except CalipersError:
        return False, ()
    documents = int(ranges.unknown[[one, other]].sum())
    if found is None or not documents:
        return False, ()
    pair = ((found.a == one) & (found.b == other)) | ((found.a == other) & (found.b == one))
    names = " and ".join(material.scores.systems[place] for place in (one, other))
    decided = bool(found.decided[pair].any())
    words = "judging them cannot reverse the order" if decided else "judging them could reverse the order"
    return not decided, ((f"{documents:,}", f"unjudged documents in the lists of {names}: {words}"),)


def _random_figure(material: Material, measure: str) -> tuple[Figure, ...]:
    """Return the expected score of a random ranking as a figure, if the measure has bounds."""
    try:
        plain, means = material.plain_of[measure], material.bounds.means()
    except CalipersError:
        return ()
    if plain not in means["measure"]:
        return ()
    expected, ideal = (as_number(means[plain, part]) for part in ("expected", "ideal"))
    return ((f"{expected:.4f}", f"expected {plain} of a random ranking of the judged documents; ideal: {ideal:.4f}"),)


def _steps_for_one(material: Material, measure: str) -> tuple[tuple[str, str], ...]:
    if material.written is not None:
        return ()
    found = _command(material, "queries", [0], measure, "exp.queries()")
    return (("See on which queries the system is no better than a random ranking:", found),)


def _steps(
    material: Material, measure: str, found: Conclusion, old: int, new: int, reversible: bool
) -> tuple[tuple[str, str], ...]:
    """Return what to do next about two systems: the old and the new one, or the second and the best."""
    names = material.scores.systems
    steps = []
    if found.badge == "undecided":
        needed = queries_needed(material, measure, old, new)
        if needed is not None and needed > len(material.scores.queries):
            difference = float(f"{abs(_mean(material, measure, new) - _mean(material, measure, old)):.2g}")
            steps.append(
                (
                    f"Evaluate on more {material.units}. About {needed:,} detect a true difference of {difference:g}. "
                    "To plan for other differences:",
                    _command(
                        material,
                        "plan",
                        [old, new],
                        measure,
                        f"exp.plan(difference={difference:g})",
                        f"--difference {difference:g}",
                    ),
                )
            )
    if reversible:
        steps.append(
            (
                "Judge the documents that matter most for the order of the systems:",
                _command(material, "pool", [old, new], measure, f"exp.pool(budget={BUDGET})", f"--budget {BUDGET}"),
            )
        )
    steps.append(
        (
            f"Look at the {material.units} on which {names[old]} and {names[new]} differ most:",
            _command(material, "diff", [old, new], measure, f"exp.diff({names[old]!r}, {names[new]!r})"),
        )
    )
    if found.badge == "better" and len(names) == 2:
        steps.append(
            (
                f"Test in CI that {names[new]} stays at least as good, up to a drop of {MAX_DROP:g}:",
                _command(
                    material,
                    "check",
                    [new, old],
                    measure,
                    f"exp.check({names[new]!r}, baseline={names[old]!r}, max_drop={MAX_DROP:g})",
                ),
            )
        )
    return tuple(steps)


def _command(material: Material, name: str, places: list[int], measure: str, python: str, options: str = "") -> str:
    """Return a command about some of the systems, or the Python call if not all of them are files of their own."""
    if material.written is None:
        paths = [str(getattr(material.whole_runs[place], "path", "") or "") for place in places]
        known = material.name.startswith("irds:") or Path(material.name).is_file()
    else:
        paths = [material.scores.systems[place] for place in places]
        known = Path(material.name).is_file()
    if not known or not all(paths) or len({*paths}) < len(paths):
        return python
    words = [material.name, *paths]
    if name == "pool":
        words = [*paths, "--judged", material.name]
    elif name == "check":
        words = [material.name, paths[0], "--baseline", paths[1]]
        options = f"--max-drop {MAX_DROP:g}"
    return " ".join(["calipers", name, *map(shlex.quote, words), "-m", shlex.quote(measure), *options.split()])
