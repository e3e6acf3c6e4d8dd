"""Take the pictures of the report and of charts for the manual: `python -m research.figures.pictures DATA`.

With the word `sizes` after DATA it only measures how large reports are and how long they take (docs/report.md).
DATA is a folder with trec/covid-round1, trec/trec8-adhoc and trec/qrels. Needs Debian's chromium and playwright.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import calipers as cal
from calipers import Table, plot, simulate
from research.figures.manual import simulated_runs
from research.figures.pages import DOCS, replace

IMAGES = DOCS / "images"
RUNS = (  # of TREC-COVID round 1, from the best to the worst
    "run1",
    "BBGhelani1",
    "sab20.1.meta.docs",
    "CSIROmedNIR",
    "base.unipd.it",
    "crowd1",
    "T5R1",
    "bm25t5",
    "baseline",
    "bm25_baseline",
    "BM25R2",
    "jlprec",
)
MEASURES = "nDCG@10 AP RR P@10 RBP(p=0.8)"
ROUNDS = 5  # of each report that is timed
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def chosen_runs(folder: Path) -> list[Path]:
    """Return the files of RUNS. Files have the names of the runs, or the names of their submissions."""
    by_name = {run.name: Path(str(run.path)) for run in cal.read_runs(folder / "runs")}  # type: ignore[attr-defined]  # files
    return [by_name[name] for name in RUNS]


@contextmanager
def shown(page: Path, width: int, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """Open a page in a browser and wait until its charts are drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        opened = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=1 if width > 600 else 2,
        )
        opened.goto(page.as_uri())
        opened.wait_for_selector("body[data-charts=drawn]")
        yield opened
        browser.close()


def of_report(data: Path, folder: Path) -> None:
    """Take pictures of a report, and of sections that pages of the manual describe."""
    page = folder / "report.html"
    covid = (data / "trec/covid-round1").resolve()
    with chdir(covid):  # so that the commands on the page have short paths
        runs = [path.resolve().relative_to(covid) for path in chosen_runs(covid)]
        cal.Experiment("qrels-rnd1.txt", runs, MEASURES).report(page, title="TREC-COVID, twelve runs")
    with shown(page, 1280, 1000) as browser:
        browser.screenshot(path=str(IMAGES / "report.png"))
        for section, name in (("systems", "evaluate"), ("differs", "compare"), ("tools", "audit")):
            place = browser.locator(f"#{section} .chart, #{section} .grid").first
            place.screenshot(path=str(IMAGES / f"{name}.png"))
        browser.locator('[data-grid="properties"]').screenshot(path=str(IMAGES / "properties.png"))
        browser.locator('[data-grid="queries"] .open').nth(3).click()
        browser.hover("dialog .document >> nth=0")
        browser.set_viewport_size({"width": 1280, "height": 640})
        browser.screenshot(path=str(IMAGES / "report-query.png"))
    with shown(page, 1800, 1100, dark=True) as browser:
        browser.screenshot(path=str(IMAGES / "report-dark.png"))
    with shown(page, 390, 844) as browser:
        browser.screenshot(path=str(IMAGES / "report-phone.png"))


def of_charts(data: Path) -> None:
    covid = data / "trec/covid-round1"
    scores = cal.evaluate(covid / "qrels-rnd1.txt", chosen_runs(covid), ["nDCG@10"])
    bounds = cal.bounds(covid / "qrels-rnd1.txt", ["nDCG@10"])
    plot.save(plot.between_bounds(scores, bounds), str(IMAGES / "between.png"))
    two = {name: covid / f"runs/{name}.xz" for name in ("bm25_baseline", "bm25t5")}
    changed = cal.Experiment(covid / "qrels-rnd1.txt", two, "nDCG@10").diff(*two)
    plot.save(plot.gains_and_losses(changed), str(IMAGES / "diff.png"))
    matrices = [data / f"scores/adhoc8_{name}.csv" for name in ("ap", "p10", "rr")]
    pilot = cal.read_scores(matrices, measures=["AP", "P@10", "RR"])
    plot.save(plot.power_curves(cal.plan(pilot, difference=0.05)), str(IMAGES / "plan.png"))
    judgments = cal.read_subtopics(data / "trec/qrels/qrels.web.201-250.ndeval.txt.xz")
    diverse = cal.evaluate(judgments, simulated_runs(judgments, 12), ["alpha-nDCG@20"])
    plot.save(plot.means(diverse), str(IMAGES / "diversity.png"))


def chosen_of_trec_8(data: Path) -> list[Path]:
    """126 of its runs, in the order of their names."""
    return sorted((data / "trec/trec8-adhoc/runs").iterdir())[:126]


def unpacked(runs: list[Path], folder: Path) -> list[Path]:
    """The runs as plain files."""
    folder.mkdir()
    for run in runs:
        with lzma.open(run) as file, open(folder / run.stem, "wb") as plain:
            shutil.copyfileobj(file, plain)
    return sorted(folder.iterdir())


def of_many_systems(data: Path, folder: Path) -> None:
    """The sections that grow with the pairs of systems, of 126 systems."""
    page = folder / "many.html"
    title = "TREC-8, 126 runs"
    experiment = cal.Experiment(data / "trec/trec8-adhoc/qrels.txt", chosen_of_trec_8(data), "nDCG@10")
    experiment.report(page, title=title)
    with shown(page, 1600, 1250) as browser:
        place = browser.locator("#differs .chart").first
        place.scroll_into_view_if_needed()
        browser.wait_for_timeout(500)
        place.screenshot(path=str(IMAGES / "report-126.png"))


def sizes(data: Path, folder: Path) -> str:
    """How large reports are, and how long whole processes take to write them, once Vega's bundle is in the cache.

    The best of so many counts, as in the benchmarks: a machine that others use, too, may be slower, but never quicker.
    """
    busy = " **Other programs were running: the times are too long.**" if os.getloadavg()[0] > 0.5 else ""
    fifty = simulate(topics=50, systems=50, retrieved=1000, ties=0.1, unjudged=0.2, seed=42)
    qrels, runs = fifty.write(folder / "fifty")
    of_trec_8, packed = data / "trec/trec8-adhoc/qrels.txt", chosen_of_trec_8(data)
    shapes = (
        ("50 simulated runs of 1,000 documents, 50 topics", qrels, runs),
        ("126 runs of TREC-8, 50 topics", of_trec_8, unpacked(packed, folder / "trec-8")),
        ("126 runs of TREC-8, 50 topics, packed (xz)", of_trec_8, packed),
    )
    # Installed packages are compiled to bytecode: the first report, which is not timed, does that here.
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    rows = []
    for what, judgments, systems in (shapes[0], *shapes):
        command = [
            sys.executable,
            "-m",
            "calipers",
            "report",
            str(judgments),
            *map(str, systems),
            "-o",
            str(folder / "r.html"),
        ]
        times = []
        for _ in range(ROUNDS):
            start, used = time.perf_counter(), _seconds_of_children()
            subprocess.run(command, check=True, env=compiled, capture_output=True)
            times.append((time.perf_counter() - start, _seconds_of_children() - used))
        took, used = min(times)
        size = (folder / "r.html").stat().st_size
        rows.append((what, f"{size / 1e6:.2f} MB", f"{took:.1f} s", f"{used:.1f} s"))
    table = Table(("", "size", "time", "CPU time"), tuple(rows[1:])).to_markdown()
    return f"With the five default measures, on two cores, with the start of Python; best of {ROUNDS}.{busy}\n\n{table}"


def _seconds_of_children() -> float:
    """The CPU time of processes that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        of_report(data, Path(folder))
        of_many_systems(data, Path(folder))
        of_charts(data)
        replace(DOCS / "report.md", "report-sizes", sizes(data, Path(folder)))


if __name__ == "__main__":
    if sys.argv[2:] == ["sizes"]:
        with tempfile.TemporaryDirectory() as folder:
            replace(DOCS / "report.md", "report-sizes", sizes(Path(sys.argv[1]), Path(folder)))
    else:
        main(Path(sys.argv[1]))
