"""Charts of scores, bounds and results.

Each function returns a `Chart`, a Vega-Lite specification. Notebooks show it without a network; `save` writes it as
HTML, SVG, PNG or JSON.
"""

from calipers.plot.drawing import Chart, save, stacked
from calipers.plot.information import dendrogram, difference_scatter, heat_map, tau_scatter
from calipers.plot.judgments import confusion, decided_order, difference_ranges, sampled_order, score_ranges, slopes
from calipers.plot.measures import significance_curves, system_scores, tool_causes, tool_scores, user_models
from calipers.plot.queries import expected_histogram, gains_and_losses, power_curves, query_map
from calipers.plot.systems import against_baseline, between_bounds, differences, means, unjudged

__all__ = [
    "Chart",
    "against_baseline",
    "between_bounds",
    "confusion",
    "decided_order",
    "dendrogram",
    "difference_ranges",
    "difference_scatter",
    "differences",
    "expected_histogram",
    "gains_and_losses",
    "heat_map",
    "means",
    "power_curves",
    "query_map",
    "sampled_order",
    "save",
    "score_ranges",
    "significance_curves",
    "slopes",
    "stacked",
    "system_scores",
    "tau_scatter",
    "tool_causes",
    "tool_scores",
    "unjudged",
    "user_models",
]


def __dir__() -> list[str]:
    return __all__
