"""Charts of scores, bounds and results.

Each function returns a `Chart`, a Vega-Lite specification. Notebooks show it without a network; `save` writes it as
HTML, SVG, PNG or JSON.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.plot.drawing import Chart as Chart, save as save, stacked as stacked
    from calipers.plot.information import (
        dendrogram as dendrogram,
        difference_scatter as difference_scatter,
        heat_map as heat_map,
        tau_scatter as tau_scatter,
    )
    from calipers.plot.judgments import (
        confusion as confusion,
        decided_order as decided_order,
        difference_ranges as difference_ranges,
        sampled_order as sampled_order,
        score_ranges as score_ranges,
        slopes as slopes,
    )
    from calipers.plot.measures import (
        agreement_chart as agreement_chart,
        correlation_chart as correlation_chart,
        significance_curves as significance_curves,
        system_scores as system_scores,
        tool_causes as tool_causes,
        tool_scores as tool_scores,
        user_models as user_models,
    )
    from calipers.plot.queries import (
        expected_histogram as expected_histogram,
        gains_and_losses as gains_and_losses,
        power_curves as power_curves,
        query_map as query_map,
    )
    from calipers.plot.systems import (
        against_baseline as against_baseline,
        between_bounds as between_bounds,
        differences as differences,
        means as means,
        unjudged as unjudged,
    )
    from calipers.plot.texts import profile_chart as profile_chart
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
