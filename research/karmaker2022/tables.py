"""Karmaker & Feng (2022) and Feng (2023): the tables about normalised nDCG and MAP on two learning-to-rank collections.

Score tables (mean scores of eight methods at five cutoffs) need the collections and the methods' rankings. From the
printed scores follow, for all queries, the tables of rank correlation, PAD and swap rates between collections; the
others can be checked for what is possible: swap rates and tau of eight methods are steps of 1/28 and 2/28, and the
number of conflicts between two measures is bound by how many tests each finds significant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from calipers.lists import Floats
from calipers.questions.metaeval import percentage_absolute_difference, swap_rate
from calipers.statistics import kendall_b
from calipers.support.choices import PadDenominator
from research.karmaker2022.rerun import (
    COLLECTIONS,
    DATA,
    LAYOUT,
    METHODS,
    NORMALISERS,
    QUERY_SETS,
    STUDY_TESTS,
    TEXT,
    LetorStudy,
)
from research.printed_figures import (
    CONSISTENT,
    DIFFERS,
    EXACT,
    IMPOSSIBLE,
    NEEDS_DATA,
    REPEATED,
    ROUNDING,
    Figure,
    attainable,
    judged,
)
from research.readings import Axes, NeedsData, Reading
from research.registry import printed, reproduction, reproduction_of_readings

TESTS = 140  # 28 pairs of methods at 5 cutoffs
PAIRS = len(METHODS) * (len(METHODS) - 1) // 2
HALF_A_DIGIT = 0.5e-4  # of the scores of Karmaker & Feng (2022)
SOURCES = {
    ("nDCG", "MSLR-WEB30K"): "table-2",
    ("nDCG", "MQ2007"): "table-3",
    ("DCG", "MSLR-WEB30K"): "table-4",
    ("DCG", "MQ2007"): "table-5",
    ("MAP", "MSLR-WEB30K"): "table-12",
    ("MAP", "MQ2007"): "table-13",
    ("MSP", "MSLR-WEB30K"): "table-14",
    ("MSP", "MQ2007"): "table-15",
}
# Where a printed score is a slip: the table's other figures come out with the value on the right only.
SLIPS = {("MSP-V2", "MQ2007"): ("ARank", 15, 0.116)}


def scores_of(measure: str, collection: str, mended: bool = True) -> Floats:
    """The printed scores of the methods under a measure: [method, cutoff]."""
    table = printed("karmaker2022")[SOURCES[measure.split("-", maxsplit=1)[0], collection]]
    rows = table["scores"][measure]
    found = np.array([rows[method] for method in METHODS])
    if mended and (measure, collection) in SLIPS:
        method, cutoff, value = SLIPS[measure, collection]
        found[METHODS.index(method), table["cutoffs"].index(cutoff)] = value
    return found


def averages_of(measure: str, collection: str, mended: bool = True) -> Floats:
    """The mean over the cutoffs, from which all other tables are computed."""
    return np.asarray(scores_of(measure, collection, mended).mean(axis=1))


# -- scores ------------------------------------------------------------------------------------------


def _scores(document: str, name: str, folder: Path | None, reading: Reading = TEXT) -> Iterator[Figure]:
    table = printed(document)[name]
    study = LetorStudy.of(folder, reading)
    for measure, rows in table["scores"].items():
        computed = study.scores(table["dataset"], measure) if study else None
        for m, method in enumerate(METHODS):
            for k, cutoff in enumerate(table["cutoffs"]):
                cell, figure = f"{measure}@{cutoff} {method}", f"{rows[method][k]:g}"
                if computed is not None:
                    yield judged(cell, figure, computed[m, k], otherwise="another training or sample of queries")
                elif document == "feng2023":
                    yield _as_in_the_paper(cell, figure, measure, table["dataset"], m, k)
                else:
                    yield Figure(cell, figure, None, NEEDS_DATA)


def _as_in_the_paper(cell: str, figure: str, measure: str, collection: str, m: int, k: int) -> Figure:
    """Compare a score with that of the paper: the dissertation repeats them, for one collection with three digits."""
    value = float(scores_of(measure, collection, mended=False)[m, k])
    if judged(cell, figure, value).verdict in (EXACT, ROUNDING):
        return Figure(cell, figure, None, REPEATED, "the figure of karmaker2022")
    return Figure(cell, figure, None, DIFFERS, f"karmaker2022 has {value:g}")


# -- rank correlation --------------------------------------------------------------------------------


def _tau(document: str, name: str, folder: Path | None, reading: Reading = TEXT) -> Iterator[Figure]:
    table = printed(document)[name]
    study = LetorStudy.of(folder, reading)
    grid = [1 - 2 * swaps / PAIRS for swaps in range(PAIRS + 1)]
    for collection, measure, of_set, figure in _cells(table):
        cell = f"{collection}, {table['base']} vs {measure}, {of_set}"
        if study and collection in study.collections:
            value = study.tau(collection, table["base"], measure, of_set)
            yield judged(cell, figure, value, otherwise="another training or sample of queries")
        elif of_set == "all":
            value = kendall_b(averages_of(table["base"], collection), averages_of(measure, collection))
            yield judged(cell, figure, value)
        else:
            yield attainable(cell, figure, grid, "a tau of 8 methods, 1 - 2m/28")


# -- significance ------------------------------------------------------------------------------------


def _conflicts(document: str, name: str, folder: Path | None, reading: Reading = TEXT) -> Iterator[Figure]:
    table = printed(document)[name]
    counts = _power_beside(document, table["base"])
    study = LetorStudy.of(folder, reading)
    for collection, measure, of_set, figure in _cells(table):
        cell = f"{collection}, {table['base']} vs {measure}, {of_set}"
        if study and collection in study.collections:
            value = study.conflicts(collection, table["base"], measure, of_set)
            yield judged(cell, figure, value, otherwise="another training or sample of queries")
        else:
            yield _conflict(cell, figure, counts, collection, table["base"], measure, of_set)


def _power(document: str, name: str, folder: Path | None, reading: Reading = TEXT) -> Iterator[Figure]:
    table = printed(document)[name]
    study = LetorStudy.of(folder, reading)
    beside = next(t for t in printed(document).values() if t["kind"] == "conflicts" and t["base"] == table["base"])
    for collection, measure, of_set, figure in _cells(table):
        cell = f"{collection}, {measure}, {of_set}"
        if study and collection in study.collections:
            value = study.significant(collection, measure, of_set)
            yield judged(cell, figure, value, otherwise="another training or sample of queries")
        elif measure == table["base"]:
            yield Figure(cell, figure, None, NEEDS_DATA)
        else:
            conflicts = beside["cells"][collection][measure][of_set]
            found = _conflict(cell, conflicts, table["cells"], collection, table["base"], measure, of_set)
            why = f"beside {conflicts} conflicts: {found.reason}"
            if found.verdict == CONSISTENT:
                yield Figure(cell, figure, None, CONSISTENT, why)
            else:  # one contradiction between two tables is one figure that is wrong
                yield Figure(cell, figure, None, NEEDS_DATA, f"{why}; counted in the table of conflicts")


def _conflict(cell: str, figure: str, counts: Any, collection: str, base: str, measure: str, of_set: str) -> Figure:
    """Return whether a number of conflicts is possible, given how many tests are significant under either measure.

    If x and y tests are significant under one and the other, and c are conflicts, then c is at least |x - y| and at
    most x + y. If c counts tests that are significant under exactly one, x + y - c is even.
    """
    x, y = (int(counts[collection][each][of_set]) for each in (base, measure))
    c = int(figure)
    if not abs(x - y) <= c <= min(x + y, 2 * TESTS - x - y):
        why = f"{x} and {y} tests are significant: at least {abs(x - y)} conflicts"
        return Figure(cell, figure, None, IMPOSSIBLE, why)
    if (x + y - c) % 2:
        why = (
            f"{x} + {y} - {c} is odd: a difference is significant under both in opposite directions, which the text "
            'counts too (the two "disagree on the relative performance")'
        )
        return Figure(cell, figure, None, CONSISTENT, why)
    return Figure(cell, figure, None, CONSISTENT, f"{x} and {y} tests are significant; the data would be needed")


def _power_beside(document: str, base: str) -> Any:
    return next(t["cells"] for t in printed(document).values() if t["kind"] == "power" and t["base"] == base)


# -- PAD ---------------------------------------------------------------------------------------------


# What equation 8 leaves open: of which scores, and what stands below the line where both are negative.
PAD_AXES = {
    "denominator": ("absolute", "literal"),
    "scores": ("means over cutoffs", "each cutoff"),
    "slips": ("mended", "as printed"),
}
PAD_STATED = {"denominator": "literal", "scores": "means over cutoffs", "slips": "as printed"}
PAD_BEST = {"denominator": "absolute", "scores": "means over cutoffs", "slips": "mended"}


def _pad(document: str, name: str, folder: Path | None, reading: Reading = PAD_BEST) -> Iterator[Figure]:
    table = printed(document)[name]
    study = LetorStudy.of(folder, reading)
    for collection, measure, of_set, figure in _cells(table):
        cell = f"{collection}, {measure}, {of_set}"
        if study and collection in study.collections:
            value = study.pad(collection, measure, of_set)
            yield judged(cell, figure, value, otherwise="another training or sample of queries")
        elif of_set != "all":
            yield Figure(cell, figure, None, NEEDS_DATA)
        else:
            yield _pad_of_printed(cell, figure, measure, collection, reading)


def _pad_of_printed(cell: str, figure: str, measure: str, collection: str, reading: Reading) -> Figure:
    reading = {axis: reading[axis] for axis in PAD_BEST}
    if reading != PAD_BEST:
        scores = scores_of(measure, collection, mended=reading["slips"] == "mended")
        columns = [scores.mean(axis=1)] if reading["scores"] == PAD_BEST["scores"] else list(scores.T)
        found = [
            percentage_absolute_difference(each, cast("PadDenominator", reading["denominator"])) for each in columns
        ]
        return judged(cell, figure, float(np.mean(found)))
    averages = averages_of(measure, collection)
    value = percentage_absolute_difference(averages)
    reason = ""
    if (measure, collection) in SLIPS:
        method, cutoff, mended = SLIPS[measure, collection]
        literal = percentage_absolute_difference(averages_of(measure, collection, mended=False))
        reason = f"with {method}@{cutoff} read as {mended}; as printed {literal:.3f}"
    elif averages.min() < 0:
        literal = percentage_absolute_difference(averages, "literal")
        reason = f"with |max| below the line; {literal:.3f} with max as printed"
    return judged(cell, figure, value, _pad_interval(averages), reason)


def _pad_interval(averages: Floats) -> tuple[float, float]:
    """What PAD can be if each average is off by half of its last digit.

    PAD is smooth and monotone in each average over so small a range, so its ends lie where each is moved against or
    with its slope.
    """
    slope = np.array(
        [
            percentage_absolute_difference(averages + step) - percentage_absolute_difference(averages - step)
            for step in np.eye(len(averages)) * HALF_A_DIGIT / 10
        ]
    )
    moved = np.sign(slope) * HALF_A_DIGIT
    return percentage_absolute_difference(averages - moved), percentage_absolute_difference(averages + moved)


# -- swap rates --------------------------------------------------------------------------------------

_STEPS = [swaps / PAIRS for swaps in range(PAIRS + 1)]
_A_STEP = "a swap rate of 8 methods, m/28"


def _swaps_across_collections(
    document: str, name: str, folder: Path | None, reading: Reading = TEXT
) -> Iterator[Figure]:
    study = LetorStudy.of(folder, reading)
    for measure, figures in printed(document)[name]["cells"].items():
        for of_set, figure in figures.items():
            cell = f"{measure}, {of_set}"
            if study and len(study.collections) == len(COLLECTIONS):
                value = study.swaps_across(measure, of_set)
                yield judged(cell, figure, value, otherwise="another training or sample of queries")
            elif of_set == "all":
                value = swap_rate(*(averages_of(measure, collection) for collection in COLLECTIONS))
                reason = f"{round(value * PAIRS)}/{PAIRS}"
                yield judged(cell, figure, value, reason=reason, otherwise=_at_cutoffs(measure, figure))
            else:
                yield attainable(cell, figure, _STEPS, _A_STEP)


def _at_cutoffs(measure: str, figure: str) -> str:
    """Return at which cutoffs the printed scores give a swap rate that their means over cutoffs do not give."""
    cutoffs = printed("karmaker2022")[SOURCES[measure.split("-", maxsplit=1)[0], COLLECTIONS[0]]]["cutoffs"]
    columns = zip(*(scores_of(measure, collection).T for collection in COLLECTIONS), strict=True)
    rates = [swap_rate(*both) for both in columns]
    giving = [f"k = {k}" for k, rate in zip(cutoffs, rates, strict=True) if judged("", figure, rate).verdict == EXACT]
    other = f"at {' and '.join(giving)} the printed scores give exactly {figure}" if giving else "at no cutoff either"
    return f"not under means over cutoffs; {other}"


def _swaps_across_sets(document: str, name: str, folder: Path | None, reading: Reading = TEXT) -> Iterator[Figure]:
    study = LetorStudy.of(folder, reading)
    table = printed(document)[name]
    one, other = table.get("partition", "uninformative / ideal").split(" / ")
    for measure, figures in table["cells"].items():
        for collection, figure in figures.items():
            cell = f"{collection}, {measure}, {one} / {other}"
            if study and collection in study.collections:
                value = study.swaps_between(collection, measure, one, other)
                yield judged(cell, figure, value, otherwise="another training or sample of queries")
            elif (document, name) == ("feng2023", "table-6.12"):
                yield Figure(cell, figure, None, DIFFERS, "repeats table 6.11; the text says 0 for all three")
            else:
                yield attainable(cell, figure, _STEPS, _A_STEP)


# -- claims in the text ------------------------------------------------------------------------------


@reproduction("karmaker2022/text", "Percentages in the text of sections 4.4 and 4.5")
def _text(folder: Path | None) -> Sequence[Figure]:
    found = []
    for claim in printed("karmaker2022")["text"]["claims"]:
        first, second = claim["of"]
        value = 100 * first / second if claim["as"] == "share" else 100 * (second - first) / first
        found.append(judged(claim["claim"], claim["printed"], value))
    return found


@reproduction("feng2023/abstract", "Improvements that the abstract claims")
def _abstract(folder: Path | None) -> Sequence[Figure]:
    tables = printed("karmaker2022")

    def gain(collection: str) -> float:
        """The mean over nDCG and MAP of what V2 finds more, in percent of all tests, on uninformative queries."""
        rows = [(tables["table-8"], "nDCG", "DCG-V2"), (tables["table-18"], "MAP", "MSP-V2")]
        more = [
            int(t["cells"][collection][v2]["uninformative"]) - int(t["cells"][collection][base]["uninformative"])
            for t, base, v2 in rows
        ]
        return 100 * float(np.mean(more)) / TESTS

    def fewer(before: str, after: str) -> float:
        return 100 * (float(before) - float(after)) / float(before)

    across = tables["table-20"]["cells"]
    between = tables["table-21"]["cells"]
    less = [fewer(between["MAP"][c], between["MSP-V2"][c]) for c in COLLECTIONS]
    return [
        judged("discriminative power on MSLR-WEB30K, +%", "23", gain("MSLR-WEB30K"), reason=_GAIN),
        judged("discriminative power on MQ2007, +%", "19", gain("MQ2007"), otherwise=_GAIN),
        judged(
            "swap rate of MAP across data sets, -%",
            "28",
            fewer(across["MAP"]["all"], across["MSP-V2"]["all"]),
            reason="table 20, all queries",
        ),
        judged(
            "swap rate of MAP across query sets, -%",
            "26",
            float(np.mean(less)),
            reason=f"mean of {less[0]:.1f} and {less[1]:.1f}, table 21",
        ),
    ]


_GAIN = "mean gain of V2 over nDCG and MAP in points, uninformative queries, tables 8 and 18"


# -- the list ----------------------------------------------------------------------------------------


def _cells(table: Any) -> Iterator[tuple[str, str, str, str]]:
    """collection, measure, set, figure."""
    for collection, rows in table["cells"].items():
        for measure, figures in rows.items():
            for of_set, figure in figures.items():
                yield collection, measure, of_set, figure


_KINDS: dict[str, tuple[Callable[..., Iterator[Figure]], str]] = {
    "scores": (_scores, "scores of eight methods"),
    "tau": (_tau, "Kendall's tau between the orderings of methods"),
    "conflicts": (_conflicts, "conflicts between significance tests"),
    "power": (_power, "significant differences"),
    "pad": (_pad, "percentage absolute difference (PAD)"),
    "swaps across collections": (_swaps_across_collections, "swap rates between collections"),
    "swaps across sets": (_swaps_across_sets, "swap rates between uninformative and ideal queries"),
    "swaps of partitions": (_swaps_across_sets, "swap rates"),
}


def _title(table: Any, what: str) -> str:
    if table["kind"] == "scores":
        return f"{' and '.join(table['scores'])}: {what}, {table['dataset']}"
    between = f" between {table['partition'].replace(' / ', ' and ')}" if "partition" in table else ""
    return f"{table['base']}: {what}{between}"


# What the papers leave open where the data is there: the test, and whether the sign of the difference from random
# rankings counts when queries are called uninformative or ideal. For MAP also what the sum of precisions is divided by.
_AXES: dict[str, Axes] = {
    "scores": {},
    "pad": PAD_AXES,
    "tau": {"query sets": QUERY_SETS},
    "conflicts": {"test": STUDY_TESTS, "query sets": QUERY_SETS},
    "power": {"test": STUDY_TESTS, "query sets": QUERY_SETS},
    "swaps across collections": {"query sets": QUERY_SETS},
    "swaps across sets": {"query sets": QUERY_SETS},
}
_BEST = {**TEXT, **PAD_BEST}


def _add(document: str, name: str, table: Any) -> None:
    check, what = _KINDS[table["kind"]]
    id, title, axes = f"{document}/{name}", _title(table, what), _AXES.get(table["kind"], {})
    if table.get("base") == "MAP" or "MAP" in table.get("scores", ()) or "MSP-V1" in table.get("scores", ()):
        axes = {**axes, "normaliser": tuple(NORMALISERS)}
    if not axes:
        reproduction(id, title, DATA, LAYOUT)(lambda folder: list(check(document, name, folder)))
        return
    best = {axis: _BEST[axis] for axis in axes}

    def under(folder: Path | None, reading: Reading, searched: bool = True) -> Sequence[Figure]:
        if searched and folder is None and table["kind"] != "pad":
            raise NeedsData(id)
        return list(check(document, name, folder, reading))

    searched = table["kind"] == "pad"
    reproduction_of_readings(
        id,
        title,
        DATA,
        LAYOUT,
        axes=axes,
        best=best,
        stated=PAD_STATED if searched else None,
        thorough={"searched": False},
        searched=searched,
    )(under)


for _document in ("karmaker2022", "feng2023"):
    for _name, _table in printed(_document).items():
        if _table["kind"] in _KINDS:
            _add(_document, _name, _table)
