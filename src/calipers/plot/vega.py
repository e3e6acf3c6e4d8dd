"""The one script that is not ours: Vega, Vega-Lite and Vega-Embed, inlined once, with their notices.

vl-convert puts the bundle together in some seconds, so the result is kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from calipers.atomic_files import write_whole
from calipers.errors import CalipersError
from calipers.extras import load
from calipers.plot.page import script_code

NOTICE = "vega-notice.txt"


@cache
def bundle() -> str:
    """The bundle that comes with vl-convert, as a script that sets `window.vegaEmbed`."""
    convert = load("vl_convert", extra="report", what="charts")
    path = _folder() / f"vega-{version('vl-convert-python')}.js"
    script = _kept(path)
    if script is None:
        script = convert.javascript_bundle()
        _keep(path, script)
    return script_code(f"/*!\n{notice()}*/\n{script}")


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calipers"


def _kept(path: Path) -> str | None:
    """What was kept, where its first line still says what the rest is."""
    try:
        digest, _, script = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return script if digest == _digest(script) else None


def _keep(path: Path, script: str) -> None:
    with suppress(OSError, CalipersError):  # a cache that cannot be written costs time, nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{_digest(script)}\n{script}".encode())


def _digest(script: str) -> str:
    return f"// {hashlib.sha256(script.encode()).hexdigest()}"


def notice() -> str:
    return (files("calipers.plot") / "assets" / NOTICE).read_text(encoding="utf-8")
