"""Generated pages of the manual: the reference, the measure cards, the table of tools, the gallery, the notebooks.

MkDocs calls these functions (mkdocs.yml). The reference lists all names that the packages export. Notebooks run when
the site is built, so that their output is up to date. Names in code on the pages must exist.
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

from calipers.support.lazy_names import homes_of

sys.path.insert(0, str(Path(__file__).parent))
from measure_pages import measure_pages
from spelling import misspelt
from tool_page import tool_page

LOG = logging.getLogger("mkdocs.hooks.spelling")  # a warning stops the build

TITLES = {
    "experiment": "Experiments",
    "evaluation": "Evaluate",
    "collection": "Judgments, runs and their files",
    "lists": "Arrays of ranked lists",
    "results": "Scores and tables",
    "measures": "Measures",
    "statistics": "Tests and intervals",
    "conventions": "Conventions of tools",
    "report": "The report",
    "plot": "Charts",
    "texts": "Texts",
    "tools": "Inside other tools",
}
PACKAGES = (
    *(f"calipers.{name}" for name, home in homes_of(import_module("calipers")).items() if home == "calipers"),
    *(f"calipers.questions.{room}" for room in import_module("calipers.questions").__all__),
    "calipers.tools.pytrec_eval",
)

# Charts become pictures, which need no scripts on the page.
SETUP = """\
from calipers import plot
from calipers.plot import vega
_png = get_ipython().display_formatter.formatters["image/png"]
_png.for_type(plot.Chart, lambda chart: vega.png(chart.to_dict(), scale=1))
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    source = Path(config.docs_dir)
    pages = reference() | measure_pages() | {"gallery.md": gallery(source), "tools.md": tool_page()}
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
    """Return all exported names by package: the name as users write it, and the name in the module that defines it."""
    packages: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for package in ("calipers", *PACKAGES):
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            if name.startswith("__") or f"{package}.{name}" in PACKAGES:
                continue
            home = home_of(module, name)
            room = home.split(".")[2 if home.startswith("calipers.questions.") else 1]
            packages[room].append((f"{package}.{name}", f"{home}.{name}"))
    return packages


def home_of(module: Any, name: str) -> str:
    """Return the module that defines an exported name. For aliases of types, the table of names knows it."""
    found = homes_of(module).get(name, module.__name__)
    value = getattr(module, name)
    inside = getattr(value, "__module__", "")
    return inside if inside.startswith("calipers.") and hasattr(import_module(inside), name) else found


def reference() -> dict[str, str]:
    """Return one page per package, and one page that lists all names."""
    pages, index = {}, ["# The library", "", "All public names, by package.", ""]
    packages = public()
    for package in sorted(packages, key=lambda package: ((*TITLES, package).index(package), package)):
        title = TITLES.get(package, package.capitalize())
        by_home = {home: name for name, home in reversed(packages[package])}  # one entry per object
        names = sorted(((name, home) for home, name in by_home.items()), key=lambda pair: pair[0].lower())
        links = [f"[`{name.removeprefix('calipers.')}`]({package}.md#{home})" for name, home in names]
        index += [f"## [{title}]({package}.md)", "", " · ".join(links), ""]
        body = [f"# {title}", ""]
        for name, home in names:
            body += [f"::: {home}", "    options:", f'      heading: "{name}"', ""]
        pages[f"api/{package}.md"] = "\n".join(body)
    return pages | {"api/index.md": "\n".join(index)}


def gallery(source: Path) -> str:
    """Return a page with all pictures of the manual, each with a link to its page."""
    lines = ["# Gallery", "", "All pictures of this manual. Each leads to the page that explains it.", ""]
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
    """Run a notebook and return it as a page with its pictures."""
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
    """Run a notebook in an empty folder and return it with its outputs. An error in a cell is raised."""
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    with tempfile.TemporaryDirectory() as folder:
        waits = dict.fromkeys(("timeout", "startup_timeout", "iopub_timeout"), 3600)  # seconds
        NotebookClient(book, **waits, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    del book.cells[0]
    return book
