"""The manual: it is whole, its tutorial works as written, and its Python runs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT, Require

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    Require().module("jinja2")
    spec = importlib.util.spec_from_file_location("manual_build", DOCS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["manual_build"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [content for language, content in BLOCK.findall(text) if language == kind]


def test_one_command_builds_all_pages_and_no_link_is_broken(builder: ModuleType, tmp_path: Path) -> None:
    count = builder.build(DOCS, tmp_path / "manual")
    assert count == len(list(DOCS.rglob("*.md")))
    index = (tmp_path / "manual" / "index.html").read_text(encoding="utf-8")
    assert 'href="tutorial.html"' in index
    assert "https://" not in re.sub(r"<main>.*</main>", "", index, flags=re.DOTALL)
    for page in (tmp_path / "manual").rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+?)(?:#[^"]*)?"', page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                assert (page.parent / target).exists(), (page.name, target)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# T\n[x](nowhere.md)", "leads nowhere"),
        ("# T\n[x](#no-such)", "there is no such heading"),
        ("# T\n![x](images/none.png)", "leads nowhere"),
    ],
)
def test_broken_links_are_found(builder: ModuleType, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "index.md").write_text(text)
    with pytest.raises(builder.Broken, match=said):
        builder.check(tmp_path, {"index": builder.read(tmp_path, "index")})


def test_pages_that_no_part_names_come_last_and_named_ones_must_be_there(
    builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "PARTS", {"Start": ("index",)})
    (tmp_path / "index.md").write_text("# T")
    (tmp_path / "another.md").write_text("# A")
    assert builder.names(tmp_path) == ["index", "another"]
    pages = {name: builder.read(tmp_path, name) for name in ("index", "another")}
    assert builder.menu(pages, "index")[1] == ("More", [("A", "another.html", False)])
    (tmp_path / "index.md").unlink()
    with pytest.raises(builder.Broken, match="not there"):
        builder.names(tmp_path)


@pytest.fixture(scope="module")
def shell(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs lines as a reader would, in one folder, with our `calipers` first on the path."""
    Require().module("altair")
    bash = require.tool("bash")
    folder = tmp_path_factory.mktemp("tutorial")
    program = folder / "bin" / "calipers"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from calipers.cli import main; main()' \"$@\"\n")
    program.chmod(0o755)
    work = folder / "work"
    work.mkdir()

    def run(line: str) -> str:
        environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        done = subprocess.run([bash, "-c", line], cwd=work, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout

    run.folder = work  # type: ignore[attr-defined]
    return run


@pytest.mark.slow
def test_the_tutorial_works_as_written(shell: Any) -> None:
    steps = [
        (line, output)
        for block in blocks("tutorial.md", "console")
        for line, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]
    assert len(steps) >= 8
    for line, output in steps:
        assert shell(line) == output, line
    (code,) = blocks("tutorial.md", "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=shell.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (shell.folder / "bounds.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_page_on_adding_a_measure_works_as_written(tmp_path: Path) -> None:
    code = "\n".join(blocks("adding-a-measure.md", "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "V2(Weighted3@2)" in done.stdout


def test_coming_from_pytrec_eval_works_as_written(tmp_path: Path) -> None:
    code = "\n".join(blocks("coming-from/pytrec_eval.md", "python"))
    done = subprocess.run([sys.executable, "-c", f"{code}\nprint(scores.mean())"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bm25" in done.stdout


@pytest.mark.peers
def test_coming_from_ir_measures_works_as_written(require: Require, tmp_path: Path) -> None:
    require.module("ir_measures")
    given = "qrels, run = {'q1': {'d1': 1, 'd2': 0}}, {'q1': {'d1': 0.5, 'd2': 0.7}}\n"
    code = given + "\n".join(blocks("coming-from/ir_measures.md", "python"))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_capability_has_a_picture() -> None:
    for page in ("evaluate", "bounds", "conventions", "compare", "metaeval", "properties", "information", "fusion",
                 "diversity", "report", "papers", "rankers", "text"):  # fmt: skip
        assert "](images/" in (DOCS / f"{page}.md").read_text(encoding="utf-8"), page


def test_the_version_to_cite_is_this_one() -> None:
    import calipers

    assert f"version: {calipers.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
