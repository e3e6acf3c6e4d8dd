"""Charts as plain Vega-Lite specifications, with the interface of Altair that our charts use.

On a page with dozens of charts, importing Altair and copying its objects takes a second. Here each part of a chart is a
dictionary from the start. The result is what Altair would write; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

Part = dict[str, Any]
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}
SHORT = re.compile(r"(?:(?P<aggregate>\w+)\((?P<of>[^()]*)\)|(?P<field>.*?)):(?P<type>[QNOT])")
ENDS = ("x2", "y2")  # channels that have the type of another channel


class InlineData:
    """The rows of a chart. Charts that are made of the same object share them."""

    def __init__(self, values: Any) -> None:
        self.values = values


def part(**options: Any) -> Part:
    """Return a part of a chart that has only options, such as a scale or an axis."""
    return dict(sorted(options.items()))


Axis = Scale = Legend = part


def Step(step: int) -> Part:
    return {"step": step}


def value(constant: Any) -> Part:
    return {"value": constant}


def condition(test: str, then: Part, otherwise: Part) -> Part:
    return {"condition": {"test": test, **then}, **otherwise}


def channel(shorthand: str, **options: Any) -> Part:
    """Return an encoding channel such as a position or a colour. shorthand: a field and its type, as in `score:Q`.

    >>> channel("score:Q", title="mean score")
    {'field': 'score', 'title': 'mean score', 'type': 'quantitative'}
    >>> channel("count():Q")
    {'aggregate': 'count', 'type': 'quantitative'}
    """
    found = SHORT.fullmatch(shorthand)
    assert found is not None, shorthand
    named = {"aggregate": found["aggregate"], "field": found["of"] or found["field"], "type": TYPES[found["type"]]}
    return part(**{name: given for name, given in named.items() if given}, **options)


X = X2 = Y = Y2 = YOffset = Color = Detail = Order = Text = Tooltip = channel


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart: one mark per row, or several charts as layers (`layer`) or below each other (`vconcat`)."""

    data: InlineData | None = None
    mark: Part | None = None
    encoding: Part = field(default_factory=dict)
    together: str = ""
    charts: tuple[Chart, ...] = ()
    options: Part = field(default_factory=dict)

    def encode(self, **channels: Any) -> Chart:
        return replace(self, encoding=self.encoding | {name: _encoded(name, each) for name, each in channels.items()})

    def properties(self, **options: Any) -> Chart:
        return replace(self, options=self.options | options)

    def resolve_scale(self, **scales: str) -> Chart:
        return self.properties(resolve={"scale": scales})

    def transform_calculate(self, **formulas: str) -> Chart:
        steps = [{"calculate": formula, "as": name} for name, formula in formulas.items()]
        return self.properties(transform=[*self.options.get("transform", ()), *steps])

    def __add__(self, other: Chart) -> Chart:
        return replace(self, charts=(*self.charts, other)) if self.together == "layer" else layer(self, other)

    def __getattr__(self, name: str) -> Callable[..., Chart]:
        kind = name.removeprefix("mark_")
        if kind == name:
            raise AttributeError(name)
        return lambda **options: replace(self, mark={"type": kind, **part(**options)})

    def specification(self, columns: Callable[[InlineData], Any]) -> Part:
        """Return the Vega-Lite specification. columns: a function that returns the rows in the form of the page.

        Charts below each other that have different rows get their rows in full.
        """
        shared = self.shared
        rest = self.options if shared is None else self.options | {"data": columns(shared)}
        if not self.together:
            kept = {"mark": self.mark, "encoding": part(**self.encoding), **part(**self.options)}
            return kept if shared is None else {"data": columns(shared), **kept}
        if shared is None and self.together != "layer":
            columns = _as_rows
        inner = [(each.without_data() if shared else each).specification(columns) for each in self.charts]
        return {self.together: inner, **part(**rest)}

    @property
    def shared(self) -> InlineData | None:
        """The rows that all charts in it share, or None."""
        if not self.together:
            return self.data
        first, *others = (each.shared for each in self.charts)
        return first if all(each is first for each in others) else None

    def without_data(self) -> Chart:
        return replace(self, data=None, charts=tuple(each.without_data() for each in self.charts))


def layer(*charts: Chart) -> Chart:
    return Chart(together="layer", charts=charts)


def vconcat(*charts: Chart) -> Chart:
    return Chart(together="vconcat", charts=charts)


def _as_rows(data: InlineData) -> Part:
    return {"values": [*data.values]}


def _encoded(name: str, given: Any) -> Any:
    if isinstance(given, list):
        return [_encoded(name, each) for each in given]
    found = channel(given) if isinstance(given, str) else given
    return {key: each for key, each in found.items() if key != "type"} if name in ENDS else found
