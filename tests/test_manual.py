"""The manual: it is whole, its tutorial works as written, and its Python runs."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy
import pytest

import calipers
from calipers.cli.commands import root, run
from calipers.cli.suggestions import examples
from conftest import ROOT, Require
from example_files import all_commands, make

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, kind: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [content for language, content in BLOCK.findall(text) if language == kind]


def mkdocs(folder: Path, config: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(config), "-d", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.mark.slow
@pytest.mark.peers
def test_the_site_is_whole_and_its_notebooks_run(tmp_path: Path, require: Require) -> None:
    """Strict: a broken link or heading, a page that the menu forgets and a cell that fails each stop the build."""
    require.module("mkdocs")
    done = mkdocs(tmp_path, ROOT / "mkdocs.yml")
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {
        path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")
    }
    reference = "".join(text for name, text in pages.items() if name.startswith("api/"))
    packages = {name for name in dir(calipers) if isinstance(getattr(calipers, name), ModuleType)}
    assert {f"api/{name}.html" for name in packages - {"questions"}} <= pages.keys()
    assert {f"api/{room}.html" for room in dir(calipers.questions)} <= pages.keys()
    for name in set(dir(calipers)) - {"__version__"} - packages:
        assert re.search(rf"\scalipers\.{name}\s", reference), name
    for path in (DOCS / "notebooks").glob("*.ipynb"):
        code = path.read_text(encoding="utf-8").count('"cell_type": "code"')
        assert pages[f"notebooks/{path.stem}.html"].count('class="highlight"') > code, "its cells print something"
    assert len(list((tmp_path / "notebooks").glob("*.png"))) >= 3
    assert "<img" in pages["gallery.html"]
    for name, text in pages.items():
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:[^"]*"', text), name


@pytest.mark.parametrize("text", ["# T\n[x](nowhere.md)", "# T\n[x](#no-such)", "# T\n![x](images/none.png)"])
def test_broken_links_stop_the_build(tmp_path: Path, text: str, require: Require) -> None:
    require.module("mkdocs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(text)
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\nsite_name: T\ndocs_dir: docs\nhooks: []\nplugins: []\nextra_css: []\n"
        "theme: {name: mkdocs}\nnav: [index.md]\n"
    )
    done = mkdocs(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode != 0
    assert "strict mode" in done.stderr + done.stdout


def test_what_pages_name_in_code_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build of the site stops at these, too."""
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    misspelt = import_module("spelling").misspelt

    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        assert list(misspelt(page.read_text(encoding="utf-8"))) == [], page.name
    for wrong in ("`cal.evalute(qrels, run)`", "`calipers evalute`", "`calipers text skore`", "`--likes x`"):
        assert len(list(misspelt(f"A page with {wrong}."))) == 1, wrong


def test_the_site_gets_a_row_for_every_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.conventions import TOOLS

    monkeypatch.syspath_prepend(str(DOCS / "site"))
    rows = re.findall(r"^\| ([\w-]+) \|", import_module("tool_page").tool_page(), re.MULTILINE)
    assert rows[0] == "profile"
    assert [name for name in rows if name not in ("profile", "---")] == list(TOOLS)


@pytest.fixture(scope="module")
def shell(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs lines as a reader would, in one folder, with our `calipers` first on the path."""
    Require().module("vl_convert")
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

    run.folder = work  # type: ignore[attr-defined]  # where the commands run
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


# -- every example of every page ---------------------------------------------------------------------------------
#
# They run in the folder that tests/example_files.py makes. What cannot run there says so where the reader sees it, in a
# comment: `# needs TREC-COVID`.

PAGES = {str(page.relative_to(DOCS)): page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))}
NEEDS = re.compile(r"#.*\bneeds ")
COMMAND = re.compile(r"^(?:    )?(calipers [a-z](?:.*\\\n)*.*)$", re.MULTILINE)
USAGE = re.compile(r"SYSTEM\.\.\.|COMMAND")  # what stands for something else


def _commands(text: str) -> list[str]:
    """The commands of a page that the tests of help do not run."""
    found = (command for command in COMMAND.findall(text) if not NEEDS.search(command) and not USAGE.search(command))
    return [command for command in dict.fromkeys(map(_plain, found)) if command not in HELP]


def _plain(command: str) -> str:
    """One line, without its comment."""
    return " ".join(re.sub(r"\s#\s.*$", "", command.replace("\\\n", " ")).split())


HELP = {_plain(example) for _, command in all_commands() for example in examples(command)}
COMMANDS = {page: found for page, text in PAGES.items() if page != "tutorial.md" and (found := _commands(text))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    Require().module("polars")
    lz4 = Require().module("lz4.frame")
    made = make(tmp_path_factory.mktemp("manual"), systems=8, queries=24)
    (made / "run.lz4").write_bytes(lz4.compress((made / "run.json").read_bytes()))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_the_manual_run_as_written(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As the shell hands them on: there a function of that name prints what it is given."""
    script = "calipers() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }\n" + "\n".join(COMMANDS[page])
    done = subprocess.run([Require().tool("bash"), "-c", script], cwd=folder, capture_output=True, check=True)
    calls = done.stdout.decode().split("\0\n\0")[:-1]
    monkeypatch.chdir(folder)
    for command, call in zip(COMMANDS[page], calls, strict=True):
        code = run(call.split("\0"))
        assert code == 0, f"{command}: {capfd.readouterr().err}(if it cannot run here, tell readers what it # needs)"


def test_the_page_of_questions_names_every_command_and_its_commands_parse(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    asked = [shlex.split(command)[1:] for command in re.findall(r"`(calipers [^`]+)`", PAGES["which-command.md"])]
    named = {" ".join(words[:2]) if words[0] in ("information", "text") else words[0] for words in asked}
    groups = {name.removeprefix("calipers ") for name, command in all_commands() if isinstance(command, click.Group)}
    leaves = {name.removeprefix("calipers ") for name, _ in all_commands()} - groups - {"calipers"}
    assert {name.partition(" ")[0] for name in leaves} <= {name.partition(" ")[0] for name in named}
    assert named <= leaves | {"COMMAND", "help"}
    for words in asked:
        if words[0] == "help":
            continue
        command: click.Command = root
        while isinstance(command, click.Group) and "COMMAND" not in words:
            _, found, words = command.resolve_command(click.Context(command), words)
            assert found is not None
            command = found
        if command is not root:
            command.make_context("calipers", list(words))  # an unknown option would be refused


# What the pages' Python takes for granted.
GIVEN: dict[str, str] = {
    "qrels": "cal.read_qrels('qrels.txt')",
    "runs": "cal.read_runs([f'runs/{name}.gz' for name in ('bm25', 'system01', 'system02')])",
    "run": "cal.read_run('run.txt')",
    "judgments": "cal.read_qrels('qrels.txt')",
    "subtopics": "cal.read_subtopics('diversity.qrels')",
    "labels": "cal.read_letor('test.svm')",
    "systems": "['a.txt', 'b.txt']",
    "scores": "cal.read_scores('scores.csv')",
    "bounds": "cal.bounds('qrels.txt', 'nDCG@10')",
}
OF_A_PAGE: dict[str, dict[str, str]] = {
    "formats.md": {
        "qrels_frame": "__import__('polars').read_parquet('qrels.parquet')",
        "run_frame": "__import__('polars').read_parquet('runs/system07.parquet')",
    },
    "information.md": {
        name: f"cal.read_scores('scores.csv')['{measure}'][:, 0]"
        for name, measure in (("x", "ERR"), ("y", "nDCG"), ("given", "AP"))
    },
    "conventions.md": {"exp": "cal.Experiment(cal.read_letor('test.svm'), ['a.txt', 'b.txt'], 'nDCG@10')"},
    "coming-from.md": {
        "qrels": "{'q1': {'a': 1, 'b': 0, 'c': 2}, 'q2': {'a': 1, 'b': 0}}",
        "run": "{'q1': {'b': 3.0, 'a': 2.0}, 'q2': {'a': 1.0}}",
        "X": "[[0.0, 1.0], [1.0, 0.0], [0.5, 0.3], [0.1, 0.9], [0.9, 0.2], [0.4, 0.4]] * 4",
        "y": "[0, 2, 1, 0, 1, 0] * 4",
        "query": "[q for q in range(8) for _ in range(3)]",
    },
    "metaeval.md": {
        "exp": "cal.Experiment('qrels.txt', 'runs/*01.gz runs/bm25.gz'.split(), 'nDCG@10 V2(nDCG@10)')",
        **dict.fromkeys(
            ("meta", "other"),
            "cal.Experiment('qrels.txt', 'runs/*01.gz runs/bm25.gz'.split(), 'nDCG@10 V2(nDCG@10)').metaeval()",
        ),
    },
    "text.md": {"source": "'the cat sat on the mat and saw two birds'"},
}
OWN_TESTS = ("tutorial.md", "adding-a-measure.md")
CODE = [
    (page, number, code)
    for page, text in PAGES.items()
    if page not in OWN_TESTS
    for number, (language, code) in enumerate(BLOCK.findall(text))
    if language == "python" and not NEEDS.search(code.partition("\n")[0])
]


def _given(page: str, code: str) -> dict[str, Any]:
    """What the code takes for granted: of the names above, those that it has."""
    made: dict[str, Any] = {"cal": calipers, "np": numpy, "__name__": "manual"}
    has = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    for name, value in {**GIVEN, **OF_A_PAGE.get(page, {})}.items():
        if name in has:
            made[name] = eval(value, {"cal": calipers})
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number", "code"), CODE, ids=[f"{page}-{number}" for page, number, _ in CODE])
def test_python_of_the_manual_runs_as_written(
    page: str, number: int, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from calipers.measures import registry

    for module in re.findall(r"\.tools import (\w+)|(LambdaMART)", code):
        Require().module({"": "lightgbm", "scikit_learn": "sklearn"}.get(module[0], module[0]))
    registry.known_names()  # all families are there, which are loaded once
    for name in ("_DECLARED", "_BY_NAME"):  # measures that a page declares are gone afterwards
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.chdir(folder)
    kept = "\n".join(line for line in code.splitlines() if not NEEDS.search(line))
    exec(compile(kept, f"{page}-{number}", "exec"), _given(page, kept))


@pytest.mark.slow
def test_python_of_the_manual_passes_the_type_checker(tmp_path: Path, require: Require) -> None:
    """The names that a page takes for granted have the types that they have when the page is run."""
    require.module("mypy")
    files = []
    for page, number, code in CODE:
        kept = "\n".join(line for line in code.splitlines() if not NEEDS.search(line))
        names = [node for node in ast.walk(ast.parse(kept)) if isinstance(node, ast.Name)]
        read = {node.id for node in names} - {node.id for node in names if isinstance(node.ctx, ast.Store)}
        given = {name: value for name, value in {**GIVEN, **OF_A_PAGE.get(page, {})}.items() if name in read}
        lines = [
            "import numpy as np",
            "import calipers as cal",
            *(f"{name} = {value}" for name, value in given.items()),
        ]
        files.append(tmp_path / f"{page.replace('/', '_').removesuffix('.md').replace('-', '_')}_{number}.py")
        files[-1].write_text("\n".join([*lines, kept]) + "\n", encoding="utf-8")
    # Readers may write functions without types.
    untyped = ["--disable-error-code", "no-untyped-def", "--disable-error-code", "untyped-decorator"]
    options = ["--strict", *untyped, "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *options, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if str(tmp_path) in line and ": error:" in line]
    assert not found, "\n".join(found)


OUTPUTS = re.compile(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/text.md", "docs/rag.md"])
def test_python_prints_the_output_that_follows_it(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = OUTPUTS.findall((ROOT / page).read_text(encoding="utf-8"))
    assert shown
    monkeypatch.chdir(tmp_path)
    for code, output in shown:
        exec(compile(code, page, "exec"), {})
        assert capsys.readouterr().out == output


@pytest.mark.slow
def test_the_commands_of_the_readme_work_when_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run every command after `calipers demo`, and compare the output with the one shown."""
    from glob import glob

    Require().module("vl_convert")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (console,) = (block for language, block in BLOCK.findall(text) if language == "console")
    (demo, _), *steps = re.findall(r"^\$ calipers (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert demo == "demo > demo.txt"
    with monkeypatch.context() as changed:  # its report is like the one below
        changed.setattr("calipers.cli.demo.EXTRA", ("no_such_module",))
        assert run(["demo"]) == 0
    capfd.readouterr()
    assert len(steps) == 2
    for line, output in steps:
        words = [file for word in shlex.split(line) for file in (sorted(glob(word)) if "*" in word else [word])]
        assert run(words) == 0, line
        assert capfd.readouterr().out == output, line
    assert (tmp_path / "report.html").exists()


def test_the_figures_of_the_readme_are_those_of_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.report import Result, markdown, summary
    from benchmarks.shapes import SHAPES

    found = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    results = [Result(**each) for each in found["results"]]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- speed -->\n{summary(SHAPES, results)}<!-- /speed -->" in text
    assert not found["busy"]
    table = [line for line in markdown(SHAPES, results, {}, False).splitlines() if line.startswith("| **")]
    assert table == [
        line
        for line in (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| **")
    ]


def test_the_readme_is_one_screen() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 90
    assert lines.index("```python") < 10


def test_every_capability_has_a_picture() -> None:
    for page in (
        "evaluate",
        "bounds",
        "conventions",
        "compare",
        "diff",
        "metaeval",
        "properties",
        "information",
        "diversity",
        "report",
        "python",
        "text",
    ):
        assert "](images/" in (DOCS / f"{page}.md").read_text(encoding="utf-8"), page


def test_the_version_to_cite_is_this_one() -> None:
    assert f"version: {calipers.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
