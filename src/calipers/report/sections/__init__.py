"""The sections of the page, in their order: one module each, one template each."""

from calipers.report.section import Maker
from calipers.report.sections import alike, between, differs, measures, method, quality, queries, systems, tools

SECTIONS: dict[str, tuple[str, Maker]] = {
    "systems": ("Systems and scores", systems.section),
    "between": ("Between random and ideal", between.section),
    "differs": ("Who really differs", differs.section),
    "queries": ("Query map", queries.section),
    "tools": ("What the tools would say", tools.section),
    "measures": ("Which measure to trust", measures.section),
    "alike": ("Which systems are alike", alike.section),
    "quality": ("Data quality", quality.section),
    "method": ("How it was computed", method.section),
}
