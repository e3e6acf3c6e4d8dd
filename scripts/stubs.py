"""Write the type stubs of packages that load their names on first use.

    python scripts/stubs.py            # write every stub
    python scripts/stubs.py --check    # exit 1 if a stub is out of date

Each such package has a table `_HOMES` of modules and their public names. Type checkers cannot follow it, so the stub
beside the package imports each name from its module.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"


def stub_of(package: str) -> str:
    """Return the text of a package's stub."""
    module = import_module(package)
    homes = {f"{package}.{home}": names for home, names in module._HOMES.items()}
    pairs = [(home, name) for home, names in homes.items() for name in names]
    pairs += [(package, name) for name in getattr(module, "_MODULES", ())]
    if "__version__" in module.__all__:
        pairs.append((f"{package}._version", "__version__"))
    return "".join(f"from {home} import {name} as {name}\n" for home, name in sorted(pairs, key=import_order))


def import_order(pair: tuple[str, str]) -> tuple[str, int, str]:
    """Return the sort key of an import as ruff wants it: in each module constants, then classes, then functions."""
    home, name = pair
    is_constant = len(name) > 1 and name.isupper()
    kind = 0 if is_constant else 1 if name[0].isupper() else 2
    return home, kind, name


def packages() -> list[str]:
    """Return the packages with a stub."""
    return [".".join(path.parent.relative_to(SOURCES).parts) for path in sorted(SOURCES.rglob("__init__.pyi"))]


def main(arguments: list[str] | None = None) -> int:
    """Write or check the stubs. Return 1 if a checked stub is out of date."""
    parser = argparse.ArgumentParser(description="Write the type stubs of packages that load names on first use.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a stub is out of date")
    options = parser.parse_args(arguments)
    outdated = 0
    for package in packages():
        path = SOURCES.joinpath(*package.split("."), "__init__.pyi")
        text = stub_of(package)
        if path.read_text(encoding="utf-8") != text:
            outdated += 1
            print(f"{path.relative_to(SOURCES.parent)} {'is out of date' if options.check else 'written'}")
            if not options.check:
                path.write_text(text, encoding="utf-8")
    return int(options.check and outdated > 0)


if __name__ == "__main__":
    sys.exit(main())
