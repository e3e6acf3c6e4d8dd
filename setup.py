"""Builds the scanner, where that is possible. Everything else about the package is in pyproject.toml.

The extension is optional: without a C++17 compiler the build goes on, and the package uses its plain-Python twin.
CALIPERS_COMPILED=1, as for the wheels of a release, makes it obligatory; CALIPERS_STRICT=1, as in continuous
integration, makes warnings errors as well; CALIPERS_SANITIZE=1 builds it for AddressSanitizer, as a test does.
CALIPERS_ABI3=1 builds one extension for Python 3.11 and all later versions, which loads slower (decisions/0009).
"""

from __future__ import annotations

import os
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = "src/calipers/native/_scanner.pyx"
HEADERS = [
    "src/calipers/native/_bits.hpp",
    "src/calipers/native/_scanner.hpp",
]
OPTIMISE = ["-O3", "-g0"]
STRICT = ["-Wall", "-Wextra", "-Werror"]
SANITIZE = ["-fsanitize=address", "-fno-omit-frame-pointer", "-g1", "-O1"]


class BuildScanner(build_ext):
    """Knows the flags of the two families of compilers; which one it is shows only when building."""

    def build_extension(self, ext: Extension) -> None:
        if self.compiler.compiler_type == "msvc":
            ext.extra_compile_args = ["/std:c++17", "/O2", "/EHsc"]
        else:
            ext.extra_compile_args = ["-std=c++17", *OPTIMISE, "-fno-math-errno", "-fvisibility=hidden"]
            ext.extra_compile_args += os.environ.get("CFLAGS", "").split()  # which would else come first, and lose
            if asked("STRICT"):
                ext.extra_compile_args += STRICT
            if asked("SANITIZE"):
                ext.extra_compile_args += SANITIZE
                ext.extra_link_args = ["-fsanitize=address"]
        super().build_extension(ext)


def asked(option: str) -> bool:
    return os.environ.get(f"CALIPERS_{option}") == "1"


def extensions() -> list[Extension]:
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    limited: dict[str, Any] = {}
    if asked("ABI3"):
        limited = {"define_macros": [("Py_LIMITED_API", "0x030B0000")], "py_limited_api": True}
    scanner = Extension("calipers.native._scanner", [SOURCE], depends=HEADERS, language="c++", **limited)
    built = list(cythonize([scanner], language_level=3))
    for extension in built:
        extension.optional = not (asked("COMPILED") or asked("STRICT"))  # cythonize makes new ones, and forgets it
    return built


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildScanner},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if asked("ABI3") else {},
)
