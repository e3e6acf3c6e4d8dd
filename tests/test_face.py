"""The public face: names, errors, signatures, and what `import calipers` does not load."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers import rankers
from calipers.errors import CalipersError, UnknownName

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
        (lambda: cal.explain(QRELS, RUNS, "q9", "AP"), "query 'q9' is not judged; there are q1, q2"),
        (lambda: cal.explain(QRELS, RUNS, "q1", "AP", system="bm"), "unknown system 'bm'; did you mean bm25?"),
        (lambda: cal.parse("nDGC@10"), "unknown measure 'nDGC@10'; did you mean nDCG"),
        (lambda: cal.evaluate(QRELS, RUNS, like="letor_4"), "unknown convention 'letor_4'; did you mean letor4?"),
        (lambda: cal.fuse(RUNS, weights={"bm": 1}), "a weight for 'bm'"),
        (lambda: rankers.ranker("lambdamrt"), "unknown ranker 'lambdamrt'; did you mean lambdamart?"),
    ],
)  # fmt: skip
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
    from calipers.text.bertscore import read_baseline

    baseline = tmp_path / "baseline.csv"
    baseline.write_text("LAYER,P,R,F\n1,0.5,1.5,0.5\n2,a,b,c\n")
    for layer, message in ((1, "a baseline is below 1"), (2, "expected the columns"), (3, "no baseline for layer 3")):
        with pytest.raises(CalipersError, match=message):
            read_baseline(baseline, layer)
    model = tmp_path / "model"
    ranker = rankers.ranker("ranksvm", tune=None).fit([[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    ranker.chosen_ = {"no_such_parameter": 1}
    ranker.save(str(model))
    with pytest.raises(CalipersError, match=r"^ranksvm has no parameter 'no_such_parameter'"):
        rankers.load(str(model))


def test_an_unfitted_ranker_raises_what_scikit_learn_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    exceptions = pytest.importorskip("sklearn.exceptions")
    for ask in (lambda r: r.predict([[1.0]]), lambda r: r.weights, lambda r: r.save("unused")):
        with pytest.raises(exceptions.NotFittedError, match="has not been fitted") as found:
            ask(rankers.ranker("ranksvm"))
        assert isinstance(found.value, CalipersError)
        again = pickle.loads(pickle.dumps(found.value))
        assert isinstance(again, exceptions.NotFittedError)
        assert str(again) == str(found.value)
    from calipers.rankers import base

    base._not_fitted_kind.cache_clear()
    monkeypatch.setattr(base, "missing", lambda *modules: [*modules])  # as if there were no scikit-learn
    with pytest.raises(CalipersError, match="has not been fitted"):
        rankers.ranker("ranksvm").predict([[1.0]])
    base._not_fitted_kind.cache_clear()


# -- optional packages -----------------------------------------------------------------------------

OPTIONAL = {
    "altair", "backports", "ir_datasets", "ir_measures", "jinja2", "lightgbm", "lz4", "narwhals", "pandas", "polars",
    "pyarrow", "pyspark", "sklearn", "torch", "transformers", "vl_convert", "xgboost",
}  # fmt: skip


def test_optional_packages_go_through_one_door() -> None:
    """Each is loaded by extras.load, which says what to install."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [f"{path}:{node.lineno}: {name}" for name in names if name.partition(".")[0] in OPTIONAL]
    assert not found


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", [cal, cal.text], ids=["calipers", "calipers.text"])
def test_the_stub_has_the_lazy_names_from_the_same_modules(package: Any) -> None:
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    inside = f"{package.__name__}."
    stated = {
        alias.name: str(node.module).removeprefix(inside)
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(inside)
        for alias in node.names
        if alias.name == alias.asname
    }
    stated.pop("__version__", None)
    assert stated == package._HOME
    assert all(getattr(package, name) is not None for name in package.__all__)
