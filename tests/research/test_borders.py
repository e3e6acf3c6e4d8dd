"""research/ is a user of the library: what it may import is read from its syntax trees."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from research.__main__ import root

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = sorted((ROOT / "research").rglob("*.py"))
CLOSED = ("calipers.cli", "calipers.native")
NAMED_TUPLE = {"_replace", "_asdict", "_fields"}  # have an underscore, and are public


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full names of everything that a module imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_research_uses_no_private_part_of_the_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name in imported(tree):
        if not name.startswith("calipers"):
            continue
        assert not name.startswith(CLOSED), name
        assert not any(part.startswith("_") for part in name.split(".")), name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            assert own or node.attr in NAMED_TUPLE, f"line {node.lineno}: {node.attr}"


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_research_uses_only_names_that_are_declared_public(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(alias.name == "calipers" for alias in node.names if alias.name.startswith("calipers"))
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "calipers":
            public = import_module(str(node.module)).__all__
            for alias in node.names:
                assert alias.name in public, f"line {node.lineno}: {alias.name} is not in {node.module}.__all__"


def test_the_library_does_not_know_research() -> None:
    for path in sorted((ROOT / "src").rglob("*.py")):
        names = imported(ast.parse(path.read_text(encoding="utf-8")))
        assert not [name for name in names if name.split(".")[0] == "research"], path


def numbers(value: Any) -> Iterator[str]:
    """Yield the printed figures in a part of a paper's file, as they are written."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif not isinstance(value, bool) and re.fullmatch(r"-?\d+\.\d+", str(value)):
        yield str(value).lstrip("-")


def test_the_library_contains_no_printed_figure() -> None:
    """Figures of four or more digits: shorter ones (0.25) are also the defaults of something."""
    every = {
        figure.strip("0").strip(".")
        for path in sorted((ROOT / "research/printed").glob("*.json"))
        for figure in numbers(json.loads(path.read_text(encoding="utf-8")))
    }
    printed = {figure for figure in every if len(figure.replace(".", "")) >= 4}
    assert len(printed) > 400
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                assert f"{node.value}".strip("0").strip(".") not in printed, f"{path}: {node.value}"


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, (*path, name))


def parses(line: str) -> None:
    """Check that a command line of research/ names a command, and only options that the command has."""
    words = shlex.split(line, comments=True)
    asked: click.Command = root
    while isinstance(asked, click.Group):
        _, found, words = asked.resolve_command(click.Context(asked), words)
        assert found is not None
        asked = found
    asked.make_context("research", list(words))  # an unknown option would be refused


def test_the_examples_of_the_help_parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    texts = [command.help or "" for _, command in commands(root)]
    lines = [line for text in texts for line in re.findall(r"python -m research (.*?)(?:  .*)?$", text, re.MULTILINE)]
    assert len(lines) > 15
    for line in lines:
        parses(line)


PAGES = sorted((ROOT / "research").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_pages_name_what_exists(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"^    (?:\S+=\S+ )?python -m research (?!-)(.*)$", text, re.MULTILINE):
        parses(line)
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert link.startswith("https:") or (page.parent / link).exists(), link
    for module in re.findall(r"python -m (research\.[\w.]+)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module


def test_scripts_of_figures_find_their_places() -> None:
    """Every table that a script writes has its place in the page."""
    count = 0
    for path in sorted((ROOT / "research/figures").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        pages = {
            name: ROOT / base.lower() / page
            for name, base, page in re.findall(r'(\w+) = (DOCS|RESEARCH) / "(\w+\.md)"', code)
        }
        for target, base, page, mark in re.findall(
            r'\breplace\(\s*(?:(PAGE|page)|(DOCS|RESEARCH) / "(\w+\.md)"),\s*"([\w-]+)"', code
        ):
            place = pages[target] if target else ROOT / base.lower() / page
            assert f"<!-- {mark} -->" in place.read_text(encoding="utf-8"), (path.name, place.name, mark)
            count += 1
    assert count > 40
