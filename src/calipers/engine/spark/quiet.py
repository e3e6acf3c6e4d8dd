"""Calls of PySpark without the warnings that are none of the user's business."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quietly() -> Iterator[None]:
    """PySpark warns of the version of pandas wherever it could use it, though nothing here does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def map_in_arrow(frame: Any, function: Callable[[Any], Any], schema: Any) -> Any:
    """`frame.mapInArrow`."""
    with quietly():
        return frame.mapInArrow(function, schema)
