"""Measures that users write: as declarations, as objects and as plain functions, here and in other processes."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers import measures
from calipers.cli.options import MeasureNames
from calipers.measures import registry
from calipers.measures.grammar import import_measures
from calipers.measures.parameters import Parameter
from calipers.support.progress import progress_bar
from conftest import Require
from example_files import all_commands

QRELS = {"q": {"a": 1, "b": 0, "c": 2}}
RUN = {"q": {"a": 3.0, "x": 2.5, "b": 2.0, "c": 1.0}}


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test declares is forgotten after it."""
    for name in ("_DECLARED", "_BY_NAME"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


def graded_sum(ranking: Any) -> float:
    """The sum of the grades."""
    return float(ranking.sum())


def declared() -> registry.Declaration:
    @cal.measure("TopSum", cutoff=None, rel=1)
    def top_sum(cutoff: int | None, rel: float) -> Any:
        """The sum of the grades of the first k documents."""
        return lambda ranking: float(ranking[:cutoff][ranking[:cutoff] >= rel].sum())

    return top_sum


def mean(measures: Any, **options: Any) -> dict[str, float]:
    scores = cal.evaluate(QRELS, RUN, measures, **options)
    return {name: float(scores[name][0, 0]) for name in scores.measures}


def test_a_declaration_is_a_measure_and_takes_a_cutoff_and_parameters() -> None:
    top_sum = declared()
    assert mean([top_sum]) == mean(top_sum) == {"TopSum": 3.0}
    assert mean([top_sum @ 1, top_sum(rel=2), top_sum(rel=2) @ 3, "TopSum@3"]) == {
        "TopSum@1": 1.0,
        "TopSum(rel=2)": 2.0,
        "TopSum(rel=2)@3": 0.0,
        "TopSum@3": 1.0,
    }
    with pytest.raises(cal.CalipersError, match="cutoff=0 of 'TopSum' is not a whole number from 1 to"):
        top_sum @ 0


def test_a_plain_function_is_a_measure() -> None:
    assert mean([graded_sum, "P@1"]) == {"graded_sum": 3.0, "P@1": 1.0}
    assert mean(graded_sum) == {"graded_sum": 3.0}
    with pytest.raises(cal.CalipersError, match="a function without a name cannot be a measure"):
        mean([lambda ranking: 1.0])


def test_two_functions_of_one_name_are_refused() -> None:
    first = graded_sum

    def graded_sum_(ranking: Any) -> float:
        return 0.0

    graded_sum_.__name__ = "graded_sum"
    assert mean([first, first]) == {"graded_sum": 3.0}
    with pytest.raises(cal.CalipersError, match="two functions are called 'graded_sum'"):
        mean([first, graded_sum_])

    def ap(ranking: Any) -> float:
        return 0.0

    with pytest.raises(cal.CalipersError, match="the name 'ap' is taken by the built-in measure 'AP'"):
        mean([ap])


def test_unjudged_documents_are_nan_on_request() -> None:
    @cal.measure("Unjudged2", unjudged="nan")
    def unjudged2() -> Any:
        """The number of unjudged documents."""
        return lambda ranking: float(np.isnan(ranking).sum())

    assert mean([unjudged2, unjudged2(judged_only=True)]) == {"Unjudged2": 1.0, "Unjudged2(judged_only=True)": 0.0}


def test_parameters_of_own_measures_declare_range_and_sentence() -> None:
    @cal.measure("Scaled", factor=Parameter("The factor.", "number", 2, above=0))
    def scaled(factor: float) -> Any:
        """The sum of the grades times a factor."""
        return lambda ranking: factor * float(ranking.sum())

    assert mean([scaled(factor=3)]) == {"Scaled(factor=3)": 9.0}
    with pytest.raises(cal.CalipersError, match="factor=0 of 'Scaled' is not a number above 0"):
        scaled(factor=0)
    assert "| factor | 2 | a number above 0 | The factor. |" in str(cal.measure_card("Scaled"))


def test_a_measure_that_lacks_a_parameter_is_refused_when_it_is_used() -> None:
    precision = cal.parse("P@5").declaration
    assert mean([precision(rel=2) @ 1]) == {"P(rel=2)@1": 0.0}
    for incomplete in (precision, precision(rel=2)):
        with pytest.raises(cal.CalipersError, match="measure 'P' needs a cutoff, as in P@10"):
            mean([incomplete])


def test_every_built_in_measure_pickles() -> None:
    for name in [example for reads in ("grades", "subtopics", "samples") for example in registry.examples(reads)]:
        measure = cal.parse(name)
        again = pickle.loads(pickle.dumps(measure))
        assert again == measure
        assert again.declaration is measure.declaration


def test_own_measures_travel_by_value_to_processes_that_do_not_know_them(require: Require, tmp_path: Path) -> None:
    """Like Spark: a function of the main program is written by value, and nothing is declared on the other side."""
    cloudpickle = require.module("pyspark.cloudpickle")
    sent = tmp_path / "measures.pickle"
    sent.write_bytes(cloudpickle.dumps([declared() @ 2, cal.V2(declared() @ 2), cal.parse("nDCG@10")]))
    script = (
        "import pickle, sys\nimport calipers as cal\n"
        f"measures = pickle.load(open({str(sent)!r}, 'rb'))\n"
        f"scores = cal.evaluate({QRELS!r}, {RUN!r}, measures)\n"
        "print(scores.measures, scores['TopSum@2'][0, 0])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "('TopSum@2', 'V2(TopSum@2)', 'nDCG@10') 1.0"


MODULE = '''
import calipers as cal

@cal.measure("Mine", rel=1)
def mine(rel):
    """The number of relevant documents."""
    return lambda ranking: float((ranking >= rel).sum())
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "module_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    yield importlib.import_module("module_of_mine")
    del sys.modules["module_of_mine"]


def test_measures_of_a_module_pickle_with_the_standard_library(module: Any, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(module.mine(rel=2)))
    assert again == module.mine(rel=2)
    sent = tmp_path / "sent.pickle"
    sent.write_bytes(pickle.dumps(module.mine(rel=2)))
    script = (
        f"import pickle, sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport calipers as cal\n"
        f"print(cal.evaluate({QRELS!r}, {RUN!r}, pickle.load(open({str(sent)!r}, 'rb'))).mean())"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Mine(rel=2)" in found.stdout


def test_a_function_that_takes_long_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []

    class Bar:
        def __init__(self, total: int, what: str) -> None:
            shown.append(total)

        def show(self, count: int) -> None:
            shown.append(count)

        def close(self) -> None: ...

    monkeypatch.setattr("calipers.support.progress._make", lambda: Bar)
    monkeypatch.setattr("calipers.support.progress.WAIT", -1.0)
    tied = {f"q{i}": dict.fromkeys("abc", 1.0) for i in range(3)}
    qrels = {query: {"a": 1, "b": 0} for query in tied}
    cal.evaluate(qrels, tied, graded_sum)
    assert shown == [3, 1, 2, 3]
    shown.clear()
    with progress_bar(2) as advance:
        advance(1)
        cal.evaluate(qrels, tied, graded_sum)
    assert shown == [2, 1]  # one bar at a time


# -- files of measures -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\nq 0 c 2\n")
    (tmp_path / "run.txt").write_text("q Q0 a 1 3 r\nq Q0 x 2 2 r\nq Q0 c 3 1 r\n")
    return tmp_path


def called(*arguments: Any) -> Any:
    from click.testing import CliRunner

    from calipers.cli.commands import root

    return CliRunner().invoke(root, [str(argument) for argument in arguments])


def test_a_file_of_measures_is_imported_by_the_command_line(files: Path) -> None:
    given = ("--import", files / "mine.py")
    done = called("evaluate", files / "qrels.txt", files / "run.txt", "-m", "Mine Mine(rel=2)", *given)
    assert done.exit_code == 0, done.output
    assert "2.0000" in done.stdout
    assert called("measures", "Mine", *given).stdout.startswith("# Mine\n\nThe number of relevant documents.")
    assert called("properties", "Mine", *given).exit_code == 0


def test_every_command_with_measures_of_rankings_imports_files() -> None:
    for name, command in all_commands():
        options = {option for parameter in command.params for option in parameter.opts}
        if any(isinstance(parameter.type, MeasureNames) for parameter in command.params):
            assert "--import" in options, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", "bad.py:1: is not valid Python: '\\(' was never closed"),
        ("\n1 / 0", "bad.py:2: raised ZeroDivisionError: division by zero"),
        ("x = 1", "bad.py: declares no measure: decorate a function with @calipers.measure"),
        ("import calipers as cal\ncal.measure('AP')(len)", "bad.py: .*declares other parameters"),
    ],
)
def test_a_bad_file_of_measures_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(cal.CalipersError, match=message):
        import_measures(tmp_path / "bad.py")
    with pytest.raises(cal.CalipersError, match=r"none\.py: there is no such file"):
        import_measures("none.py")


# -- names and help --------------------------------------------------------------------------------


def test_every_built_in_measure_with_a_python_name_can_be_imported() -> None:
    for declaration in registry.all_declared():
        module = declaration.function.__module__
        declares = module.startswith("calipers.measures.") and module != registry.__name__  # which has a doctest
        if declares and declaration.name.isidentifier():
            assert getattr(measures, declaration.name) is declaration
            assert declaration.name in measures.__all__


def test_measures_are_listed_by_name_and_meaning() -> None:
    assert {"Recall", "StRecall", "SetR"} <= set(cal.list_measures("recall")["measure"])
    assert "AP" not in cal.list_measures("recall")["measure"]
    assert cal.list_measures("map_cut")["measure"] == ["AP"]  # a name of trec_eval
    assert len(cal.list_measures()) == len(registry.all_declared())


def test_help_shows_the_parts_of_records() -> None:
    assert list(inspect.signature(cal.Linear).parameters) == ["weight", "value"]
    assert inspect.signature(cal.AtLeast).parameters["rel"].default == 1
    assert "Linear(weight: 'Weights', value: 'Value')" in pydoc.plain(pydoc.render_doc(cal.Linear))
    with pytest.raises(TypeError):
        inspect.signature(cal.Linear(cal.Weights(np.sqrt), cal.AtLeast(1)))  # a record itself is not callable
