"""Columns of cells that Python has read: text of CSV files, values of JSON and of named tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calipers.collection.first_line import is_number, with_point
from calipers.collection.json_values import shown
from calipers.errors import CalipersError
from calipers.native.ids import Ids

Error = Callable[[str, int], CalipersError]  # makes an error about a row, counted from 0
NO_VALUE = "there is no value"


class Cells:
    """One column of a table as Python values. Ids are text or whole numbers, and text is no number."""

    def __init__(self, values: Sequence[Any], error: Error) -> None:
        self._values, self._error = values, error

    def __len__(self) -> int:
        return len(self._values)

    def empty(self) -> NDArray[np.bool_]:
        return np.fromiter((value is None for value in self._values), bool, len(self))

    def where(self, kept: NDArray[np.bool_]) -> Self:
        places = np.flatnonzero(kept).tolist()
        return self._like([*compress(self._values, kept.tolist())], lambda text, row: self._error(text, places[row]))

    def _like(self, values: Sequence[Any], error: Error) -> Self:
        """Return a column of the same kind with other values."""
        return type(self)(values, error)

    def ids(self) -> Ids:
        texts = self._texts()
        try:
            return Ids.of(texts)
        except UnicodeEncodeError as error:
            row = next(row for row, text in enumerate(texts) if error.object in (text, "".join(texts)))
            raise self._error(f"the id {texts[row]!r} holds half a character", row) from None

    def codes(self) -> tuple[Ids, NDArray[np.int32]]:
        codes: dict[str, int] = {}
        code = [codes.setdefault(text, len(codes)) for text in self._texts()]
        return type(self)([*codes], self._error).ids(), np.array(code, np.int32)

    def _texts(self) -> Sequence[str]:
        if {*map(type, self._values)} <= {str}:
            return self._values
        return [self._text(value, row) for row, value in enumerate(self._values)]

    def _text(self, value: Any, row: int) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return str(value)
        raise self._error(f"the id {shown(value)} is neither text nor a whole number", row)

    def numbers(self, what: str) -> NDArray[np.float64]:
        try:
            kinds = {*map(type, self._values)}
            if kinds <= {int, float} or (what == "grade" and kinds <= {bool, np.bool_}):
                found = np.array(self._values, np.float64)
            else:
                found = np.array([self._number(value, row) for row, value in enumerate(self._values)], np.float64)
        except OverflowError:  # an integer beyond all floating-point numbers
            found = np.array([self._number(value, row) for row, value in enumerate(self._values)], np.float64)
        return self._finite(found)

    def _number(self, value: Any, row: int) -> float:
        try:
            if isinstance(value, str | bool | np.bool_):
                raise TypeError(value)
            return float(value)
        except (TypeError, ValueError):
            text = NO_VALUE if value is None else f"{shown(value)} is not a number"
            raise self._error(text, row) from None
        except OverflowError:
            return np.inf

    def _finite(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        finite = np.isfinite(found)
        if not finite.all():
            row = int(np.argmin(finite))
            raise self._error(f"{self._shown(row)} is not a finite number", row)
        return found

    def _shown(self, row: int) -> str:
        return shown(self._values[row])


class TextCells(Cells):
    """One column of a table as text. A cell without text has no value.

    decimal_comma: numbers may be written with a comma, as 0,75, if none of the column has a point.
    """

    def __init__(self, values: Sequence[str], error: Error, decimal_comma: bool = False) -> None:
        super().__init__(values, error)
        self._decimal_comma = decimal_comma

    def empty(self) -> NDArray[np.bool_]:
        return np.fromiter((not value for value in self._values), bool, len(self))

    def _texts(self) -> Sequence[str]:
        if "" in self._values:
            raise self._error(NO_VALUE, self._values.index(""))
        return self._values

    def _like(self, values: Sequence[Any], error: Error) -> Self:
        return type(self)(values, error, self._decimal_comma)

    def numbers(self, what: str) -> NDArray[np.float64]:
        text = " ".join(self._values)
        values: Iterable[str] = self._values
        if self._decimal_comma and "," in text and "." not in text:
            values = map(with_point, self._values)
        try:
            if "_" in text or not text.isascii():  # which Python takes for part of a number
                raise ValueError(text)
            return self._finite(np.array([*map(float, values)], np.float64))
        except ValueError as error:
            if isinstance(error, CalipersError):
                raise
            row = next(row for row, cell in enumerate(self._values) if not is_number(cell))
            raise self._error(f"{self._shown(row)} is not a number" if self._values[row] else NO_VALUE, row) from None

    def _shown(self, row: int) -> str:
        return f"'{self._values[row]:.60}'"
