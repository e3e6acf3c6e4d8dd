"""Builds the manual as pages: `python docs/build.py FOLDER` (make docs). Every link inside it is checked.

It needs markdown-it-py and Jinja2, which the package's own dependencies bring, and no network.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).resolve().parent

# The pages by part, in the order of reading. What is not named here comes last; the cards follow by themselves.
PARTS: dict[str, tuple[str, ...]] = {
    "Start": ("index", "tutorial", "which-command", "command-line", "report", "papers"),
    "Evaluate": ("evaluate", "formats", "trec_eval", "trec_eval_from_python", "diversity", "preferences"),
    "Inside other tools": ("ir_measures_and_pyterrier", "embedding_models", "scikit_learn"),
    "Between the bounds": ("bounds", "conventions"),
    "Judge systems and measures": (
        "compare",
        "diff",
        "check",
        "plan",
        "judges",
        "metaeval",
        "properties",
        "information",
        "fusion",
    ),
    "Rankers and summaries": ("rankers", "text"),
    "Large": ("scale", "decisions/0004-spark"),
    "Coming from": (
        "coming-from/trec_eval",
        "coming-from/pytrec_eval",
        "coming-from/ir_measures",
        "coming-from/ranx",
        "peers",
    ),
    "Behind it": (
        "reproduce",
        "bibliography",
        "decisions/0001-ties",
        "decisions/0002-reading",
        "decisions/0003-start-up",
        "decisions/0005-rooms",
        "decisions/0006-what-random-rankings-shuffle",
        "adding-a-measure",
    ),
    "Measures": ("measures/README",),
}


class Broken(Exception):
    """The manual is not whole: one line per problem."""


@dataclass
class Page:
    """One page: where it comes from, what it holds, and what it points to."""

    name: str
    title: str
    body: str
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0] if arguments else "build/manual")
    try:
        count = build(HERE, folder)
    except Broken as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} pages: {folder / 'index.html'}")
    return 0


def build(source: Path, folder: Path) -> int:
    """Write the pages, their pictures and their style; returns how many pages there are."""
    pages = {name: read(source, name) for name in names(source)}
    check(source, pages)
    shutil.rmtree(folder, ignore_errors=True)
    template = Environment(
        loader=FileSystemLoader(source / "site"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template("page.html")
    for name, page in pages.items():
        path = folder / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * name.count("/")
        path.write_text(template.render(page=page, parts=menu(pages, name), up=up), encoding="utf-8")
    shutil.copytree(source / "images", folder / "images")
    shutil.copy(source / "site" / "manual.css", folder / "manual.css")
    return len(pages)


def names(source: Path) -> list[str]:
    """The pages in the order of reading, those that no part names, then the cards."""
    there = {path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.md")}
    named = [name for part in PARTS.values() for name in part]
    cards = sorted((name for name in there if name.startswith("measures/") and name not in named), key=str.lower)
    if missing := sorted(set(named) - there):
        raise Broken("\n".join(f"{name}.md is named in build.py and not there" for name in missing))
    others = sorted(there - set(named) - set(cards))
    return [*named, *others, *cards]


def read(source: Path, name: str) -> Page:
    """A page of Markdown as HTML, with a name for every heading."""
    text = (source / f"{name}.md").read_text(encoding="utf-8")
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    page = Page(name, name, "")
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = "".join(child.content for child in tokens[place + 1].children or [])
            anchor = slug(title)
            token.attrSet("id", anchor)
            page.anchors.add(anchor)
            if token.tag == "h1":
                page.title = title
        for child in token.children or []:
            _follow(page, child)
    page.body = parser.renderer.render(tokens, parser.options, {})
    page.body = page.body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return page


def _follow(page: Page, token: Token) -> None:
    """Note what a link or picture points to, and let links point to pages instead of their sources."""
    attribute = {"link_open": "href", "image": "src"}.get(token.type)
    if attribute is None:
        return
    target = str(token.attrGet(attribute))
    page.links.append(target)
    if not target.startswith(("http://", "https://", "mailto:")):
        path, mark, anchor = target.partition("#")
        if path.endswith(".md"):
            token.attrSet(attribute, path[:-3] + ".html" + mark + anchor)


def slug(title: str) -> str:
    """As GitHub names a heading.

    >>> slug("`calipers trec_eval`: what, and why?")
    'calipers-trec_eval-what-and-why'
    """
    return re.sub(r"[^\w\- ]", "", unescape(title).lower()).strip().replace(" ", "-")


def check(source: Path, pages: dict[str, Page]) -> None:
    """Every link inside the manual leads to a page, a heading, or a file that is there."""
    wrong = []
    for page in pages.values():
        for link in page.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), unquote(path))) if path else ""
            target = pages.get(inside.removesuffix(".md")) if path else page
            if target is None and not (source / inside).is_file():
                wrong.append(f"{page.name}.md: {link} leads nowhere")
            elif target is not None and anchor and anchor not in target.anchors:
                wrong.append(f"{page.name}.md: {link}: there is no such heading")
    if wrong:
        raise Broken("\n".join(wrong))


def menu(pages: dict[str, Page], here: str) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """The parts, with the title and place of each page, seen from one of them."""
    up = "../" * here.count("/")
    named = {name for part in PARTS.values() for name in part}
    others = tuple(name for name in pages if name not in named and not name.startswith("measures/"))
    parts = PARTS | ({"More": others} if others else {})
    return [
        (part, [(pages[name].title, f"{up}{name}.html", name == here) for name in of_part])
        for part, of_part in parts.items()
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
