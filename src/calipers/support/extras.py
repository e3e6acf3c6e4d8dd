"""Optional packages: they are loaded when they are used. If one is missing, the error says how to install it."""

from __future__ import annotations

import os
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


VARIABLE = "CALIPERS_OFFLINE"
HUB_VARIABLE = "HF_HUB_OFFLINE"  # read by huggingface_hub when it is imported


def offline() -> bool:
    """Return True if the user wants no connection."""
    return _is_set(VARIABLE)


def offline_by() -> str | None:
    """Return the variable by which the user forbids connections to the hub of models, or None.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"HF_HUB_OFFLINE": "1"}):
    ...     offline_by()
    'HF_HUB_OFFLINE'
    """
    return next((name for name in (VARIABLE, HUB_VARIABLE, "TRANSFORMERS_OFFLINE") if _is_set(name)), None)


def set_offline_switches() -> None:
    """Tell the libraries that load models to open no connection, if the user wants none. Call before importing them."""
    if offline():
        os.environ[HUB_VARIABLE] = "1"


def check_online(what: str, *, file: str | None = None) -> None:
    """Raise an error if connections are not allowed. what: the thing that needs a connection.

    >>> os.environ[VARIABLE] = "1"
    >>> check_online("Spark on yarn")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: Spark on yarn needs a network connection, and CALIPERS_OFFLINE is set
    >>> del os.environ[VARIABLE]
    """
    if offline():
        raise CalipersError(f"{what} needs a network connection, and {VARIABLE} is set", file=file)


def _is_set(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off")
