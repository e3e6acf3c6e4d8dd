"""No result depends on the order of lines or files.

Each question is asked twice on the same collection: on files as they are written, and on files whose lines are shuffled
and that are named in another order. Systems and queries may be listed in another order, and a pair of systems may be
turned round; the numbers of each row must stay.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from laws.recorded import QUESTIONS, SUMMARIES

CLOSE = 1e-9  # sums may be taken in another order

COVERED_BY_LAWS = [  # their numbers are not recorded
    "evaluate Q R",  # laws/test_ways.py: all ways agree, among them the command and exact fractions
    "evaluate Q R -m 'AP Q nERR@5 TBG' --ties docid --depth 20",
    "trec_eval -q -c Q A",  # laws/test_ways.py: as pytrec_eval and as evaluate --like trec_eval-9
    "bounds Q -m 'nDCG@10 AP ERR@5 RBP'",  # questions/bounds/test_bounds.py: as all rankings, enumerated
    "ranges Q R -m 'nDCG@10 AP RR P@10 RBP(p=0.8)'",  # questions/ranges/test_ranges.py: as all gradings, enumerated
    "compare Q R -m 'nDCG@10 AP'",  # statistics/test_significance.py: as SciPy and statsmodels
    "compare Q A B -m 'AP' --test wilcoxon --correction bh",
]
SAMPLED = [  # what draws anything, so that draws must not depend on the order either
    "evaluate Q R -m 'nDCG@10 AP' --interval 0.9 --interval-by bca",
    "compare Q R -m 'nDCG@10 AP' --test tukey --samples 50",
    "compare Q R -m 'AP' --test randomization --samples 50",
    "compare Q R -m 'AP' --test bootstrap --samples 50",
    "plan Q R -m 'AP nDCG@10' --difference 0.1 --design randomization --samples 200",
    "plan Q R -m 'AP nDCG@10' --difference 0.1 --design bootstrap --samples 200",
    "metaeval Q R -m 'AP nDCG@5' --test randomization --samples 50 --table power,conflicts",
    "metaeval Q R -m 'AP nDCG@5' --table stability,swaps",
    "metaeval Q R -m 'AP nDCG@5' --sets all,broad,focused,left,right --table scores,tau",
    "judges H J --systems A --systems B -m 'AP' --correct",
    "information joint Q A B --draws 5 -q",
]
OF_FILES = [  # of scores and texts
    "compare scores.csv --test tukey --samples 50",
    "metaeval scores.csv --table tau,stability,swaps",
    "evaluate summaries.jsonl -m 'ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1) V2(ROUGE-L)'",
    "compare summaries.jsonl -m ROUGE-1 --test bootstrap --samples 50",
    "metaeval summaries.jsonl -m 'ROUGE-1 ROUGE-L' --samples 20",
]
# Tools that rank tied documents as the input has them give other figures for other orders, and audit says so.
AUDIT = "audit Q A B -m 'nDCG@10 AP' --tool trec_eval"
WITHOUT_TABLE = ("audit", "convert")
ALL = [
    *(each for each in QUESTIONS if not each.startswith(WITHOUT_TABLE)),
    AUDIT,
    *COVERED_BY_LAWS,
    *SAMPLED,
    *OF_FILES,
]
PLAIN_TEXT = {"trec_eval", "fuse"}
TURNED = {"difference", "low", "high", "effect"}  # of a pair, whose signs change where it is turned round
SWAPPED = {"p_a_better": "p_b_better", "p_b_better": "p_a_better", "low": "high", "high": "low"}

Row = dict[str, str]


def write(folder: Path, runs: int = 4, topics: int = 10) -> list[str]:
    """Write a simulated collection with ties and a second judge. Return the names of its runs."""
    import calipers as cal

    made = cal.simulate(topics=topics, pool=25, systems=runs, retrieved=40, seed=5)
    cal.write_qrels(made.qrels, folder / "qrels")
    lines = (folder / "qrels").read_text().splitlines()
    other = [f"{line[:-1]}{number % 3}" if number % 4 == 0 else line for number, line in enumerate(lines)]
    (folder / "judge.qrels").write_text("\n".join(other) + "\n")
    few = lines[: len(lines) * 3 // 5]  # of the first queries
    (folder / "human.qrels").write_text("\n".join(few) + "\n")
    table = [f"s{s},{q},{(3 * s + 7 * q) % 11 / 11},{1 / (1 + (s + q) % 4)}" for s in range(6) for q in range(9)]
    (folder / "scores.csv").write_text("\n".join(["system,query,AP,RR", *table]) + "\n")
    (folder / "summaries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SUMMARIES))
    for name, run in made.runs.items():
        tied = {
            query: {document: round(score, 1) for document, score in ranked.items()} for query, ranked in run.items()
        }
        cal.write_run(tied, folder / f"{name}.run", name=name)
    return sorted(each.name for each in folder.glob("*.run"))


def shuffled(folder: Path, into: Path, seed: int) -> None:
    """Write the files of a folder into another one, each with its lines in another order."""
    draw = random.Random(seed)
    for path in sorted(folder.iterdir()):
        lines = path.read_text().splitlines(keepends=True)
        header, lines = (lines[:1], lines[1:]) if path.suffix == ".csv" else ([], lines)
        draw.shuffle(lines)
        (into / path.name).write_text("".join([*header, *lines]))


def answer(folder: Path, question: str, runs: list[str]) -> tuple[int, list[Row]]:
    """Run a command in a folder. Return its exit code and the rows of its table."""
    from calipers.cli import commands

    arguments = words(question, runs)
    is_text = arguments[0] in PLAIN_TEXT
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = commands.run([*arguments, *([] if is_text else ["--format", "csv"])])
    finally:
        os.chdir(before)
    out.seek(0)
    text = out.read()
    if is_text:
        return code, [dict(enumerate_words(line)) for line in text.splitlines()]
    rows: list[Row] = []
    for number, table in enumerate(text.split("\n\n")):
        found = csv.DictReader(io.StringIO(table.lstrip()), restval="")
        rows += [{"table": f"table {number}", **row} for row in found]
    return code, rows


def enumerate_words(line: str) -> Iterator[tuple[str, str]]:
    return ((str(place), word) for place, word in enumerate(line.split()))


def words(question: str, runs: list[str]) -> list[str]:
    """Return the arguments of a question, its letters replaced by files; A and B are the same runs in any order."""
    first, second = sorted(runs)[:2]
    files = {
        "Q": ["qrels"],
        "J": ["judge.qrels"],
        "H": ["human.qrels"],
        "R": runs,
        "A": [first],
        "B": [second],
        "OUT.csv": ["out.csv"],
    }
    found: list[str] = []
    for word in shlex.split(question):
        is_value = bool(found) and found[-1] in ("-m", "--measure")
        found += [word] if is_value else files.get(word, [word])
    return found


def differences(one: list[Row], other: list[Row]) -> list[str]:
    """Return what differs between two tables, whatever the order of their rows."""
    first, second = (sorted(map(canonical, rows), key=key) for rows in (one, other))
    if [key(row) for row in first] != [key(row) for row in second]:
        return ["other rows: " + repr(next(iter({*map(key, first)} ^ {*map(key, second)}), "as often"))]
    return [
        f"{key(a)}, {name}: {a[name]} and {b[name]}"
        for a, b in zip(first, second, strict=True)
        for name in a
        if name in a and not alike(a[name], b.get(name, ""))
    ]


def canonical(row: Row) -> Row:
    """Return a row of a pair with its systems in the order of their names."""
    if not row.get("system_a", "") > row.get("system_b", ""):
        return row
    turned = {SWAPPED.get(name, name): value for name, value in row.items()}
    signs = {name: str(-float(value)) for name, value in turned.items() if name in TURNED and value}
    return turned | signs | {"system_a": row["system_b"], "system_b": row["system_a"]}


def key(row: Row) -> tuple[str, ...]:
    """Return the cells of a row that are names."""
    return tuple(f"{name}={cell}" for name, cell in sorted(row.items()) if is_name(name, cell))


def is_name(column: str, cell: str) -> bool:
    if column in ("query", "id", "document", "system"):
        return True
    try:
        float(cell)
    except ValueError:
        return bool(cell)
    return False


def alike(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=CLOSE, abs_tol=CLOSE)
    except ValueError:
        return False
