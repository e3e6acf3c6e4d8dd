"""Network connections: all decisions about them are made here.

Calipers itself opens none. Three libraries that it calls may: transformers fetches encoders from the Hugging Face hub,
ir_datasets fetches judgments, and Spark speaks to a cluster if one is named. With CALIPERS_OFFLINE=1, transformers
uses only files of this machine, and calls of ir_datasets and of Spark clusters are refused.
"""

from __future__ import annotations

import os

from calipers.errors import CalipersError

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
