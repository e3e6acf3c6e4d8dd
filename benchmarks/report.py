"""The results as tables (results.md) and as data (results.json)."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.shapes import Shape
from benchmarks.start import MOST, import_ratio
from calipers.plot import Chart, vega
from calipers.plot.specifications import category, condition, layer, mark, quantity

NOT_QUIET = "**Other programs were running: these figures are not to be quoted.**"
PACKAGES = {
    "calipers": "calipers",
    "numpy": "numpy",
    "pytrec_eval": "pytrec-eval-terrier",
    "ir_measures": "ir-measures",
    "ranx": "ranx",
    "sklearn": "scikit-learn",
}


def verdict(took: float, target: float | None) -> str:
    return "" if target is None else "met" if took < target else "NOT MET"


def publish(lines: Sequence[str], output: Path | None) -> NoReturn:
    """Print a page, write it there too, and exit with 1 if it says that a target was missed."""
    text = "\n".join(lines) + "\n"
    print(text)
    if output:
        output.write_text(text, encoding="utf-8")
    sys.exit("NOT MET" in text)


@dataclass(frozen=True)
class Result:
    """One tool on one shape: best of `rounds` processes, or why there is no time."""

    shape: str
    tool: str
    seconds: float | None
    cpu: float | None  # of the whole process, in memory too
    megabytes: float | None
    rounds: int
    note: str = ""


@dataclass(frozen=True)
class Target:
    text: str
    met: bool

    def __str__(self) -> str:
        return f"{'met' if self.met else 'NOT MET'}: {self.text}"


def find(results: Sequence[Result], shape: str, tool: str) -> Result | None:
    return next((r for r in results if (r.shape, r.tool) == (shape, tool) and r.seconds is not None), None)


def targets(shapes: Sequence[Shape], results: Sequence[Result], start: dict[str, float]) -> Iterator[Target]:
    for shape in shapes:
        ours, theirs = find(results, shape.name, "calipers"), find(results, shape.name, shape.against)
        if ours and theirs and ours.seconds and theirs.seconds and shape.ratio:
            ratio = theirs.seconds / ours.seconds
            text = f"{shape.name}: {ratio:.1f} times as fast as {shape.against} (target: {shape.ratio:g})"
            yield Target(text, ratio >= shape.ratio)
        if ours and ours.megabytes and shape.megabytes:
            text = f"{shape.name}: {ours.megabytes:.0f} MB resident (target: at most {shape.megabytes:g})"
            yield Target(text, ours.megabytes <= shape.megabytes)
    if start:
        ratio = import_ratio(start)
        text = f"import calipers: {ratio:.2f} times import numpy (target: at most {MOST})"
        yield Target(text, ratio <= MOST)


def machine() -> dict[str, Any]:
    """Return what the figures depend on. Nothing in it names the machine."""
    versions: dict[str, str | None] = {}
    for tool, package in PACKAGES.items():
        try:
            versions[tool] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[tool] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (ValueError, OSError):
        return None


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def markdown(shapes: Sequence[Shape], results: Sequence[Result], start: dict[str, float], busy: bool) -> str:
    about = machine()
    versions = ", ".join(f"{tool} {version}" for tool, version in about["versions"].items() if version)
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Files to mean scores: nDCG@10, AP, P@10, Recall@1000, RR; ours also RBP.",
        "Every measurement is a process of its own; the tools take turns, and the best of the stated number",
        "counts. For files the whole process is timed, the interpreter's start included, and memory is its",
        "peak resident size; in memory only the evaluation is timed. The tools' means are compared first.",
        "",
        f"{about['processor']}, {about['cores']} cores, {about['memory_gb']} GB, {about['system']}, Python",
        f"{about['python']}; {versions}.",
        "",
        "| shape | tool | time | best of | ours is faster by | CPU time | peak memory | million lines/s |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    if busy:
        lines[-2:-2] = [NOT_QUIET, ""]
    for shape in shapes:
        ours = find(results, shape.name, "calipers")
        for result in (result for result in results if result.shape == shape.name):
            title = f"**{shape.name}**: {shape.title}"
            if result.seconds is None:
                lines.append(f"| {title} | {result.tool} | {result.note} | | | | | |")
                continue
            ratio = ""
            if ours and ours.seconds and result is not ours:
                ratio = f"{result.seconds / ours.seconds:.1f}x"
            whole = [seconds(result.cpu or 0), f"{result.megabytes:.0f} MB"] if shape.kind == "files" else ["", ""]
            speed = f"{shape.lines / result.seconds / 1e6:.2f}"
            cells = [title, result.tool, seconds(result.seconds), str(result.rounds), ratio, *whole, speed]
            lines.append(f"| {' | '.join(cells)} |")
    reached = list(targets(shapes, results, start))
    if reached:
        lines += ["", "## Targets", "", *(f"- {target}" for target in reached)]
    if start:
        lines += ["", "## Start", "", "| command | time |", "|---|---:|"]
        lines += [f"| `{name}` | {seconds(value)} |" for name, value in start.items()]
    return "\n".join(lines) + "\n"


def summary(shapes: Sequence[Shape], results: Sequence[Result]) -> str:
    """Return the table of the README: one row per shape, with the peer that ours is measured against."""
    lines = ["| shape | Calipers | peer | |", "|---|---:|---:|---:|"]
    for shape in shapes:
        if shape.name == "digits":  # much like large
            continue
        ours, theirs = find(results, shape.name, "calipers"), find(results, shape.name, shape.against)
        if ours and theirs and ours.seconds and theirs.seconds:
            cells = [
                seconds(each.seconds or 0) + (f", {each.megabytes:,.0f} MB" if shape.kind == "files" else "")
                for each in (ours, theirs)
            ]
            ratio = theirs.seconds / ours.seconds
            lines.append(f"| {shape.name}: {shape.title} | {cells[0]} | {shape.against} {cells[1]} | {ratio:.1f}x |")
    return "\n".join(lines) + "\n"


def chart(shapes: Sequence[Shape], results: Sequence[Result], path: Path) -> None:
    """Write a bar chart of the times on files: one panel per shape, one bar per tool."""
    panels = []
    for shape in shapes:
        times = {result.tool: result.seconds for result in results if result.shape == shape.name and result.seconds}
        if shape.kind != "files" or shape.name == "digits" or len(times) < 2:
            continue
        rows = [{"tool": tool, "seconds": time, "label": seconds(time)} for tool, time in times.items()]
        places = {"x": quantity("seconds", axis=None), "y": category("tool", title=None, sort=list(times))}
        bars = layer(mark("bar"), **places, color=condition("datum.tool == 'calipers'", "#0072B2", "#999999"))
        labels = layer(mark("text", align="left", dx=3), **places, text=category("label"))
        title = {"text": shape.title, "anchor": "start", "fontSize": 11}
        panels.append(Chart.of(rows, bars, labels, width=420, title=title).spec)
    path.write_bytes(vega.svg({"vconcat": panels, "config": {"view": {"stroke": None}}}))


def fill_in(page: Path, mark: str, text: str) -> None:
    """Put a text into a page, between its marks."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition(f"<!-- /{mark} -->")
    if not (begin and end):
        raise SystemExit(f"{page.name} has no place for {mark}")
    page.write_text(before + begin + text + end + after, encoding="utf-8")


def as_json(shapes: Sequence[Shape], results: Sequence[Result], start: dict[str, float], busy: bool) -> str:
    return json.dumps(
        {
            "machine": machine(),
            "busy": busy,
            "results": [asdict(result) for result in results],
            "start": start,
            "targets": [asdict(target) for target in targets(shapes, results, start)],
        },
        indent=1,
    )
