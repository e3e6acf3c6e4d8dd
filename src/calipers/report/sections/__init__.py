"""The sections of the page in their order. Each has a module and a template."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from calipers.errors import CalipersError, UnknownName
from calipers.report.material import Material
from calipers.report.section import Maker
from calipers.report.sections import (
    bounds as between,
    changes,
    comparison as differs,
    groups,
    judges,
    measures,
    method,
    plan,
    quality,
    queries,
    similarity as alike,
    systems,
    tools,
    unjudged,
)

FEW = 4  # with fewer systems, clusters show nothing


@dataclass(frozen=True)
class SectionKind:
    """A kind of section: its title, the function that makes it, and a function that tells if it applies."""

    title: str
    make: Maker
    applies: Callable[[Material], bool] = lambda material: True


def _systems(material: Material) -> int:
    return len(material.scores.systems)


def _several_queries(material: Material) -> bool:
    return len(material.scores.queries) > 1


SECTIONS: dict[str, SectionKind] = {
    "systems": SectionKind("Systems and scores", systems.section),
    "changes": SectionKind("What changed", changes.section, lambda material: _systems(material) == 2),
    "between": SectionKind("Between random and ideal", between.section),
    "differs": SectionKind(
        "Significant differences",
        differs.section,
        lambda material: _systems(material) > 2 and _several_queries(material),
    ),
    "groups": SectionKind("Query groups", groups.section, lambda material: material.choices.query_groups is not None),
    "judges": SectionKind("Other judges", judges.section, lambda material: material.judges is not None),
    "unjudged": SectionKind("Unjudged documents", unjudged.section),
    "plan": SectionKind(
        "Detectable differences",
        plan.section,
        lambda material: _systems(material) > 1 and _several_queries(material),
    ),
    "queries": SectionKind("Query map", queries.section),
    "tools": SectionKind("Other tools", tools.section),
    "measures": SectionKind("Properties of the measures", measures.section),
    "alike": SectionKind("Similar systems", alike.section, lambda material: _systems(material) >= FEW),
    "quality": SectionKind("Data quality", quality.section),
    "method": SectionKind("How it was computed", method.section),
}


def check_sections(names: Iterable[str]) -> None:
    """Refuse names of sections that do not exist."""
    for name in names:
        if name not in SECTIONS:
            raise UnknownName.among("section", name, SECTIONS)


def sections_of(material: Material) -> dict[str, SectionKind]:
    """Return the sections of one page: those that the user wants and that apply to the material."""
    wanted = material.choices.sections or tuple(SECTIONS)
    found = {name: kind for name, kind in SECTIONS.items() if name in wanted and kind.applies(material)}
    if not found:
        raise CalipersError(f"none of these sections applies to the data: {', '.join(wanted)}")
    return found
