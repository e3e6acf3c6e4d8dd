"""The one script that is not ours: Vega, Vega-Lite and Vega-Embed, inlined once, with their notices.

vl-convert puts the bundle together in some seconds, so the result is kept in the user's cache folder.
"""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from calipers.errors import CalipersError
from calipers.extras import load
from calipers.output import replacing

NOTICE = "vega-notice.txt"


@cache
def bundle() -> str:
    """The bundle that comes with vl-convert, as a script that sets `window.vegaEmbed`."""
    convert = load("vl_convert", extra="report", what="reports")
    path = _folder() / f"vega-{version('vl-convert-python')}.js"
    script = _kept(path)
    if script is None:
        script = convert.javascript_bundle()
        _keep(path, script)
    return f"/*!\n{notice()}*/\n{script}".replace("</script", "<\\/script").replace("<!--", "<\\!--")


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
        with replacing(str(path)) as temporary:
            Path(temporary).write_text(f"{_digest(script)}\n{script}", encoding="utf-8")


def _digest(script: str) -> str:
    return f"// {hashlib.sha256(script.encode()).hexdigest()}"


def notice() -> str:
    return (files("calipers.report") / "assets" / NOTICE).read_text(encoding="utf-8")


def allowed(script: str) -> str:
    """How a content security policy names an inline script: only these run, whatever the page contains."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
