"""Laws of normalised scores: a query has one lower bound for all systems."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.measures.parameters import REQUIRED
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.measures.registry import declared
from calipers.questions.metaeval.meta_evaluation import MetaEvaluationOptions
from calipers.questions.queries import query_types
from calipers.texts import AnswerJudgments, Document, TextCollection
from calipers.texts.answer_retrieval import retrieval_scores

NORMALISATIONS = ("V1", "V2", "V2s", "W", "Z")
PLAIN = 1e-12  # differences of plain scores that mean something
ROUNDED = 1e-9

QRELS = {
    "graded": {"a": 3, "b": 0, "c": 1, "d": 0, "e": 2, "f": 0, "g": 0},
    "one": {"a": 1, "b": 0, "c": 0, "d": 0},
    "fractions": {"a": 0.3, "b": 0.3, "c": 0.7, "d": 0.0, "e": 0.0},
}
POSITIVES = {f"q{q}": {f"d{q}": 1, f"e{q}": 1} for q in range(4)}
PERFECT = {query: {document: -float(i) for i, document in enumerate(pool)} for query, pool in POSITIVES.items()}


def measures() -> Iterator[str]:
    """Yield the measures of grades without those that read costs, and at rank 3 where they take a cutoff."""
    for declaration in declared("grades"):
        found = cal.parse(declaration.example)
        if found.form.traits.is_normalised or found.form.traits.reads_costs:
            continue
        if "cutoff" in declaration.defaults:
            yield repr(found @ 3)
        if declaration.defaults.get("cutoff", REQUIRED) is None:
            yield declaration.example.partition("@")[0]
        if "cutoff" not in declaration.defaults:
            yield declaration.example


def normalised(name: str) -> list[str]:
    """Return the normalisations of a measure that exist; none where all rankings of most queries score the same."""
    limits = cal.bounds(QRELS, name)
    room = np.abs(limits.ideal[name] - limits.expected[name]) > ROUNDED
    found: list[str] = []
    if 2 * room.sum() < len(QRELS):
        return found
    for outer in NORMALISATIONS:
        try:
            cal.parse(f"{outer}({name})")
        except cal.CalipersError:  # for example, V2 of a measure that can be negative
            continue
        found.append(f"{outer}({name})")
    return found


def has_extremes(name: str) -> bool:
    """Return False where extreme rankings are not known."""
    form = cal.parse(name).bind(cal.Judgments.from_dict(QRELS).pool).form
    return form.exactness().ideal != "sorted"


def scored(name: str, runs: dict[str, dict[str, dict[str, float]]]) -> cal.Scores:
    """Return the scores under a measure and its normalisations."""
    return cal.evaluate(QRELS, runs, [name, *normalised(name)], empty="skip", warn=False)


def lists(systems: int, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return runs of judged and unjudged documents, of all lengths, with and without ties."""
    rng = random.Random(seed)
    documents = [*"abcdefg", *(f"u{i}" for i in range(12))]
    return {
        f"s{s}": {
            query: {
                document: float(rng.randint(0, rng.choice((3, 1000))))
                for document in rng.sample(documents, rng.randint(1, len(documents)))
            }
            for query in QRELS
        }
        for s in range(systems)
    }


def test_the_judged_documents_are_the_default_everywhere() -> None:
    assert DEFAULT_POPULATION == "pool"
    assert all(cal.parse(f"{outer}(AP)").parameters["population"] == DEFAULT_POPULATION for outer in NORMALISATIONS)
    assert MetaEvaluationOptions().population == DEFAULT_POPULATION
    assert cal.bounds({"q": {"a": 1, "b": 0}}, "AP").population == DEFAULT_POPULATION


@pytest.mark.parametrize("name", [name for name in measures() if normalised(name)])
def test_within_a_query_no_normalisation_reverses_two_systems(name: str) -> None:
    """The normalised score is a rising function of the plain score: the same for all systems."""
    names = normalised(name)
    scores = scored(name, lists(40, seed=5))
    sign = scores.signs[0]
    for q, query in enumerate(QRELS):
        plain = sign * scores[name][:, q]
        larger = plain[:, None] - plain > PLAIN
        equal = np.abs(plain[:, None] - plain) <= PLAIN
        for each in names:
            value = scores[each][:, q]
            difference = value[:, None] - value
            assert not (larger & (difference < 0)).any(), (each, query)
            scale = max(1.0, float(np.abs(np.nan_to_num(value)).max()))
            assert not (equal & (np.abs(difference) > ROUNDED * scale)).any(), (each, query)


@pytest.mark.parametrize("name", [m for m in measures() if normalised(m) and cal.parse(m).form.reach is not None])
def test_nothing_below_the_cutoff_changes_a_normalised_score(name: str) -> None:
    """Documents below the rank that the plain measure reads, judged or not, change nothing."""
    reach, names = cal.parse(name).form.reach, normalised(name)
    assert reach is not None
    rng = random.Random(7)
    documents = [*"abcdefg", *(f"u{i}" for i in range(2 * reach))]
    runs: dict[str, dict[str, dict[str, float]]] = {f"s{i}": {} for i in range(9)}
    for query in QRELS:
        top = {document: 1000.0 - i for i, document in enumerate(rng.sample(documents, reach))}
        rest = [document for document in documents if document not in top]
        for i in range(9):
            below = rng.sample(rest, rng.randint(0, len(rest))) if i else []
            junk = {f"junk{j}": -float(j) for j in range(rng.choice((0, 50)))} if i else {}
            runs[f"s{i}"][query] = {**top, **{document: 500.0 - j for j, document in enumerate(below)}, **junk}
    scores = scored(name, runs)
    same = np.isclose(scores.values[0], scores.values[0, :1], rtol=0, atol=PLAIN, equal_nan=True)
    for m in range(1, len(names) + 1):
        value = scores.values[m]
        assert (~same | np.isclose(value, value[:1], rtol=0, atol=ROUNDED, equal_nan=True)).all(), names[m - 1]


@pytest.mark.parametrize("name", [name for name in measures() if has_extremes(name)])
def test_the_expected_score_lies_between_worst_and_ideal(name: str) -> None:
    """So W of a random ranking is never negative, whatever rankings of a query leave the measure undefined."""
    found = cal.bounds(QRELS, name)
    low, high = sorted((found.worst[name], found.ideal[name]), key=lambda each: float(np.nan_to_num(each).sum()))
    noise = 1e-9 + 5 * found.error[name]
    assert not (found.expected[name] < low - noise).any()
    assert not (found.expected[name] > high + noise).any()


@pytest.mark.parametrize("name", ["SN-AP@1", "SN-AP@2", "SN-DCG@1", "SN-DCG@2", "SN-DCG(gain=exp)@2"])
def test_rankings_without_a_gain_count_zero_in_worst_and_expected_alike(name: str) -> None:
    qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 0}}
    found = cal.bounds(qrels, name)
    assert found.worst[name][0] == 0 < found.expected[name][0] < found.ideal[name][0]
    worst = {"q": {"b": 4.0, "d": 3.0, "c": 2.0, "a": 1.0}}
    assert cal.evaluate(qrels, worst, f"W({name})", warn=False).values[0, 0, 0] == 0


# -- standard deviations of 0 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("Success@2", {"a": 1, "b": 1, "c": 1, "d": 0}),
        ("Success@3", {"a": 1, "b": 1, "c": 1, "d": 1, "e": 0, "f": 0}),
        ("nDCG(gain=exp)@2", {"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.3, "e": 0.3}),
        ("DCG(gain=exp)@3", {"a": 1.7, "b": 1.7, "c": 1.7, "d": 1.7}),
        ("Recall@5", {"a": 1, "b": 1, "c": 0}),
        ("P@5", {"a": 1, "b": 1, "c": 0}),
    ],
)
def test_where_all_rankings_score_the_same_the_deviation_is_zero(name: str, pool: dict[str, float]) -> None:
    qrels = {"flat": pool, **{f"q{i}": {"a": 1, **{f"d{j}": 0 for j in range(9)}} for i in range(2)}}
    found = cal.bounds(qrels, name)
    assert found.sd[name][0] == 0
    assert (found.sd[name][1:] > 0).all()
    run = {query: {"zzz": 2.0, "d1": 1.5, "a": 1.0} for query in qrels}
    assert cal.evaluate(qrels, run, f"Z({name})", warn=False).values[0, 0, 0] == 0


# -- judgments of relevant documents only ------------------------------------------------------------------------


def says_what_to_do(message: str) -> bool:
    return "collection(N)" in message and "retrieved" in message and "every ranking" in message


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cal.evaluate(POSITIVES, PERFECT, "V2(nDCG@10)"),
        lambda: cal.bounds(POSITIVES, "nDCG@10 AP"),
        lambda: query_types(cal.evaluate(POSITIVES, PERFECT, "nDCG@10"), cal.bounds(POSITIVES, "nDCG@10")),
        lambda: cal.Experiment(POSITIVES, {"one": PERFECT, "two": PERFECT}, "nDCG@10").metaeval(sets=["all", "hard"]),
        lambda: cal.Experiment(POSITIVES, {"one": PERFECT, "two": PERFECT}, "V2(nDCG@10)").metaeval(),
    ],
)
def test_pools_of_one_grade_have_no_expected_scores(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(cal.CheckFailed) as refused:
        ask()
    assert says_what_to_do(refused.value.message)


def test_other_populations_work_on_judgments_of_relevant_documents_only() -> None:
    run = {query: {"x": 9.0, **ranked} for query, ranked in PERFECT.items()}
    for population in ("collection(100)", "retrieved"):
        assert -1 < cal.evaluate(POSITIVES, run, f"V2(AP, population={population})").values.min() < 1
        assert (cal.bounds(POSITIVES, "AP", population=population, runs=run).expected["AP"] < 1).all()
    systems = {"one": run, "two": PERFECT}
    found = cal.Experiment(POSITIVES, systems, "AP").metaeval(sets=["all", "ideal"], population="collection(100)")
    assert [len(view.queries) for view in found.views["ideal"]] == [1]


def test_queries_of_one_grade_do_not_matter_while_they_are_few() -> None:
    qrels = {**{f"n{q}": {"a": 1, "b": 0} for q in range(4)}, **POSITIVES}
    assert (cal.bounds(qrels, "AP").expected["AP"][4:] == 1).all()
    none = {f"q{q}": {"a": 0, "b": 0} for q in range(9)}  # nothing relevant: undefined, not of one grade
    assert cal.bounds({**none, "some": {"a": 1, "b": 0}}, "nDCG").n.tolist() == [2] * 10


@pytest.fixture
def positives(tmp_path: Path) -> tuple[str, str]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, pool in POSITIVES.items() for d in pool))
    run.write_text("".join(f"{q} Q0 {d} 1 {s} run\n" for q, ranked in PERFECT.items() for d, s in ranked.items()))
    return str(qrels), str(run)


def test_retrieval_of_answers_is_refused_alike() -> None:
    asked = [Document(query, ("Ulm",), relevant=dict(pool)) for query, pool in POSITIVES.items()]
    known = {(query, "rag"): AnswerJudgments(retrieved=tuple(pool)) for query, pool in POSITIVES.items()}
    given = TextCollection.of(asked, dict.fromkeys(known, "in Ulm"), {}, judged=known)
    assert (retrieval_scores(given, ["nDCG@10"]).values == 1).all()
    with pytest.raises(cal.CheckFailed) as refused:
        retrieval_scores(given, ["nDCG@10", "V2(nDCG@10)"])
    assert says_what_to_do(refused.value.message)
    found = retrieval_scores(given, ["V2(nDCG@10, population=collection(100))"])
    assert (found.values == 1).all()
    assert any("100 documents" in note for note in found.notes)


def test_the_report_leaves_out_expected_scores_and_says_why(positives: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    page = tmp_path / "report.html"
    written = cal.Experiment(positives[0], {"a": positives[1], "b": PERFECT}, "nDCG@10 AP", warn=False).report(
        page, warn=False
    )
    text = page.read_text()
    assert says_what_to_do(text)
    assert any(says_what_to_do(note) for note in written.notes)
    assert not any(f'data-grid="{grid}"' in text for grid in ("bounds", "queries"))


# -- lists of mostly unjudged documents --------------------------------------------------------------------------


def test_a_note_says_that_random_rankings_hold_judged_documents_only() -> None:
    qrels = {f"q{q}": {f"d{d}": d % 2 for d in range(12)} for q in range(3)}
    judged = {query: {document: 99.0 - d for d, document in enumerate(pool)} for query, pool in qrels.items()}
    deep = {query: {**ranked, **{f"u{i}": -float(i) for i in range(20)}} for query, ranked in judged.items()}

    def noted(run: object, name: str) -> bool:
        return any("judged documents only" in each for each in cal.evaluate(qrels, run, name, warn=False).remarks)

    assert noted(deep, "V2(AP)")
    assert not noted(judged, "V2(AP)")
    assert not noted(deep, "AP U(AP) W(AP)")
    assert not noted(deep, "V2(AP, population=retrieved)")
    assert not noted(deep, "V2(P@5)"), "the first documents are judged"


# -- sets of documents without a judged one ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in measures() if has_extremes(name) or name == "RIC"])
def test_bounds_of_a_list_without_a_judged_document_are_those_of_nothing(name: str) -> None:
    """Nothing can be gained in any order, so all rankings score the same, if they have a score at all."""
    runs = {"q1": {"u": 2.0, "v": 1.0}, "q2": {"a": 2.0, "u": 1.0}}
    found = cal.bounds({"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}, name, population="retrieved", runs=runs)
    of_nothing = [getattr(found, part)[name][0] for part in ("worst", "expected", "ideal")]
    assert np.isnan(of_nothing).all() or of_nothing == pytest.approx([of_nothing[0]] * 3)
