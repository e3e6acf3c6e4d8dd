"""Tables of repaired scores per judge, measure and system or pair, and sentences on the value of each judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calipers.lists import Floats
from calipers.questions.judges.effects_on_systems import Effects, on_queries
from calipers.questions.judges.score_repair import FEWEST, TRUSTED, RepairedMeans, prediction_powered
from calipers.results.tables import Cell, Table, as_number
from calipers.statistics.bounded_intervals import Range, range_of_scores
from calipers.statistics.differences import all_pairs
from calipers.statistics.significance import SEED

COLUMNS = (
    "judge",
    "measure",
    "system",
    "human",
    "judged",
    "corrected",
    "low",
    "high",
    "human_low",
    "human_high",
    "weight",
    "n",
    "others",
    "worth",
    "to_halve",
    "carried_by",
    "sparse",
)
DIFFERENCE_COLUMNS = (*COLUMNS[:2], "system_a", "system_b", *COLUMNS[3:])


def corrected_means(effects: Effects, level: float = 0.95, seed: int = SEED) -> Table:
    """Return the repaired means: one row per judge, measure and system."""
    rows: list[tuple[Cell, ...]] = []
    for judge in effects.judges:
        for m, measure in enumerate(effects.measures):
            found = prediction_powered(*_split(effects, judge, m), level, seed, within=_within(effects, judge, m))
            rows += [(judge, measure, system, *_cells(found, s)) for s, system in enumerate(effects.systems)]
    return Table(COLUMNS, tuple(rows), {"level": level, "seed": seed})


def corrected_differences(effects: Effects, level: float = 0.95, seed: int = SEED) -> Table:
    """Return the repaired differences of systems: one row per judge, measure and pair."""
    a, b = all_pairs(len(effects.systems))
    rows: list[tuple[Cell, ...]] = []
    for judge in effects.judges:
        for m, measure in enumerate(effects.measures):
            y, f, others = (part[a] - part[b] for part in _split(effects, judge, m))
            known = _within(effects, judge, m)
            within = None if known is None else (known[0] - known[1], known[1] - known[0])
            found = prediction_powered(y, f, others, level, seed, within=within)
            names = [(effects.systems[i], effects.systems[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
            rows += [(judge, measure, *pair, *_cells(found, p)) for p, pair in enumerate(names)]
    return Table(DIFFERENCE_COLUMNS, tuple(rows), {"level": level, "seed": seed})


def values_of(labels: Mapping[str, Mapping[str, float]], systems: Sequence[str]) -> dict[str, float]:
    """Return the values of a system by item, or of two systems the differences on the items of both.

    >>> values_of({"a": {"q1": 3, "q2": 1}, "b": {"q1": 1}}, ["a", "b"])
    {'q1': 2}
    """
    first, *others = (labels.get(system, {}) for system in systems)
    shared = [item for item in first if all(item in other for other in others)]
    return {item: first[item] - sum(other[item] for other in others) for item in shared}


def labelled_and_others(judged: Mapping[str, float], human: Mapping[str, float]) -> tuple[Floats, Floats, Floats]:
    """Return the values of people and of the judge on the items of both, and of the judge on all other items."""
    both = sorted(item for item in judged if item in human)
    y, f = (np.array([of[item] for item in both]) for of in (human, judged))
    return y, f, np.array([judged[item] for item in sorted(judged) if item not in human])


def repaired(
    judged: Mapping[str, float], human: Mapping[str, float], within: Range | None, level: float, seed: int
) -> tuple[Cell, ...] | None:
    """Return the cells of a row after its names, or None where too few items were labelled by both, or by the judge."""
    y, f, others = labelled_and_others(judged, human)
    if len(y) < FEWEST or len(others) < 2:
        return None
    return _cells(prediction_powered(y[None], f[None], others[None], level, seed, within=within), 0)


def helped(table: Table) -> list[str]:
    """Return sentences on how much each judge helped: one per judge and measure."""
    said = []
    names = ("judge", "measure", "worth", "n", "others", "to_halve", "low", "sparse")
    differences = "system_a" in table.columns
    place = {name: table.columns.index(name) for name in names}
    kinds = dict.fromkeys((row[place["judge"]], row[place["measure"]]) for row in table.rows)
    for judge, measure in kinds:
        rows = [row for row in table.rows if (row[place["judge"]], row[place["measure"]]) == (judge, measure)]
        what = f"{judge}, {'differences of ' if differences else ''}{measure}"
        sizes = {name: [int(as_number(row[place[name]])) for row in rows] for name in ("n", "others")}
        n, others = map(_span, sizes.values())
        worth = float(np.median([float(row[place["worth"]] or 0.0) for row in rows]))
        halve = [as_number(row[place["to_halve"]]) for row in rows if row[place["to_halve"]] is not None]
        helps = (
            f"its labels of {others} more queries are worth {worth:.1f} more human-judged queries"
            if worth >= 1
            else f"it hardly helps: its labels of {others} more queries are worth {max(worth, 0.0):.1f}"
        )
        more = f"; {np.median(halve):.0f} more human-judged queries would halve the interval" if halve else ""
        said.append(f"{what}: {n} queries judged by people; {helps}{more} (medians over the rows)")
        if min(sizes["n"]) < TRUSTED:
            said.append(f"warning: {what}: intervals are only known to hold from {TRUSTED} queries on")
        sparse = sum(row[place["sparse"]] == "yes" for row in rows)
        if sparse:
            said.append(
                f"{what}: in {sparse} of {len(rows)} rows {n} queries may miss those that carry the variance (column "
                "sparse); their intervals allow for that, and some are wider than they need be"
            )
        none = sum(row[place["low"]] is None for row in rows)
        if none:
            said.append(
                f"warning: {what}: {none} of {len(rows)} rows have the same score on all queries: there is no "
                f"interval, because the range of {measure} is not known"
            )
    return list(dict.fromkeys(said))


def _span(counts: Sequence[int]) -> str:
    """Return a count, or the smallest and the largest of several.

    >>> _span([40, 40]), _span([1200, 900])
    ('40', '900 to 1,200')
    """
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _within(effects: Effects, judge: str, m: int) -> Range | None:
    """Return the range of a measure, or None if a score under the human's or the judge's labels is outside it."""
    both = [range_of_scores(effects.scores[who], m) for who in (0, effects.names.index(judge))]
    return None if None in both else both[0]


def _split(effects: Effects, judge: str, m: int) -> tuple[Floats, Floats, Floats]:
    """Return scores on the queries of both, under either's labels, and on queries that only the judge labelled."""
    ours, theirs = effects.common(judge)
    known = effects.scores[effects.names.index(judge)]
    human = set(effects.scores[0].queries)
    rest = on_queries(known, sorted({*known.queries} - human))
    y, f, others = ours.values[m], theirs.values[m], rest.values[m]
    both = ~(np.isnan(y) | np.isnan(f)).any(axis=0)
    return y[:, both], f[:, both], others[:, ~np.isnan(others).any(axis=0)]


def _cells(found: RepairedMeans, row: int) -> tuple[Cell, ...]:
    halve = float(found.to_halve[row])
    arrays = (found.human, found.judged, found.value, found.low, found.high, found.human_low, found.human_high)
    return (
        *(None if np.isnan(array[row]) else float(array[row]) for array in arrays),
        float(found.weight[row]),
        found.n,
        found.others,
        float(found.worth[row]),
        None if np.isnan(halve) else int(halve),
        float(found.carried_by[row]),
        "yes" if found.sparse[row] else "no",
    )
