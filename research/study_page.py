"""What a study leaves in its folder: tables as CSV, charts, and one page with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calipers import CalipersError, Table
from calipers.results import markdown_text
from calipers.support.atomic_files import write_whole


def write_study(
    folder: str | Path,
    title: str,
    words: Sequence[str],
    tables: Mapping[str, tuple[str, Table]],
    charts: Mapping[str, tuple[str, Any]],
    long: Sequence[str] = (),
) -> list[str]:
    """Write everything; returns what had to be left out, and why.

    words: Markdown. long: names of tables that are not shown on the page.
    """
    place = Path(folder)
    (place / "tables").mkdir(parents=True, exist_ok=True)
    for name, (_, table) in tables.items():
        write_whole(place / "tables" / f"{name}.csv", table.to_csv().encode("utf-8", "surrogateescape"))
    drawn, missing = _draw(place, charts)
    lines = [f"# {title}", "", *words, ""]
    for name in drawn:
        heading = markdown_text(charts[name][0])
        lines += [f"## {heading}", "", f"![{heading}](charts/{name}.png)", ""]
    for name, (heading, table) in tables.items():
        lines += [f"## {markdown_text(heading)}", ""]
        lines += [f"In [tables/{name}.csv](tables/{name}.csv)."] if name in long else [table.to_markdown().rstrip()]
        lines += [""]
    write_whole(place / "study.md", ("\n".join(lines).rstrip() + "\n").encode("utf-8", "backslashreplace"))
    return missing


def _draw(place: Path, charts: Mapping[str, tuple[str, Any]]) -> tuple[list[str], list[str]]:
    """Each chart is a function without arguments, so that what is missing stops only the charts."""
    from calipers.plot.drawing import save

    drawn: list[str] = []
    for name, (_, make) in charts.items():
        (place / "charts").mkdir(exist_ok=True)
        try:
            save(make(), str(place / "charts" / f"{name}.png"))
        except CalipersError as error:
            return drawn, [f"no charts: {error}"]
        drawn.append(name)
    return drawn, []
