"""The Vega library: its scripts, HTML pages with charts, and charts as SVG and PNG.

vl-convert runs V8. V8 ends the whole process if it cannot reserve many gigabytes of addresses (`ulimit -v`, common on
clusters), so each call has its own process.

Ids and names come from files and may contain anything, so they never enter a page as code. Data goes in as JSON that
cannot end its element, and the content security policy of the page lists the only scripts that may run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from signal import Signals
from typing import Any

from calipers.errors import CalipersError
from calipers.support.atomic_files import write_whole
from calipers.support.extras import load

__all__ = ["bundle", "chart_page", "notice", "png", "policy", "script_code", "script_data", "svg"]

NOTICE = "vega-notice.txt"

# SHA-256 of the bundle per version of vl-convert. Only a bundle with a known digest is read from the cache folder,
# where others may be able to write.
DIGESTS = {
    "1.6.0": "38f0a244090484ae2dda6fdcc42dc50b4c35fe04f1e0525bd6004a72dba21592",
    "1.6.1": "38f0a244090484ae2dda6fdcc42dc50b4c35fe04f1e0525bd6004a72dba21592",
    "1.7.0": "92d4a4f00b4aa942512304efb42b0ec17d93486a2a5a999b70a8d532c2f7b964",
    "1.8.0": "b11ae2116b4e9d1f5b2737febbc1ba91ea8ba36c110f5d14cefabaf401effa4d",
    "1.9.0": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572",
    "1.9.0.post1": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572",
}

# Calls one function of vl-convert. Its arguments come as JSON; modules are found where this process finds them.
CALL = """\
import sys
sys.path[:] = sys.argv[2:]
import json, vl_convert
result = getattr(vl_convert, sys.argv[1])(**json.load(sys.stdin.buffer))
sys.stdout.buffer.write(result if isinstance(result, bytes) else result.encode())
"""


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that sets `window.vegaEmbed`, with their licence notices.

    vl-convert takes a second to put it together. It is kept in the cache folder of the user, if there is one.
    """
    load("vl_convert", extra="report", what="charts")
    release = version("vl-convert-python")
    kept = _cache_file(release)
    script = _read_kept(kept, DIGESTS.get(release)) if kept else None
    if script is None:
        script = _call("javascript_bundle")
        if kept:
            _keep(kept, script)
    return script_code(f"/*!\n{notice()}*/\n{script.decode()}")


def svg(spec: dict[str, Any]) -> bytes:
    """Draw a Vega-Lite specification as SVG."""
    return _call("vegalite_to_svg", vl_spec=spec)


def png(spec: dict[str, Any], scale: float) -> bytes:
    """Draw a Vega-Lite specification as PNG, with `scale` pixels per pixel of the chart."""
    return _call("vegalite_to_png", vl_spec=spec, scale=scale)


def _call(function: str, **arguments: Any) -> bytes:
    """Call a function of vl-convert in a process of its own and return its result."""
    load("vl_convert", extra="report", what="charts")
    done = subprocess.run(  # noqa: S603  our own code, in this interpreter
        [sys.executable, "-c", CALL, function, *sys.path],
        input=json.dumps(arguments).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    if done.returncode < 0:
        raise CalipersError(
            f"the chart cannot be drawn: vl-convert was ended by {_signal_name(-done.returncode)}. It reserves many "
            "gigabytes of addresses: is there a limit of virtual memory (ulimit -v)?"
        )
    reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    raise CalipersError(f"the chart cannot be drawn: vl-convert failed: {reason}")


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cache_file(release: str) -> Path | None:
    """Return where the bundle is kept, or None if the user has no home folder."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return folder / "calipers" / f"vega-{release}.js" if folder.is_absolute() else None


def _read_kept(path: Path, digest: str | None) -> bytes | None:
    """Return the bundle that was kept, or None if it does not have this digest."""
    try:
        script = path.read_bytes()
    except OSError:
        return None
    return script if hashlib.sha256(script).hexdigest() == digest else None


def _keep(path: Path, script: bytes) -> None:
    with suppress(OSError, CalipersError):  # without a cache, the next report takes a second longer
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, script)


def notice() -> str:
    """Return the licence notices of the bundle."""
    return (files("calipers.plot") / "assets" / NOTICE).read_text(encoding="utf-8")


START = """\
const spec = JSON.parse(document.getElementById("chart-data").textContent);
window.vegaEmbed("#chart", spec, {
  mode: "vega-lite", ast: true, actions: { export: true, source: false, compiled: false, editor: false },
}).then(() => {
  document.body.dataset.charts = "drawn";
  if (window.frameElement) window.frameElement.style.height = `${document.documentElement.scrollHeight + 8}px`;
}, console.error);
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chart</title>
<link rel="icon" href="data:,">
<style>body {{ margin: 1rem; }} #chart.vega-embed {{ width: 100%; display: flex; }}</style>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="chart-data">{data}</script>
{scripts}
</body>
</html>
"""


def chart_page(spec: Mapping[str, Any]) -> str:
    """Return a page with one chart. It contains all scripts and data, and needs no network."""
    scripts = (bundle(), START)
    return PAGE.format(
        policy=policy(scripts),
        data=script_data(spec),
        scripts="\n".join(f'<script type="module">{script}</script>' for script in scripts),
    )


def policy(scripts: Sequence[str]) -> str:
    """Return a content security policy that allows only these scripts and no requests."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def script_data(data: Any) -> str:
    """Return JSON that can neither end a script element nor start a comment or a new line in it.

    >>> script_data({"id": "</script><!--"})
    '{"id":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text) if _odd(text) else text


def script_code(code: str) -> str:
    """Return the code of a script so that it cannot end its element: its strings may contain `</script`."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _odd(text: str) -> bool:
    """Return True if a text has bytes that are not UTF-8, which Python keeps as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
