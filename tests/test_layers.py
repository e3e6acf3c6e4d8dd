"""The layers of pyproject.toml hold for imports that import-linter does not see: those by strings, and lazy names.

A string such as "calipers.questions.check.verdicts:FAIL_IF" imports the module when it is used. The public names of a
package are imports under `if TYPE_CHECKING` in its `__init__.py`, and are loaded when they are first used.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import calipers as cal

SOURCE = Path(cal.__file__).parent
PYPROJECT = SOURCE.parent.parent / "pyproject.toml"
REFERENCE = re.compile(r"(calipers(?:\.\w+)+)\.?(?::(\w+))?")

# The registry knows the modules that declare measures of texts by name, and loads them on demand: the one such table.
ON_DEMAND = "calipers.measures.registry -> calipers.texts"

pytestmark = pytest.mark.skipif(not PYPROJECT.is_file(), reason="the layers are in the repository, not in a wheel")


def layers() -> list[list[str]]:
    """Return the packages of each layer, from the top."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return [[name.strip() for name in layer.split("|")] for layer in contracts[0]["layers"]]


def layer_of(module: str, of: list[list[str]]) -> tuple[int, str] | None:
    """Return the place of the layer of a module and the package there, or None if it has no layer."""
    for place, packages in enumerate(of):
        for package in packages:
            if module == package or module.startswith(f"{package}."):
                return place, package
    return None


def reaches_back(module: str, imported: str, of: list[list[str]]) -> bool:
    """Return True if a module imports from a layer above its own, or from another package of its own layer."""
    own, other = layer_of(module, of), layer_of(imported, of)
    return own is not None and other is not None and own[1] != other[1] and other[0] <= own[0]


def modules() -> dict[str, Path]:
    """Return the file of each module."""
    found = {
        ".".join(("calipers", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in SOURCE.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


def referenced(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules, and names in them or "", that strings or lazy names of a file import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if found := REFERENCE.fullmatch(node.value):
                yield found[1], found[2] or ""
        elif isinstance(node, ast.If) and path.name == "__init__.py" and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom):
                    yield from ((str(each.module), alias.name) for alias in each.names)


def known_part(reference: str, known: dict[str, Path]) -> str:
    """Return the longest part of a dotted name that is a module."""
    while reference not in known:
        reference = reference.rpartition(".")[0]
    return reference


def test_imports_by_strings_and_lazy_names_keep_the_layers() -> None:
    known, of = modules(), layers()
    back = {
        f"{module} -> {reference}"
        for module, path in known.items()
        for reference, _ in referenced(path)
        if reaches_back(module, known_part(reference, known), of)
    }
    assert {found for found in back if not found.startswith(ON_DEMAND)} == set()


def test_names_in_strings_exist() -> None:
    named = {(module, name) for path in modules().values() for module, name in referenced(path) if name}
    assert len(named) > 50
    for module, name in sorted(named):
        assert hasattr(import_module(module), name), f"{module}:{name}"


IMPORT_EACH_FIRST = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    for imported in [each for each in sys.modules if each.partition(".")[0] == "calipers"]:
        del sys.modules[imported]
    import_module(name)
"""


def test_every_module_of_files_and_texts_can_be_imported_first() -> None:
    """Imports in a circle fail or not, depending on which module comes first."""
    names = [name for name in modules() if name.startswith(("calipers.collection", "calipers.texts"))]
    done = subprocess.run([sys.executable, "-c", IMPORT_EACH_FIRST, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_layer_exists() -> None:
    known = modules()
    assert not [package for layer in layers() for package in layer if package not in known]


@pytest.mark.parametrize(
    ("module", "imported", "back"),
    [
        ("calipers.cli.check", "calipers.questions.check.verdicts", False),
        ("calipers.questions.check.verdicts", "calipers.cli.check", True),
        ("calipers.questions.plan.repeats", "calipers.questions.diff.difference", True),  # neighbours
        ("calipers.questions.plan.repeats", "calipers.questions.plan.sample_size", False),
        ("calipers.questions.plan.repeats", "calipers.questions.compare.comparison", False),
        ("calipers.lists", "calipers.support.checks", False),  # has no layer
    ],
)
def test_what_reaches_back(module: str, imported: str, back: bool) -> None:
    assert reaches_back(module, imported, layers()) is back
