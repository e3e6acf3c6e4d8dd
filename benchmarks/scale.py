"""How cost grows with rows: `python -m benchmarks.scale [--local 1 10 100] [--spark 1 7 10]`, in millions of rows.

A run of N / 1,000 queries x 1,000 documents is scored under six measures, as text: plain, packed, and with its lines
shuffled; on Spark in local[2], as text and as Parquet. 7,000 of the queries are judged, as in a log of which a sample
is judged; `all` has judgments for all of them. Other programs make times longer, so CPU seconds, over all processes,
are given beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Failed, measure
from benchmarks.report import fill_in
from benchmarks.start import CALIPERS

HERE = Path(__file__).resolve().parent
MEASURES = "nDCG@10 AP P@10 Recall@1000 RR RBP(p=0.8)"
CUT = "nDCG@10 P@10 RR@10"  # measures that read ten ranks, which lets Spark cut lists before it moves them
JUDGED = 7_000


@dataclass(frozen=True)
class Result:
    engine: str
    rows: int
    form: str
    seconds: float
    cpu: float
    megabytes: float
    details: dict[str, float]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- data --------------------------------------------------------------------------------------------


def generate(folder: Path, millions: int) -> None:
    """qrels.txt (a sample), qrels-all.txt, run.txt. In a process of its own: it takes memory."""
    from calipers.collection.simulate import simulate

    folder.mkdir(parents=True, exist_ok=True)
    simulation = simulate(topics=1000 * millions, pool=10, retrieved=1000, systems=1)
    qrels, (run,) = simulation.write(folder)
    run.rename(folder / "run.txt")
    qrels.rename(folder / "qrels-all.txt")
    with (folder / "qrels-all.txt").open() as every, (folder / "qrels.txt").open("w") as sample:
        sample.writelines(line for line in every if int(line.split(maxsplit=1)[0]) <= JUDGED)


def pack(folder: Path, form: str) -> None:
    """run.txt.gz, run.txt.zst, shuffled.txt or run.parquet from run.txt."""
    source = folder / "run.txt"
    if form == "gz":
        import gzip

        with source.open("rb") as plain, gzip.open(folder / "run.txt.gz", "wb", compresslevel=1) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    elif form == "zst":
        from calipers.collection.files import zstd

        with source.open("rb") as plain, zstd().open(folder / "run.txt.zst", "wb") as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    elif form == "shuffled":
        interleave(source, folder / "shuffled.txt")
    elif form == "parquet":
        to_parquet(source, folder / "run.parquet", "score")
        to_parquet(folder / "qrels.txt", folder / "qrels.parquet", "grade")


def interleave(source: Path, target: Path, ways: int = 1000) -> None:
    """The lines of a run, one from each of a thousand places in turn: no two of a query stand together."""
    size = source.stat().st_size
    files = []
    for i in range(ways):
        file = source.open("rb")
        file.seek(size * i // ways)
        if i:
            file.readline()
        files.append(file)
    ends = [size * (i + 1) // ways for i in range(ways)]
    with target.open("wb") as out:
        left = list(range(ways))
        while left:
            lines = []
            for i in list(left):
                line = files[i].readline() if files[i].tell() <= ends[i] else b""
                if line:
                    lines.append(line)
                else:
                    left.remove(i)
                    files[i].close()
            out.writelines(lines)


def to_parquet(source: Path, target: Path, value: str) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = ["qid", "q0", "docno", "rank", "score", "tag"] if value == "score" else ["qid", "q0", "docno", "grade"]
    types = {"qid": pa.string(), "docno": pa.string(), value: pa.float64()}
    reader = csv.open_csv(
        source,
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=" "),
        csv.ConvertOptions(column_types=types, include_columns=["qid", "docno", value]),
    )
    with parquet.ParquetWriter(target, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def prepared(folder: Path, millions: int, form: str) -> Path:
    """The folder of the data, made where it is not there."""
    where = folder / f"{millions}M"
    if not (where / "run.txt").exists():
        say(f"{millions} M rows: generating")
        measure([sys.executable, "-m", "benchmarks.scale", "--make", "text", str(where), str(millions)], timeout=3600)
    needed = {"gz": "run.txt.gz", "zst": "run.txt.zst", "shuffled": "shuffled.txt", "parquet": "run.parquet"}
    if form in needed and not (where / needed[form]).exists():
        say(f"{millions} M rows: {form}")
        measure([sys.executable, "-m", "benchmarks.scale", "--make", form, str(where), str(millions)], timeout=3600)
    return where


# -- the local engine --------------------------------------------------------------------------------

FILES = {
    "plain": "run.txt",
    "gz": "run.txt.gz",
    "zst": "run.txt.zst",
    "shuffled": "shuffled.txt",
    "all": "run.txt",
    "all, shuffled": "shuffled.txt",
}


def local(folder: Path, millions: int, form: str) -> Result:
    shuffled = FILES[form] == "shuffled.txt"
    where = prepared(folder, millions, "shuffled" if shuffled else form)
    qrels = "qrels-all.txt" if form.startswith("all") else "qrels.txt"
    command = [CALIPERS, "evaluate", str(where / qrels), str(where / FILES[form]), "-m", MEASURES, "--format", "csv"]
    command += ["--max-unpacked", "100"] if form in ("gz", "zst") else []
    found = measure(command, timeout=7200)
    bytes_read = (where / FILES[form]).stat().st_size
    return Result("local", 10**6 * millions, form, found.seconds, found.cpu, found.megabytes, {"bytes": bytes_read})


# -- Spark -------------------------------------------------------------------------------------------


def on_spark(folder: Path, millions: int, form: str) -> Result:
    where = prepared(folder, millions, "parquet" if form == "parquet" else "plain")
    command = [sys.executable, "-m", "benchmarks.scale", "--run-spark", str(where), form]
    found = json.loads(measure(command, timeout=7200).output.splitlines()[-1])
    return Result(
        "spark", 10**6 * millions, form, found.pop("seconds"), found.pop("cpu"), found.pop("megabytes"), found
    )


def run_spark(where: Path, form: str) -> None:
    """In a process of its own: start, then evaluate and average once."""
    import time
    import warnings

    from calipers import spark

    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    session = spark.session("local[2]", {"spark.log.level": "OFF", "spark.driver.memory": "2g"})
    session.range(1).count()
    started = time.perf_counter()
    cpu = cpu_of_tree()
    ending = "parquet" if form == "parquet" else "txt"
    judgments = spark.read_judgments(session, str(where / f"qrels.{ending}"))
    runs = spark.read_runs(session, [str(where / f"run.{ending}")])
    scores = spark.evaluate(judgments, runs, CUT if form == "cut" else MEASURES)
    means = spark.means(scores).collect()
    done = time.perf_counter()
    executors = session._jsparkSession.sparkContext().statusStore().executorList(False)
    shuffled = sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))
    print(
        json.dumps(
            {
                "seconds": done - started,
                "cpu": cpu_of_tree() - cpu,
                "megabytes": memory_of_tree(),
                "start": started - begin,
                "shuffled": shuffled,
                "nDCG@10": means[0]["nDCG@10"],
            }
        )
    )
    session.stop()


def _processes() -> dict[int, tuple[int, float]]:
    """Of every process: its parent, and the CPU seconds of it and of its dead children."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        found[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


def _tree() -> dict[int, float]:
    processes, mine, todo = _processes(), {}, [os.getpid()]
    while todo:
        process = todo.pop()
        mine[process] = processes[process][1]
        todo += [child for child, (parent, _) in processes.items() if parent == process]
    return mine


def cpu_of_tree() -> float:
    return sum(_tree().values())


def memory_of_tree() -> float:
    """The most that each process has had, added up, in MB."""
    total = 0
    for process in _tree():
        try:
            status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        total += int(status.split("VmHWM:")[1].split()[0]) if "VmHWM:" in status else 0
    return total * 1024 / 1e6


# -- results -----------------------------------------------------------------------------------------


def markdown(results: list[Result]) -> str:
    lines = [
        "| engine | rows | form | seconds | CPU s | rows per CPU s | peak MB | start-up s | bytes moved per row "
        "| load |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in results:
        start = f"{r.details['start']:.1f}" if "start" in r.details else ""
        load = "" if r.details.get("load") is None else f"{r.details['load']:.1f}"
        moved = f"{r.details['shuffled'] / r.rows:.1f}" if "shuffled" in r.details else ""
        lines.append(
            f"| {r.engine} | {r.rows:,} | {r.form} | {r.seconds:.1f} | {r.cpu:.1f} | {r.rows / r.cpu:,.0f} | "
            f"{r.megabytes:.0f} | {start} | {moved} | {load} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--local", type=int, nargs="*", default=[1, 7, 10, 100], metavar="MILLIONS")
    parser.add_argument("--spark", type=int, nargs="*", default=[1, 7, 10], metavar="MILLIONS")
    parser.add_argument("--forms", nargs="*", default=[*FILES], choices=FILES)
    parser.add_argument("--spark-forms", nargs="*", default=["text", "cut", "parquet"])
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".bench" / "scale", help="of generated data")
    parser.add_argument("--output", type=Path, default=HERE / "scale.json", help="results are added to it")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--run-spark", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        form, folder, millions = options.make
        return generate(Path(folder), int(millions)) if form == "text" else pack(Path(folder), form)
    if options.run_spark:
        return run_spark(Path(options.run_spark[0]), options.run_spark[1])
    wanted = [(local, m, form) for m in options.local for form in options.forms]
    wanted += [(on_spark, m, form) for m in options.spark for form in options.spark_forms]
    known = json.loads(options.output.read_text(encoding="utf-8")) if options.output.exists() else []
    results = {(r["engine"], r["rows"], r["form"]): Result(**r) for r in known}
    for run, millions, form in wanted:
        load = os.getloadavg()[0]  # by others, and by what was made for this
        try:
            found = run(options.folder, millions, form)
            found.details["load"] = load
        except Failed as error:
            say(f"{millions} M rows, {form}: {error}")
            continue
        cost = f"{found.seconds:.1f} s, CPU {found.cpu:.1f} s, {found.megabytes:.0f} MB"
        say(f"{found.engine}, {millions} M rows, {form}: {cost}")
        results[found.engine, found.rows, found.form] = found
        ordered = sorted(results.values(), key=lambda r: (r.engine, r.rows, r.form))
        options.output.write_text(json.dumps([asdict(r) for r in ordered], indent=1) + "\n", encoding="utf-8")
    table = markdown(sorted(results.values(), key=lambda r: (r.engine, r.rows, r.form)))
    print(table)
    if options.output == HERE / "scale.json":
        fill_in(HERE / "scale.md", "scale", table)
    return None


if __name__ == "__main__":
    main()
