"""Tables of repaired scores per judge, measure and system or pair, and sentences on the value of each judge."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats
from calipers.questions.judges.effects_on_systems import Effects, on_queries
from calipers.questions.judges.score_repair import TRUSTED, RepairedMeans, prediction_powered
from calipers.results.tables import Cell, Table, as_number
from calipers.statistics.bounded_intervals import Range, range_of_scores
from calipers.statistics.differences import all_pairs
from calipers.statistics.significance import SEED
from calipers.support.plurals import counted

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
    columns = (*COLUMNS[:2], "system_a", "system_b", *COLUMNS[3:])
    return Table(columns, tuple(rows), {"level": level, "seed": seed})


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
        n, others = rows[0][place["n"]], rows[0][place["others"]]
        worth = float(np.median([float(row[place["worth"]] or 0.0) for row in rows]))
        halve = [as_number(row[place["to_halve"]]) for row in rows if row[place["to_halve"]] is not None]
        helps = (
            f"its labels of {others} more queries are worth {worth:.1f} more human-judged queries"
            if worth >= 1
            else f"it hardly helps: its labels of {others} more queries are worth {max(worth, 0.0):.1f}"
        )
        more = f"; {np.median(halve):.0f} more human-judged queries would halve the interval" if halve else ""
        said.append(f"{what}: {counted(n, 'query')} judged by people; {helps}{more} (medians over the rows)")
        if as_number(n) < TRUSTED:
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
