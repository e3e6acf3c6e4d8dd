"""Packages that only some users need: loaded where they are used, and asked for by name where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calipers.errors import CalipersError


def load(module: str, *, extra: str, what: str) -> Any:
    """An optional module; where it is missing, the error says how to get it.

    >>> load("no_such_module", extra="frames", what="Parquet files")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: Parquet files need the package no_such_module: pip install 'calipers[frames]'
    """
    try:
        return import_module(module)
    except ImportError:
        package = module if module.startswith("backports.") else module.partition(".")[0]
        raise CalipersError(f"{what} need the package {package}: pip install 'calipers[{extra}]'") from None
