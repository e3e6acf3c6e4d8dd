"""What a release rests on: workflows, the action, the hook, completions, citation, versions, lower bounds."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import calipers
from bare_environment import environment, install, run, venv
from calipers.native import scanner
from conftest import ROOT, Require
from local_action import run_action

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

if not (ROOT / ".github").is_dir():
    pytest.skip("needs the source tree", allow_module_level=True)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def schema(require: Require, package: str, path: str) -> dict[str, Any]:
    """A JSON schema that a package has among its files; nothing of it is run."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        require.module(package)
    assert spec is not None
    assert spec.origin is not None
    found: dict[str, Any] = json.loads((Path(spec.origin).parent / path).read_text(encoding="utf-8"))
    return found


VENDORED = "builtin_schemas/vendor"
FILES = [
    *((path.relative_to(ROOT).as_posix(), "github-workflows") for path in sorted(ROOT.glob(".github/workflows/*.yml"))),
    (".github/dependabot.yml", "dependabot"),
    ("action.yml", "github-actions"),
    ("CITATION.cff", "citation-file-format"),
]


def read_yaml(file: str, require: Require) -> dict[str, Any]:
    """As these services read it: `on` is a word there, and a date a string."""
    content = require.module("yaml").safe_load((ROOT / file).read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(
        json.dumps({"on" if key is True else key: value for key, value in content.items()}, default=str)
    )
    return found


@pytest.mark.parametrize(("file", "name"), FILES, ids=[file for file, _ in FILES])
def test_files_for_services_have_the_form_that_these_publish(file: str, name: str, require: Require) -> None:
    jsonschema = require.module("jsonschema")
    form = schema(require, "check_jsonschema", f"{VENDORED}/{name}.json")
    checker = jsonschema.validators.validator_for(form)(form)
    errors = checker.iter_errors(read_yaml(file, require))
    assert not [f"{'/'.join(map(str, error.path))}: {error.message}" for error in errors]


@pytest.mark.parametrize("file", [file for file, name in FILES if name == "github-workflows"])
def test_workflows_may_do_little_and_run_nothing_that_others_wrote(file: str, require: Require) -> None:
    workflow = read_yaml(file, require)
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    for job in jobs.values():
        needed = job.get("needs", [])
        assert {needed} if isinstance(needed, str) else set(needed) <= set(jobs)
        for step in job["steps"]:  # titles, names of branches and inputs come as variables, never as part of a script
            assert "${{" not in step.get("run", ""), step


WAITS = ("join", "wait", "communicate", "result", "acquire")  # methods whose argument may be a number of seconds
STOPWATCHES = ("perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "timeit")


def test_no_test_has_a_limit_of_time_of_its_own() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.keyword) and node.arg == "timeout":
                assert "TIME_LIMIT" in ast.unparse(node.value), where
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WAITS:
                assert not any(
                    isinstance(each, ast.Constant) and type(each.value) in (int, float) for each in node.args
                ), where
            if isinstance(node, ast.Attribute):
                assert node.attr not in STOPWATCHES, f"{where}: a slow machine fails what asserts on elapsed time"


def test_core_tests_import_what_the_wheel_has() -> None:
    """They also run where only the wheel, pytest and hypothesis are installed."""
    here = {path.stem for path in (ROOT / "tests").iterdir()} | {"measure_pages", "calipers", "numpy", "scipy", "click"}
    known = here | sys.stdlib_module_names | {"pytest", "hypothesis"}
    for folder in (ROOT / "tests" / "core.txt").read_text(encoding="utf-8").split():
        for path in [*(ROOT / folder).rglob("*.py")] or [ROOT / folder]:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Import):
                    assert {name.name.partition(".")[0] for name in node.names} <= known, path
                if isinstance(node, ast.ImportFrom):
                    assert str(node.module).partition(".")[0] in known, path


def test_no_job_that_tests_ends_within_an_hour(require: Require) -> None:
    jobs = read_yaml(".github/workflows/test.yml", require)["jobs"]
    assert {name: job["timeout-minutes"] for name, job in jobs.items() if job["timeout-minutes"] < 60} == {}


def test_the_citation_is_one(require: Require) -> None:
    content = read_yaml("CITATION.cff", require)
    require.module("jsonschema").validate(content, schema(require, "cffconvert", "schemas/1.2.0/schema.json"))
    assert content["authors"] == [{"name": PYPROJECT["project"]["authors"][0]["name"]}]


def test_a_release_is_refused_until_everything_names_it(tmp_path: Path) -> None:
    problems = loaded(ROOT / ".github" / "release_checks.py").problems
    version = calipers.__version__
    assert problems(ROOT, "") == []
    assert any("OWNER" in line for line in problems(ROOT, f"v{version}")) == (
        "/OWNER/" in str(PYPROJECT["project"]["urls"])
    )
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "src/calipers/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(
            (ROOT / name).read_text(encoding="utf-8").replace("OWNER", "someone"), encoding="utf-8"
        )
    assert problems(tmp_path, f"v{version}") == []
    (tmp_path / "src/calipers/_version.py").write_text('__version__ = "9.9.9"\n', encoding="utf-8")
    said = problems(tmp_path, f"v{version}")
    assert [line.split()[0] for line in said] == ["the", "CHANGELOG.md", "CITATION.cff"]


def test_the_changelog_is_kept_in_its_form() -> None:
    headings = re.findall(r"^(##+ .*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    versions = [heading for heading in headings if heading.startswith("## ")]
    assert versions[0] == "## [Unreleased]"
    assert all(re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in versions[1:])
    kinds = {"### " + kind for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")}
    assert set(headings) - set(versions) <= kinds


def test_lower_bounds_are_tested_one_by_one() -> None:
    pins = loaded(ROOT / "requirements" / "oldest.py").oldest(["frames", "packed", "report"])
    bounds = dict(pin.partition(";")[0].strip().split("==") for pin in pins)
    assert {"numpy", "scipy", "click"} < set(bounds)
    for requirement in PYPROJECT["project"]["dependencies"]:
        name, bound = requirement.split(">=")
        assert bounds[name] == bound


@pytest.mark.slow
def test_the_wheel_installs_without_extras_and_runs_the_demo(tmp_path: Path, require: Require) -> None:
    """The wheel of this Python, built by the tools that are here. `make wheels` builds and tests those of others."""
    require.compiler()
    tree = tmp_path / "tree"
    built = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "_scanner.c", "_scanner.cpp")
    for name in ("src", "completions"):
        shutil.copytree(ROOT / name, tree / name, ignore=built)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    build = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, tree)
    run(*build, cwd=tree, env=environment() | {"CFLAGS": "-O0"})  # which compiles quickest
    (wheel,) = tmp_path.glob("*.whl")
    python = venv(Path(sys.executable), tmp_path / "venv")
    install(python, wheel)
    said = run(python.parent / "calipers", "demo", cwd=tmp_path)
    assert "pip install 'calipers[report]'" in said, "there are no extras"
    assert (tmp_path / "calipers-demo" / "qrels.txt").is_file()
    assert "(compiled scanner)" in run(python.parent / "calipers", "--version", cwd=tmp_path)


QRELS = "".join(f"{q} 0 d{d} {int(d < 3)}\n" for q in range(12) for d in range(8))
GOOD = "".join(f"{q} Q0 d{d} {d + 1} {9 - d} good\n" for q in range(12) for d in range(8))
BAD = "".join(f"{q} Q0 d{7 - d} {d + 1} {9 - d} bad\n" for q in range(12) for d in range(8))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "with space; echo no"
    folder.mkdir()
    for name, text in (("qrels.txt", QRELS), ("good.run", GOOD), ("bad.run", BAD)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """`python` is this one, wherever a script asks for it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    found = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    return {"PATH": found, "PYTHONPATH": str(Path(calipers.__file__).parent.parent), "PYTHONSAFEPATH": "1"}


@pytest.mark.parametrize(
    ("new", "old", "code", "facts"),
    [("bad.run", "good.run", 1, ("dropped", "worse")), ("good.run", "bad.run", 0, ("ok", "not worse"))],
)
def test_the_action_says_what_the_command_says(
    new: str, old: str, code: int, facts: tuple[str, str], runs: Path, on_path: dict[str, str], require: Require
) -> None:
    require.tool("bash")
    require.module("yaml")
    given = {
        "judgments": "qrels.txt",
        "run": new,
        "baseline": old,
        "max-drop": "0.01",
        "package": "",
        "junit": "c.xml",
        "measure": "nDCG@10 RR",
        "min": "RR=5%",
        "fail-on": "missing,ties",
        "max-query-drop": "nDCG@10=1",
        "condensed": "true",
        "strict": "false",
    }
    ran = run_action(ROOT / "action.yml", given, runs, on_path)
    assert (ran.code, ran.outputs.get("observed"), ran.outputs.get("verdict")) == (code, *facts), ran.said
    assert ("::error" in ran.said) == bool(code)
    assert "| nDCG@10 |" in ran.summary
    assert "<testsuite" in (runs / "c.xml").read_text(encoding="utf-8")
    assert "RR, floor" in (runs / "c.xml").read_text(encoding="utf-8")


def test_the_action_takes_every_option_of_check(require: Require) -> None:
    made = loaded(ROOT / "scripts" / "action.py")
    assert (ROOT / "action.yml").read_text(encoding="utf-8") == made.action(), "run python scripts/action.py"
    action = require.module("yaml").safe_load(made.action())
    from calipers.cli.check import command

    known = {each.opts[-1].removeprefix("--") for each in command.params if each.param_type_name == "option"}
    assert set(action["inputs"]) - {"judgments", "run", "package"} == known - set(made.OWN)


def test_the_action_fails_on_files_that_are_not_there(runs: Path, on_path: dict[str, str], require: Require) -> None:
    require.tool("bash")
    require.module("yaml")
    given = {"judgments": "none.txt", "run": "good.run", "baseline": "$(touch x)", "max-drop": "0.01", "package": ""}
    ran = run_action(ROOT / "action.yml", given, runs, on_path)
    assert ran.code == 2
    assert not (runs / "x").exists()


def test_the_hook_is_a_command_that_works(runs: Path, require: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.cli.commands import run

    (hook,) = require.module("yaml").safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language"} <= set(hook)
    program, *words = hook["entry"].split()
    assert program in PYPROJECT["project"]["scripts"]
    monkeypatch.chdir(runs)
    assert run([*words, "qrels.txt", "bad.run", "--baseline", "good.run", "--max-drop", "0.01", "-m", "AP"]) == 1


@pytest.mark.parametrize(("shell", "file"), [("bash", "calipers"), ("zsh", "_calipers"), ("fish", "calipers.fish")])
def test_completion_files_are_what_click_makes(shell: str, file: str) -> None:
    from click.shell_completion import get_completion_class

    from calipers.cli.commands import root

    maker = get_completion_class(shell)
    assert maker is not None
    made = maker(root, {}, "calipers", "_CALIPERS_COMPLETE").source().strip()
    assert (ROOT / "completions" / file).read_text(encoding="utf-8").strip() == made
    installed = [path for files in PYPROJECT["tool"]["setuptools"]["data-files"].values() for path in files]
    assert f"completions/{file}" in installed


WITHOUT = """
import sys, warnings
sys.modules["calipers.native._scanner"] = None
import calipers as cal
for _ in range(2):
    print(cal.evaluate("qrels.txt", "good.run", "AP", warn=False).mean().rows[0][1])
"""


def test_without_a_compiled_scanner_it_is_said_once_how_slow_that_is(runs: Path, on_path: dict[str, str]) -> None:
    environment = {**os.environ, **on_path}
    environment.pop("CALIPERS_PLAIN", None)
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=runs, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["1.0", "1.0"], done.stderr
    assert done.stderr.count(scanner.SLOW) == 1
    assert done.stderr.startswith("<string>:6: ")  # the user's line, not one of ours
    asked = {**environment, "CALIPERS_PLAIN": "1"}
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=runs, env=asked, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["1.0", "1.0"], "")


def test_nothing_rests_on_the_encoding_that_a_system_happens_to_have(runs: Path, on_path: dict[str, str]) -> None:
    """A file that is opened as text without naming its encoding is a warning, and here an error."""
    strict = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-m", "calipers"]
    for words in (
        ["diff", "qrels.txt", "good.run", "bad.run", "-m", "AP"],
        ["check", "qrels.txt", "good.run", "--baseline", "bad.run", "--max-drop", "0.01", "--junit", "found.xml"],
        ["convert", "good.run", "good.jsonl"],
    ):
        done = subprocess.run([*strict, *words], cwd=runs, env={**os.environ, **on_path}, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
