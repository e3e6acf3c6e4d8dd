"""The network: the only place that decides whether a connection may be opened.

Calipers itself opens none. Three libraries that it calls may: transformers fetches encoders from the Hugging Face hub,
ir_datasets fetches judgments, and Spark speaks to a cluster where one is named. With CALIPERS_OFFLINE=1 none of them
does: what is already on this machine is used, and all else is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from calipers.errors import CalipersError

VARIABLE = "CALIPERS_OFFLINE"


def offline() -> bool:
    """Whether the user wants no connection."""
    return os.environ.get(VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def offline_by() -> str | None:
    """The variable by which the user forbids connections to the hub of models, where one does.

    >>> os.environ["HF_HUB_OFFLINE"] = "1"
    >>> offline_by()
    'HF_HUB_OFFLINE'
    >>> del os.environ["HF_HUB_OFFLINE"]
    """
    for name in (VARIABLE, "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off"):
            return name
    return None


def check_online(what: str, *, file: str | None = None) -> None:
    """Refuse what cannot be done without a connection.

    >>> os.environ[VARIABLE] = "1"
    >>> check_online("Spark on yarn")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: Spark on yarn needs a network connection, and CALIPERS_OFFLINE is set
    >>> del os.environ[VARIABLE]
    """
    if offline():
        raise CalipersError(f"{what} needs a network connection, and {VARIABLE} is set", file=file)


@contextmanager
def may_download(what: str, *, file: str | None = None) -> Iterator[None]:
    """Around a library that downloads what it has not yet got: offline, its first connection is refused by name."""
    if not offline():
        yield
        return
    import socket

    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the hub's library is first loaded

    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        check_online(what, file=file)
        raise AssertionError("only called offline")

    before = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo
    try:
        socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse  # type: ignore[method-assign]  # for now
        yield
    finally:
        socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo = before  # type: ignore[method-assign]  # as they were
