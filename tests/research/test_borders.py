"""research/ is a user of the library: what it may import is read from its syntax trees."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

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


def test_the_library_does_not_know_research() -> None:
    for path in sorted((ROOT / "src").rglob("*.py")):
        names = imported(ast.parse(path.read_text(encoding="utf-8")))
        assert not [name for name in names if name.split(".")[0] == "research"], path


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, (*path, name))


def test_the_examples_of_the_help_parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.chdir(tmp_path)
    count = 0
    for _, command in commands(root):
        for line in re.findall(r"python -m research (.*?)(?:  .*)?$", command.help or "", re.MULTILINE):
            words = shlex.split(line)
            asked: click.Command = root
            while isinstance(asked, click.Group):
                _, found, words = asked.resolve_command(click.Context(asked), words)
                assert found is not None
                asked = found
            asked.make_context("research", list(words))  # an unknown option would be refused
            count += 1
    assert count > 15
