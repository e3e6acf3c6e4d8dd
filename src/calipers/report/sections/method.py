"""The section about the method: command, versions, options and files, so that the report can be repeated."""

from __future__ import annotations

from typing import Any

from calipers.measures.exactness import exactness_notes
from calipers.measures.populations import what_is_shuffled
from calipers.plot.vega import notice
from calipers.report.material import Material
from calipers.report.provenance import Provenance
from calipers.report.section import Cell, Column, Detail, Grid, Section, name, number, plain_rows

OTHER_COMMANDS = (
    "Figures of other commands can differ: the verdict tests all pairs of systems with one correction, "
    "calipers diff tests one pair without correction, and calipers check tests against a margin (one-sided) and "
    "counts the queries for that margin."
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
    c, given = material.choices, material.scores.metadata
    exactness = material.scores.exactness
    found: list[tuple[str, Any]] = [
        ("measures", " ".join(material.scores.measures)),
        ("in full", ", ".join(repr(m) for m in material.scores.definitions)),
        ("conventions", given["like"] or "Calipers' own"),
        ("ties", given["ties"]),
        ("smallest relevant grade", f"{material.rel:g}"),
        ("depth", given["depth"] or "all retrieved documents"),
        ("unjudged documents", "removed" if given["condensed"] else "kept, not relevant"),
        ("score of a query without relevant documents", _policy(given["empty"], "0; skipped by normalised measures")),
        ("score of a query that a run lacks", _policy(given["missing"], "0")),
        ("normalised score where all rankings score the same", _policy(given["degenerate"], "as the formula gives")),
        ("population of random rankings", f"{c.population}: {what_is_shuffled(c.population)}"),
        ("test", f"{c.test}, correction {c.correction}, alpha {c.alpha:g}"),
        ("seed of the tests", f"{c.seed}" if c.test in ("randomization", "bootstrap", "tukey") else "not needed"),
        ("computed", ", ".join(f"{m} {how}" for m, how in exactness.items())),
        ("not exact", "; ".join(exactness_notes(exactness, material.scores.errors)) or "nothing"),
        ("documents shown of each ranking", c.top),
        ("baseline", c.baseline or "none"),
    ]
    return [(key, str(value)) for key, value in found]


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
