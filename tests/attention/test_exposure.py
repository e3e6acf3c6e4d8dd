"""Exposure: attention against enumeration of all orders in exact fractions, its sums, groups, samples, bad input."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby, permutations, product
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import calipers as cal
from calipers.attention.of_documents import attention
from calipers.cli.commands import root
from calipers.errors import CalipersError


def enumerated(scores: list[int], stops: list[Fraction], patience: Fraction, model: str) -> list[Fraction]:
    """The mean over every order of the ties."""
    ranked = sorted(range(len(scores)), key=lambda row: -scores[row])
    ties = [list(group) for _, group in groupby(ranked, key=lambda row: scores[row])]
    orders = [[row for part in order for row in part] for order in product(*map(permutations, ties))]
    seen = [Fraction(0)] * len(scores)
    for order in orders:
        left = Fraction(1)
        for row in order:
            seen[row] += left / len(orders)
            left *= patience * (1 - stops[row] if model == "cascade" else 1)
    return seen


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6),
    st.sampled_from([Fraction(1, 2), Fraction(4, 5)]),
    st.sampled_from(["rbp", "cascade"]),
)
def test_attention_is_the_mean_over_all_orders(
    documents: list[tuple[int, int]], patience: Fraction, model: str
) -> None:
    scores, grades = [score for score, _ in documents], [grade for _, grade in documents]
    stops = [Fraction(2**grade - 1, 8) for grade in grades]
    wanted = enumerated(scores, stops, patience, model)
    got = attention(np.array(scores, float), np.array(stops, float), float(patience), model)
    np.testing.assert_allclose(got, [float(value) for value in wanted], rtol=1e-12)
    # The whole of it: the target is the ranking by grades, the sums are what they are called.
    names = [f"d{i}" for i in range(len(scores))]
    qrels = {"q": dict(zip(names, grades, strict=True))}
    run = {"q": dict(zip(names, map(float, scores), strict=True))}
    found = cal.exposure(qrels, run, model=model, patience=float(patience), max_grade=3)
    target = enumerated(grades, stops, patience, model)
    sums = [
        sum((e - t) ** 2 for e, t in zip(wanted, target, strict=True)),
        sum(e**2 for e in wanted),
        sum(e * t for e, t in zip(wanted, target, strict=True)),
    ]
    got_sums = [found.loss[0, 0], found.disparity[0, 0], found.relevance[0, 0]]
    np.testing.assert_allclose(got_sums, [float(value) for value in sums], rtol=1e-10, atol=1e-15)


def test_samples_of_one_ranking_are_averaged_before_they_are_squared(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\nq 0 c 0\n")
    (tmp_path / "one").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n")
    (tmp_path / "two").write_text("q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 c 3 1 t\n")
    runs = [str(tmp_path / "one"), str(tmp_path / "two")]
    found = cal.exposure(str(tmp_path / "qrels"), runs, stochastic=True)
    assert found.systems == ("t",)
    assert found.loss[0, 0] == pytest.approx(0.0, abs=1e-15)
    apart = cal.exposure(str(tmp_path / "qrels"), runs)
    assert apart.loss.ravel().tolist() == pytest.approx([0.125, 0.125])


def test_groups_get_shares_of_attention() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 0}, "none": {"a": 0}}
    run = {"q": {"a": 2.0, "b": 1.0, "x": 0.5}, "none": {"a": 1.0}}
    groups = {"a": "old", "b": "new", "c": "new"}
    with pytest.warns(cal.CalipersWarning, match="1 document has no group"):
        found = cal.exposure(qrels, run, groups=groups)
    assert found.groups == ("new", "old")
    assert found.attention is not None
    assert found.wanted is not None
    assert found.awrf is not None
    assert found.attention[0, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert found.wanted[0].tolist() == [0.5, 0.5]
    shares = [(1 / 3, 5 / 12), (2 / 3, 7 / 12), (1 / 2, 5 / 12), (1 / 2, 7 / 12)]
    assert found.awrf[0, 0] == pytest.approx(1 - sum(x * log2(x / middle) for x, middle in shares) / 2)
    assert np.isnan(found.awrf[0, 1]), "no document is relevant: there is nothing to share"
    assert found.group_table().rows == (
        ("run", "new", pytest.approx(1 / 3), 0.5, pytest.approx(2 / 3)),
        ("run", "old", pytest.approx(2 / 3), 0.5, pytest.approx(4 / 3)),
    )
    equal = cal.exposure(qrels, run, groups=groups, target="equal", warn=False)
    assert equal.wanted is not None
    assert equal.wanted.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_what_a_system_lacks_is_not_seen() -> None:
    with pytest.warns(cal.CalipersWarning, match="1 of 1 system lacks judged queries"):
        found = cal.exposure({"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0}})
    assert found.relevance.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "dcg"}, "unknown model 'dcg'"),
        ({"target": "fair"}, "unknown target 'fair'"),
        ({"patience": 1.0}, "patience 1 is not between 0 and 1"),
        ({"max_grade": 1}, "max_grade 1 is below the grade 2"),
    ],
)
def test_bad_choices(options: dict[str, object], said: str) -> None:
    with pytest.raises(CalipersError, match=said):
        cal.exposure({"q": {"a": 2}}, {"q": {"a": 1.0}}, **options)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\n")
    (tmp_path / "groups").write_text("a old\nb new\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    done = CliRunner().invoke(root, ["exposure", *files, "--format", "csv"], catch_exceptions=False)
    assert done.stdout.splitlines() == ["system,EE-L,EE-D,EE-R", "t,0.125,1.25,1.125"]
    grouped = ["--document-groups", str(tmp_path / "groups"), "--target", "equal"]
    done = CliRunner().invoke(root, ["exposure", *files, *grouped], catch_exceptions=False)
    assert "ratio" in done.stdout
    (tmp_path / "groups").write_text("a old\na new\n")
    done = CliRunner().invoke(root, ["exposure", *files, *grouped])
    assert isinstance(done.exception, CalipersError)
    assert "groups:2: document 'a' has a second group" in str(done.exception)


@pytest.mark.parametrize("name", ["EE-L", "EE-D", "EE-R", "AWRF"])
def test_cards_of_exposure_and_a_pointer_to_the_command(name: str) -> None:
    card = cal.measure_card(name)
    assert card.citation
    assert {"model", "patience"} <= {parameter[0] for parameter in card.parameters}
    with pytest.raises(cal.CalipersError, match="see calipers exposure"):
        cal.parse(name)


def test_the_square_of_the_mean_is_not_the_mean_of_squares() -> None:
    """Why EE-D is no measure that is averaged over orders."""
    qrels = {"q": {"a": 1}}
    runs = {"tied": {"q": {"a": 1, "b": 1}}, "first": {"q": {"a": 2, "b": 1}}, "last": {"q": {"a": 1, "b": 2}}}
    tied, first, last = cal.exposure(qrels, runs, patience=0.5, warn=False).disparity[:, 0]
    assert tied == 2 * 0.75**2
    assert (first + last) / 2 == 1 + 0.5**2
