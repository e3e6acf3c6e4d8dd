"""What users install: the sdist builds, and its wheel works outside the source tree, on every Python here.

`make wheels` runs these tests. `make test` leaves them out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bare_environment import environment, install, run, venv
from conftest import ROOT, Require, absent
from time_limit import TIME_LIMIT

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
PORTABLE = "3.12"  # where the wheel is what compilers other than GNU's would make of it

pytestmark = pytest.mark.slow


def candidates(version: str) -> Iterator[Path]:
    """Where a Python of this version might be: here, on the path, where version managers keep theirs."""
    if version == "{}.{}".format(*sys.version_info):
        yield Path(sys.executable)
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield Path(folder or ".") / name
    home = Path.home()
    managed = [
        (Path(os.environ.get("PYENV_ROOT", home / ".pyenv")), f"versions/{version}*/bin/{name}"),
        (home / ".local/share/uv/python", f"*{version}*/bin/{name}"),
        (home / ".asdf/installs/python", f"{version}*/bin/{name}"),
    ]
    for root, pattern in managed:
        yield from sorted(root.glob(pattern), reverse=True)


def interpreter(version: str) -> Path:
    """The first that really runs, is of this version, and can make a venv: a shim may not."""
    tried = []
    probe = "import sys, venv, ensurepip; print('{}.{}'.format(*sys.version_info))"
    for path in candidates(version):
        if os.access(path, os.X_OK):
            tried.append(path.name)
            done = subprocess.run([path, "-c", probe], capture_output=True, text=True, timeout=TIME_LIMIT)
            if done.returncode == 0 and done.stdout.strip() == version:
                return path
    reason = "it does not run, or cannot make a venv" if tried else "it is not here"
    pytest.skip(f"no Python {version}: {reason}")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, built from a copy of the tree in which nothing has been built before."""
    if not (ROOT / "setup.py").exists():
        absent("needs the source tree")
    folder = tmp_path_factory.mktemp("sdist")
    built = shutil.ignore_patterns(
        ".*", "__pycache__", "*.so", "*.egg-info", "_scanner.c", "_scanner.cpp", "build", "dist"
    )
    shutil.copytree(ROOT, folder / "tree", ignore=built)
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, cwd=folder / "tree")
    (path,) = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def unpacked(sdist: Path) -> Path:
    """The sdist as a folder, with the C++ that Cython makes of the scanner, which is the same for all versions."""
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, filter="data")
    folder = sdist.parent / sdist.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "cython", "-3", "--cplus", "src/calipers/native/_scanner.pyx", cwd=folder)
    return folder


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def wheel(version: str, sdist: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip builds for this version of Python: from the sdist, or quicker, from what is in it."""
    python = interpreter(version)
    source = sdist if version == VERSIONS[0] else request.getfixturevalue("unpacked")
    folder = tmp_path_factory.mktemp(f"wheel-{version}")
    flags = {"CFLAGS": "-O1 -DCALIPERS_PORTABLE" if version == PORTABLE else "-O1"}  # which compiles in half the time
    command = (python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, source)
    run(*command, cwd=folder, env=environment() | flags)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(version: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a clean venv with nothing but the wheel and what it depends on."""
    python = venv(interpreter(version), tmp_path_factory.mktemp(f"venv-{version}") / "venv")
    install(python, wheel)
    return python.parent


def test_sdist_holds_sources_only(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "pyproject.toml", "setup.py", "src/calipers/py.typed"} <= names
    assert {"src/calipers/native/_scanner.pyx", "tests/conftest.py"} <= names
    assert not [name for name in names if name.endswith((".c", ".cpp", ".so", ".pyc"))]


def test_wheel_holds_the_package_and_its_scanner(wheel: Path, require: Require) -> None:
    require.compiler()
    names = zipfile.ZipFile(wheel).namelist()
    assert "calipers/py.typed" in names
    scanner = [name for name in names if name.startswith("calipers/native/_scanner.")]
    assert [name for name in scanner if name.endswith((".so", ".pyd"))]
    metadata = [name for name in names if ".dist-info/" in name]
    assert {"LICENSE", "vega-notice.txt"} <= {name.rpartition("/")[2] for name in metadata if "/licenses/" in name}
    shared = [name for name in names if ".data/data/share/" in name]
    assert {name.rpartition("/")[2] for name in shared} == {"calipers", "_calipers", "calipers.fish"}
    strangers = {name.partition("/")[0] for name in names if name not in (*metadata, *shared)} - {"calipers"}
    assert not strangers
    assert not [name for name in names if name.endswith((".pyx", ".c", ".cpp"))]


def test_version_says_compiled(installed: Path, tmp_path: Path, require: Require) -> None:
    require.compiler()
    said = run(installed / "calipers", "--version", cwd=tmp_path)
    assert "compiled" in said
    version = run(installed / "python", "-c", "import calipers; print(calipers.__version__)", cwd=tmp_path)
    assert version.strip() in said


TINY = {  # the same judgments and run in the formats that need no extra
    "TREC": ("1 0 a 1\n1 0 b 0\n2 0 c 1\n", "1 Q0 b 1 2.0 tiny\n1 Q0 a 2 1.0 tiny\n2 Q0 c 1 1.0 tiny\n"),
    "CSV": ("query,document,grade\n1,a,1\n1,b,0\n2,c,1\n", "query,document,score\n1,b,2\n1,a,1\n2,c,1\n"),
    "JSON": ('{"1": {"a": 1, "b": 0}, "2": {"c": 1}}', '{"1": {"b": 2, "a": 1}, "2": {"c": 1}}'),
}


@pytest.mark.parametrize("kind", TINY)
def test_tiny_evaluation(kind: str, installed: Path, tmp_path: Path) -> None:
    judgments, ranking = TINY[kind]
    (tmp_path / "judgments").write_text(judgments)
    (tmp_path / "tiny").write_text(ranking)
    command = ["evaluate", "judgments", "tiny=tiny", "-m", "RR P@1", "--format", "csv", "-o", "out.csv"]
    run(installed / "calipers", *command, cwd=tmp_path)
    header, row = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "system,RR,P@1"
    name, rr, p = row.split(",")
    assert (name, float(rr), float(p)) == ("tiny", (1 / 2 + 1) / 2, 1 / 2)


def test_core_tests_against_the_wheel(installed: Path, tmp_path: Path) -> None:
    install(installed / "python", "pytest", "hypothesis")
    said = run(installed / "python", ROOT / "tests" / "run_core.py", ROOT, cwd=tmp_path)
    assert " passed" in said
