"""Measures of texts: declaring them, and the measures of sacrebleu."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.measures import registry
from calipers.measures.normalisation import Limits, v1, v2
from calipers.texts import Document, Evaluation, TextCollection, as_collection
from calipers.texts.measure_names import text_measure
from calipers.texts.tokens import written_words
from conftest import Require

SOURCE = "The cat sat on the mat. A dog saw it, and the dog ran off! Nobody else was there."
GIVEN = TextCollection.of(
    [
        Document("d1", ("The cat sat on a mat.", "A cat and a dog met."), SOURCE),
        Document("d2", ("It rained in the hills.", "Rain fell."), "Rain fell all day in the hills. Nobody went out."),
    ],
    {
        ("d1", "a"): "The cats sat down.",
        ("d1", "b"): "A dog ran off.",
        ("d2", "a"): "Rain fell in the hills.",
        ("d2", "b"): "",
    },
    {},
)
VOCABULARY = ["a", "b", "c", "d", "e", "run", "running", "runs", "cat", "cats", "the", "of"]


def drawn(seed: int, longest: int = 12) -> list[str]:
    source = random.Random(seed)
    return [source.choice(VOCABULARY) for _ in range(source.randint(1, longest))]


# -- declaring ---------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_stays() -> Iterator[None]:
    registry.known_names()
    tables: tuple[dict[str, Any], ...] = registry._DECLARED, registry._BY_NAME
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


def overlap(candidate: str, references: list[str], source: str | None) -> float:
    """The share of a text's words that some reference has."""
    known = {word for text in references for word in text.lower().split()}
    words = candidate.lower().split()
    return sum(word in known for word in words) / len(words) if words else 0.0


@pytest.mark.usefixtures("nothing_stays")
def test_a_measure_of_ones_own() -> None:
    """One text at a time or all at once; E, V1 and V2 are those of rankings, with E over the random texts."""
    cal.texts.measure("Overlap")(overlap)

    @cal.texts.measure("Overlap-All", batch=True, parts=("twice", "once"), aliases=("oa",))
    def together(candidates: list[str], references: list[list[str]], sources: list[str | None]) -> np.ndarray:
        found = np.array(list(map(overlap, candidates, references, sources)))
        return np.stack([2 * found, found], axis=1)

    names = ["Overlap", "oa", "Overlap-All(part=twice)", "E(Overlap)", "V1(Overlap)", "V2(Overlap)", "V2(oa)", "U(oa)"]
    found = Evaluation(GIVEN, names, texts=400, length=3).scores
    assert found.measures[1:3] == ("Overlap-All", "Overlap-All(part=twice)")
    score = found["Overlap"]
    assert score.tolist() == [
        [overlap(GIVEN.texts[s][d] or "", list(GIVEN.documents[d].references), None) for d in range(2)]
        for s in range(2)
    ]
    assert (found["Overlap-All"] == score).all()
    assert (found["Overlap-All(part=twice)"] == 2 * score).all()
    chance = found["E(Overlap)"]
    for d, document in enumerate(GIVEN.documents):  # a mean over the words of the source
        words = written_words(document.source or "")
        exact = np.mean([overlap(word, list(document.references), None) for word in words])
        assert chance[:, d] == pytest.approx(exact, abs=4 * 0.5 / math.sqrt(1200))
    limits = Limits(np.ones(4), chance.ravel(), np.zeros(4))
    assert found["V1(Overlap)"].ravel() == pytest.approx(v1(score.ravel(), limits))
    assert found["V2(Overlap)"].ravel() == pytest.approx(v2(score.ravel(), limits))
    assert found["V2(Overlap-All)"] == pytest.approx(found["V2(Overlap)"], abs=1e-12)


@pytest.mark.usefixtures("nothing_stays")
def test_errors_are_normalised_as_shares() -> None:
    def share(scores: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-scores))

    @cal.texts.measure("Missed", lower=True, share=share, chance="lead")
    def missed(candidate: str, references: list[str], source: str | None) -> float:
        return 3 * (1 - overlap(candidate, references, source))

    assert text_measure("Missed").lower
    assert not text_measure("V2(Missed)").lower
    found = Evaluation(GIVEN, "Missed E(Missed) V2(Missed)").scores
    scores = found["Missed"].ravel(), found["E(Missed)"].ravel()
    assert found["V2(Missed)"].ravel() == pytest.approx(
        v2(share(scores[0]), Limits(np.ones(4), share(scores[1]), np.zeros(4)))
    )


@pytest.mark.usefixtures("nothing_stays")
def test_what_a_measure_may_not_do() -> None:
    for name, message in (("V2", "is taken"), ("a b", "cannot be the name"), ("bertscore", "is taken")):
        with pytest.raises(CalipersError, match=message):
            cal.texts.measure(name)(overlap)
    cal.texts.measure("Wordy")(lambda *_: "many")
    cal.texts.measure("Endless")(lambda *_: math.inf)
    cal.texts.measure("Short", batch=True)(lambda *_: [1.0])
    cal.texts.measure("NoChance", chance=None)(overlap)
    cal.texts.measure("Sourced", needs="source")(overlap)
    alone = TextCollection.of([Document("d", ("r",))], {("d", "s"): "t"}, {})
    for name, message in (
        ("Wordy", "'Wordy' must give a number for each of 4 texts"),
        ("Endless", "infinite"),
        ("Short", "'Short' must give a number for each of 4 texts"),
        ("V2(NoChance)", "no expected score"),
    ):
        with pytest.raises(CalipersError, match=message):
            Evaluation(GIVEN, name).scores.mean()
    with pytest.raises(CalipersError, match="document 'd' has no source, which Sourced needs"):
        Evaluation(alone, "Sourced").scores.mean()


# -- sacrebleu ---------------------------------------------------------------------------------------------


@pytest.mark.peers
def test_sacrebleu(require: Require, data: Path) -> None:
    """Random and real text: its sentence scores, with all references and with each alone; its signature."""
    metrics = require.module("sacrebleu.metrics")
    theirs = {
        "BLEU": metrics.BLEU(effective_order=True),
        "chrF": metrics.CHRF(),
        "chrF++": metrics.CHRF(word_order=2),
        "TER": metrics.TER(),
    }
    real = as_collection(data / "summaries/SummEval.json.xz").of_systems(["M8", "M22"]).first_references(2)
    made = [Document(str(i), (" ".join(drawn(i)), " ".join(drawn(i + 50)))) for i in range(15)]
    texts = {(d.id, "s"): " ".join(drawn(i + 200)) for i, d in enumerate(made)} | {("0", "s"): ""}
    few = TextCollection(real.documents[:2], real.systems, tuple(row[:2] for row in real.texts), {})
    for given in (TextCollection.of(made, texts, {}), few, GIVEN):
        for several in ("max", "mean"):
            found = Evaluation(given, list(theirs), several=several)
            for name, metric in theirs.items():
                for s, row in enumerate(given.texts):
                    for d, document in enumerate(given.documents):
                        groups = [document.references] if several == "max" else [(r,) for r in document.references]
                        expected = np.mean([metric.sentence_score(row[d] or "", each).score for each in groups]) / 100
                        assert found.scores[name][s, d] == pytest.approx(expected, abs=1e-12), name
    for name, metric in theirs.items():
        metric.sentence_score("a", ["a", "b"])
        assert Evaluation(GIVEN, name).bounded[name].signature == f"sacrebleu {metric.get_signature()}"


@pytest.mark.peers
def test_ter_between_its_bounds(require: Require) -> None:
    require.module("sacrebleu")
    found = Evaluation(GIVEN, "TER V2(TER) U(TER)").scores
    assert found["U(TER)"] == pytest.approx(np.maximum(0, 1 - found["TER"]))
    same = TextCollection.of([Document("d", ("a b c", "x"), "c d e f")], {("d", "s"): "a b c"}, {})
    assert Evaluation(same, "V2(TER) V2(chrF) V2(BLEU)").scores.values.ravel().tolist() == pytest.approx([1] * 3)


# -- cards -----------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(root, list(arguments))


def test_measures_of_texts_are_listed_and_have_cards() -> None:
    listed = run("measures", "--format", "csv").stdout
    for name in ("BLEU", "NuggetRecall", "CitationF1", "contextprecision", "ROUGE-9", "ROUGE-Lsum"):
        assert name in listed
    card = run("measures", "ROUGE-2").stdout
    assert card.startswith("# ROUGE-2")
    assert "Lin, ROUGE" in card
    assert run("measures", "ContextRecall").stdout.startswith("# ContextRecall")
    assert "random texts" in run("measures", "E").stdout
    assert run("measures", "V2(ROUGE-1, random=lead)").stdout.startswith("# V2(ROUGE-1, random=lead)")


def test_a_name_of_two_measures_is_of_rankings_with_a_cutoff_and_of_texts_without() -> None:
    assert "answer's words" in run("measures", "F1").stdout
    assert "precision and recall in the top k" in run("measures", "F1@10").stdout


def test_an_unknown_measure_has_no_card() -> None:
    assert "unknown measure 'nonsense'" in str(run("measures", "nonsense").exception)


def test_every_text_measure_says_what_it_is_and_cites_its_source() -> None:
    for declaration in registry.declared("texts"):
        if declaration.function.__module__.startswith("calipers.texts.") and declaration.name != "Brevity":
            card = cal.measure_card(declaration.name)
            assert card.sentence.endswith((".", "else 0.")), declaration.name
            assert "=" in card.formula or "F1 of" in card.formula, declaration.name
            assert card.citation[0].rstrip(".")[-4:].isdigit(), declaration.name


# -- measures of a user's file -----------------------------------------------------------------------------------------


def test_the_command_line_knows_measures_of_a_file(tmp_path: Path) -> None:
    own, data = tmp_path / "own.py", tmp_path / "data.jsonl"
    own.write_text(
        "from calipers import texts\n\n\n@texts.measure('Words')\ndef words(candidate, references, source):\n"
        "    '''Number of words.'''\n    return len(candidate.split())\n"
    )
    data.write_text('{"id": "d1", "system": "a", "summary": "the cat sat", "references": ["a cat"]}')
    shown = run("evaluate", str(data), "-m", "Words", "--import", str(own), "--format", "csv")
    assert shown.stdout == "system,Words\na,3.0\n"
    own.write_text("'''Nothing.'''\n")
    wrong = run("evaluate", str(data), "--import", str(own))
    assert "declares no measure" in str(wrong.exception)


# -- words -------------------------------------------------------------------------------------------------------------


def test_the_words_fit_the_data(tmp_path: Path) -> None:
    """Summaries are about documents, answers about queries."""
    for field, unit in (("summary", "document"), ("answer", "query")):
        file = tmp_path / f"{field}.jsonl"
        rows = [
            json.dumps({"id": f"x{n}", "system": s, field: "the cat " * (n + len(s)), "references": ["a cat sat"]})
            for n in range(4)
            for s in ("a", "bb")
        ]
        file.write_text("\n".join(rows))
        many = {"document": "documents", "query": "queries"}
        data = [str(file), "-m", "ROUGE-1"]
        assert f"{unit} 'x0' has no source" in str(run("evaluate", str(file), "-m", "V2(ROUGE-1)").exception)
        diff = run("diff", str(file), "a", "bb", "-m", "ROUGE-1")
        assert f"of 4 {many[unit]}" in diff.stderr
        assert many[unit] in diff.stdout
        checked = run(
            "check",
            str(file),
            "bb",
            "--baseline",
            "a",
            "-m",
            "ROUGE-1",
            "--max-drop",
            "0.01",
            "--max-query-drop",
            "0.01",
        )
        assert f"{many[unit]} with the largest loss" in checked.stdout
        assert f"than is allowed per {unit}" in checked.stdout
        assert not {*checked.stdout.split()} & ({"document", "documents", "query", "queries"} - {unit, many[unit]})
        influence = run("compare", *data, "--show", "influence", "--show", "pairs")
        assert f"pairs that one {unit} decides" in influence.stdout
        assert run("evaluate", *data, "-q", "--format", "csv").stdout.startswith("system,query,")
