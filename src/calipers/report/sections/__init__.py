"""The sections of the page, in their order: one module each, one template each."""

from calipers.report.material import Material
from calipers.report.section import Maker
from calipers.report.sections import bounds as between
from calipers.report.sections import comparison as differs
from calipers.report.sections import judges, measures, method, quality, queries, systems, tools, unjudged
from calipers.report.sections import similarity as alike

SECTIONS: dict[str, tuple[str, Maker]] = {
    "systems": ("Systems and scores", systems.section),
    "between": ("Between random and ideal", between.section),
    "differs": ("Who really differs", differs.section),
    "unjudged": ("What is not judged", unjudged.section),
    "queries": ("Query map", queries.section),
    "tools": ("What the tools would say", tools.section),
    "measures": ("Which measure to trust", measures.section),
    "alike": ("Which systems are alike", alike.section),
    "quality": ("Data quality", quality.section),
    "method": ("How it was computed", method.section),
}
JUDGES = ("judges", ("What other judges would say", judges.section))  # where there are judgments of several


def sections_of(material: Material) -> dict[str, tuple[str, Maker]]:
    """The sections of one page."""
    found = list(SECTIONS.items())
    if material.judges is not None:
        found.insert(list(SECTIONS).index("differs") + 1, JUDGES)
    return dict(found)
