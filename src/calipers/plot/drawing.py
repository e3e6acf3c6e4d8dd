"""Colours, axes, display and files: the parts that all charts share.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import html
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from calipers.atomic_files import check_output, write_whole
from calipers.errors import CalipersError
from calipers.extras import load, missing
from calipers.plot import specifications, vega
from calipers.plot.page import chart_page

__all__ = [
    "COLOURS",
    "RULE",
    "altair",
    "check_chart",
    "diagonal",
    "numbers",
    "palette",
    "rows_of",
    "save",
    "scatter",
    "stacked",
    "styled",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
TYPE_COLOURS = {
    "ideal": "#009E73",
    "informative": "#56B4E9",
    "uninformative": "#999999",
    "hard": "#D55E00",
    "easy": "#E69F00",
}
BETTER, WORSE, NEITHER = "#0072B2", "#D55E00", "#999999"
RULE, GREY = "#888888", "#c4c8ce"
EXTRA = "charts need the extra `report`: pip install 'calipers[report]'"
FORMATS = ("html", "svg", "png", "json")
SCALE = 2  # pixels of a PNG per pixel of the chart
LETTERS = 26  # number of letters of a name that an axis shows

# Light axes and small text, so that the data stands out.
STYLE: dict[str, Any] = {
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


_specified: ContextVar[bool] = ContextVar("specified", default=False)


def altair() -> Any:
    """Return the Altair module, or inside `specified` the module that replaces it."""
    if _specified.get():
        return specifications
    found = load("altair", extra="report", what="charts")
    found.data_transformers.disable_max_rows()
    return found


@contextmanager
def specified() -> Iterator[None]:
    """Make charts as plain specifications instead of Altair charts, which takes less time."""
    before = _specified.set(True)
    try:
        yield
    finally:
        _specified.reset(before)


def rows_of(rows: list[dict[str, Any]]) -> Any:
    """Return rows as the data of a chart.

    The rows are put in after the object is made, because Altair would take seconds to check each row.
    """
    data = altair().InlineData(values=[])
    data.values = tuple(rows)  # Altair copies lists when it combines charts, but not tuples
    return data


def palette(names: Sequence[str], rest: str | None = None) -> Any:
    """Return a scale with one colour per name. Colours repeat if there are more names than colours.

    rest: a further name for everything else; its colour is grey.
    """
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    if rest is None:
        return altair().Scale(domain=list(names), range=colours)
    return altair().Scale(domain=[*names, rest], range=[*colours, GREY])


def numbers(*fields: str, format: str = ".4f") -> list[Any]:
    """Return tooltips of numbers. A field may be written as `name=title`."""
    alt = altair()
    pairs = [field.partition("=") for field in fields]
    return [alt.Tooltip(f"{name}:Q", title=title or name, format=format) for name, _, title in pairs]


def scatter(
    rows: list[dict[str, Any]], x: tuple[str, str], y: tuple[str, str], named: tuple[str, ...], title: str
) -> Any:
    """Draw points with their names. x and y are pairs of a field and its title."""
    alt = altair()
    return (
        alt.Chart(rows_of(rows), title=title)
        .mark_circle(size=30 if len(rows) < 1000 else 8, opacity=0.5, color=COLOURS[0])
        .encode(
            x=alt.X(f"{x[0]}:Q", title=x[1]),
            y=alt.Y(f"{y[0]}:Q", title=y[1]),
            tooltip=[*(alt.Tooltip(f"{name}:N") for name in named), *numbers(x[0], y[0])],
        )
    )


def cell_size(count: int, wide: int) -> int:
    """Return the side of a square of a matrix in pixels, between 5 and 52, so that all squares fit."""
    return min(52, max(5, wide // max(count, 1)))


def name_axis(names: Sequence[str], **options: Any) -> Any:
    """Return an axis of names. Long names are shortened, so that no two of them look the same."""
    return altair().Axis(labelLimit=0, ticks=False, **label_expression(names), **options)


def matrix_axis(names: Sequence[str]) -> Any:
    """Return an axis of names for a matrix: small letters for many names, and gaps if they would overlap."""
    size = 11 if len(names) <= 30 else 9 if len(names) <= 80 else 7
    return name_axis(names, labelFontSize=size, labelOverlap=len(names) > 150)


def label_expression(names: Sequence[str]) -> dict[str, str]:
    """Return the option of an axis or legend that shows short labels, or no option if all names are short."""
    short = short_labels(names)
    if not short:
        return {}
    long, shown = json.dumps([*short]), json.dumps([*short.values()])
    return {"labelExpr": f"indexof({long}, datum.label) < 0 ? datum.label : {shown}[indexof({long}, datum.label)]"}


def short_labels(names: Sequence[str], most: int = LETTERS) -> dict[str, str]:
    """Return labels for the names that have more than `most` letters. No two names get the same label.

    >>> short_labels(["bm25", "dl-19-official-input.bert_p1", "dl-19-official-input.bert_p2"], most=16)
    {'dl-19-official-input.bert_p1': 'dl-19…ut.bert_p1', 'dl-19-official-input.bert_p2': 'dl-19…ut.bert_p2'}
    """
    labels = {name: _shortened(name, most) for name in names if len(name) > most}
    shown = Counter([*labels.values(), *(name for name in names if name not in labels)])
    for name, label in labels.items():
        letters = most
        while shown[label] > 1 and letters < len(name):  # the label is also that of another name
            letters += 4
            shown[label] -= 1
            label = labels[name] = _shortened(name, letters)
            shown[label] += 1
    return labels


def _shortened(name: str, most: int) -> str:
    """Leave out the middle of a name: names of runs often differ at their ends."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def data_range() -> Any:
    """Return a scale that covers the data with a small margin, not necessarily from 0."""
    return altair().Scale(zero=False, nice=False, padding=8)


def diagonal(low: float = 0.0, high: float = 1.0) -> Any:
    """Draw the dashed line on which both axes have the same value."""
    alt = altair()
    ends = rows_of([{"at": low}, {"at": high}])
    return (
        alt.Chart(ends).mark_line(strokeDash=[4, 4], color=RULE, strokeWidth=1).encode(x=alt.X("at:Q"), y=alt.Y("at:Q"))
    )


Drawer = TypeVar("Drawer", bound=Callable[..., Any])


def chart(function: Drawer) -> Drawer:
    """Let the charts of a function show themselves in notebooks without a network."""

    @wraps(function)
    def drawn(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        if not _specified.get():
            object.__setattr__(found, "__class__", _offline_class(found.__class__))  # Altair stores plain assignments
        return found

    return drawn  # type: ignore[return-value]  # called as the function is


class ShownOffline:
    """A chart that notebooks show with the Vega scripts of Calipers. Altair would load them from the network."""

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> dict[str, str]:
        """Return a frame with a page that contains everything the chart needs, or what a renderer of the user makes."""
        if altair().renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)  # type: ignore[misc,no-any-return]
        page = chart_page(_plain(styled(self).to_dict(validate=False)))
        style = "width: 100%; height: 480px; border: 0"
        return {"text/html": f'<iframe srcdoc="{html.escape(page)}" style="{style}"></iframe>'}


@cache
def _offline_class(kind: type) -> type:
    """Return a subclass of one of Altair's classes of charts that is shown offline."""
    return kind if issubclass(kind, ShownOffline) else type(kind.__name__, (ShownOffline, kind), {})


@chart
def stacked(*charts: Any) -> Any:
    """Draw charts one below the other, each with its own colours."""
    return altair().vconcat(*charts).resolve_scale(color="independent")


def styled(chart: Any) -> Any:
    """Return the chart in the style of the manual, unless it has its own style."""
    alt = altair()
    if chart.config is not alt.Undefined:
        return chart
    copy = chart.copy(deep=False)
    copy.config = STYLE
    return copy


def save(chart: Any, path: str) -> None:
    """Write a chart as .html (one file, nothing loaded from the network), .svg, .png or .json.

    >>> save(None, "chart.docx")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: chart.docx: a chart can be written as .html, .svg, .png or .json
    """
    format = check_chart(path)
    spec = _plain(styled(chart).to_dict(validate=False))
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
    if missing("altair", "vl_convert"):
        raise CalipersError(EXTRA)
    check_output(path)
    return format


def _plain(part: Any) -> Any:
    """Return a chart as valid JSON: infinite and undefined numbers become None, and invalid UTF-8 is escaped."""
    if isinstance(part, dict):
        return {_plain(key): _plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(each) for each in part]
    if isinstance(part, str) and not part.isascii():
        return part.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return None if isinstance(part, float) and not math.isfinite(part) else part
