"""Measures of texts: declaring them, ROUGE-W and ROUGE-S, METEOR, TER, and those of sacrebleu."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.limits.normalisation import Limits, v1, v2
from calipers.text import (
    Document,
    Summaries,
    TextOptions,
    edit_counts,
    evaluate_summaries,
    read_summaries,
    registry,
    rouge,
)
from calipers.text.edit_counts import CELLS, fewest_edits
from calipers.text.measure_names import text_measure
from calipers.text.meteor import meteor
from calipers.text.registry import declared_measures
from calipers.text.rouge_scores import References, rouge_name
from calipers.text.tokens import unicode_words, written_words
from conftest import Require

SOURCE = "The cat sat on the mat. A dog saw it, and the dog ran off! Nobody else was there."
GIVEN = Summaries.of(
    [
        Document("d1", ("The cat sat on a mat.", "A cat and a dog met."), SOURCE),
        Document("d2", ("It rained in the hills.", "Rain fell."), "Rain fell all day in the hills. Nobody went out."),
    ],
    {
        ("d1", "a"): "The cats sat down.", ("d1", "b"): "A dog ran off.",
        ("d2", "a"): "Rain fell in the hills.", ("d2", "b"): "",
    },
    {},
)  # fmt: skip
VOCABULARY = ["a", "b", "c", "d", "e", "run", "running", "runs", "cat", "cats", "the", "of"]


def drawn(seed: int, longest: int = 12) -> list[str]:
    source = random.Random(seed)
    return [source.choice(VOCABULARY) for _ in range(source.randint(1, longest))]


# -- declaring ---------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_stays() -> Iterator[None]:
    declared_measures()
    before = dict(registry._DECLARED), dict(registry._BY_NAME)
    yield
    for table, kept in zip((registry._DECLARED, registry._BY_NAME), before, strict=True):
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
    cal.text.measure("Overlap")(overlap)

    @cal.text.measure("Overlap-All", batch=True, parts=("twice", "once"), aliases=("oa",))
    def together(candidates: list[str], references: list[list[str]], sources: list[str | None]) -> np.ndarray:
        found = np.array(list(map(overlap, candidates, references, sources)))
        return np.stack([2 * found, found], axis=1)

    names = ["Overlap", "oa", "Overlap-All(part=twice)", "E(Overlap)", "V1(Overlap)", "V2(Overlap)", "V2(oa)", "U(oa)"]
    found = evaluate_summaries(GIVEN, names, TextOptions(texts=400, length=3)).scores
    assert found.measures[1:3] == ("Overlap-All", "Overlap-All(part=twice)")
    score = found["Overlap"]
    assert score.tolist() == [[overlap(GIVEN.texts[s][d] or "", list(GIVEN.documents[d].references), None)
                               for d in range(2)] for s in range(2)]  # fmt: skip
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

    @cal.text.measure("Missed", lower=True, share=share, chance="lead")
    def missed(candidate: str, references: list[str], source: str | None) -> float:
        return 3 * (1 - overlap(candidate, references, source))

    assert text_measure("Missed").lower
    assert not text_measure("V2(Missed)").lower
    found = evaluate_summaries(GIVEN, "Missed E(Missed) V2(Missed)").scores
    scores = found["Missed"].ravel(), found["E(Missed)"].ravel()
    assert found["V2(Missed)"].ravel() == pytest.approx(
        v2(share(scores[0]), Limits(np.ones(4), share(scores[1]), np.zeros(4)))
    )


@pytest.mark.usefixtures("nothing_stays")
def test_what_a_measure_may_not_do() -> None:
    for name, message in (("V2", "cannot be the name"), ("a b", "cannot be the name"), ("bertscore", "is taken")):
        with pytest.raises(CalipersError, match=message):
            cal.text.measure(name)(overlap)
    cal.text.measure("Wordy")(lambda *_: "many")
    cal.text.measure("Endless")(lambda *_: math.inf)
    cal.text.measure("Short", batch=True)(lambda *_: [1.0])
    cal.text.measure("NoChance", chance=None)(overlap)
    cal.text.measure("Sourced", needs="source")(overlap)
    alone = Summaries.of([Document("d", ("r",))], {("d", "s"): "t"}, {})
    for name, message in (
        ("Wordy", "'Wordy' must give a number for each of 4 texts"),
        ("Endless", "infinite"),
        ("Short", "'Short' must give a number for each of 4 texts"),
        ("V2(NoChance)", "no expected score"),
    ):
        with pytest.raises(CalipersError, match=message):
            evaluate_summaries(GIVEN, name)
    with pytest.raises(CalipersError, match="document 'd' has no source, which Sourced needs"):
        evaluate_summaries(alone, "Sourced")


# -- ROUGE-W and ROUGE-S -----------------------------------------------------------------------------------


def test_the_examples_of_the_paper() -> None:
    """Lin (2004), sections 4 and 5."""
    reference = "A B C D E F G"
    for text, printed in (("A B C D H I K", 0.571), ("A H B K C I D", 0.286)):
        assert rouge(text, reference, names=["ROUGE-W-2"])["ROUGE-W-2"].f1 == pytest.approx(printed, abs=5e-4)
    pairs = {"police kill the gunman": 3, "the gunman kill police": 1, "the gunman police killed": 2}
    for text, shared in pairs.items():
        assert rouge(text, "police killed the gunman", names=["ROUGE-S"])["ROUGE-S"].f1 == shared / 6
    assert rouge("gunman the killed police", "police killed the gunman", names=["ROUGE-SU"])["ROUGE-SU"].f1 == 4 / 10


def weighted(x: list[str], y: list[str], power: float) -> float:
    """Lin's (2004) dynamic programme as printed."""
    c = [[0.0] * (len(y) + 1) for _ in range(len(x) + 1)]
    w = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if x[i - 1] == y[j - 1]:
                k = w[i - 1][j - 1]
                c[i][j], w[i][j] = c[i - 1][j - 1] + (k + 1) ** power - k**power, k + 1
            else:
                c[i][j] = max(c[i - 1][j], c[i][j - 1])
    return c[-1][-1]


def test_against_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calipers.text.subsequences.WEIGHTED_CELLS", 50)  # several texts at a time, not all
    texts, references = [drawn(seed) for seed in range(30)], [drawn(100 + seed, 9) for seed in range(4)]
    texts.append([])
    known = References(references)
    for name, power in (("ROUGE-W", 1.2), ("ROUGE-W-2", 2.0)):
        for each, found in zip(texts, known.parts(name, texts, "mean"), strict=True):
            shares = [weighted(each, r, power) ** (1 / power) for r in references]
            assert found[1] == pytest.approx(np.mean([s / len(r) for s, r in zip(shares, references, strict=True)]))
            assert found[2] == pytest.approx(
                np.mean([2 * s / (len(each) + len(r)) for s, r in zip(shares, references, strict=True)])
            )

    def pairs(words: list[str], most: int, single: bool) -> Counter[tuple[str, ...]]:
        found = [(a, b) for i, a in enumerate(words) for j, b in enumerate(words) if 0 < j - i <= most + 1]
        return Counter([*found, *((w,) for w in words if single)])

    for name, most, single in (("ROUGE-S0", 0, False), ("ROUGE-S2", 2, False), ("ROUGE-SU4", 4, True),
                               ("ROUGE-S", 99, False)):  # fmt: skip
        for each, found in zip(texts, known.parts(name, texts, "mean"), strict=True):
            own = pairs(each, most, single)
            others = [pairs(r, most, single) for r in references]
            f1 = [2 * (own & r).total() / max(1, own.total() + r.total()) for r in others]
            assert found[2] == pytest.approx(np.mean(f1)), name
    assert (known.parts("ROUGE-S0", texts, "max") == known.parts("ROUGE-2", texts, "max")).all()


def test_names_of_rouge() -> None:
    typed = {"rouge-w": "W", "rouge-W-1.2": "W", "ROUGE-w-1.5": "W-1.5", "rouge-s": "S", "rouge-su04": "SU4"}
    assert {name: rouge_name(name).removeprefix("ROUGE-") for name in typed} == typed
    for name in ("ROUGE-W-", "ROUGE-S-4", "ROUGE-SU1000", "ROUGE-0", "ROUGE-W-0.5"):
        with pytest.raises(CalipersError, match="unknown measure"):
            rouge_name(name)


# -- METEOR ------------------------------------------------------------------------------------------------


def test_meteor_by_hand() -> None:
    assert meteor([], ["a"]) == meteor(["a"], []) == meteor(["a"], ["b"]) == 0
    assert meteor(["a", "b"], ["a", "b"]) == 1 - 0.5 / 2**3
    # Two matches in two chunks of three words against four.
    mean = (2 / 3) * (2 / 4) / (0.9 * 2 / 3 + 0.1 * 2 / 4)
    assert meteor(["b", "x", "a"], ["a", "y", "b", "z"]) == pytest.approx(mean * 0.5)


@pytest.mark.peers
def test_meteor_is_nltks_without_synonyms(require: Require, data: Path) -> None:
    theirs = require.module("nltk.translate.meteor_score").single_meteor_score

    class NoSynonyms:
        def synsets(self, word: str) -> list[Any]:
            return []

    cases = [(drawn(seed), drawn(seed + 1000)) for seed in range(200)]
    some = read_summaries(data / "summaries/SummEval.json.xz").of_systems(["M8", "M22"])
    real = [(row[d] or "", some.documents[d].references[d % 11]) for row in some.texts for d in range(9)]
    cases += [(unicode_words(text), unicode_words(reference)) for text, reference in real]
    for text, reference in cases:
        assert meteor(text, reference) == pytest.approx(theirs(reference, text, wordnet=NoSynonyms()), abs=1e-12)


# -- sacrebleu ---------------------------------------------------------------------------------------------


@pytest.mark.peers
def test_sacrebleu(require: Require, data: Path) -> None:
    """Random and real text: its sentence scores, with all references and with each alone; its signature."""
    metrics = require.module("sacrebleu.metrics")
    theirs = {"BLEU": metrics.BLEU(effective_order=True), "chrF": metrics.CHRF(), "chrF++": metrics.CHRF(word_order=2),
              "TER": metrics.TER()}  # fmt: skip
    real = read_summaries(data / "summaries/SummEval.json.xz").of_systems(["M8", "M22"]).first_references(2)
    made = [Document(str(i), (" ".join(drawn(i)), " ".join(drawn(i + 50)))) for i in range(15)]
    texts = {(d.id, "s"): " ".join(drawn(i + 200)) for i, d in enumerate(made)} | {("0", "s"): ""}
    few = Summaries(real.documents[:2], real.systems, tuple(row[:2] for row in real.texts), {})
    for given in (Summaries.of(made, texts, {}), few, GIVEN):
        for several in ("max", "mean"):
            found = evaluate_summaries(given, list(theirs), TextOptions(several=several))
            for name, metric in theirs.items():
                for s, row in enumerate(given.texts):
                    for d, document in enumerate(given.documents):
                        groups = [document.references] if several == "max" else [(r,) for r in document.references]
                        expected = np.mean([metric.sentence_score(row[d] or "", each).score for each in groups]) / 100
                        assert found.scores[name][s, d] == pytest.approx(expected, abs=1e-12), name
    signature = evaluate_summaries(GIVEN, "BLEU").measured["BLEU"].signature
    theirs["BLEU"].sentence_score("a", ["a", "b"])
    assert signature == f"sacrebleu {theirs['BLEU'].get_signature()}"
    assert signature.startswith("sacrebleu nrefs:2|case:mixed|eff:yes|tok:13a|smooth:exp|version:")
    theirs["TER"].sentence_score("a", ["a", "b"])
    ours = evaluate_summaries(GIVEN, "TER").measured["TER"].signature  # the same settings, by another program
    assert ours == f"calipers {str(theirs['TER'].get_signature()).rsplit(':', 1)[0]}:{cal.__version__}"


def test_edits_by_hand() -> None:
    def edits(text: str, *references: str) -> int:
        return int(fewest_edits([text.split()], [each.split() for each in references])[0])

    assert edits("a b c", "a b c") == edits("", "") == 0
    assert edits("a b c", "") == edits("", "a b c") == edits("x y z", "a b c") == 3
    assert edits("d e f a b c", "a b c d e f") == 1  # a shift
    assert edits("d e f a x c", "a b c d e f") == 2  # a shift and a substitution
    assert edits("a b c", "x", "a c") == 1
    far = " ".join(f"w{i}" for i in range(60))
    assert edits(f"a b c {far}", f"{far} a b c") == 6  # no block is moved by more than 50 words


def moved(words: list[str], source: random.Random) -> list[str]:
    """A text with some blocks moved and some words replaced, perhaps cut."""
    words = list(words)
    for _ in range(source.randint(0, 3)):
        first = source.randrange(len(words))
        block, rest = words[first : first + source.randint(1, 12)], words[:first]
        rest += words[first + len(block) :]
        to = source.randint(0, len(rest))
        words = rest[:to] + block + rest[to:]
    for _ in range(source.randint(0, 4)):
        words[source.randrange(len(words))] = source.choice([*VOCABULARY, "new"])
    return words[: source.choice([len(words), source.randint(1, len(words))])]


@pytest.mark.peers
def test_edits_are_sacrebleus(require: Require, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each pair alone, and the fewest of all: random words, moved blocks, bands of all widths, real summaries."""
    theirs = require.module("sacrebleu.metrics.lib_ter").translation_edit_rate
    source = random.Random(27)
    cases = []
    for longest in [12] * 40 + [40] * 6:
        references = [drawn(source.randrange(10**6), longest) for _ in range(3)]
        texts = [moved(source.choice(references), source) for _ in range(2)]
        cases.append(([*texts, drawn(source.randrange(10**6), longest)], references))
    few = [["the"], ["cat", "new"]]  # beside long references: bands of more than 25
    cases += [(few, [source.choices(VOCABULARY, k=long), ["of", "the"]]) for long in (49, 50, 51, 101, 230)]
    summaries = read_summaries(data / "summaries/SummEval.json.xz")
    for d, document in enumerate(summaries.documents[:60:30]):
        real = (summaries.texts[8][30 * d] or "").lower().split()
        cases.append(([real], [text.lower().split() for text in document.references[:4]]))
    for texts, references in cases:
        wanted = [[theirs(text, reference)[0] for reference in references] for text in texts]
        assert [[int(fewest_edits([t], [r])[0]) for r in references] for t in texts] == wanted
        for cells in (CELLS, 1):  # all at once, and pair by pair
            monkeypatch.setattr(edit_counts, "CELLS", cells)
            assert fewest_edits(texts, references).tolist() == [min(row) for row in wanted]


@pytest.mark.peers
def test_ter_between_its_bounds(require: Require) -> None:
    require.module("sacrebleu")
    found = evaluate_summaries(GIVEN, "TER V2(TER) U(TER)").scores
    assert found["U(TER)"] == pytest.approx(np.maximum(0, 1 - found["TER"]))
    same = Summaries.of([Document("d", ("a b c", "x"), "c d e f")], {("d", "s"): "a b c"}, {})
    assert evaluate_summaries(same, "V2(TER) V2(chrF) V2(BLEU)").scores.values.ravel().tolist() == pytest.approx(
        [1] * 3
    )
