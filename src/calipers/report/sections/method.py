"""The section about the method: command, versions, options and files, so that the report can be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.measures.exactness import exactness_notes
from calipers.measures.populations import what_is_shuffled
from calipers.plot.vega import notice
from calipers.report.material import Material
from calipers.report.provenance import Provenance
from calipers.report.section import Cell, Column, Detail, Grid, Section, name, number, plain_rows

if TYPE_CHECKING:
    from calipers.texts.evaluation import Evaluation

OTHER_COMMANDS = (
    "Figures of other commands can differ: the verdict tests all pairs of systems with one correction, "
    "calipers diff tests one pair without correction, and calipers check tests against a margin (one-sided) and "
    "plans for that margin."
)


def how_it_was_computed(material: Material, detail: Detail) -> Section:
    """Return the section about how the report was computed."""
    about = material.provenance
    return Section(
        f"The same command, files and versions give the same page, byte for byte. {OTHER_COMMANDS}",
        values={
            "command": about.command,
            "versions": about.versions,
            "parameters": parameters(material),
            "files": files(about),
            "notice": notice(),
        },
    )


def parameters(material: Material) -> list[tuple[str, str]]:
    """Return the options that the figures of the page depend on."""
    c = material.choices
    found = {
        "measures": " ".join(material.scores.measures),
        **(_of_rankings(material) if material.written is None else _of_texts(material, material.written)),
        "test": f"{c.test}, correction {c.correction}, alpha {c.alpha:g}",
        "seed of the tests": f"{c.seed}" if c.test in ("randomization", "bootstrap", "tukey") else "not needed",
        "documents shown of each ranking" if material.written is None else f"{material.units} shown": c.top,
        "baseline": c.baseline or "none",
    }
    return [(key, str(value)) for key, value in found.items()]


def _of_rankings(material: Material) -> dict[str, Any]:
    given, population = material.scores.metadata, material.choices.population
    exactness = material.scores.exactness
    return {
        "in full": ", ".join(repr(m) for m in material.scores.definitions),
        "conventions": given["like"] or "Calipers' own",
        "ties": given["ties"],
        "smallest relevant grade": f"{material.rel:g}",
        "depth": given["depth"] or "all retrieved documents",
        "unjudged documents": "removed" if given["condensed"] else "kept, not relevant",
        "score of a query without relevant documents": _policy(given["empty"], "0; skipped by normalised measures"),
        "score of a query that a run lacks": _policy(given["missing"], "0"),
        "normalised score where all rankings score the same": _policy(given["degenerate"], "as the formula gives"),
        "population of random rankings": f"{population}: {what_is_shuffled(population)}",
        "computed": ", ".join(f"{m} {how}" for m, how in exactness.items()),
        "not exact": "; ".join(exactness_notes(exactness, material.scores.errors)) or "nothing",
    }


def _of_texts(material: Material, written: Evaluation) -> dict[str, Any]:
    return {
        "less is better under": ", ".join(m for m in material.scores.measures if m in material.scores.lower) or "none",
        "computed": "; ".join(written.remarks) or "exactly",
        "left out or empty": "; ".join(written.notes) or "nothing",
        "seed of intervals of agreement": material.choices.seed,
    }


def _policy(value: Any, otherwise: str) -> str:
    return otherwise if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)


def files(about: Provenance) -> Grid:
    """Return a table of the files that were read, with their hashes."""
    columns = (
        Column("file", numeric=False),
        Column("as", numeric=False),
        Column("bytes"),
        Column("SHA-256", numeric=False),
    )
    rows = [
        [name(f.name), Cell(f.role, f.role), number(f.size, ",d"), Cell(f.sha256 or "–", f.sha256, kind="hash")]
        for f in about.files
    ]
    return Grid("files", columns, plain_rows(rows), "files")
