"""The page of a report: sections in a template, with scripts and data in one file."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers._version import __version__
from calipers.collection.query_facts import QueryGroups
from calipers.errors import CalipersError, warn_user
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.plot.vega import bundle, policy, script_data
from calipers.questions.judges.judge_table import named_judgments
from calipers.report.material import SEED, Material, ReportOptions, Texts
from calipers.report.section import ALL, Detail, Section
from calipers.report.sections import check_sections, sections_of
from calipers.report.verdict import Conclusion, Figure, verdict
from calipers.support.atomic_files import check_output, refuse_foreign, write_whole
from calipers.support.checks import Samples
from calipers.support.choices import Correction, TestName
from calipers.support.extras import load

if TYPE_CHECKING:
    from calipers.experiment import Experiment

JudgesLike = Any  # judgments, several of them, or {name: judgments}
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


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: str
    size: int  # bytes
    notes: tuple[str, ...]  # sections that are missing, and parts that were left out


@dataclass(frozen=True)
class PlacedSection:
    """A section with its key and title, or the reason why it could not be made."""

    key: str
    title: str
    section: Section | None
    reason: str = ""


def write_report(
    experiment: Experiment,
    output: str | Path = "report.html",
    *,
    title: str = "",
    baseline: str | None = None,
    sections: Iterable[str] = (),
    top: int = 10,
    query_texts: str | Path | Mapping[str, str] | None = None,
    document_texts: str | Path | Mapping[str, str] | None = None,
    query_groups: QueryGroups | None = None,
    judges: JudgesLike | None = None,
    test: TestName = "t",
    correction: Correction | None = "holm",
    alpha: float = 0.05,
    samples: Samples | None = None,
    seed: int = SEED,
    population: str = DEFAULT_POPULATION,
    command: str = "",
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> Report:
    """Write a report: one HTML file that needs no network.

    title: title of the page. By default it names the systems and the judgments.
    baseline: the system that all others are compared with. Of two systems it is the old one; by default the first is.
    sections: names of the wanted sections, such as systems, between or differs. By default all that apply.
    top: number of documents of each ranking that the page shows.
    query_texts, document_texts: texts to show with ids of rankings: files that `cal.read_titles` reads, or {id: text}.
    query_groups: {query: group}, or a file of queries and groups. A section compares the systems in each group.
    judges: other judgments of the same queries, as for `Experiment.judges`. A section compares them. Not for texts.
    test, correction, alpha, samples, seed: as for `compare`. population: as for `bounds`.
    command: a command to show on the page, for readers who want to repeat the report.
    progress: is called with 1 after each section. warn: give the notes as one CalipersWarning.

    >>> import tempfile, calipers as cal
    >>> qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "c": 1}}
    >>> runs = {"one": {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}, "two": {"q1": {"b": 2}, "q2": {"c": 1}}}
    >>> written = cal.Experiment(qrels, runs, "nDCG@10", warn=False).report(f"{tempfile.mkdtemp()}/report.html")
    >>> written.size < 2_000_000, written.notes
    (True, ())
    """
    check_page_name(str(output))
    choices = ReportOptions(
        title=title,
        test=test,
        correction=correction or "none",
        alpha=alpha,
        samples=samples,
        seed=seed,
        population=population,
        top=top,
        baseline=baseline,
        sections=tuple(sections),
        query_groups=query_groups,
    )
    content, notes = report_page(
        experiment,
        choices,
        judges=judges,
        texts=Texts(query_texts, document_texts),
        command=command,
        progress=progress,
    )
    write_whole(output, content)
    warn_user(notes, warn)
    return Report(str(output), len(content), notes)


def check_page_name(output: str) -> None:
    """Refuse a file that cannot be written, or whose name ends in something other than .html, such as .pdf.

    >>> check_page_name("report.pdf")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: report.pdf: cannot be written as .pdf; a report is an HTML page: name it report.html
    """
    refuse_foreign(output, ("html", "htm"), f"a report is an HTML page: name it {Path(output).stem}.html")
    check_output(output)


def report_page(
    experiment: Experiment,
    choices: ReportOptions,
    *,
    judges: JudgesLike | None = None,
    texts: Texts | None = None,
    command: str = "",
    progress: Callable[[int], None] | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Return the page that `write_report` writes, and notes about it."""
    check_sections(choices.sections)
    check_packages()
    texts = texts or Texts()
    texts.check()
    if experiment.texts is not None and (judges is not None or texts != Texts()):
        raise CalipersError("other judges, and texts to show with ids, are for rankings; texts are shown as they are")
    with no_garbage_collection():
        others = None if judges is None else named_judgments(judges)
        text, notes = compose(Material(experiment, choices, others, texts, command), progress)
    return text.encode("utf-8", "backslashreplace"), notes  # ids need not be UTF-8


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switch the search for reference cycles off. A page holds many objects and makes few cycles."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


PACKAGES = ("jinja2", "vl_convert")


def check_packages() -> None:
    """Load the packages that make a page, so that a missing one is an error before any work is done."""
    for module in PACKAGES:
        load(module, extra="report", what="reports")


def compose(material: Material, progress: Callable[[int], None] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the page and notes about it. A page that is too large is made again with less detail."""
    notes: list[str] = []
    text, size = "", 0
    for level, detail in enumerate(LEVELS):
        placed = make(material, detail, progress if level == 0 else None)
        text = render(material, placed, detail)
        size = len(text.encode("utf-8", "backslashreplace"))
        if size <= LIMIT:
            break
    if detail != LEVELS[0]:
        notes.append(f"the page would exceed {LIMIT / 1e6:g} MB: {detail.left_out()}")
    if size > LIMIT:
        notes.append(f"the page has {size / 1e6:.1f} MB: fewer runs or measures make it smaller")
    notes += [f"no section '{each.title}': {each.reason}" for each in placed if each.section is None]
    return text, tuple(notes)


def make(material: Material, detail: Detail, progress: Callable[[int], None] | None = None) -> list[PlacedSection]:
    """Make the sections. A section that cannot be made has the reason instead."""
    placed = []
    for key, kind in sections_of(material).items():
        try:
            placed.append(PlacedSection(key, kind.title, kind.make(material, detail)))
        except CalipersError as error:
            placed.append(PlacedSection(key, kind.title, None, str(error)))
        if progress:
            progress(1)
    return placed


def render(material: Material, placed: list[PlacedSection], detail: Detail) -> str:
    """Return the page as text."""
    charts = {name: spec for each in placed if each.section for name, spec in each.section.charts.items()}
    shown = {each.key: each.section for each in placed if each.section}
    scripts = [bundle(), *(asset(name) for name in SCRIPTS)]
    page: str = (
        _templates()
        .get_template("page.html")
        .render(
            material=material,
            title=material.title,
            verdicts=_verdicts(material, shown.values()),
            placed=placed,
            thinned=detail.left_out(),
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


def _verdicts(material: Material, sections: Iterable[Section]) -> list[tuple[str, Conclusion, list[Figure]]]:
    """Return each measure with its verdict and all figures to show below it: the verdict's own and the sections'."""
    sections = [*sections]
    found = []
    for measure in material.scores.measures:
        conclusion = verdict(material, measure)
        more = [each.findings.get(measure, each.findings.get(ALL)) for each in sections]
        found.append((measure, conclusion, [*conclusion.figures, *(figure for figure in more if figure)]))
    return found


def asset(name: str) -> str:
    """Return a script or style sheet of the page."""
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
