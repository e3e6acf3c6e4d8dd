"""The public face: names, errors, signatures, and what `import calipers` does not load."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError, UnknownName
from calipers.support import choices
from calipers.support.lazy_names import homes_of
from conftest import Require

SOURCE = Path(cal.__file__).parent
QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUNS = {"bm25": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}, "dense": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}}


def scores() -> cal.Scores:
    return cal.evaluate(QRELS, RUNS, ["nDCG@10", "RR"])


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: scores()["nDGC@10"], "unknown measure 'nDGC@10'; did you mean nDCG@10?"),
        (lambda: scores().of_measures(["ERR"]), "unknown measure 'ERR'; did you mean RR?"),
        (lambda: scores().of_systems(["bm52"]), "unknown system 'bm52'; did you mean bm25?"),
        (lambda: scores().reason("RR", "bm25", "q9"), "unknown query 'q9'; there are q1, q2"),
        (lambda: scores().mean()["bm25", "AP"], "unknown column 'AP'; there are system, nDCG@10, RR"),
        (lambda: scores().mean()["bm24", "RR"], "unknown row 'bm24'; did you mean bm25?"),
        (lambda: cal.compare(scores(), baseline="desne"), "unknown baseline 'desne'; did you mean dense?"),
        (lambda: cal.compare(scores()).matrix("AP"), "unknown measure 'AP'; there are nDCG@10, RR"),
        (lambda: cal.explain(cal.Experiment(QRELS, RUNS, "AP"), "q9"), "query 'q9' is not judged; there are q1, q2"),
        (
            lambda: cal.explain(cal.Experiment(QRELS, RUNS, "AP"), "q1", run="bm"),
            "unknown system 'bm'; did you mean bm25?",
        ),
        (lambda: cal.parse("nDGC@10"), "unknown measure 'nDGC@10'; did you mean nDCG"),
        (lambda: cal.evaluate(QRELS, RUNS, like="letor_4"), "unknown convention 'letor_4'; did you mean letor4?"),
        (lambda: cal.fuse(RUNS, weights={"bm": 1}), "a weight for 'bm'"),
    ],
)
def test_an_unknown_name_is_one_error_with_a_suggestion(ask: Any, message: str) -> None:
    with pytest.raises(UnknownName) as found:
        ask()
    assert message in str(found.value)
    assert isinstance(found.value, CalipersError)
    assert isinstance(found.value, KeyError)
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)


def test_all_errors_are_value_errors() -> None:
    assert issubclass(CalipersError, ValueError)
    with pytest.raises(ValueError, match="depth 0"):
        cal.evaluate(QRELS, RUNS, depth=0)


def test_our_errors_pass_through_handlers_of_value_errors(tmp_path: Path) -> None:
    """A handler for the ValueError of int() or json.loads() must not replace the words of an error of ours."""
    from calipers.texts.bertscore import read_baseline

    baseline = tmp_path / "baseline.csv"
    baseline.write_text("LAYER,P,R,F\n1,0.5,1.5,0.5\n2,a,b,c\n")
    for layer, message in ((1, "a baseline is below 1"), (2, "expected the columns"), (3, "no baseline for layer 3")):
        with pytest.raises(CalipersError, match=message):
            read_baseline(baseline, layer)


# -- optional packages -----------------------------------------------------------------------------

OPTIONAL = {
    "altair",
    "backports",
    "ir_datasets",
    "ir_measures",
    "jinja2",
    "lightgbm",
    "lz4",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "sklearn",
    "torch",
    "transformers",
    "vl_convert",
    "xgboost",
}


def test_optional_packages_go_through_one_door() -> None:
    """Each is loaded by extras.load, which says what to install. Only type checkers may import them."""
    found = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree.body = [
            node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        ]
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [
                f"{path}:{getattr(node, 'lineno', 0)}: {name}" for name in names if name.partition(".")[0] in OPTIONAL
            ]
    assert not found


# -- names -----------------------------------------------------------------------------------------


PACKAGES = (
    "calipers",
    *(f"calipers.{name}" for name in ("collection", "evaluation", "plot", "results", "statistics", "texts")),
    *(f"calipers.questions.{path.parent.name}" for path in (SOURCE / "questions").glob("*/__init__.py")),
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_shows_what_it_offers(package: str) -> None:
    module = import_module(package)
    assert module.__all__
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)
    modules = {path.stem for path in Path(str(module.__file__)).parent.glob("*.py")}
    assert not modules & {name for name, home in homes_of(module).items() if home != package}, "hidden by a module"


@pytest.mark.parametrize("package", ["calipers", "calipers.statistics", "calipers.questions.check"])
def test_tab_completes_the_names_of_a_package(package: str, require: Require) -> None:
    script = require.module("jedi").Script(f"import {package} as package\npackage.")
    completed = {found.name for found in script.complete(2, len("package."))}
    assert set(import_module(package).__all__) <= completed


@pytest.mark.parametrize("old", ["stats", "text", "limits", "unjudged", "axioms.verdicts"])
def test_old_import_paths_say_where_they_went(old: str) -> None:
    with pytest.raises(ImportError, match=f"`calipers.{old.split('.', maxsplit=1)[0]}` left Calipers in 0.4: "):
        import_module(f"calipers.{old}")


TABLES = {
    "TestName": "calipers.statistics.significance:TESTS",
    "ComparisonTest": "calipers.questions.compare.comparison:TESTS",
    "Correction": "calipers.statistics.correction:CORRECTIONS",
    "RankCorrelation": "calipers.statistics.correlation:CORRELATIONS",
    "EffectSize": "calipers.statistics.effect_sizes:EFFECTS",
    "Design": "calipers.questions.plan.sample_size:ALL_DESIGNS",
    "FusionMethod": "calipers.questions.fuse.methods:METHODS",
    "ScoreScaling": "calipers.questions.fuse.methods:SCALINGS",
}


@pytest.mark.parametrize("choice", TABLES)
def test_choices_are_the_names_of_the_tables_that_implement_them(choice: str) -> None:
    home, _, table = TABLES[choice].partition(":")
    assert get_args(getattr(choices, choice)) == tuple(getattr(import_module(home), table))


# -- signatures ------------------------------------------------------------------------------------

READERS = [
    cal.read_qrels,
    cal.read_judgments,
    cal.read_letor,
    cal.read_subtopics,
    cal.read_run,
    cal.read_runs,
    cal.read_titles,
    cal.read_preferences,
    cal.read_samples,
    cal.read_scores,
    cal.texts.as_collection,
    cal.questions.metaeval.read_preferences,
]
# Of readers, in this order; then what only one has.
OPTIONS = ["format", "columns", "combine", "rollup", "query_ids", "encoding", "max_unpacked", "name"]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_readers_take_a_source_and_the_rest_by_keyword(reader: Any) -> None:
    first, *rest = inspect.signature(reader).parameters.values()
    assert first.name == "source"
    assert all(option.kind is option.KEYWORD_ONLY for option in rest)
    names = [option.name for option in rest]
    shared = [name for name in OPTIONS if name in names]
    assert names[: len(shared)] == shared


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((QRELS, 5), "a run cannot be an int (5); the nearest accepted shape is {query: {document: score}}"),
        ((QRELS, [5]), "a run cannot be an int (5)"),
        ((QRELS, None), "there is no run to evaluate"),
        ((5, RUNS), "judgments cannot be an int (5); the nearest accepted shape is {query: {document: grade}}"),
        ((QRELS, RUNS, 5), "a measure cannot be of type int; expected a name such as 'nDCG@10'"),
        ((QRELS, RUNS, ["AP", 5]), "a measure cannot be of type int"),
    ],
)
def test_evaluate_says_what_is_wrong_with_its_input(given: Any, message: str) -> None:
    with pytest.raises(CalipersError, match=re.escape(message)):
        cal.evaluate(*given)


def test_precision_is_a_word() -> None:
    run = {"q1": {"b": 1.0, "a": 1.0 + 1e-9}, "q2": {"c": 1.0}}  # a tie in single precision
    found = {word: cal.evaluate(QRELS, run, "RR", precision=word)["RR"][0, 0] for word in ("double", "single")}
    assert found == {"double": 1.0, "single": 0.75}
    assert cal.evaluate(QRELS, run, "RR", like=cal.Convention("ours", precision="single"))["RR"][0, 0] == 0.75
    with pytest.raises(CalipersError, match="unknown precision 'half'; there are double, single"):
        cal.evaluate(QRELS, run, "RR", precision="half")


# -- statistics ------------------------------------------------------------------------------------


def test_statistics_take_scores_as_well_as_arrays() -> None:
    values = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2], [0.1, 0.2, 0.1, 0.3]])
    given = cal.as_scores(values, systems=["a", "b", "c"], measure="AP")
    turned = cal.as_scores(values[[2, 0, 1]][:, ::-1], systems=["c", "a", "b"], measure="RR")  # the same means, by name
    assert cal.statistics.rank_correlation(given, turned) == 1.0
    assert cal.statistics.rank_correlation(given, [2, 3, 1], "tau-a") == cal.statistics.rank_correlation(
        [3, 2, 1], [2, 3, 1], "tau-a"
    )
    assert cal.questions.metaeval.swap_rate(given, [2, 3, 1]) == cal.questions.metaeval.swap_rate([3, 2, 1], [2, 3, 1])
    assert cal.statistics.rbo(given, turned) == cal.statistics.rbo(["a", "b", "c"], ["a", "b", "c"])
    assert (
        cal.questions.metaeval.stability(given, samples=10).table()
        == cal.questions.metaeval.stability(values, ["a", "b", "c"], samples=10).table()
    )
    assert (
        cal.questions.metaeval.split_half_swap_rate(given, 10).rate
        == cal.questions.metaeval.split_half_swap_rate(values, 10).rate
    )
    assert cal.compare(values).p_adjusted.tolist() == cal.compare(given).p_adjusted.tolist()
    assert (
        cal.questions.metaeval.discriminative_power(values)["score"]
        == cal.questions.metaeval.discriminative_power(given)["AP"]
    )
    with pytest.raises(CalipersError, match="expected scores of one measure, found nDCG@10, RR: choose one with"):
        cal.statistics.rank_correlation(scores(), scores())
    with pytest.raises(UnknownName, match="the system 'c' is in only one of the two"):
        cal.statistics.rank_correlation(given, given.of_systems(["a", "b"]))


def test_one_name_is_one_class() -> None:
    """No two modules have a public class of the same name: whoever reads `Plan` knows which one it is.

    Except for `Evaluation`, of rankings and, as `text.Evaluation`, of texts.
    """
    homes: dict[str, list[str]] = {}
    for file in sorted(Path(cal.__file__).parent.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(file.name)
    assert {name for name, files in homes.items() if len(files) > 1} == {"Evaluation"}
