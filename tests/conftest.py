"""What all tests share: real data, tools that may be absent, and how hard hypothesis looks.

Something absent is skipped with a message on a user's machine and a failure in CI, where a skipped test would
be taken for a passed one.
"""

from __future__ import annotations

import gc
import importlib
import os
import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

CI = os.environ.get("CI", "").lower() in ("1", "true")
ROOT = Path(__file__).resolve().parent.parent
COMPILERS = ("c++", "g++", "clang++")

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


CASE = pytest.StashKey[int]()  # which of the cases of its test an item is
# What `--quick` leaves out: all that is slow, or needs more than the package, pytest and hypothesis.
NOT_QUICK = ("slow", "peers", "acceptance", "packaging", "browser", "java")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only the quick core tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        marked = [any(item.get_closest_marker(name) for name in NOT_QUICK) for item in items]
        config.hook.pytest_deselected(items=list(compress(items, marked)))
        items[:] = [item for item, left_out in zip(items, marked, strict=True) if not left_out]
    items.sort(key=_place)
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[CASE] = seen[test]
        seen[test] += 1


def pytest_collection_finish() -> None:
    """All that has been imported stays: looking through it for garbage again and again takes a tenth of the time."""
    gc.collect()
    gc.freeze()


def _place(item: pytest.Item) -> int:
    """Long files first, doctests last."""
    name = item.path.stem
    return LONG.index(name) if name in LONG else len(LONG) + (not name.startswith("test_"))


def absent(message: str, *, failure: bool = CI) -> NoReturn:
    """Skip this test, or fail it where nothing may be missing."""
    if failure:
        pytest.fail(f"{message} (nothing may be missing here)", pytrace=False)
    pytest.skip(message, allow_module_level=True)


class Require:
    """Ask for something outside the project: `require.tool("chromium")`, `require.module("ranx")`."""

    def tool(self, *names: str) -> str:
        """The path of the first of these programs that is present."""
        for name in names:
            if path := shutil.which(name):
                return path
        absent(f"needs {' or '.join(names)}")

    def compiler(self) -> str:
        return self.tool(*COMPILERS)

    def module(self, name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ImportError:
            absent(f"needs the module {name} (requirements/)")


@pytest.fixture(scope="session")
def require() -> Require:
    return Require()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data for the acceptance tests."""
    folder = Path(os.environ.get("CALIPERS_DATA", "../shared/data"))
    if not folder.is_absolute():
        folder = ROOT / folder
    if not (folder / "trec").is_dir():
        required = os.environ.get("CALIPERS_DATA_REQUIRED") == "1"
        absent("needs the real data: set CALIPERS_DATA to its folder", failure=required)
    return folder


@pytest.fixture(scope="module")
def browser(require: Require) -> Iterator[Any]:
    """Chromium, closed after the last test of a file: its event loop bars every other one in this thread."""
    require.module("altair")
    require.module("playwright")
    program = require.tool("chromium", "chromium-browser", "google-chrome")
    from playwright.sync_api import Error, sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program, args=flags)
        except Error as error:
            absent(f"{program} does not start: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables look the same wherever the tests run, and commands find no data that they were not given."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CALIPERS_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


# The longest files start first, so that no worker is left with one of them at the end: browsers, Spark, models.
LONG = (
    "test_spark",
    "test_browser",
    "test_manual",
    "test_study_letor",
    "test_text_bert",
    "test_report",
    "test_measures_exact",
    "test_properties",
    "test_ranges",
    "test_measures_common",
)
# Long files whose tests share nothing that is expensive: they go to the workers one by one.
SHARED_OUT = ("test_help", "test_ways", "test_reproduce", "test_hostile")


# Files of which coverage is not measured, beside what `--quick` leaves out: brute force and fuzzing, which take minutes
# to trace and show little that the other tests do not, commands in processes of their own, and limits on memory.
UNTRACED = (
    "test_bounds", "test_exposure", "test_line_ends", "test_measures_common", "test_measures_exact",
    "test_numbers", "test_outputs", "test_properties", "test_range_laws", "test_ranges", "test_rankers", "test_reader",
    "test_scanner", "test_vectors", "test_ways", "test_without_spark",
)  # fmt: skip


TRACED = 3  # cases of a test with parameters: the others take the same ways


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """In a worker pytest-cov starts tracing before it knows that it is one, and then again: end the first, which nobody
    reads, and which would go on wherever the second one pauses.
    """
    measuring = getattr(session.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if measuring is not None and hasattr(session.config, "workerinput"):
        measuring.cov.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """With `--cov`: trace only what is worth it."""
    measuring = getattr(item.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if measuring is not None:
        left_out = any(item.get_closest_marker(name) for name in NOT_QUICK)
        traced = not left_out and item.stash[CASE] < TRACED and item.path.stem not in (*UNTRACED, *LONG)
        if traced != measuring.started:
            (measuring.resume if traced else measuring.pause)()
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file to the workers, in the order of `pytest_collection_modifyitems`: tests of a file share what they
    compute.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if Path(file).stem in SHARED_OUT else file

    config.option.loadscopereorder = False
    return ByFile(config, log)
