"""Charts as objects that show themselves in notebooks, and their files."""

from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any

from calipers.errors import CalipersError
from calipers.plot import vega
from calipers.plot.specifications import COLOURS, Part, Rows, labels, layer, mark, numbers, quantity
from calipers.plot.vega import chart_page
from calipers.support.atomic_files import check_output, write_whole
from calipers.support.extras import missing

__all__ = ["Chart", "check_chart", "save", "scatter", "stacked"]

EXTRA = "charts need the extra `report`: pip install 'calipers[report]'"
FORMATS = ("html", "svg", "png", "json")
SCALE = 2  # pixels of a PNG per pixel of the chart
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# Light axes and small text, so that the data stands out.
STYLE: Part = {
    "font": "system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": 600, "offset": 12},
    "axis": {
        "domainColor": "#8a8f98",
        "gridColor": "#e6e8eb",
        "tickColor": "#c4c8ce",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    },
    "axisQuantitative": {"tickCount": 8},
    "legend": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
}


class Chart:
    """A chart: a Vega-Lite specification (`spec`), which notebooks show without a network."""

    def __init__(self, spec: Part) -> None:
        self.spec = spec

    @classmethod
    def of(cls, rows: Rows, *layers: Part, **properties: Any) -> Chart:
        """Return a chart of layers. rows: for the layers without rows. properties: such as the title and the width."""
        drawn = layers[0] if len(layers) == 1 else {"layer": [*layers]}
        return cls({"data": {"values": rows}, **drawn, **properties})

    def to_dict(self) -> Part:
        """Return the specification in the style of the manual, as valid JSON."""
        whole: Part = _plain({"$schema": SCHEMA, "config": STYLE, **self.spec})
        return whole

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return a frame with a page that contains everything the chart needs."""
        page = html.escape(chart_page(self.to_dict()))
        return {"text/html": f'<iframe srcdoc="{page}" style="width: 100%; height: 480px; border: 0"></iframe>'}


def scatter(rows: Rows, x: tuple[str, str], y: tuple[str, str], named: tuple[str, ...], title: str) -> Chart:
    """Draw points with their names. x and y are pairs of a field and its title."""
    points = layer(
        mark("circle", size=30 if len(rows) < 1000 else 8, opacity=0.5, color=COLOURS[0]),
        x=quantity(x[0], title=x[1]),
        y=quantity(y[0], title=y[1]),
        tooltip=[*labels(*named), *numbers(x[0], y[0])],
    )
    return Chart.of(rows, points, width=420, height=420, title=title)


def stacked(*charts: Chart) -> Chart:
    """Draw charts one below the other, each with its own colours."""
    return Chart({"vconcat": [chart.spec for chart in charts], "resolve": {"scale": {"color": "independent"}}})


def save(chart: Chart, path: str) -> None:
    """Write a chart as .html (one file, nothing loaded from the network), .svg, .png or .json.

    >>> save(Chart({}), "chart.docx")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: chart.docx: a chart can be written as .html, .svg, .png or .json
    """
    format = check_chart(path)
    spec = chart.to_dict()
    if format == "json":
        content = json.dumps(spec, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
    elif format == "html":
        content = chart_page(spec).encode()
    elif format == "svg":
        content = vega.svg(spec)
    else:
        content = vega.png(spec, SCALE)
    write_whole(path, content)


def check_chart(path: str) -> str:
    """Return the format that the ending of a file stands for. Refuse a file that cannot be written."""
    format = Path(path).suffix.lower().lstrip(".")
    if format not in FORMATS:
        raise CalipersError("a chart can be written as .html, .svg, .png or .json", file=path)
    if missing("vl_convert"):
        raise CalipersError(EXTRA)
    check_output(path)
    return format


def _plain(part: Any) -> Any:
    """Return a part as valid JSON: infinite and undefined numbers become None, and invalid UTF-8 is escaped."""
    if isinstance(part, dict):
        return {_plain(key): _plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(each) for each in part]
    if isinstance(part, str) and not part.isascii():
        return part.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return None if isinstance(part, float) and not math.isfinite(part) else part
