"""The sections of the page, in their order: one module each, one template each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from calipers.errors import CalipersError, UnknownName
from calipers.report.material import Material
from calipers.report.section import Maker
from calipers.report.sections import bounds as between
from calipers.report.sections import changes, judges, measures, method, plan, quality, queries, systems, tools, unjudged
from calipers.report.sections import comparison as differs
from calipers.report.sections import similarity as alike

FEW = 4  # systems, below which clusters and curves over pairs of systems show nothing


@dataclass(frozen=True)
class SectionKind:
    """A section that a page may have: its title, what makes it, and whether it has anything to say of this material."""

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
        "Who really differs", differs.section, lambda material: _systems(material) > 2 and _several_queries(material)
    ),
    "judges": SectionKind("What other judges would say", judges.section, lambda material: material.judges is not None),
    "unjudged": SectionKind("What is not judged", unjudged.section),
    "plan": SectionKind(
        "What these queries can show",
        plan.section,
        lambda material: _systems(material) > 1 and _several_queries(material),
    ),
    "queries": SectionKind("Query map", queries.section),
    "tools": SectionKind("What the tools would say", tools.section),
    "measures": SectionKind("Which measure to trust", measures.section),
    "alike": SectionKind("Which systems are alike", alike.section, lambda material: _systems(material) >= FEW),
    "quality": SectionKind("Data quality", quality.section),
    "method": SectionKind("How it was computed", method.section),
}


def check_sections(names: Iterable[str]) -> None:
    """Refuse names of sections that do not exist."""
    for name in names:
        if name not in SECTIONS:
            raise UnknownName.among("section", name, SECTIONS)


def sections_of(material: Material) -> dict[str, SectionKind]:
    """The sections of one page: those that are wanted and have something to say."""
    wanted = material.choices.sections or tuple(SECTIONS)
    found = {name: kind for name, kind in SECTIONS.items() if name in wanted and kind.applies(material)}
    if not found:
        raise CalipersError(f"no section applies to these systems: {', '.join(wanted)} need others")
    return found
