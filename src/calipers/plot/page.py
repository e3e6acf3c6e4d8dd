"""Charts and data inside HTML: the content of script elements, and the page of a single chart.

Ids and names come from files and may contain anything, so they never enter a page as code. Data goes in as JSON that
cannot end its element, and the content security policy of the page lists the only scripts that may run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

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
    from calipers.plot.vega import bundle

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
