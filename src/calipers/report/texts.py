"""A report on summaries or answers: the page of rankings, with sections about texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.atomic_files import check_output, write_whole
from calipers.errors import CalipersError, CheckFailed
from calipers.plurals import counted
from calipers.report.material import ReportOptions, best_first
from calipers.report.page import Report, check_packages, compose
from calipers.report.provenance import Provenance, described, versions
from calipers.results.scores import Scores

if TYPE_CHECKING:
    from calipers.metaeval.power import DiscriminativePower
    from calipers.stats.comparison import Comparison
    from calipers.text.scoring import TextScores
    from calipers.text.summaries import Summaries


@dataclass(eq=False)
class TextMaterial:
    """Summaries and their scores, and what follows from them."""

    unit: ClassVar[str] = "document"
    summaries: Summaries
    scores: Scores  # under all measures
    found: TextScores | None  # those of texts, with their bounds
    choices: ReportOptions
    provenance: Provenance
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what else the figures depend on

    def sections(self) -> dict[str, Any]:
        """The sections of the page, by key: their titles, and what makes them."""
        from calipers.report.sections import SectionKind, comparison, systems
        from calipers.report.sections import text as about

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
        """The paragraph for a reader who reads nothing else."""
        best = self.scores.systems[self.order[0]]
        top = float(self.scores.mean()[best, self.measure])  # type: ignore[arg-type]  # a number
        over = counted(len(self.scores.queries), self.unit)
        systems = counted(len(self.scores.systems), "system")
        said = [f"{best} leads {systems} with a mean {self.measure} of {top:.4f} over {over}."]
        if len(self.scores.systems) == 1:
            said = [f"{best} has a mean {self.measure} of {top:.4f} over {over}."]
        elif len(self.scores.queries) > 1:
            said.append(f"{self.comparison.conclusions()[0]}.")
        return said

    @property
    def subtitle(self) -> str:
        """What the title does not say."""
        counts = [counted(len(self.scores.queries), self.unit)]
        if self.choices.title:
            counts.insert(0, counted(len(self.scores.systems), "system"))
        return " · ".join([*counts, ", ".join(self.scores.measures)])

    @property
    def less_is_better(self) -> list[str]:
        """The measures that are errors."""
        if self.found is None:
            return []
        return [name for name, each in zip(self.found.scores.measures, self.found.asked, strict=True) if each.lower]

    @property
    def measure(self) -> str:
        """The measure that speaks for the others: the first."""
        return self.scores.measures[0]

    @property
    def title(self) -> str:
        if self.choices.title:
            return self.choices.title
        systems = self.scores.systems
        who = ", ".join(systems) if len(systems) < 4 else counted(len(systems), "system")
        return f"{who} on {Path(self.summaries.name).name}"

    @cached_property
    def order(self) -> list[int]:
        """The systems by the first measure, best first; those without a mean last."""
        return best_first(self.scores)

    @cached_property
    def comparison(self) -> Comparison:
        from calipers.stats.comparison import compare

        c = self.choices
        return compare(self.scores, c.test, c.correction, alpha=c.alpha, samples=c.samples, seed=c.seed, warn=False)

    @cached_property
    def power(self) -> DiscriminativePower:
        from calipers.metaeval.power import discriminative_power

        c = self.choices
        return discriminative_power(self.scores, c.test, c.alpha, samples=c.samples, seed=c.seed)


def write_text_report(
    summaries: Summaries, found: TextScores, output: str | Path = "summaries.html", **choices: Any
) -> Report:
    """Write a report on summaries: one HTML file that opens anywhere, without a network.

    found: what `evaluate_summaries` gave. choices: title, test, correction, alpha, samples, seed and top, as for
    `calipers.write_report`.

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
    """A report on summaries as one HTML page, and what a user should know about it.

    scores: those of all measures, as `evaluate_summaries` gives them, of which `found` has the bounds. files: paths
    that were read, each with its role. parameters: what else to state under "How it was computed".
    """
    check_packages()
    if np.isnan(scores.values).all():
        raise CheckFailed("every score is undefined: there is nothing to report")
    about = Provenance(command, versions(), tuple(described(role, path) for path, role in (files or {}).items()))
    material = TextMaterial(summaries, scores, found, choices or ReportOptions(), about, parameters or {})
    if material.measure in material.less_is_better:
        raise CalipersError(
            f"a page is ordered by its first measure, and less is better under {material.measure}: name another first, "
            f"as V2({material.measure})"
        )
    text, notes = compose(material, progress)
    return text.encode("utf-8", "backslashreplace"), notes
