"""What random texts score: every kind against brute force on tiny sources; upper bounds of people."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.measures import registry
from calipers.texts import Document, Evaluation, TextCollection, TextOptions, rouge, token_f1
from calipers.texts.options import CHANCES
from calipers.texts.random_texts import RandomTexts, drawn_places
from calipers.texts.registry import TextTask
from calipers.texts.rouge_measures import RougeScorer
from calipers.texts.tokens import cut_to, source_sentences, unicode_words, written_words

SOURCE = "The cat sat. A dog ran to the cat! It went off."
REFERENCES = ("The cat sat on a mat.", "A dog and the cat ran.")
OTHERS = ("Rain fell in the hills.", "It was wet.", "The sun shone.")
GIVEN = TextCollection.of(
    [Document("d1", REFERENCES, SOURCE), Document("d2", OTHERS, "Rain fell all day.")],
    {("d1", "a"): "The dog ran.", ("d1", "b"): "cat off", ("d2", "a"): "Rain.", ("d2", "b"): "rain in hills"},
    {},
)
MEASURES = ("F1", "ROUGE-2", "ROUGE-L", "ROUGE-1")


def scored(name: str, text: str, references: tuple[str, ...] = REFERENCES) -> float:
    if name == "F1":
        return token_f1(text, references)[2]
    return rouge(text, references, names=[name])[name].f1


def greedy(length: int, order: tuple[int, ...]) -> str:
    """Whole sentences in this order while they fit, then in the order of the source."""
    every = ["The cat sat.", "A dog ran to the cat!", "It went off."]
    sizes = [3, 6, 3]
    taken: list[int] = []
    for i in order:
        if sum(sizes[t] for t in taken) + sizes[i] <= length:
            taken.append(i)
    return " ".join(every[i] for i in sorted(taken)) or " ".join(every[order[0]].split()[:length])


def all_texts(chance: str, candidate: str) -> list[str]:
    """Every random text beside a candidate, as often as it is likely."""
    length = len(candidate.split())
    if chance == "words":
        return [" ".join(row) for row in product(written_words(SOURCE), repeat=length)]
    if chance == "sentences":
        return [greedy(length, order) for order in permutations(range(3))]
    if chance == "lead":
        return [" ".join(SOURCE.split()[:length])]
    if chance == "shuffled":
        return [" ".join(order) for order in permutations(candidate.split())]
    return list(OTHERS)


@pytest.mark.parametrize("chance", CHANCES)
def test_brute_force(chance: str) -> None:
    """All texts where they are few, else draws whose error is what it is said to be."""
    few = TextOptions(chance=chance, texts=200, draws=200, length="candidate")
    found = Evaluation(GIVEN, [f"E({name})" for name in MEASURES], **vars(few))
    for name in MEASURES:
        measured = found.bounded[name]
        if chance != "words":
            assert measured.exactness in ("exact", "enumerated")
        for s, system in enumerate(("a", "b")):
            every = [scored(name, text) for text in all_texts(chance, str(GIVEN.texts[s][0]))]
            value = found.scores[f"E({name})"][s, 0]
            if measured.exactness == "sampled":
                assert abs(value - np.mean(every)) < 4.5 * np.std(every) / math.sqrt(200) + 1e-12, (name, system)
            else:
                assert value == pytest.approx(np.mean(every), abs=1e-12), (name, system)
    assert found.bounded["ROUGE-L"].chance == chance


@pytest.mark.parametrize("chance", ["words", "sentences", "shuffled", "other-document"])
def test_draws_agree_with_brute_force(chance: str) -> None:
    """Too few to take all: within their own error, over many seeds, and not by taking all."""
    candidates = {"words": "cat off", "sentences": "one two three four five six seven", "shuffled": "the cat sat off"}
    candidate = candidates.get(chance, "x")
    given = TextCollection.of(GIVEN.documents, {("d1", "b"): candidate}, {})
    name = "F1" if chance == "words" else "ROUGE-L"  # words have an expected ROUGE-L without texts
    every = [scored(name, text) for text in all_texts(chance, candidate)]
    size = 2 if chance in ("other-document", "sentences") else 20
    values, errors = [], []
    for seed in range(60):
        found = Evaluation(given, f"E({name})", chance=chance, texts=size, seed=seed)
        assert found.bounded[name].exactness == "sampled"
        values.append(found.scores.values[0, 0, 0])
        errors.append(found.scores.errors[f"E({name})"])
    spread = np.std(every) / math.sqrt(size * 60)
    assert abs(np.mean(values) - np.mean(every)) < 4.5 * spread
    assert np.std(values) > 0
    if size > 2 and chance != "other-document":
        assert np.mean(np.square(errors)) == pytest.approx(np.var(every) / size, rel=0.4)


SAMPLED = [f"{kind}({name})" for name in ("F1", "ROUGE-1", "ROUGE-2", "ROUGE-L") for kind in ("E", "V1", "V2")]


@pytest.mark.parametrize("several", ["max", "mean"])
@pytest.mark.parametrize("chance", CHANCES)
def test_scores_that_depend_on_the_seed_are_called_sampled(chance: str, several: str) -> None:
    """A score called exact is the same under every seed; a sampled one has an error."""
    found = [
        Evaluation(
            GIVEN,
            [*SAMPLED, "ROUGE-L", "U(ROUGE-L)"],
            chance=chance,
            several=several,
            texts=3,
            draws=3,
            length=9,
            seed=seed,
        )
        for seed in range(4)
    ]
    for m, name in enumerate(found[0].scores.measures):
        changes = any((each.scores.values[m] != found[0].scores.values[m]).any() for each in found)
        for each in found:
            if each.scores.exactness[name] == "exact":
                assert not changes, name
                assert name not in each.scores.errors
            else:
                assert each.scores.exactness[name] == "sampled"
                assert name in each.scores.errors
                assert f"{name}" in " ".join(each.remarks)
    if chance == "words":
        best_of_several = "sampled" if several == "max" else "exact"
        assert found[0].scores.exactness["V2(ROUGE-1)"] == best_of_several
        assert found[0].scores.exactness["V2(ROUGE-L)"] == "sampled"
        assert found[0].scores.errors["V2(ROUGE-L)"] > 0


def test_errors_of_normalised_scores_are_honest() -> None:
    """The spread over seeds is about the standard error that is given."""
    names = ["E(ROUGE-L)", "V1(ROUGE-L)", "V2(ROUGE-L)", "V2(F1)"]
    given = TextCollection.of(GIVEN.documents, {("d1", "a"): "The dog ran to the old cat."}, {})
    options = [TextOptions(draws=200, texts=200, seed=seed) for seed in range(60)]
    found = [Evaluation(given, names, **vars(each)).scores for each in options]
    for m, name in enumerate(names):
        spread = np.std([each.values[m, 0, 0] for each in found], ddof=1)
        stated = np.mean([each.errors[name] for each in found])
        assert 0.6 < spread / stated < 1.6, name


def test_order_is_worth_nothing_to_single_words() -> None:
    found = Evaluation(GIVEN, "V2(ROUGE-1) V2(ROUGE-L)", chance="shuffled").scores
    assert found["V2(ROUGE-1)"] == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert np.abs(found["V2(ROUGE-L)"]).max() > 0.1


@pytest.fixture
def spies() -> Iterator[dict[str, list[str]]]:
    """Two measures that write down what they are asked to score."""
    registry.known_names()
    tables: tuple[dict[str, Any], ...] = registry._DECLARED, registry._BY_NAME
    before = [dict(table) for table in tables]
    seen: dict[str, list[str]] = {"Spy1": [], "Spy2": []}

    def spy(name: str) -> None:
        @cal.texts.measure(name)
        def write_down(candidate: str, references: list[str], source: str | None) -> float:
            seen[name].append(candidate)
            return 0.5

    for name in seen:
        spy(name)
    yield seen
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


@pytest.mark.parametrize("chance", CHANCES)
def test_the_same_texts_for_all_measures(spies: dict[str, list[str]], chance: str) -> None:
    Evaluation(GIVEN, "V2(Spy1) V2(Spy2)", chance=chance).scores.mean()
    assert spies["Spy1"] == spies["Spy2"]
    assert len(spies["Spy1"]) > 4
    first = list(spies["Spy1"])
    Evaluation(GIVEN, "E(Spy1)", chance=chance).scores.mean()
    assert spies["Spy1"][len(first) :] == first
    if chance not in ("lead", "other-document"):
        Evaluation(GIVEN, "E(Spy2)", chance=chance, seed=7, texts=4).scores.mean()
        assert spies["Spy2"][len(first) : len(first) + 4] == first[:4]  # the candidates
        assert spies["Spy2"][len(first) + 4 :] != first[4:]


def test_rouge_draws_the_same_words() -> None:
    """Its thousands of draws begin with the texts that other measures score."""
    few, many = (drawn_places(np.random.default_rng(3), 50, n, 20) for n in (10, 1000))
    assert (many[:10] == few).all()


def test_other_documents() -> None:
    alone = TextCollection.of([GIVEN.documents[0]], {("d1", "a"): "x"}, {})
    with pytest.raises(CalipersError, match="there is no other document"):
        Evaluation(alone, "V2(ROUGE-1)", chance="other-document").scores.mean()
    many = TextCollection.of(
        [Document(str(i), (f"r{i}a", f"r{i}b"), "s") for i in range(30)], {(str(i), "s"): "x" for i in range(30)}, {}
    )
    (texts,) = RandomTexts(many, TextOptions(texts=10)).drawn_for("other-document", many.documents[4], ("x",)).groups
    assert len({text[:-1] for text in texts}) == 10  # of ten documents
    assert "r4a" not in texts
    assert "r4b" not in texts


def test_words_sentences_and_beginnings() -> None:
    assert written_words("Zoë's CAFÉ; 日本!") == ["Zoë", "s", "CAFÉ", "日", "本"]
    assert len(written_words("İstanbul'da ﬁn")) == len(unicode_words("İstanbul'da ﬁn"))
    assert cut_to("日本の文。", 2, unicode_words) == "日本"
    assert cut_to("a", 5, unicode_words) == "a"
    assert source_sentences("他走了。我来了！") == ["他走了。", "我来了！"]
    assert source_sentences("He paid $3.50 to J. Smith. 'Go!' It was 7 p.m. on Sunday") == [
        "He paid $3.50 to J. Smith.",
        "'Go!'",
        "It was 7 p.m. on Sunday",
    ]
    assert source_sentences(" \n ") == []


def test_scores_of_random_texts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By measure, its options, references and texts; what is spoilt is made again."""
    asked, shuffled = "V2(ROUGE-2) E(ROUGE-Lsum)", TextOptions(chance="shuffled")
    first = Evaluation(GIVEN, asked, **vars(shuffled), cache=tmp_path).scores.values
    files = sorted(tmp_path.rglob("*.npy"))
    assert len(files) == 2 * len(GIVEN.documents)
    scored: list[str] = []
    whole = RougeScorer.scores

    def noted(self: RougeScorer, tasks: list[TextTask], *rest: Any) -> list[Any]:
        scored.extend(text for task in tasks for text in task.texts)
        return whole(self, tasks, *rest)

    monkeypatch.setattr(RougeScorer, "scores", noted)
    assert (Evaluation(GIVEN, asked, **vars(shuffled), cache=tmp_path).scores.values == first).all()
    assert len(scored) == 2 * 4, "the candidates only"
    for file in files:
        file.write_bytes(b"spoilt")
    assert (Evaluation(GIVEN, asked, **vars(shuffled), cache=tmp_path).scores.values == first).all()
    Evaluation(GIVEN, asked, chance="shuffled", several="mean", cache=tmp_path).scores.mean()
    assert len(list(tmp_path.rglob("*.npy"))) == 2 * len(files)
    (tmp_path / "file").write_text("")
    with pytest.raises(CalipersError, match="cannot be a folder for scores"):
        Evaluation(GIVEN, asked, chance="shuffled", cache=tmp_path / "file").scores.mean()


# -- people ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ROUGE-2", "F1"])
def test_the_human_ceiling(name: str) -> None:
    """Each reference against the others: V2 is 1 at what a person scores, and may be more."""
    found = Evaluation(GIVEN, f"{name} U({name}) V2({name}) E({name})", upper="human", chance="lead")
    for d, document in enumerate(GIVEN.documents):
        known = document.references
        ceiling = np.mean([scored(name, text, known[:i] + known[i + 1 :]) for i, text in enumerate(known)])
        score, chance = found.scores[name][:, d], found.scores[f"E({name})"][:, d]
        with np.errstate(divide="ignore", invalid="ignore"):
            assert found.scores[f"U({name})"][:, d] == pytest.approx(
                np.where(ceiling > 0, score / ceiling, np.nan), nan_ok=True
            )
            above = (score - chance) / (ceiling - chance)
        usable = (ceiling > chance) & (score >= chance)
        assert found.scores[f"V2({name})"][usable, d] == pytest.approx(above[usable])
    alone = TextCollection.of([Document("d", ("r",), "s")], {("d", "a"): "t"}, {})
    with pytest.raises(CalipersError, match="document 'd' has one reference; the human ceiling"):
        Evaluation(alone, "V2(F1)", upper="human").scores.mean()
    assert Evaluation(GIVEN, "V2(F1)", upper="attainable").bounded["F1"].unknown_upper


# -- the command -------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [
        {"id": d.id, "system": system, "summary": GIVEN.texts[s][i], "references": d.references, "source": d.source}
        for i, d in enumerate(GIVEN.documents)
        for s, system in enumerate(GIVEN.systems)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    options = "random=sentences, upper=human, texts=4"
    call = ["evaluate", str(path), "-m", f"F1 V2(F1, {options}) V2(ROUGE-Lsum, {options})"]
    done = CliRunner().invoke(root, [*call, "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert f'system,F1,"V2(F1, {options})","V2(ROUGE-Lsum, {options})"' in done.output
    assert (
        f"V2(F1, {options}) (random texts: sentences): sampled, 4 per summary, seed 42, standard error at most"
        in done.stderr
    )
    refused = CliRunner().invoke(root, [*call, "-m", "V2(F1, random=dice)"])
    assert "dice" in str(refused.exception)
