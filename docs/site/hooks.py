"""Pages of the manual that nobody writes by hand: the reference, the measure cards, the gallery and the notebooks.

MkDocs calls these functions (mkdocs.yml). The reference lists what the packages export, so that no name is forgotten;
the notebooks are run as the site is built, so that what they show is what they do. What pages name in code must exist.
"""

from __future__ import annotations

import base64
import logging
import re
import sys
import tempfile
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient

sys.path.insert(0, str(Path(__file__).parent))
from measure_pages import measure_pages
from spelling import misspelt

LOG = logging.getLogger("mkdocs.hooks.spelling")  # a warning stops the build

ROOMS = {
    "evaluation": "Evaluate",
    "collection": "Judgments, runs and their files",
    "lists": "Arrays of ranked lists",
    "results": "Scores and tables",
    "measures": "Measures",
    "limits": "Bounds and normalisation",
    "unjudged": "What is not judged",
    "stats": "Tests and intervals",
    "changes": "Old against new",
    "attention": "Exposure",
    "planning": "How many queries",
    "judging": "Judges",
    "metaeval": "Judging measures",
    "axioms": "Properties and cards",
    "information": "Evaluation as information",
    "fusion": "Fusion",
    "conventions": "Conventions of tools",
    "report": "The report",
    "plot": "Charts",
    "text": "Texts",
    "rankers": "Rankers",
    "tools": "Inside other tools",
}
PACKAGES = ("calipers.plot", "calipers.text", "calipers.rankers", "calipers.tools.pytrec_eval")

# Charts become pictures: a page without a network shows no other.
SETUP = "import altair\n_ = altair.renderers.enable('png')"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    source = Path(config.docs_dir)
    pages = reference() | measure_pages() | {"gallery.md": gallery(source)}
    for path in sorted((source / "notebooks").glob("*.ipynb")):
        pages |= notebook(path)
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    for what in misspelt(markdown):
        LOG.warning("%s: %s", page.file.src_uri, what)
    return markdown


def public() -> dict[str, list[tuple[str, str]]]:
    """room -> (name as users write it, name of where it is defined), for everything that the packages export."""
    rooms: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for package in ("calipers", *PACKAGES):
        module = import_module(package)
        for name in module.__all__:
            if name.startswith("__") or f"{package}.{name}" in PACKAGES:
                continue
            home = home_of(module, name)
            rooms[home.split(".")[1]].append((f"{package}.{name}", f"{home}.{name}"))
    return rooms


def home_of(module: Any, name: str) -> str:
    """The module that defines what another exports: aliases of types do not know theirs, the lazy table does."""
    for home, names in getattr(module, "_HOMES", {}).items():
        if name in names:
            found = f"{module.__name__}.{home}"
            break
    else:
        found = module.__name__
    value = getattr(module, name)
    inside = getattr(value, "__module__", "")
    return inside if inside.startswith("calipers.") and hasattr(import_module(inside), name) else found


def reference() -> dict[str, str]:
    """One page per room, and one that lists every name."""
    pages, index = {}, ["# The library", "", "Everything that a program may rest on, by room.", ""]
    rooms = public()
    for room in sorted(rooms, key=lambda room: (*ROOMS, room).index(room)):
        title = ROOMS.get(room, room.capitalize())
        names = sorted(set(rooms[room]), key=lambda pair: pair[0].lower())
        links = [f"[`{name.removeprefix('calipers.')}`]({room}.md#{home})" for name, home in names]
        index += [f"## [{title}]({room}.md)", "", " · ".join(links), ""]
        body = [f"# {title}", ""]
        for name, home in names:
            body += [f"::: {home}", "    options:", f'      heading: "{name}"', ""]
        pages[f"api/{room}.md"] = "\n".join(body)
    return pages | {"api/index.md": "\n".join(index)}


def gallery(source: Path) -> str:
    """Every picture of the manual, with the page that tells how it was made."""
    lines = ["# Gallery", "", "Every picture of this manual; each leads to the page that tells what made it.", ""]
    seen = set()
    figures = []
    for page in sorted(source.rglob("*.md")):
        name = page.relative_to(source).as_posix()
        for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve().relative_to(source.resolve()).as_posix()
            if path not in seen and name != "index.md":
                seen.add(path)
                figures += [f"<figure markdown>[![{alt}]({path})]({name})<figcaption>{alt}</figcaption></figure>"]
    return "\n".join([*lines, '<div class="gallery" markdown>', *figures, "</div>", ""])


def notebook(path: Path) -> dict[str, str | bytes]:
    """A notebook, run, as a page and its pictures."""
    pages: dict[str, str | bytes] = {}
    parts = []
    for number, cell in enumerate(executed(path).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{number}-{place}.png"
                pages[f"notebooks/{name}"] = base64.b64decode(data["image/png"])
                parts.append(f"![output]({name})")
            elif output.get("name") != "stderr" and (text := data.get("text/plain") or output.get("text")):
                parts.append(f"```text\n{text.rstrip()}\n```")
    download = f"The notebook itself is `docs/notebooks/{path.name}`."
    return pages | {f"notebooks/{path.stem}.md": "\n\n".join([*parts, download, ""])}


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in an empty folder of its own; an error in a cell is raised."""
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    del book.cells[0]
    return book
