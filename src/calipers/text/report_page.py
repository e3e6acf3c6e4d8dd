"""Reports on summaries or answers: the page of rankings, with sections about texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.atomic_files import check_output, write_whole
from calipers.errors import CheckFailed, place_of
from calipers.plurals import counted
from calipers.report.material import ReportOptions, ScoredMaterial
from calipers.report.page import Report, check_packages, compose
from calipers.report.provenance import Provenance, described, versions
from calipers.results.scores import Scores
from calipers.results.tables import as_number

if TYPE_CHECKING:
    from calipers.text.scoring import TextScores
    from calipers.text.summaries import Summaries


@dataclass(eq=False)
class TextMaterial(ScoredMaterial):
    """Summaries, their scores, and results computed from them."""

    unit: ClassVar[str] = "document"
    summaries: Summaries
    scores: Scores  # under all measures
    found: TextScores | None  # those of texts, with their bounds
    choices: ReportOptions
    provenance: Provenance
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what else the figures depend on

    def sections(self) -> dict[str, Any]:
        """Return the sections of the page by key."""
        from calipers.report.sections import SectionKind, comparison, systems
        from calipers.text import report_sections as about

        several = len(self.scores.systems) > 1 and len(self.scores.queries) > 1
        found = {
            "systems": (True, SectionKind("Systems and scores", systems.section)),
            "chance": (bool(about.bounded(self)), SectionKind("Between chance and the upper bound", about.chance)),
            "differs": (several, SectionKind("Who really differs", comparison.section)),
            "people": (bool(self.summaries.human), SectionKind("Agreement with people", about.people)),
            "trust": (several, SectionKind("Which measure to trust", about.trust)),
            "texts": (True, SectionKind("Where systems differ most", about.texts)),
            "method": (True, SectionKind("How it was computed", about.method)),
        }
        return {key: kind for key, (applies, kind) in found.items() if applies}

    def verdict(self) -> list[str]:
        """Return the conclusion in one or two sentences."""
        best = self.scores.systems[self.order[0]]
        top = as_number(self.scores.mean()[best, self.measure])
        over = counted(len(self.scores.queries), self.unit)
        systems = counted(len(self.scores.systems), "system")
        said = [f"{best} leads {systems} with a mean {self.measure} of {top:.4f} over {over}."]
        if len(self.scores.systems) == 1:
            said = [f"{best} has a mean {self.measure} of {top:.4f} over {over}."]
        elif len(self.scores.queries) > 1:
            said.append(f"{self.comparison.conclusions()[0]}.")
        return said

    @property
    def name(self) -> str:
        return self.summaries.name


def write_text_report(
    summaries: Summaries, found: TextScores, output: str | Path = "summaries.html", **choices: Any
) -> Report:
    """Write a report on summaries: one HTML file that opens anywhere, without a network.

    found: what `evaluate_summaries` gave. choices: title, baseline, test, correction, alpha, samples, seed and top, as
    for `calipers.write_report`.

    >>> import tempfile
    >>> from calipers import text
    >>> documents = [text.Document("d1", ("a cat",)), text.Document("d2", ("two birds",))]
    >>> texts = {("d1", "s"): "a cat", ("d2", "s"): "birds", ("d1", "t"): "cat", ("d2", "t"): "a"}
    >>> given = text.Summaries.of(documents, texts, {})
    >>> page = f"{tempfile.mkdtemp()}/summaries.html"
    >>> write_text_report(given, text.evaluate_summaries(given, "ROUGE-1"), page).size < 2_000_000
    True
    """
    check_output(str(output))
    files = {summaries.name: "texts"}
    content, notes = text_report_page(summaries, found.scores, found, ReportOptions(**choices), files=files)
    write_whole(output, content)
    return Report(str(output), len(content), notes)


def text_report_page(
    summaries: Summaries,
    scores: Scores,
    found: TextScores | None = None,
    choices: ReportOptions | None = None,
    *,
    files: Mapping[str, str] | None = None,
    command: str = "",
    parameters: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Return a report on summaries as one HTML page, and notes about it.

    scores: those of all measures, as `evaluate_summaries` gives them, of which `found` has the bounds. files: paths
    that were read, each with its role. parameters: what else to state under "How it was computed".
    """
    check_packages()
    if choices is not None and choices.baseline:
        place_of("baseline", choices.baseline, scores.systems)
    if np.isnan(scores.values).all():
        raise CheckFailed("every score is undefined: there is nothing to report")
    about = Provenance(command, versions(), tuple(described(role, path) for path, role in (files or {}).items()))
    material = TextMaterial(summaries, scores, found, choices or ReportOptions(), about, parameters or {})
    text, notes = compose(material, progress)
    return text.encode("utf-8", "backslashreplace"), notes
