"""The laws for as long as asked; prints how often each way was taken, and exits with 1 where a law was broken.

    make fuzz N=100000 COMMANDS=3000 SPARK=50 SEED=7
    python -m laws.fuzz --n 1 --seed 4711 --ways all        one collection again, by all ways

--n         collections in process: by the library, and by some other ways that are drawn for each
--scanner   rounds of the compiled scanner against its twin, line by line
--commands  whole commands, each in a process of its own: half of them on collections, half on hostile input
--hostile   hostile commands in forks, so many from templates and so many with options of every command
--kills     seconds of commands that are killed, or find the disk full, while they write
--spark     collections through Spark
--seconds   stop each of these after so long
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from time_limit import TIME_LIMIT

AT_ONCE = 50
MOST_SHOWN = 20


def collections(start: int, count: int, drawn: int | None, end: float) -> tuple[list[str], Counter[str]]:
    """Collections from a seed on: by all ways, or by the library and some others."""
    from laws.odd import collection
    from laws.ways import WAYS, difference

    found: list[str] = []
    taken: Counter[str] = Counter()
    for seed in range(start, start + count):
        if time.time() > end:
            break
        ways = dict(WAYS)
        pick = random.Random(f"ways of {seed}")
        if drawn is not None:
            chosen = {"library", "command", *pick.sample([*WAYS], drawn)}
            ways = {name: way for name, way in WAYS.items() if name in chosen}
        with tempfile.TemporaryDirectory(prefix="laws-") as folder:
            try:
                differ = difference(
                    collection(seed), Path(folder), taken, ways, printed=drawn is None or pick.random() < 0.3
                )
            except AssertionError as error:
                differ = str(error)
        taken["collections"] += 1
        if differ:
            found.append(differ)
    return found, taken


def scanner_rounds(start: int, count: int, end: float) -> tuple[list[str], Counter[str]]:
    from laws import fuzz_scanner

    compiled = fuzz_scanner.load(None)
    done: Counter[str] = Counter()
    found = []
    for seed in range(start, start + count):
        if time.time() > end:
            break
        done["rounds of the scanner and its twin"] += 1
        if differ := fuzz_scanner.difference(compiled, seed):
            found.append(differ)
    return found, done


def whole_commands(start: int, count: int, end: float) -> tuple[list[str], Counter[str]]:
    """`calipers evaluate` in a process of its own prints what it prints in this one."""
    from calipers.cli import commands
    from laws.odd import collection
    from laws.ways import arguments_of, said_by

    found: list[str] = []
    done: Counter[str] = Counter()
    for seed in range(start, start + count):
        if time.time() > end:
            break
        case = collection(seed)
        with tempfile.TemporaryDirectory(prefix="laws-") as name:
            folder = Path(name)
            more = random.Random(seed).choice([["--format", "table"], [], ["--jobs", "2"]])
            arguments = arguments_of(case, folder, *more)
            last = arguments.index(str(folder / f"run{len(case.runs) - 1}"))
            by_pipe = random.Random(seed).random() < 0.2
            typed = [*arguments[:last], "-", *arguments[last + 1 :]] if by_pipe else arguments
            try:
                ran = subprocess.run(
                    [sys.executable, "-m", "calipers", *typed],
                    input=case.runs[-1] if by_pipe else b"",
                    capture_output=True,
                    timeout=TIME_LIMIT,
                )
            except subprocess.TimeoutExpired:
                found.append(f"does not end: {case}")
                continue
            expected = said_by(commands.run, arguments)
            done["whole commands"] += 1
            wrong = ran.returncode not in (0, 1, 2) or b"Traceback" in ran.stderr
            err = ran.stderr.decode(errors="replace").replace("<stdin>", arguments[last])
            same = (ran.returncode, ran.stdout, err) == expected
            if wrong or not (same or (by_pipe and ran.returncode == expected[0] and len(case.runs) > 1)):
                found.append(f"{case}{' by a pipe' if by_pipe else ''}\n{ran}\nin process\n{expected}")
    return found, done


def spark_collections(start: int, count: int, end: float) -> tuple[list[str], Counter[str]]:
    from calipers import spark
    from laws.odd import collection
    from laws.ways import WAYS, difference, on_spark

    settings = {
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "23",
    }
    session = spark.session("local[2]", settings)
    way = on_spark(session)
    found: list[str] = []
    taken: Counter[str] = Counter()
    seed = start
    while taken["Spark"] < count and time.time() < end:
        case = collection(seed)
        seed += 1
        if not way.takes(case):
            continue
        with tempfile.TemporaryDirectory(prefix="laws-") as folder:
            try:
                differ = difference(
                    case, Path(folder), taken, {"library": WAYS["library"], "Spark": way}, printed=False
                )
            except AssertionError as error:
                differ = str(error)
        if differ:
            found.append(differ)
    session.stop()
    return found, taken


def told_by(module: str, *arguments: str) -> tuple[list[str], Counter[str]]:
    """What `laws.kills` or `laws.hostile` found: they fork, and so have a process of their own."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, errors="replace")
    *lines, last = done.stdout.rstrip("\n").split("\n")
    try:
        counts = json.loads(last)
    except ValueError:
        return [f"{module}: {done.stdout[-500:]}{done.stderr[-2000:]}"], Counter()
    wrong = counts.pop("wrong", 0) + counts.pop("broken", 0)
    counts.pop("seed")
    kind = "hostile" if module.endswith("hostile") else "accidents"
    return (["\n".join(lines)] if wrong else []), Counter({f"{kind}: {name}": count for name, count in counts.items()})


def shares(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, AT_ONCE):
        yield start, min(AT_ONCE, count - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("n", "scanner", "commands", "hostile", "kills", "spark"):
        parser.add_argument(f"--{name}", type=int, default=2000 if name == "n" else 0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ways", default="3", help="how many are drawn for each collection, or all")
    options = parser.parse_args()
    seed = random.randrange(10**9) if options.seed is None else options.seed
    drawn = None if options.ways == "all" else int(options.ways)
    print(f"seed {seed}", flush=True)
    os.environ.setdefault("NO_COLOR", "1")
    found: list[str] = []
    counts: Counter[str] = Counter()

    def take(result: tuple[list[str], Counter[str]]) -> None:
        for each in result[0]:
            if len(found) < MOST_SHOWN:
                print(f"\n{each[:4000]}", flush=True)
            found.append(each)
        counts.update(result[1])

    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for job, count, more in (
            (collections, options.n, (drawn,)),
            (scanner_rounds, options.scanner, ()),
            (whole_commands, options.commands - options.commands // 2, ()),
        ):
            end = time.time() + options.seconds
            tasks = [pool.submit(job, seed + start, share, *more, end) for start, share in shares(count)]  # type: ignore[call-arg]  # each job takes what its row holds
            for task in tasks:
                take(task.result())
    limit = [] if options.seconds == float("inf") else ["--seconds", str(options.seconds)]
    if options.commands > 1:
        take(told_by("laws.hostile", "--n", str(options.commands // 2), "--seed", str(seed), "--whole", *limit))
    if options.hostile:
        for kind in ("templates", "options"):
            arguments = ["--kind", kind, "--n", str(options.hostile), "--seed", str(seed), *limit]
            take(told_by("laws.hostile", *arguments))
    if options.kills:
        take(told_by("laws.kills", "--seconds", str(options.kills), "--seed", str(seed)))
    if options.spark:
        take(spark_collections(seed, options.spark, time.time() + options.seconds))
    width = max(map(len, counts), default=0)
    for name, count in sorted(counts.items()):
        print(f"{name:{width}}  {count:,}")
    print(f"seed {seed}: {len(found)} broken" if found else f"seed {seed}: all laws held")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
