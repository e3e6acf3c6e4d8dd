"""Parts of Vega-Lite specifications as plain dictionaries: colours, channels, axes and layers that all charts share.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

__all__ = [
    "COLOURS",
    "DASHED",
    "Part",
    "category",
    "condition",
    "diagonal",
    "labels",
    "layer",
    "line_at",
    "mark",
    "numbers",
    "palette",
    "quantity",
]

Part = dict[str, Any]
Rows = Sequence[dict[str, Any]]

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
LETTERS = 26  # number of letters of a name that an axis shows
DATA_RANGE = {"zero": False, "nice": False, "padding": 8}  # a scale of the data with a small margin, not from 0


# -- channels ------------------------------------------------------------------------------------------


def quantity(field: str, **options: Any) -> Part:
    """Return a channel with the numbers of a field, such as a position."""
    return {"field": field, "type": "quantitative", **options}


def category(field: str, **options: Any) -> Part:
    """Return a channel with the names of a field, such as a colour."""
    return {"field": field, "type": "nominal", **options}


def numbers(*fields: str, format: str = ".4f") -> list[Part]:
    """Return tooltips of numbers. A field may be written as `name=title`."""
    return [quantity(name, title=title, format=format) for name, title in _titles(fields)]


def labels(*fields: str) -> list[Part]:
    """Return tooltips of names. A field may be written as `name=title`."""
    return [category(name, title=title) for name, title in _titles(fields)]


def _titles(fields: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [field.partition("=") for field in fields]
    return [(name, title or name) for name, _, title in pairs]


def condition(test: str, then: str, otherwise: str) -> Part:
    """Return a channel with one of two constants. test: an expression on the row."""
    return {"condition": {"test": test, "value": then}, "value": otherwise}


def palette(names: Sequence[str], rest: str | None = None) -> Part:
    """Return a scale with one colour per name. Colours repeat if there are more names than colours.

    rest: a further name for everything else; its colour is grey.
    """
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    if rest is None:
        return {"domain": [*names], "range": colours}
    return {"domain": [*names, rest], "range": [*colours, GREY]}


# -- axes ----------------------------------------------------------------------------------------------


def cell_size(count: int, wide: int) -> int:
    """Return the side of a square of a matrix in pixels, between 5 and 52, so that all squares fit."""
    return min(52, max(5, wide // max(count, 1)))


def by_name(names: Sequence[str], **options: Any) -> Part:
    """Return the options of a channel that places names in this order. options: more options of the axis."""
    return {"title": None, "scale": {"domain": [*names]}, "axis": name_axis(names, **options)}


def by_name_in_matrix(names: Sequence[str]) -> Part:
    """Return the options of both channels of a matrix: small letters for many names, and gaps if they would overlap."""
    size = 11 if len(names) <= 30 else 9 if len(names) <= 80 else 7
    return by_name(names, labelFontSize=size, labelOverlap=len(names) > 150)


def name_axis(names: Sequence[str], **options: Any) -> Part:
    """Return an axis of names. Long names are shortened, so that no two of them look the same."""
    return {"labelLimit": 0, "ticks": False, **label_expression(names), **options}


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


# -- layers --------------------------------------------------------------------------------------------


def mark(type: str, **options: Any) -> Part:
    """Return what a layer draws for each row, such as a bar or a circle, with constant options such as its colour."""
    return {"type": type, **options}


DASHED = mark("rule", color=RULE, strokeDash=[4, 4])


def layer(mark: Part, rows: Rows | None = None, /, **channels: Any) -> Part:
    """Return a layer of a chart. A layer without rows draws the rows of the chart."""
    drawn = {"mark": mark, "encoding": channels}
    return drawn if rows is None else {"data": {"values": rows}, **drawn}


def line_at(side: str, value: float, field: str = "at") -> Part:
    """Draw a dashed line across the chart at a value of one side, `x` or `y`."""
    return layer(DASHED, [{field: value}], **{side: quantity(field)})


def diagonal(low: float = 0.0, high: float = 1.0) -> Part:
    """Draw the dashed line on which both axes have the same value."""
    line = mark("line", color=RULE, strokeDash=[4, 4], strokeWidth=1)
    return layer(line, [{"at": low}, {"at": high}], x=quantity("at"), y=quantity("at"))
