"""The scanner reads nothing that it should not: fuzzed against its twin under AddressSanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

COMPILED = (".pyx", ".hpp", ".cpp")  # the last, where a build has left it, saves making it again
SOURCES = [ROOT / "setup.py", *(file for file in (ROOT / "src").rglob("*") if file.suffix in COMPILED)]
# What other compilers get is built for one of the wheels too (test_wheels.py), without the sanitizer.
FLAGS = ["", *["-DCALIPERS_PORTABLE"] * (os.environ.get("CALIPERS_SWEEP") == "1")]
SECONDS = os.environ.get("CALIPERS_FUZZ_SECONDS", "5")


def library(compiler: str, name: str) -> str:
    """The path of one of the compiler's libraries; its bare name if it has none."""
    asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS)
def test_fuzz_under_address_sanitizer(flags: str, tmp_path: Path, require: Any) -> None:
    required = os.environ.get("CI") == "true" or os.environ.get("CALIPERS_DATA_REQUIRED") == "1"
    compiler = shutil.which("g++") or shutil.which("c++")
    libraries = [library(compiler, name) for name in ("libasan.so", "libstdc++.so")] if compiler else []
    if not libraries or not all(Path(path).is_absolute() for path in libraries):
        message = "needs g++ and its libasan"
        pytest.fail(message) if required else pytest.skip(message)
    require.module("Cython")

    # A copy: the generated C++ must not get in the way of another build.
    for source in SOURCES:
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)  # with its time, which says what is up to date
    build = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", "built"]
    environment = {**os.environ, "CALIPERS_SANITIZE": "1", "CFLAGS": flags}
    built = subprocess.run(build, cwd=tmp_path, env=environment, capture_output=True, text=True)
    extensions = [*(tmp_path / "built").rglob("_scanner*")]
    assert len(extensions) == 1, built.stdout + built.stderr

    fuzz = [sys.executable, str(ROOT / "tests" / "laws" / "fuzz_scanner.py"), "--seconds", SECONDS, "--extension"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter itself leaks at exit
        "PYTHONMALLOC": "malloc",  # else small buffers share pools, and a read past one's end goes unseen
    }
    fuzzed = subprocess.run([*fuzz, str(extensions[0])], env=environment, capture_output=True, text=True)
    assert fuzzed.returncode == 0, (fuzzed.stdout + fuzzed.stderr)[-4000:]
    assert "no difference" in fuzzed.stdout


def test_what_other_compilers_get_is_standard_cpp(tmp_path: Path) -> None:
    """No extension of GNU's where CALIPERS_GNU is not defined: as near as we come to Microsoft's compiler here."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    headers = sorted(path for path in SOURCES if path.suffix == ".hpp")
    if not headers:
        pytest.skip("needs the source tree")
    source = tmp_path / "all.cpp"
    source.write_text("#include <Python.h>\n" + "".join(f'#include "{path.name}"\n' for path in headers), "utf-8")
    python = sysconfig.get_paths()["include"]
    flags = ["-std=c++17", "-fsyntax-only", "-pedantic-errors", "-DCALIPERS_PORTABLE", "-isystem", python]
    done = subprocess.run([compiler, *flags, f"-I{headers[0].parent}", source], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
