"""Measures of groups of documents: by enumeration in exact fractions, between their bounds, in every command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import log2, nan
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import calipers as cal
from attention.test_exposure import MODELS, TOP, enumerated, judged_documents, ranked_documents, weak_orders
from calipers.cli.commands import root
from calipers.cli.suggestions import explained_input

Shares = Sequence[Fraction] | None
GROUPS = {"a": "old", "b": "new", "c": "new", "d": "odd", "x": "old", "y": "new"}  # e and z have none
NAMES = ("new", "odd", "old")
TARGETS = ("relevant", "exposure", "equal")
HALF = Fraction(1, 2)


def attention(
    run: Mapping[str, float], grades: Mapping[str, int], patience: Fraction, model: str
) -> dict[str, Fraction]:
    stops = [Fraction(2 ** max(grades.get(document, 0), 0) - 1, 2**TOP) for document in run]
    return dict(zip(run, enumerated([*run.values()], stops, patience, model), strict=True))


def shares(of: Mapping[str, Fraction]) -> Shares:
    sums = [sum((e for d, e in of.items() if GROUPS.get(d) == name), Fraction(0)) for name in NAMES]
    return [each / sum(sums) for each in sums] if sum(sums) else None


def wanted(grades: Mapping[str, int], target: str, patience: Fraction, model: str) -> Shares:
    if target == "equal":
        return [Fraction(1, len(NAMES))] * len(NAMES)
    if target == "relevant":
        return shares({document: Fraction(grade > 0) for document, grade in grades.items()})
    return shares(attention({document: max(grade, 0) for document, grade in grades.items()}, grades, patience, model))


def compared(got: Shares, aim: Shares) -> tuple[float, float]:
    """AWRF and ExposureRatio."""
    if got is None or aim is None:
        return nan, nan
    pairs = [(x, (x + y) / 2) for one, other in ((got, aim), (aim, got)) for x, y in zip(one, other, strict=True)]
    ratios = [p / q for p, q in zip(got, aim, strict=True) if q]
    kept = 1 - sum(x * log2(x / middle) for x, middle in pairs if x) / 2
    return kept, float(min(ratios) / max(ratios)) if max(ratios) else 0.0


def named(target: str, patience: Fraction, model: str) -> list[str]:
    of = f"(target={target},patience={float(patience)},model={model},max_grade={TOP})"
    return [f"AWRF{of}", f"ExposureRatio{of}"]


@given(judged_documents, ranked_documents, st.sampled_from([HALF, Fraction(4, 5)]), st.sampled_from(MODELS),
       st.sampled_from(TARGETS))  # fmt: skip
def test_they_are_functions_of_the_attention_averaged_over_all_orders(
    judged: dict[str, int], run: dict[str, float], patience: Fraction, model: str, target: str
) -> None:
    """Whatever another system retrieves; and the other face gives the same, alone and as one of several samples."""
    expected = compared(shares(attention(run, judged, patience, model)), wanted(judged, target, patience, model))
    qrels, runs = {"q": judged, "r": {"a": 1}}, {"q": run, "r": {"a": 1.0}}
    other = {"q": {"w": 2.0, "y": 1.0, "e": 1.0}, "r": {"a": 1.0}}
    found = cal.evaluate(
        qrels, {"one": runs, "two": other}, named(target, patience, model), document_groups=GROUPS, empty="skip",
        missing="skip", warn=False,
    )  # fmt: skip
    np.testing.assert_allclose(found.values[:, 0, 0], expected, rtol=1e-12, atol=1e-12)
    options = {
        "model": model, "patience": float(patience), "max_grade": TOP, "groups": GROUPS,
        "target": target,
    }  # fmt: skip
    for alone in (
        cal.exposure(cal.Experiment(qrels, runs, warn=False), **options),
        cal.exposure(cal.Experiment(qrels, [runs, runs], warn=False), stochastic=True, **options),
    ):
        assert alone.awrf is not None
        np.testing.assert_allclose(alone.awrf[0, 0], expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("grades", [(1, 1, 0, 2), (3, 0, 0, 0), (0, 1, 1, 0), (0, 0, 0, 0), (1,)])
def test_no_list_passes_the_bounds(grades: tuple[int, ...], target: str, model: str) -> None:
    """Every list of some of the documents, with ties; the worst of them is the worst, the expected is one tie."""
    pool = dict(zip("abcd", grades, strict=False))
    names = named(target, HALF, model)
    found = cal.bounds({"q": pool}, names, document_groups=GROUPS)
    aim = wanted(pool, target, HALF, model)
    lists = [run for size in range(1, len(pool) + 1) for some in combinations(pool, size) for run in weak_orders(some)]
    every = np.array([compared(shares(attention(run, pool, HALF, model)), aim) for run in lists])
    tied = compared(shares(attention(dict.fromkeys(pool, 1.0), pool, HALF, model)), aim)
    for name, scores, middle in zip(names, every.T, tied, strict=True):
        assert found.exactness[name] == {"ideal": "bound", "expected": "exact", "worst": "bound"}
        assert found.expected[name][0] == pytest.approx(middle, abs=1e-12, nan_ok=True)
        assert found.worst[name][0] == pytest.approx(scores.min(), abs=1e-12, nan_ok=True)
        if aim is None:
            assert np.isnan(found.ideal[name][0])
            continue
        assert found.ideal[name][0] >= scores.max() - 1e-12
        lacking = any(q and group not in {GROUPS[d] for d in pool} for q, group in zip(aim, NAMES, strict=True))
        assert (found.ideal[name][0] == pytest.approx(1)) is not lacking
    normalised = [
        f"{kind}({name})"
        for kind in ("U", "W")
        for name in names
        if found.ideal[name][0] > found.worst[name][0]  # else every list scores the same, which is refused
    ]
    if not normalised:
        return
    runs = {f"run{number}": {"q": run} for number, run in enumerate(lists)}
    values = cal.evaluate({"q": pool}, runs, normalised, document_groups=GROUPS, warn=False).values
    assert np.nanmin(values) >= 0
    assert np.nanmax(values) <= 1 + 1e-12


def test_the_best_shares_are_had_by_averaging_samples_of_a_ranking() -> None:
    """Two thirds to one of two documents: no order and no tie gives it with patience 0.8, samples of both orders do."""
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    groups = {"a": "old", "b": "new", "c": "new"}
    first, last = {"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}
    name = "AWRF(patience=0.4)"  # of two documents the first gets 5 / 7, the second 2 / 7
    single = [cal.evaluate(qrels, run, name, document_groups=groups).values.item() for run in (first, last)]
    assert max(single) < cal.bounds(qrels, name, document_groups=groups).ideal[name][0] == 1
    samples = [first] * 8 + [last]  # (8 * 5 / 7 + 2 / 7) / 9 = 2 / 3
    mixed = cal.exposure(cal.Experiment(qrels, samples, warn=False), groups=groups, patience=0.4, stochastic=True)
    assert mixed.awrf is not None
    assert mixed.awrf[0, 0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_ranges_hold_all_gradings_of_unjudged_documents(target: str) -> None:
    judged, run = {"a": 1, "b": 0}, {"x": 3.0, "a": 2.0, "y": 2.0, "z": 1.0}
    names = [f"AWRF(target={target})", f"ExposureRatio(target={target},model=cascade,max_grade=2)"]
    groups = {**GROUPS, "z": "odd"}
    found = cal.Experiment({"q": judged}, {"q": run}, names, document_groups=groups, warn=False).ranges(max_grade=2)
    gradings = [dict(zip("xyz", grades, strict=True)) for grades in product(range(3), repeat=3)]
    qrels = {str(number): {**judged, **each} for number, each in enumerate(gradings)}
    every = cal.evaluate(qrels, dict.fromkeys(qrels, run), names, document_groups=groups, warn=False)
    plain = cal.evaluate({"q": judged}, {"q": run}, names, document_groups=groups, warn=False)
    for name in names:
        assert found.low[name].item() == pytest.approx(every[name].min(), abs=1e-12)
        assert found.high[name].item() == pytest.approx(every[name].max(), abs=1e-12)
        assert found.score[name].item() == pytest.approx(plain[name].item(), abs=1e-12)


def test_documents_that_are_left_out_get_no_attention() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    condensed = cal.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "AWRF", document_groups=GROUPS).values
    for options in ({"condensed": True}, {"measures": "AWRF(judged_only=True)"}):
        asked = {"measures": "AWRF", "document_groups": GROUPS, "warn": False, **options}
        assert cal.evaluate(qrels, run, **asked).values == pytest.approx(condensed)


def test_what_is_refused() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    needs = "need groups of documents: set document_groups"
    for ask in (
        lambda: cal.evaluate(qrels, run, "AWRF"),
        lambda: cal.evaluate(qrels, run, "W(AWRF)"),
        lambda: cal.bounds(qrels, "AWRF"),
        lambda: cal.Experiment(qrels, run, "ExposureRatio").ranges(),
    ):
        with pytest.raises(cal.CalipersError, match=needs) as refused:
            ask()
        assert "(option --document-groups)" in explained_input(refused.value)
    with pytest.raises(cal.CalipersError, match="no measure depends on groups of documents: P@1; AWRF"):
        cal.evaluate(qrels, run, "P@1", document_groups=GROUPS)
    with pytest.raises(cal.CalipersError, match="scored by its mean attention"):
        cal.parse("Z(AWRF)")
    with pytest.raises(cal.CalipersError, match="which may be ideal; U and W take it"):
        cal.parse("V2(AWRF)")
    with pytest.raises(cal.CalipersError, match="there are no groups of documents"):
        cal.evaluate(qrels, run, "AWRF", document_groups={})
    with pytest.raises(cal.CalipersError, match="target=fair of 'AWRF' is not one of relevant"):
        cal.parse("AWRF(target=fair)")


def test_every_command_takes_groups(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    qrels = {query: {"a": 2, "b": 0, "c": 1, "d": grade} for query, grade in (("p", 1), ("q", 0), ("r", 2))}
    runs = {
        "one": {q: {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0} for q in qrels},
        "two": {q: {"b": 4.0, "c": 3.0, "y": 2.0, "d": 1.0, "z": 0.5} for q in qrels},
    }
    lines = (f"{q} 0 {d} {grade}\n" for q, pool in qrels.items() for d, grade in pool.items())
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in runs.items():
        rows = (f"{q} Q0 {d} 0 {score} {name}\n" for q, scored in run.items() for d, score in scored.items())
        (tmp_path / name).write_text("".join(rows))
    (tmp_path / "groups.txt").write_text("".join(f"{document}\t{group}\n" for document, group in GROUPS.items()))
    files = [str(tmp_path / name) for name in ("qrels.txt", "one", "two")]

    def told(command: str, *more: str) -> str:
        asked = [command, *files, "-m", "AWRF P@2", "--document-groups", str(tmp_path / "groups.txt"), *more]
        done = CliRunner().invoke(root, asked)
        assert done.exit_code == 0, done.output
        assert command in ("bounds", "report") or "1 document of 7 that are retrieved have no group" in done.stderr
        return done.stdout

    scores = cal.evaluate(qrels, runs, ["AWRF", "P@2"], document_groups=GROUPS, warn=False)
    assert (scores["P@2"] == cal.evaluate(qrels, runs, "P@2", warn=False)["P@2"]).all()
    one, two = scores["AWRF"].mean(axis=1).tolist()
    for command in ("evaluate", "ranges"):
        assert f"{one:.4f}" in told(command)
        assert f"{two:.4f}" in told(command)
    for command in ("compare", "diff"):
        assert f"{abs(one - two):.4f}" in told(command)
    bounds = cal.bounds(qrels, "AWRF", runs=runs, population="union", document_groups=GROUPS, warn=False)
    assert f"{bounds.worst['AWRF'].ravel()[0]:.4f}" in told("bounds")
    assert f"{100 * abs(one - two) / max(one, two):.4f}" in told("metaeval")
    told("report", "-o", str(tmp_path / "report.html"))
    assert f"{one:.4f}" in (tmp_path / "report.html").read_text()
    spark = CliRunner().invoke(
        root, ["evaluate", *files, "-m", "AWRF", "--document-groups", files[0], "--engine", "spark"]
    )
    assert "--document-groups does not work with --engine spark" in str(spark.exception)
