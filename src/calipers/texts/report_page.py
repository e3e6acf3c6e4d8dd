"""Reports on texts: the page of rankings, with sections about texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CheckFailed, place_of
from calipers.report.material import ReportOptions, ScoredMaterial
from calipers.report.page import Report, check_packages, compose
from calipers.report.provenance import Provenance, described, versions
from calipers.support.atomic_files import check_output, write_whole

if TYPE_CHECKING:
    from calipers.results.scores import Scores
    from calipers.texts.collection import TextCollection
    from calipers.texts.evaluation import Evaluation


@dataclass(eq=False)
class TextMaterial(ScoredMaterial):
    """Texts, their scores, and results computed from them."""

    evaluation: Evaluation
    choices: ReportOptions
    provenance: Provenance
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what else the figures depend on

    @property
    def collection(self) -> TextCollection:
        return self.evaluation.collection

    @property
    def scores(self) -> Scores:  # type: ignore[override]
        return self.evaluation.scores

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.collection.kind.unit

    def sections(self) -> dict[str, Any]:
        """Return the sections of the page by key."""
        from calipers.report.sections import SectionKind
        from calipers.report.sections.differences import significant_differences
        from calipers.report.sections.systems import systems_and_scores
        from calipers.texts import report_sections as about

        several = len(self.scores.systems) > 1 and len(self.scores.queries) > 1
        found = {
            "systems": (True, SectionKind("Systems and scores", systems_and_scores)),
            "chance": (bool(about.bounded(self)), SectionKind("Between chance and the upper bound", about.chance)),
            "differs": (several, SectionKind("Who really differs", significant_differences)),
            "people": (bool(self.collection.human), SectionKind("Agreement with people", about.people)),
            "trust": (several, SectionKind("Which measure to trust", about.trust)),
            "texts": (True, SectionKind("Where systems differ most", about.texts)),
            "method": (True, SectionKind("How it was computed", about.method)),
        }
        return {key: kind for key, (applies, kind) in found.items() if applies}

    @property
    def name(self) -> str:
        return self.collection.name


def write_text_report(evaluation: Evaluation, output: str | Path = "texts.html", **choices: Any) -> Report:
    """Write a report on texts: one HTML file that opens anywhere, without a network.

    choices: title, baseline, test, correction, alpha, samples, seed and top, as for `Experiment.report`.

    >>> import tempfile
    >>> from calipers import texts
    >>> rows = [{"id": id, "system": s, "summary": f"a {s}", "reference": "a cat"} for id in "ab" for s in ("cat", "x")]
    >>> page = f"{tempfile.mkdtemp()}/texts.html"
    >>> write_text_report(texts.Evaluation(rows, "ROUGE-1"), page).size < 2_000_000
    True
    """
    check_output(str(output))
    name = evaluation.collection.name
    files = {name: "texts"} if Path(name).is_file() else {}
    content, notes = text_report_page(evaluation, ReportOptions(**choices), files=files)
    write_whole(output, content)
    return Report(str(output), len(content), notes)


def text_report_page(
    evaluation: Evaluation,
    choices: ReportOptions | None = None,
    *,
    files: Mapping[str, str] | None = None,
    command: str = "",
    parameters: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Return a report on texts as one HTML page, and notes about it.

    files: paths that were read, each with its role. parameters: what else to state under "How it was computed".
    """
    check_packages()
    scores = evaluation.scores
    if choices is not None and choices.baseline:
        place_of("baseline", choices.baseline, scores.systems)
    if np.isnan(scores.values).all():
        raise CheckFailed("every score is undefined: there is nothing to report")
    about = Provenance(command, versions(), tuple(described(role, path) for path, role in (files or {}).items()))
    material = TextMaterial(evaluation, choices or ReportOptions(), about, parameters or {})
    text, notes = compose(material, progress)
    return text.encode("utf-8", "backslashreplace"), notes
