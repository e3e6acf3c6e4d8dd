"""From material to a page: sections into a template, scripts and data into one file."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, Unpack

from calipers._version import __version__
from calipers.atomic_files import check_output, write_whole
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Policies
from calipers.extras import load
from calipers.measures.grammar import DEFAULT_MEASURES
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.measures.registry import Measure
from calipers.plot.drawing import specified
from calipers.plot.page import policy, script_data
from calipers.plot.vega import bundle
from calipers.report.material import ReportOptions, Texts, gather
from calipers.report.section import Detail, Section
from calipers.report.sections import check_sections
from calipers.results.scores import Scores

LIMIT = 20_000_000  # bytes above which a page is thinned
SCRIPTS = ("tables.js", "charts.js", "rankings.js", "theme.js")

# Each leaves out more than the one before.
LEVELS = (
    Detail(),
    Detail(measures=1),
    Detail(measures=1, top=5, points=300),
    Detail(measures=1, systems=100, top=5, points=300),
    Detail(measures=1, systems=60, top=0, points=300),
)


class AnyMaterial(Protocol):
    """What a page is made of, whatever it is about."""

    @property
    def title(self) -> str: ...
    @property
    def subtitle(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def scores(self) -> Scores: ...
    def verdict(self) -> list[str]: ...
    def sections(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Report:
    """What was written."""

    path: str
    size: int  # bytes
    notes: tuple[str, ...]  # what a user should know: sections that are missing, what was left out


@dataclass(frozen=True)
class PlacedSection:
    """A section with its place on the page, or the reason why it is empty."""

    key: str
    title: str
    section: Section | None
    reason: str = ""


def write_report(
    judgments: JudgmentsLike,
    runs: RunsLike,
    output: str | Path = "report.html",
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    command: str = "",
    progress: Callable[[int], None] | None = None,
    title: str = "",
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    samples: Any = None,
    seed: int = 42,
    population: str = DEFAULT_POPULATION,
    top: int = 10,
    baseline: str = "",
    sections: Iterable[str] = (),
    judges: Any = None,
    query_texts: str | Path | Mapping[str, str] | None = None,
    document_texts: str | Path | Mapping[str, str] | None = None,
    warn: bool = True,
    **policies: Unpack[Policies],
) -> Report:
    """Write a report on some runs: one HTML file that opens anywhere, without a network.

    judgments, runs, measures and the policies (like, ties, depth, condensed, empty, missing, degenerate, jobs) are
    those of `evaluate`; test, correction, alpha, samples and seed those of `compare`; population that of `bounds`.
    title: of the page. top: how many documents of each ranking are shown. command: to be shown, to repeat the report.
    baseline: the system that all others are compared with; of two systems the old one, else the first is.
    sections: the names of those that are wanted, as systems, between, differs; all that apply where none is named.
    judges: other judgments of the same queries, as `cal.judges` takes them: a section says what they would change.
    warn: give the notes as one CalipersWarning.
    query_texts, document_texts: what to show beside ids: files as `cal.read_texts` reads them, or {id: text}.

    >>> import tempfile, calipers as cal
    >>> page = f"{tempfile.mkdtemp()}/report.html"
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "c": 1}}
    >>> runs = {"one": {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}, "two": {"q1": {"b": 2}, "q2": {"c": 1}}}
    >>> written = cal.write_report(qrels, runs, page, ["nDCG@10"])
    >>> written.size < 2_000_000, written.notes
    (True, ())
    """
    check_output(str(output))
    choices = ReportOptions(title, test, correction, alpha, samples, seed, population, top, baseline, tuple(sections))
    content, notes = report_page(
        judgments, runs, measures, choices, judges=judges, texts=Texts(query_texts, document_texts), command=command,
        progress=progress, **policies,
    )  # fmt: skip
    write_whole(output, content)
    warn_user(notes, warn)
    return Report(str(output), len(content), notes)


def report_page(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: str | Measure | Iterable[str | Measure],
    choices: ReportOptions,
    *,
    judges: Any = None,
    texts: Texts | None = None,
    command: str = "",
    progress: Callable[[int], None] | None = None,
    **policies: Unpack[Policies],
) -> tuple[bytes, tuple[str, ...]]:
    """The page that `write_report` writes, and what a user should know about it."""
    check_sections(choices.sections)
    check_packages()
    with no_collections():
        material = gather(
            judgments, runs, measures, choices, judges=judges, texts=texts, command=command, progress=progress,
            **policies,
        )  # fmt: skip
        text, notes = compose(material, progress)
    return text.encode("utf-8", "backslashreplace"), notes  # ids need not be UTF-8


@contextmanager
def no_collections() -> Iterator[None]:
    """Without looking for reference cycles, of which a page makes few, in all that it holds."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


PACKAGES = ("jinja2", "vl_convert")


def check_packages() -> None:
    """Load the packages that make a page. Refuse before the work, not after it, where one is missing."""
    for module in PACKAGES:
        load(module, extra="report", what="reports")


def compose(material: AnyMaterial, progress: Callable[[int], None] | None = None) -> tuple[str, tuple[str, ...]]:
    """The page, thinned until it is small enough, and what to say about it."""
    notes: list[str] = []
    text, size = "", 0
    for level, detail in enumerate(LEVELS):
        placed = make(material, detail, progress if level == 0 else None)
        text = render(material, placed, detail)
        size = len(text.encode("utf-8", "backslashreplace"))
        if size <= LIMIT:
            break
    if detail != LEVELS[0]:
        notes.append(f"the page would exceed {LIMIT / 1e6:g} MB: {detail.said()}")
    if size > LIMIT:
        notes.append(f"the page has {size / 1e6:.1f} MB: fewer runs or measures, or --top 0, make it smaller")
    notes += [f"no section '{each.title}': {each.reason}" for each in placed if each.section is None]
    return text, tuple(notes)


def make(material: AnyMaterial, detail: Detail, progress: Callable[[int], None] | None = None) -> list[PlacedSection]:
    """The sections; one that cannot be made says why."""
    placed = []
    with specified():
        for key, kind in material.sections().items():
            try:
                placed.append(PlacedSection(key, kind.title, kind.make(material, detail)))
            except CalipersError as error:
                placed.append(PlacedSection(key, kind.title, None, str(error)))
            if progress:
                progress(1)
    return placed


def render(material: AnyMaterial, placed: list[PlacedSection], detail: Detail) -> str:
    """The page as text."""
    charts = {name: spec for each in placed if each.section for name, spec in each.section.charts.items()}
    shown = {each.key: each.section for each in placed if each.section}
    scripts = [bundle(), *(asset(name) for name in SCRIPTS)]
    page: str = (
        _templates()
        .get_template("page.html")
        .render(
            material=material,
            title=material.title,
            verdict=material.verdict(),
            placed=placed,
            findings=[section.finding for section in shown.values() if section.finding],
            thinned=detail.said(),
            limit=f"{LIMIT / 1e6:g} MB",
            version=__version__,
            style=asset("report.css"),
            scripts=scripts,
            policy=policy(scripts),
            charts=script_data(charts),
            rankings=script_data(shown["queries"].values["rankings"]) if "queries" in shown else "null",
        )
    )
    return page


def asset(name: str) -> str:
    return (files("calipers.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Any:
    jinja = load("jinja2", extra="report", what="reports")
    return jinja.Environment(
        loader=jinja.PackageLoader("calipers.report"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
