"""Run the benchmarks: `python -m benchmarks [--shape NAME]... [--tool NAME]... [--rounds N]`.

Set TREC_EVAL to the path of a trec_eval program to measure it, too. Results.md, results.json, README's table and its
chart are written only if all shapes and tools ran, or with `--output benchmarks`, and never while other programs run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from pathlib import Path

from benchmarks.measure import Failed, Measured, measure
from benchmarks.report import Result, as_json, chart, fill_in, markdown, seconds, summary
from benchmarks.shapes import SHAPES, TREC_EVAL, Shape, is_generated
from benchmarks.start import CALIPERS, compile_bytecode, start_up

HERE = Path(__file__).resolve().parent
OURS = ["nDCG@10", "AP", "P@10", "Recall@1000", "RR", "RBP(p=0.8)"]
# Our names of trec_eval's measures. It has no RBP in most versions.
THEIRS = {"ndcg_cut_10": "nDCG@10", "map": "AP", "P_10": "P@10", "recall_1000": "Recall@1000", "recip_rank": "RR"}
# trec_eval takes one run: a shell calls it for each, and prints the name of the run first.
TREC_EVAL_LOOP = """judgments=$1; shift
for run; do
  echo "run all $(basename "$run" .run)"
  "$TREC_EVAL" -m ndcg_cut.10 -m map -m P.10 -m recall.1000 -m recip_rank "$judgments" "$run"
done"""
# A tool that has used up this many seconds on a shape is not asked again.
ENOUGH = 30.0
# A load above this, before anything has started, spoils the times, above all those of threads.
BUSY = 0.5
# pytrec_eval keeps scores as float32, where a few of 17 digits tie.
TOLERANCE = 2e-4

Means = dict[str, dict[str, float]]


def say(text: str) -> None:
    """Print to standard error."""
    print(text, file=sys.stderr, flush=True)


def command(shape: Shape, tool: str, folder: Path) -> list[str]:
    """Return the command line of a tool on the files of a shape."""
    script = str(HERE / "scripts" / f"with_{tool}.py")
    if shape.kind != "files":
        return [sys.executable, script, shape.kind, str(folder), str(shape.repeats)]
    files = [str(folder / "qrels.txt"), *sorted(map(str, folder.glob("*.run")))]
    if tool == "calipers":
        return [CALIPERS, "evaluate", *files, "-m", " ".join(OURS), "--format", "csv"]
    if tool == "trec_eval":
        return ["sh", "-c", TREC_EVAL_LOOP, "sh", *files]
    return [sys.executable, script, "files", *files]


def read(shape: Shape, tool: str, measured: Measured) -> tuple[float, Means]:
    """Return the time that counts, and the mean scores that were computed in it."""
    if tool == "trec_eval":
        return measured.seconds, trec_eval_means(measured.output)
    if shape.kind == "files" and tool == "calipers":
        rows = list(csv.DictReader(measured.output.splitlines()))
        return measured.seconds, {row["system"]: {name: float(row[name]) for name in OURS} for row in rows}
    # The last line: some tools print other things before it.
    answer = json.loads(measured.output.splitlines()[-1])
    return answer["seconds"] or measured.seconds, answer["means"]


def trec_eval_means(output: str) -> Means:
    """Return the means that trec_eval printed for several runs.

    >>> trec_eval_means("run all a\\nmap \\tall\\t0.5\\nrun all b\\nmap\\tall\\t0.25\\n")
    {'a': {'AP': 0.5}, 'b': {'AP': 0.25}}
    """
    means: Means = {}
    for line in output.splitlines():
        name, _, value = line.split()
        if name == "run":
            means[value] = {}
        elif name in THEIRS:
            means[next(reversed(means))][THEIRS[name]] = float(value)
    return means


def disagreement(one: Means, other: Means) -> str:
    """Return where two tools differ on what both computed, or an empty string."""
    if one.keys() != other.keys():
        return f"systems {sorted(one)[:3]} against {sorted(other)[:3]}"
    for system in one:
        for name in one[system].keys() & other[system].keys():
            if abs(one[system][name] - other[system][name]) > TOLERANCE:
                return f"{name} of {system}: {one[system][name]} against {other[system][name]}"
    return ""


def run(shape: Shape, tools: list[str], folder: Path, rounds: int) -> list[Result]:
    """Run every tool in turn, `rounds` times, and return the best of each."""
    best: dict[str, tuple[float, float, float]] = {}
    spent, done = dict.fromkeys(tools, 0.0), dict.fromkeys(tools, 0)
    notes: dict[str, str] = {}
    reference: Means = {}
    for _ in range(rounds):
        for tool in tools:
            if tool in notes or spent[tool] > ENOUGH:
                continue
            try:
                measured = measure(command(shape, tool, folder))
                took, means = read(shape, tool, measured)
            except (Failed, OSError) as error:
                notes[tool] = f"failed: {error}"
                say(f"  {tool}: {notes[tool]}")
                continue
            reference = reference or means
            if different := disagreement(means, reference):
                notes[tool] = f"wrong result: {different}"
                say(f"  {tool}: {notes[tool]}")
                continue
            spent[tool] += measured.seconds
            done[tool] += 1
            now = took, measured.cpu, measured.megabytes
            best[tool] = min(best.get(tool, now), now)
    results = []
    for tool in tools:
        if tool in notes:
            results.append(Result(shape.name, tool, None, None, None, done[tool], notes[tool]))
        elif tool in best:
            time, cpu, memory = best[tool]
            results.append(Result(shape.name, tool, time, cpu, memory, done[tool]))
            say(f"  {tool:12} {seconds(time):>9} {memory:7.0f} MB   best of {done[tool]}, CPU {seconds(cpu)}")
    return results


def main() -> None:
    """Run what the command line asks for."""
    names = [shape.name for shape in SHAPES]
    every = sorted({tool for shape in SHAPES for tool in shape.tools})
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--shape", action="append", choices=[*names, "start"], help="only this (repeatable)")
    parser.add_argument("--tool", action="append", choices=every, help="only this (repeatable)")
    parser.add_argument("--rounds", type=int, help="processes per tool (default: by shape)")
    parser.add_argument("--cache", type=Path, default=HERE.parent / ".bench", help="folder of generated data")
    parser.add_argument("--output", type=Path, help="folder of results.md and results.json (default: here, if all ran)")
    options = parser.parse_args()

    # Our own processes are not running yet, so any load comes from other programs.
    busy = os.getloadavg()[0] > BUSY
    if busy:
        say("other programs are running: the figures will not be comparable, and no file will be changed")
    chosen = [shape for shape in SHAPES if not options.shape or shape.name in options.shape]
    results: list[Result] = []
    compile_bytecode()
    for shape in chosen:
        folder = options.cache / shape.name
        if not is_generated(shape, folder):
            say(f"{shape.name}: generating")
            measure([sys.executable, "-m", "benchmarks.shapes", shape.name, str(folder)])
        # A tool that is asked for by name also gets what it is usually spared.
        tools = [tool for tool in shape.able if tool in (options.tool or shape.tools)]
        if not os.environ.get(TREC_EVAL):
            tools = [tool for tool in tools if tool != "trec_eval"]
        say(f"{shape.name}: {shape.title}")
        if "ranx" in tools:
            warm_up(shape, folder)
        results += run(shape, tools, folder, options.rounds or shape.rounds)
    start = start_up() if not options.shape or "start" in options.shape else {}

    table = markdown(chosen, results, start, busy)
    print(table)
    output = options.output or (None if options.shape or options.tool else HERE)
    if output and not (busy and output.resolve() == HERE):
        output.mkdir(parents=True, exist_ok=True)
        (output / "results.md").write_text(table, encoding="utf-8")
        (output / "results.json").write_text(as_json(chosen, results, start, busy) + "\n", encoding="utf-8")
    if output and output.resolve() == HERE and not busy:
        fill_in(HERE.parent / "README.md", "speed", summary(chosen, results))
        chart(chosen, results, HERE.parent / "docs" / "images" / "speed.svg")


def warm_up(shape: Shape, folder: Path) -> None:
    """Run ranx once without counting it: its first call compiles for a minute and a half."""
    say("  ranx: once, not counted, to fill its cache")
    try:
        measure(command(shape, "ranx", folder))
    except Failed as error:
        say(f"  ranx: {error}")


if __name__ == "__main__":
    main()
