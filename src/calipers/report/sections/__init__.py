"""The sections of the page in their order. Each has a function that makes it, and a template.

Each says whether it is about rankings, about texts, or about both.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from calipers.errors import CalipersError, UnknownName
from calipers.report.material import Material
from calipers.report.section import Maker
from calipers.report.sections.differences import detectable_differences, significant_differences, what_changed
from calipers.report.sections.judgments import data_quality, other_judges, unjudged_documents
from calipers.report.sections.measures import (
    between_random_and_ideal,
    discriminative_power,
    other_tools,
    properties_of_measures,
)
from calipers.report.sections.method import how_it_was_computed
from calipers.report.sections.queries import query_map
from calipers.report.sections.systems import query_groups, similar_systems, systems_and_scores
from calipers.report.sections.texts import (
    agreement_with_people,
    between_chance_and_upper_bound,
    bounded,
    has_human_scores,
    where_systems_differ,
)

FEW = 4  # with fewer systems, clusters show nothing
Kind = Literal["rankings", "texts"]


@dataclass(frozen=True)
class SectionKind:
    """A kind of section: its title, the function that makes it, a function that tells if it applies, and to what."""

    title: str
    make: Maker
    applies: Callable[[Material], bool] = lambda material: True
    only: Kind | None = None


def _systems(material: Material) -> int:
    return len(material.scores.systems)


def _several_queries(material: Material) -> bool:
    return len(material.scores.queries) > 1


SECTIONS: dict[str, SectionKind] = {
    "systems": SectionKind("Systems and scores", systems_and_scores),
    "changes": SectionKind("What changed", what_changed, lambda material: _systems(material) == 2),
    "between": SectionKind("Between random and ideal", between_random_and_ideal, only="rankings"),
    "chance": SectionKind(
        "Between chance and the upper bound",
        between_chance_and_upper_bound,
        lambda material: bool(bounded(material)),
        only="texts",
    ),
    "differs": SectionKind(
        "Significant differences",
        significant_differences,
        lambda material: _systems(material) > 2 and _several_queries(material),
    ),
    "groups": SectionKind("Query groups", query_groups, lambda material: material.choices.query_groups is not None),
    "people": SectionKind("Agreement with people", agreement_with_people, has_human_scores, only="texts"),
    "judges": SectionKind("Other judges", other_judges, lambda material: material.judges is not None, only="rankings"),
    "unjudged": SectionKind("Unjudged documents", unjudged_documents, only="rankings"),
    "plan": SectionKind(
        "Detectable differences",
        detectable_differences,
        lambda material: _systems(material) > 1 and _several_queries(material),
    ),
    "queries": SectionKind("Query map", query_map, only="rankings"),
    "texts": SectionKind("Where systems differ most", where_systems_differ, only="texts"),
    "tools": SectionKind("Other tools", other_tools, only="rankings"),
    "measures": SectionKind("Properties of the measures", properties_of_measures, only="rankings"),
    "trust": SectionKind(
        "Which measure to trust",
        discriminative_power,
        lambda material: _systems(material) > 2 and _several_queries(material),
    ),
    "alike": SectionKind(
        "Similar systems", similar_systems, lambda material: _systems(material) >= FEW, only="rankings"
    ),
    "quality": SectionKind("Data quality", data_quality, only="rankings"),
    "method": SectionKind("How it was computed", how_it_was_computed),
}


def check_sections(names: Iterable[str]) -> None:
    """Refuse names of sections that do not exist."""
    for name in names:
        if name not in SECTIONS:
            raise UnknownName.among("section", name, SECTIONS)


def sections_of(material: Material) -> dict[str, SectionKind]:
    """Return the sections of one page: those that the user wants and that apply to the material."""
    wanted = material.choices.sections or tuple(SECTIONS)
    kind = "rankings" if material.written is None else "texts"
    about = {name: each for name, each in SECTIONS.items() if name in wanted and each.only in (None, kind)}
    found = {name: each for name, each in about.items() if each.applies(material)}
    if not found:
        raise CalipersError(f"none of these sections applies to the data: {', '.join(wanted)}")
    return found
