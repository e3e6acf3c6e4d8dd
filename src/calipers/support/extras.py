"""Optional packages: they are loaded when they are used. If one is missing, the error says how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calipers.errors import CalipersError


def load(module: str, *, what: str, extra: str | None = None, package: str | None = None) -> Any:
    """Return an optional module. If it is missing, the error names the extra of Calipers or the package to install.

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
    """Return the modules that are not installed. No module is loaded.

    >>> missing("json", "no_such_module")
    ['no_such_module']
    """
    from importlib.util import find_spec

    return [module for module in modules if find_spec(module) is None]
