"""trec_eval's other judgments and its z-scores, against a reading of their definitions in exact fractions.

A case is one query: lines of preferences or of several judges, and a ranking with ties. What trec_eval prints for it is
worked out here document by document, with sets and loops; what the library gives under averaged ties is the mean over
all orders of the tied documents, written out. Only where trec_eval asks whether a score equals a mean, which it does
with the doubles that it has added up, are they added up here as it does: 1/12 + 7/24 is no 3/8 there.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from operator import truediv
from pathlib import Path
from typing import Any

Line = tuple[str, str, str, int]  # judge, group, document, level
Pairs = set[tuple[str, str]]
Values = dict[str, Fraction | int]

CUTOFFS = (1, 2, 3, 5)
MULTIPLES = (0.2, 0.5, 1.0, 1.7)
MISSING = Fraction(-1_000_000)


# -- the definitions -----------------------------------------------------------------------------------


def preferences(lines: Iterable[Line]) -> Pairs | None:
    """What one judge prefers: inside each group, and what follows; None where that contradicts itself."""
    lines = [*lines]
    pairs = {(a, b) for _, g, a, m in lines for _, h, b, n in lines if g == h and m > n}
    while more := {(a, d) for (a, b), (c, d) in product(pairs, pairs) if b == c} - pairs:
        pairs |= more
    return None if any(a == b for a, b in pairs) else pairs


def fulfilled(pair: tuple[str, str], rank: Mapping[str, int]) -> bool:
    """The better one is retrieved, and the other is not or stands below it."""
    better, worse = pair
    return better in rank and (worse not in rank or rank[better] < rank[worse])


def counts(pair: tuple[str, str], rank: Mapping[str, int], retrieved: int) -> bool:
    """Whether enough documents of a pair are retrieved for it to count."""
    return sum(document in rank for document in pair) >= retrieved


def share(number: int, of: int) -> Fraction | None:
    return Fraction(number, of) if of else None


def of_preferences(lines: Sequence[Line], ranking: Sequence[str], printed: bool) -> Values:
    """All measures of preferences; 0 where one is undefined. printed: with trec_eval's miscounting."""
    rank = {document: place for place, document in enumerate(ranking)}
    judges = sorted({line[0] for line in lines})
    pairs = {judge: preferences(line for line in lines if line[0] == judge) for judge in judges}
    every = [pair for judge in judges for pair in pairs[judge]]
    found: Values = {
        "prefs_num_prefs_poss": len(every),
        "prefs_num_prefs_ful": sum(fulfilled(pair, rank) for pair in every),
        "prefs_num_prefs_ful_ret": sum(fulfilled(pair, rank) for pair in every if counts(pair, rank, 2)),
    }
    for ending, retrieved in (("", 0), ("_ret", 2), ("_imp", 1)):
        counted = [pair for pair in every if counts(pair, rank, retrieved)]
        found[f"prefs_simp{ending}"] = share(sum(fulfilled(pair, rank) for pair in counted), len(counted)) or 0
        documents = {frozenset(pair) for pair in counted}
        shares = []
        for two in documents:
            between = [pair for pair in counted if set(pair) == two]
            shares.append(Fraction(sum(fulfilled(pair, rank) for pair in between), len(between)))
        found[f"prefs_pair{ending}"] = sum(shares, Fraction(0)) / len(shares) if shares else 0
        by_judge = []
        for judge in judges:
            mine = [pair for pair in pairs[judge] if counts(pair, rank, retrieved)]
            by_judge.append(share(sum(fulfilled(pair, rank) for pair in mine), len(mine)) or Fraction(0))
        found[f"prefs_avgjg{ending}"] = sum(by_judge, Fraction(0)) / len(by_judge)
        if retrieved != 1:
            found[f"prefs_avgjg_Rnonrel{ending}"] = as_many(lines, judges, pairs, rank, retrieved == 2, printed)
    return found


def as_many(
    lines: Sequence[Line], judges: Sequence[str], pairs: Mapping[str, Pairs], rank: Mapping[str, int],
    retrieved: bool, printed: bool,
) -> Fraction:  # fmt: skip
    """prefs_avgjg_Rnonrel: each judge with as many documents of level 0 as of higher ones."""
    documents = sorted({line[2] for line in lines}, key=lambda d: (rank.get(d, math.inf), d))
    total = Fraction(0)
    for judge in judges:
        mine = [line for line in lines if line[0] == judge]
        complete = len({line[1] for line in mine}) == 1
        relevant = {line[2] for line in mine if line[3] > 0}
        other = [d for d in documents if d in {line[2] for line in mine if line[3] == 0}]
        seen = (lambda d: d in rank) if retrieved else (lambda d: True)
        good, bad = [d for d in relevant if seen(d)], [d for d in other if seen(d)]
        held = [pair for pair in pairs[judge] if counts(pair, rank, 2 if retrieved else 0)]
        if len(good) >= len(bad):
            lack = len(good) - len(bad)
            up = sum(fulfilled(pair, rank) for pair in held) + sum(d in rank for d in relevant) * lack
            down = len(held) + (len(relevant) if printed else len(good)) * lack
        else:
            limit = len(relevant) if printed and not complete else len(good)
            kept = set(bad[:limit])
            held = [pair for pair in held if pair[1] in relevant or pair[1] in kept]
            if printed and complete:
                held += [(a, b) for a in bad for b in kept]
            up = sum(fulfilled(pair, rank) for pair in held)
            down = len(held)
        if not down:
            return Fraction(0)  # 0/0 for one judge is 0 for the query
        total += Fraction(up, down)
    return total / len(judges)


def pair_share_in_doubles(lines: Sequence[Line], ranking: Sequence[str]) -> float:
    """prefs_pair_ret as trec_eval adds it up: down the list, each document with those below it."""
    judges = {line[0] for line in lines}
    every = [pair for judge in judges for pair in preferences(line for line in lines if line[0] == judge) or ()]
    total, pairs = 0.0, 0
    for two in combinations(ranking, 2):
        right, wrong = every.count(two), every.count(two[::-1])
        if right + wrong:
            total, pairs = total + right / (right + wrong), pairs + 1
    return total / pairs if pairs else 0.0


def of_judges(
    lines: Sequence[Line], ranking: Sequence[str], level: int, judged_only: bool, ratio: Callable[..., Any] = Fraction
) -> Values:
    """map_avgjg, P_avgjg and Rprec_mult_avgjg; with `truediv` for a ratio, in doubles as trec_eval adds them up."""
    judges = sorted({line[0] for line in lines})
    found: defaultdict[str, Any] = defaultdict(int)
    for judge in judges:
        grade = {line[2]: line[3] for line in lines if line[0] == judge}
        shown = [d for d in ranking if not judged_only or grade.get(d, -1) >= 0]
        hits = [grade.get(d, -1) >= level for d in shown]
        total = sum(g >= level for g in grade.values())
        precision = ratio(0, 1)
        for i, hit in enumerate(hits):
            precision += ratio(sum(hits[: i + 1]), i + 1) if hit else 0
        found["map_avgjg"] += precision / total if total else 0
        for cutoff in CUTOFFS:
            found[f"P_avgjg_{cutoff}"] += ratio(sum(hits[:cutoff]), cutoff)
        for multiple in MULTIPLES:
            depth = int(multiple * total + 0.9)
            found[f"Rprec_mult_avgjg_{multiple:.2f}"] += ratio(sum(hits[:depth]), depth) if depth else 0
    return {name: ratio(value, len(judges)) for name, value in found.items()}


def z_score(value: Fraction | int, double: float, mean: Fraction, deviation: Fraction) -> Fraction:
    """double: the same value as trec_eval has it, which is compared with the mean where nothing deviates."""
    if deviation:
        return (value - mean) / deviation
    return Fraction(0) if double == float(mean) else MISSING


# -- cases ---------------------------------------------------------------------------------------------


class Case:
    """One query: lines, and scores of documents, some of which nobody judged."""

    def __init__(self, seed: int, kind: str) -> None:
        draw = random.Random(f"{kind} {seed}")
        self.query = f"q{seed}"
        self.documents = draw.sample([f"d{i}" for i in range(9)], draw.randint(1, 7))
        self.lines: list[Line] = []
        while not self.lines:
            self.lines = self._draw(draw, kind)
        steps = draw.choice([2, 4, 100])
        shown = draw.sample(self.documents, draw.randint(0, len(self.documents)))
        others = draw.sample([f"u{i}" for i in range(4)], draw.randint(0, 4))
        self.scores = {d: float(draw.randint(1, steps)) for d in shown + others} or {"u": 1.0}
        self.zscores = {
            name: (Fraction(draw.randint(0, 8), 8), Fraction(draw.choice([0, 0, 1, 2, 5]), 4))
            for name in ("map_avgjg", "P_avgjg_2", "prefs_simp", "prefs_pair_ret", "prefs_num_prefs_ful")
            if draw.random() < 0.8
        }

    def _draw(self, draw: random.Random, kind: str) -> list[Line]:
        lines: dict[tuple[str, str, str], int] = {}
        judges = [f"j{i}" for i in range(draw.choice([1, 1, 2, 3]))]
        zero = {(judge, d): draw.random() < 0.4 for judge in judges for d in self.documents}
        truth = {(judge, d): draw.randint(1, 3) for judge in judges for d in self.documents}
        for judge in judges:
            groups = [f"g{i}" for i in range(draw.choice([1, 1, 2, 3]))] if kind == "prefs" else ["0"]
            for group, document in product(groups, self.documents):
                if draw.random() < 0.8:
                    free = len(groups) == 1 or draw.random() < 0.1
                    level = draw.randint(1, 3) if free else truth[judge, document]
                    level = 0 if zero[judge, document] else level
                    lines[judge, group, document] = -1 if kind == "judges" and draw.random() < 0.1 else level
        found = [(*key, level) for key, level in lines.items()]
        judged = {line[0] for line in found}
        return [] if any(preferences(x for x in found if x[0] == judge) is None for judge in judged) else found

    def ranking(self, ascending: bool) -> list[str]:
        """By score, ties by id."""
        by_id = sorted(self.scores, reverse=not ascending)
        return sorted(by_id, key=lambda d: -self.scores[d])

    def orders(self) -> list[list[str]]:
        """All orders of tied documents."""
        ties: dict[float, list[str]] = defaultdict(list)
        for document, score in self.scores.items():
            ties[score].append(document)
        parts = [[*permutations(ties[score])] for score in sorted(ties, reverse=True)]
        return [[d for part in chosen for d in part] for chosen in product(*parts)]

    def few_orders(self) -> bool:
        return math.prod(math.factorial(n) for n in Counter(self.scores.values()).values()) <= 200


# -- what the package says ---------------------------------------------------------------------------------


def broken(seed: int, count: int, folder: Path, orders: bool = True) -> list[str]:
    """The cases from a seed on for which the package says something else."""
    return [*_broken_preferences(seed, count, folder, orders), *_broken_judges(seed, count, folder, orders)]


def _printed(folder: Path, cases: Sequence[Case], format: str, options: Sequence[str]) -> dict[tuple[str, str], float]:
    from calipers.collection.runs import DictRun
    from calipers.tools.trec_eval.files import read_judgments
    from calipers.tools.trec_eval.report import reports
    from calipers.tools.trec_eval.request import read_request

    path = folder / f"{format}.txt"
    with path.open("w") as file:
        for case in cases:
            for judge, group, document, level in case.lines:
                middle = f"{judge} {group}" if format == "prefs" else judge
                file.write(f"{case.query} {middle} {document} {level}\n")
    zscores = folder / "zscores"
    rows = [(case.query, name, *z) for case in cases for name, z in case.zscores.items()]
    zscores.write_text("".join(f"{query} {name} {float(mean)} {float(sd)}\n" for query, name, mean, sd in rows))
    request = read_request(["-q", "-n", "-R", format, *options, str(path), "run"])
    run = DictRun({case.query: case.scores for case in cases})
    (text,) = reports(read_judgments(str(path), format), [run], request)
    fields = (line.split("\t") for line in text.splitlines())
    return {(query, name.rstrip()): float(value) for name, query, value in fields}


def _differences(
    got: Mapping[tuple[str, str], float], expected: Mapping[tuple[str, str], Any], within: float
) -> list[str]:
    if got.keys() != expected.keys():
        return [f"other values: {sorted(got.keys() ^ expected.keys())[:10]}"]
    return [
        f"{key}: {got[key]} for {float(value)} = {value}"
        for key, value in expected.items()
        if not abs(got[key] - float(value)) <= within
    ]


def _broken_preferences(seed: int, count: int, folder: Path, orders: bool) -> list[str]:
    import calipers as cal

    cases = [Case(s, "prefs") for s in range(seed, seed + count)]
    printed = {
        (case.query, name): value
        for case in cases
        for name, value in of_preferences(case.lines, case.ranking(ascending=True), printed=True).items()
    }
    found = _differences(_printed(folder, cases, "prefs", ["-m", "all_prefs"]), printed, 5.1e-5)
    whole = [case for case in cases if len({line[:2] for line in case.lines}) == len({line[0] for line in case.lines})]
    if whole:
        some = {key: value for key, value in printed.items() if key[0] in {case.query for case in whole}}
        found += _differences(_printed(folder, whole, "qrels_prefs", ["-m", "all_prefs"]), some, 5.1e-5)
    names = [name for name in dict.fromkeys(name for _, name in printed) if not name.endswith("_poss")]
    doubles = {
        (case.query, "prefs_pair_ret"): pair_share_in_doubles(case.lines, case.ranking(ascending=True))
        for case in cases
    }
    got = _printed(folder, cases, "prefs", ["-m", "all_prefs", "-Z", f"{folder}/zscores"])
    found += _with_z(cases, printed, doubles, got)
    if not orders:
        return found
    known = cal.read_preferences(folder / "prefs.txt")
    run = {case.query: case.scores for case in cases}
    averaged = cal.evaluate(known, run, [name for name in names if "Rnonrel" not in name], warn=False)
    for ties, measures in (("average", averaged.measures), ("input", names)):
        scores = averaged if ties == "average" else cal.evaluate(known, _in_order(cases), names, ties=ties, warn=False)
        found += _differences(*_library(scores, cases, measures, ties), 1e-12)
    complete = [case for case in whole if case.few_orders()]
    if complete:
        some_known = cal.read_preferences(folder / "qrels_prefs.txt", format="qrels_prefs")
        scores = cal.evaluate(some_known, {case.query: run[case.query] for case in whole}, names, warn=False)
        found += _differences(*_library(scores, complete, names, "average"), 1e-12)
    return found


def _in_order(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    return {case.query: {d: case.scores[d] for d in case.orders()[-1]} if case.few_orders() else case.scores
            for case in cases}  # fmt: skip


def _library(scores: Any, cases: Sequence[Case], names: Sequence[str], ties: str) -> tuple[Any, Any]:
    """What `evaluate` gives, and what it should: the mean over all orders, or the last of them."""
    place = {query: i for i, query in enumerate(scores.queries)}
    got: dict[tuple[str, str], float] = {}
    expected: dict[tuple[str, str], Any] = {}
    for case in cases:
        if not case.few_orders():
            continue
        all_orders = case.orders() if ties == "average" else case.orders()[-1:]
        each = [of_preferences(case.lines, order, printed=False) for order in all_orders]
        for name in names:
            got[case.query, name] = scores[name][0, place[case.query]]
            expected[case.query, name] = sum((Fraction(one[name]) for one in each), Fraction(0)) / len(each)
    return got, expected


def _with_z(
    cases: Sequence[Case], printed: Mapping[tuple[str, str], Any], doubles: Mapping[tuple[str, str], float],
    got: Mapping[tuple[str, str], float],
) -> list[str]:  # fmt: skip
    """doubles: the values of measures that trec_eval adds up; others are one ratio, which is rounded once."""
    known = {(case.query, name): z for case in cases for name, z in case.zscores.items()}
    expected = {
        (query, f"Z{name}"): z_score(value, doubles.get((query, name), float(value)), *known[query, name])
        if (query, name) in known
        else MISSING
        for (query, name), value in printed.items()
    }
    return _differences(got, expected, 5.1e-5)


def _broken_judges(seed: int, count: int, folder: Path, orders: bool) -> list[str]:
    import calipers as cal

    cases = [Case(s, "judges") for s in range(seed, seed + count)]
    measures = ["-m", "map_avgjg", "-m", "P_avgjg." + ",".join(map(str, CUTOFFS)),
                "-m", "Rprec_mult_avgjg." + ",".join(map(str, MULTIPLES))]  # fmt: skip
    found = []
    for level, judged_only in ((1, False), (2, False), (1, True)):
        printed = {
            (case.query, name): value
            for case in cases
            for name, value in of_judges(case.lines, case.ranking(ascending=False), level, judged_only).items()
        }
        options = [*measures, "-l", str(level), *(["-J"] if judged_only else [])]
        found += _differences(_printed(folder, cases, "qrels_jg", options), printed, 5.1e-5)
        if level == 1 and not judged_only:
            doubles: dict[tuple[str, str], Any] = {
                (case.query, name): value
                for case in cases
                for name, value in of_judges(case.lines, case.ranking(False), level, judged_only, truediv).items()
            }
            got = _printed(folder, cases, "qrels_jg", [*options, "-Z", f"{folder}/zscores"])
            found += _with_z(cases, printed, doubles, got)
    if not orders:
        return found
    known = cal.read_several_judges(folder / "qrels_jg.txt")
    run = {case.query: case.scores for case in cases}
    scores = cal.evaluate(known, run, ["map_avgjg", "P_avgjg@2", "MeanJudge(AP)"], warn=False)
    names = {"map_avgjg": "map_avgjg", "P_avgjg@2": "P_avgjg_2", "MeanJudge(AP)": "map_avgjg"}
    got, expected = {}, {}
    for place, case in enumerate(cases):
        if not case.few_orders():
            continue
        each = [of_judges(case.lines, order, 1, False) for order in case.orders()]
        for ours, name in names.items():
            got[case.query, ours] = scores[ours][0, place]
            expected[case.query, ours] = sum((one[name] for one in each), Fraction(0)) / len(each)
    return found + _differences(got, expected, 1e-12)
