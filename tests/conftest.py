"""Fixtures that all tests share: real data, tools that may be missing, and hypothesis's profiles.

A test whose tool is missing is skipped with a message that says how to get the tool. Where the variable CI is set, it
fails instead: there a skipped test would be taken for a passed one.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from time_limit import TIME_LIMIT

CI = os.environ.get("CI", "").lower() in ("1", "true")
ROOT = Path(__file__).resolve().parent.parent
COMPILERS = ("c++", "g++", "clang++")
HOW_TO_GET = {
    "chromium": "apt-get install chromium fonts-dejavu-core",
    "java": "apt-get install default-jre-headless",
    "c++": "apt-get install g++",
}

# ranx compiles itself for minutes to fuse and score a handful of lists: here it runs as the Python it is written in.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# `ci` draws the same examples every time: a failure there must have come from the change. `quick` is for the
# other interpreters, which repeat what the first one has tested well.
slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=slow_is_fine)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True, max_examples=40)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if CI else "default"))


def absent(message: str, *, failure: bool = CI) -> NoReturn:
    """Skip this test, or fail it where nothing may be missing."""
    if failure:
        pytest.fail(f"{message} (nothing may be missing in CI)", pytrace=False)
    pytest.skip(message, allow_module_level=True)


class Require:
    """Requests for something outside the project: `require.tool("chromium")`, `require.module("ranx")`."""

    def tool(self, *names: str) -> str:
        """Return the path of the first of these programs that is present."""
        for name in names:
            if path := shutil.which(name):
                return path
        hint = HOW_TO_GET.get(names[0])
        absent(f"needs {' or '.join(names)}" + (f": {hint}" if hint else ""))

    def compiler(self) -> str:
        """Return the path of a C++ compiler."""
        return self.tool(*COMPILERS)

    def module(self, name: str) -> ModuleType:
        """Import a module that is not a dependency of the package."""
        try:
            return importlib.import_module(name)
        except ImportError:
            absent(f"needs the module {name}: make .venv/.peers installs it (requirements/)")


@pytest.fixture(scope="session")
def require() -> Require:
    return Require()


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data."""
    folder = Path(os.environ.get("CALIPERS_DATA", "../shared/data"))
    if not folder.is_absolute():
        folder = ROOT / folder
    if not (folder / "trec").is_dir():
        required = os.environ.get("CALIPERS_DATA_REQUIRED") == "1"
        absent("needs the real data: set CALIPERS_DATA to its folder", failure=required)
    return folder


def valid_spec(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart. The schema of Vega-Lite, which Altair has, must accept it."""
    spec: dict[str, Any] = chart.to_dict()
    Require().module("altair").Chart.from_dict(spec)
    return spec


@pytest.fixture(scope="module")
def browser(require: Require) -> Iterator[Any]:
    """Start Chromium, and close it after the last test of a file: no other event loop can run in this thread."""
    require.module("vl_convert")
    require.module("playwright")
    program = require.tool("chromium", "chromium-browser", "google-chrome")
    from playwright.sync_api import Error, sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program, args=flags, timeout=1000 * TIME_LIMIT)
        except Error as error:
            absent(f"{program} does not start: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print tables alike on every terminal, and hide data that a test does not ask for."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CALIPERS_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
