"""Packages that only some users need: loaded where they are used, and asked for by name where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calipers.errors import CalipersError


def load(module: str, *, what: str, extra: str | None = None, package: str | None = None) -> Any:
    """An optional module; where it is missing, the error says how to get it: as an extra of ours, or as a package.

    >>> load("no_such_module", extra="frames", what="Parquet files")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: Parquet files need the package no_such_module: pip install 'calipers[frames]'
    """
    try:
        return import_module(module)
    except ImportError:
        name = module if module.startswith("backports.") else module.partition(".")[0]
        install = f"'calipers[{extra}]'" if extra else package or name
        raise CalipersError(f"{what} need the package {name}: pip install {install}") from None


def missing(*modules: str) -> list[str]:
    """Those of some modules that are not installed; none of them is loaded.

    >>> missing("json", "no_such_module")
    ['no_such_module']
    """
    from importlib.util import find_spec

    return [module for module in modules if find_spec(module) is None]
