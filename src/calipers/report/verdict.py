"""The verdict: one paragraph for a reader who reads nothing else.

Who leads, whether that is certain (test, interval, judgments that are missing), and what would change it.
"""

from __future__ import annotations

import math

import numpy as np

from calipers.errors import CalipersError
from calipers.planning.closed_form_power import smallest_n
from calipers.plurals import counted, verb
from calipers.report.material import Material
from calipers.report.page_tables import p_text
from calipers.results.tables import as_number
from calipers.stats.comparison import Comparison

POWER = 0.8  # with which more queries would decide
NAMED = 3  # systems that are named


def verdict(material: Material) -> list[str]:
    """The sentences of the paragraph."""
    scores = material.scores
    best = scores.systems[material.order[0]]
    top = as_number(scores.mean()[best, material.measure])
    queries = counted(len(scores.queries), "query")
    if len(scores.systems) == 1:
        return [f"{best} has a mean {material.measure} of {top:.4f} over {queries}.", *_of_random(material)]
    if len(scores.systems) == 2:
        return [*_of_two(material), *_of_judgments(material, *material.old_and_new[::-1]), *_of_random(material)]
    second = material.order[1]
    lead = _lead(material, material.order[0], second)
    sentence = (
        f"{best} leads {counted(len(scores.systems), 'system')} with a mean {material.measure} of {top:.4f} over "
        f"{queries}, {lead:.4f} above {scores.systems[second]}."
    )
    if len(scores.queries) < 2:
        return [sentence, "One query decides nothing: another one may turn the order."]
    return [sentence, *_certainty(material, material.comparison), *_of_judgments(material, material.order[0], second)]


def _lead(material: Material, one: int, other: int) -> float:
    mean = [as_number(row[1]) for row in material.scores.mean().rows]
    return mean[one] - mean[other]


def _of_two(material: Material) -> list[str]:
    """Of an old and a new system."""
    mean = material.change.means[0]
    old, new = (material.scores.systems[place] for place in material.old_and_new)
    side = "better" if mean.difference > 0 else "worse"
    counts = f"{mean.wins:,} won, {mean.losses:,} lost, {mean.ties:,} the same"
    about = f"{mean.measure} {mean.old:.4f} to {mean.new:.4f}, {mean.difference:+.4f}"
    if mean.difference == 0:
        return [f"{new} and {old} have the same mean {mean.measure}, {mean.new:.4f} ({counts})."]
    if math.isnan(mean.low):
        sentence = f"{new} is {side} than {old} on {counted(mean.queries, 'query')} ({about}): too few to be certain."
        return [sentence]
    interval = f"95% interval {mean.low:+.4f} to {mean.high:+.4f}, p {p_text(mean.p)}"
    found = [f"{new} is {side} than {old}: {about} ({interval}); of {counted(mean.queries, 'query')} {counts}."]
    if mean.p < material.choices.alpha:
        found[0] = found[0].replace(f" is {side}", f" is certainly {side}", 1) if mean.p < 0.001 else found[0]
        found.append(f"That is significant at alpha {material.choices.alpha:g}.")
    else:
        found[0] = found[0].replace(f" is {side}", f" scores {side}", 1).replace(f"{side} than", f"{side} here than", 1)
        found.append("That may be chance." + _more_queries(material, material.old_and_new[1], material.old_and_new[0]))
    return found


def _certainty(material: Material, found: Comparison) -> list[str]:
    """Whom the leader beats, and what would tell it from the next."""
    leader, second = material.order[0], material.order[1]
    if material.choices.baseline:
        return _against(material, found)
    names, mine = found.systems, (found.a == leader) | (found.b == leader)
    sure = found.significant[0][mine]
    others = np.where(found.a == leader, found.b, found.a)[mine]
    place = int(np.flatnonzero(others == second)[0])
    how = _tested(found, int(np.flatnonzero(mine)[place]), leader)
    equal = sorted((int(s) for s in others[~sure]), key=material.order.index)
    if not equal:
        return [f"That is certain as far as these queries go: it beats every other system ({how} against the next)."]
    listed = ", ".join(names[s] for s in equal[:NAMED])
    listed += f" and {counted(len(equal) - NAMED, 'other')}" if len(equal) > NAMED else ""
    sentence = f"It beats {int(sure.sum()):,} of the {len(others):,} others significantly, but not {listed}"
    if second in equal:
        return [
            f"{sentence}; the lead over {names[second]} may be chance ({how})."
            + _more_queries(material, leader, second)
        ]
    return [sentence + "."]


def _tested(found: Comparison, pair: int, leader: int) -> str:
    """The p value of a pair, and the interval of the leader's lead."""
    outcome = found.outcomes[0]
    ends = (float(outcome.low[pair]), float(outcome.high[pair]))
    low, high = ends if found.a[pair] == leader else (-ends[1], -ends[0])
    said = f"adjusted p {p_text(float(found.p_adjusted[0][pair]))}"
    return said if math.isnan(low) else f"{said}, {100 * (1 - found.alpha):g}% interval {low:+.4f} to {high:+.4f}"


def _against(material: Material, found: Comparison) -> list[str]:
    better = int((found.significant[0] & (found.outcomes[0].difference > 0)).sum())
    worse = int((found.significant[0] & (found.outcomes[0].difference < 0)).sum())
    return [
        f"Against {material.choices.baseline}, {better:,} of {counted(len(found.a), 'system')} "
        f"{verb(better, 'is', 'are')} significantly better and {worse:,} significantly worse."
    ]


def _more_queries(material: Material, one: int, other: int) -> str:
    """How many queries would tell two systems apart, were the difference what it seems."""
    values = material.scores.values[0]
    gain = values[one] - values[other]
    gain = gain[~np.isnan(gain)]
    sd = float(gain.std(ddof=1)) if len(gain) > 1 else 0.0
    if not sd or not gain.mean():
        return ""
    try:
        needed = smallest_n(abs(float(gain.mean())) / sd, POWER, material.choices.alpha)
    except CalipersError:
        return ""
    return f" Were the difference what it seems, about {counted(needed, 'query')} would show it (power {POWER:g})."


def _of_judgments(material: Material, one: int, other: int) -> list[str]:
    """Whether judging what is unjudged could turn the order of two systems."""
    try:
        found = material.ranges.pair_ranges(material.plain_of[material.measure])
    except (CalipersError, KeyError):
        return []
    if not material.ranges.unknown[[one, other]].any():
        return ["Every document that these lists show is judged."] if not material.ranges.unknown.any() else []
    pair = ((found.a == one) & (found.b == other)) | ((found.a == other) & (found.b == one))
    names = [material.scores.systems[place] for place in (one, other)]
    documents = counted(int(material.ranges.unknown[[one, other]].sum()), "unjudged document")
    if found.decided[pair].any():
        return [f"No judgment of their {documents} could put {names[1]} above {names[0]}."]
    return [f"Judging more could turn it: {names[0]} and {names[1]} have {documents}."]


def _of_random(material: Material) -> list[str]:
    """Where the systems stand between random and ideal."""
    plain = material.plain_of[material.measure]
    try:
        means = {row[0]: row for row in material.bounds.means().rows}[plain]
    except (CalipersError, KeyError):
        return []
    _, ideal, expected, *_ = means
    return [f"A random ranking of the same documents would get {expected:.4f} in {plain}, the ideal one {ideal:.4f}."]
