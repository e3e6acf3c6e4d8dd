"""ROUGE and what a random summary gets: against enumeration in exact fractions, rouge-score, and sampling."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calipers.errors import CalipersError
from calipers.texts import TextCollection, as_collection, expected_rouge, rouge
from calipers.texts.porter import stem_of
from calipers.texts.random_summaries import RandomSummaries, tails
from calipers.texts.rouge_scores import References, attainable
from calipers.texts.subsequences import Places, common
from calipers.texts.tokens import ascii_words, tokenizer_of, unicode_words
from conftest import Require

SOURCE = "the cat sat on the mat the end"
REFERENCE = "the cat on the mat"


@pytest.fixture(scope="module")
def summeval(data: Path) -> TextCollection:
    return as_collection(data / "summaries/SummEval.json.xz")


# -- the oracle: all summaries, in fractions ---------------------------------------------------------------


def lcs(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence, by the definition of its table."""
    above = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
        above = row
    return above[-1]


def matches(candidate: Sequence[str], reference: Sequence[str], n: int | str) -> tuple[int, int, int]:
    """Matched, of the candidate, of the reference."""
    if n == "L":
        return lcs(candidate, reference), len(candidate), len(reference)
    assert isinstance(n, int)
    grams = [Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (candidate, reference)]
    return sum((grams[0] & grams[1]).values()), grams[0].total(), grams[1].total()


def exact_scores(candidate: Sequence[str], references: Sequence[Sequence[str]], n: int | str) -> list[list[Fraction]]:
    """Precision, recall, F1 against each reference."""
    found = []
    for reference in references:
        matched, own, other = matches(candidate, reference, n)
        found.append(
            [
                Fraction(matched, max(own, 1)),
                Fraction(matched, max(other, 1)),
                Fraction(2 * matched, max(own + other, 1)),
            ]
        )
    return found


def over(scores: list[list[Fraction]], several: str) -> list[Fraction]:
    if several == "mean":
        return [sum(part, Fraction(0)) / len(scores) for part in zip(*scores, strict=True)]
    return max(scores, key=lambda parts: parts[2])  # the first of equals, as max does


def expectation(
    source: Sequence[str],
    references: Sequence[Sequence[str]],
    length: int,
    n: int | str,
    several: str,
) -> list[Fraction]:
    every = list(product(source, repeat=length))
    total = [Fraction(0)] * 3
    for summary, times in Counter(every).items():
        scores = over(exact_scores(summary, references, n), several)
        total = [t + times * s for t, s in zip(total, scores, strict=True)]
    return [t / len(every) for t in total]


words = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
texts = st.lists(st.sampled_from("abcz"), max_size=6)


@given(words, st.lists(texts, min_size=1, max_size=3), st.data())
def test_expected_rouge_is_the_mean_over_all_summaries(
    source: list[str], references: list[list[str]], drawn: st.DataObject
) -> None:
    length = drawn.draw(st.integers(0, 4))
    n = drawn.draw(st.sampled_from([1, 2, 3, "L"]))
    several = drawn.draw(st.sampled_from(["max", "mean"]))
    found = expected_rouge(" ".join(source), [" ".join(each) for each in references], length, n, several=several)
    assert found.exactness in ("exact", "enumerated")
    truth = expectation(source, references, length, n, several)
    assert list(found[f"ROUGE-{n}"]) == pytest.approx([float(value) for value in truth], abs=1e-12)
    assert found.error == (0, 0, 0)


@given(texts, st.lists(texts, min_size=1, max_size=3), st.sampled_from(["max", "mean"]))
def test_rouge_is_what_the_oracle_counts(candidate: list[str], references: list[list[str]], several: str) -> None:
    found = rouge(" ".join(candidate), [" ".join(each) for each in references], several=several)
    for n in (1, 2, "L"):
        truth = over(exact_scores(candidate, references, n), several)
        assert list(found[f"ROUGE-{n}"]) == pytest.approx([float(value) for value in truth], abs=1e-12)


def test_the_oracle_counts_subsequences() -> None:
    for a in product("abc", repeat=4):
        for b in product("ab", repeat=3):
            every = {tuple(a[i] for i in range(4) if kept >> i & 1) for kept in range(16)}
            longest = max(len(c) for kept in range(8) if (c := tuple(b[i] for i in range(3) if kept >> i & 1)) in every)
            assert lcs(a, b) == longest


# -- the vectors of MATH.md 7 ------------------------------------------------------------------------------


def test_vectors() -> None:
    short = expected_rouge(SOURCE, [REFERENCE], 3)
    assert short["ROUGE-1"] == pytest.approx((11 / 16, 33 / 80, 33 / 64), abs=1e-15)
    assert (short.precision, short.recall, short.f1) == short["ROUGE-1"]
    assert short.exactness == "exact"
    long = expected_rouge(SOURCE, REFERENCE, 5)
    assert list(long["ROUGE-1"]) == pytest.approx([48897 / 16384 / 5] * 3, abs=1e-15)
    assert expected_rouge(SOURCE, REFERENCE, 3, n=2).recall == 0.078125
    assert expected_rouge(SOURCE, REFERENCE, 5, n=2).recall == pytest.approx(0.151123, abs=5e-7)


def test_expected_counts_in_min_would_be_wrong() -> None:
    """Jensen: E[min(count, r)] is below min(E[count], r)."""
    counts, wanted = Counter(SOURCE.split()), Counter(REFERENCE.split())
    plugged = sum(min(5 * counts[word] / 8, r) for word, r in wanted.items()) / 5
    assert plugged == 0.75
    assert expected_rouge(SOURCE, REFERENCE, 5).recall < 0.6


def test_single_words_are_binomial() -> None:
    from scipy.stats import binom

    source = {"a": 7, "b": 20, "c": 73}
    lengths = np.array([1, 5, 30, 60])
    most = np.array([3, 12])
    found = tails([("a",), ("b",)], most, source, lengths)
    for g, word in enumerate("ab"):
        for t in range(1, 13):
            for at, length in enumerate(lengths):
                truth = binom(length, source[word] / 100).sf(t - 1) if t <= most[g] else 0.0
                assert found[g, t - 1, at] == pytest.approx(truth, abs=1e-12)


def test_a_bigram_of_one_word_overlaps_itself() -> None:
    """Of a a a a a, every two neighbours are the bigram; it cannot be had without its own overlaps."""
    found = expected_rouge("a b", "a a a a", 3, n=2)
    runs = [sum(t[i : i + 2] == ("a", "a") for i in range(2)) for t in product("ab", repeat=3)]
    assert found.recall == pytest.approx(np.mean(np.minimum(runs, 3)) / 3, abs=1e-15)


# -- sampling ----------------------------------------------------------------------------------------------


@pytest.mark.data
def test_exact_expectations_agree_with_sampling_on_real_texts(summeval: TextCollection) -> None:
    """One reference, so that the exact way is open; the sampled one is forced beside it."""
    lengths = np.array([20, 60])
    for document in summeval.documents[:6]:
        known = References([unicode_words(document.references[0])])
        chances = RandomSummaries(unicode_words(document.source or ""), known, lengths, "max", draws=4000)
        for n in (1, 2):
            exact, error, how = chances.expected(f"ROUGE-{n}")
            assert how == "exact"
            assert not error.any()
            matched = chances._grams(n)[:, :, 0]  # drawn
            sizes = np.maximum(lengths - n + 1, 1)
            off = (matched / sizes).std(axis=0, ddof=1) / math.sqrt(4000)
            assert (np.abs((matched / sizes).mean(axis=0) - exact[:, 0]) < 4.5 * off).all()


@pytest.mark.data
def test_sampling_of_the_best_of_several_references(summeval: TextCollection) -> None:
    """Against plain Python, draw by draw; and the error that is stated is the error that is made."""
    document = summeval.documents[3]
    references, source = list(document.references[:4]), document.source or ""
    length, name = 40, "ROUGE-2"
    pool, chance = unicode_words(source), random.Random(7)
    drawn = [rouge(" ".join(chance.choices(pool, k=length)), references, names=[name, "ROUGE-L"]) for _ in range(1500)]
    for n, key in ((2, name), ("L", "ROUGE-L")):
        found = expected_rouge(source, references, length, n=n, draws=4000)
        assert found.exactness == "sampled"
        plain = np.array([scores[key].f1 for scores in drawn])
        off = math.hypot(found.error.f1, plain.std(ddof=1) / math.sqrt(len(plain)))
        assert abs(found.f1 - plain.mean()) < 4.5 * off
        again = [expected_rouge(source, references, length, n=n, draws=400, seed=seed).f1 for seed in range(40)]
        stated = expected_rouge(source, references, length, n=n, draws=400).error.f1
        assert 0.6 < np.std(again, ddof=1) / stated < 1.6


def test_the_best_of_several_is_above_the_best_expectation() -> None:
    references = ["a b c d", "d c b a e"]
    best = expected_rouge("a b c d e f g h i j", references, 4).f1
    assert best > max(expected_rouge("a b c d e f g h i j", each, 4).f1 for each in references)


def test_draws_depend_on_the_seed_and_nothing_else() -> None:
    source, references = " ".join("abcdefghijklmnop"), ["a b c d e f", "f e d c b a"]
    one, same, other = (expected_rouge(source, references, 9, seed=seed).f1 for seed in (1, 1, 2))
    assert one == same != other


# -- parity ------------------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.data
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_score(summeval: TextCollection, require: Require, stem: bool) -> None:
    """On its own rule: ascii words, with and without stemming, one reference and several."""
    require.module("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    names = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-3": "rouge3", "ROUGE-L": "rougeL"}
    theirs = RougeScorer(list(names.values()), use_stemmer=stem)
    for d in range(0, 100, 7):
        document = summeval.documents[d]
        for s in (d % 16, (d + 5) % 16):
            text = summeval.texts[s][d] or ""
            first = rouge(text, document.references[0], "ascii", stem, names=list(names))
            best = rouge(text, document.references, "ascii", stem, names=list(names))
            single, multi = theirs.score(document.references[0], text), theirs.score_multi(document.references, text)
            for ours, peer in names.items():
                assert first[ours] == pytest.approx(tuple(single[peer]), abs=1e-12)
                assert best[ours].f1 == pytest.approx(multi[peer].fmeasure, abs=1e-12)


@pytest.mark.peers
def test_rouge_score_on_odd_texts(require: Require) -> None:
    require.module("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    odd = [
        "",
        " ",
        "a",
        "A a. A!",
        "Zoë's café_au-lait",
        "x\ny z\n\nx",
        "1,000 1000",
        "日本語",
        "a b\nc d\na b",
        "b a\nd",
    ]
    for candidate in odd:
        for reference in odd:
            names = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum"]
            ours, peer = rouge(candidate, reference, "ascii", names=names), theirs.score(reference, candidate)
            for name in names:
                assert ours[name] == pytest.approx(
                    tuple(peer[name.lower().replace("-", "").replace("l", "L")]), abs=1e-12
                )


@pytest.mark.peers
@pytest.mark.data
def test_sentences_of_real_texts(summeval: TextCollection, require: Require) -> None:
    """ROUGE-Lsum, with a line a sentence."""
    require.module("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeLsum"], use_stemmer=True)
    for d in range(0, 100, 9):
        candidate, reference = (
            text.replace(" . ", " .\n")
            for text in (summeval.texts[d % 16][d] or "", summeval.documents[d].references[0])
        )
        ours = rouge(candidate, reference, "ascii", True, names=["ROUGE-Lsum"])["ROUGE-Lsum"]
        assert ours == pytest.approx(tuple(theirs.score(reference, candidate)["rougeLsum"]), abs=1e-12)


@pytest.mark.peers
@pytest.mark.data
def test_stems_of_all_words_of_summeval(summeval: TextCollection, require: Require) -> None:
    porter = require.module("nltk.stem.porter").PorterStemmer()
    every = {
        word
        for d, document in enumerate(summeval.documents)
        for text in (document.source, *document.references, *(row[d] for row in summeval.texts))
        for word in ascii_words(text or "")
    }
    assert len(every) > 7000
    assert {word for word in every if stem_of(word) != porter.stem(word)} == set()


@pytest.mark.peers
@given(st.from_regex(r"\A[abceilnosty]{0,6}(ing|ed|ies|ied|eed|ational|alli|fulli|logi|bli|ement|ion|y|ll|e|s)?\Z"))
def test_stems_of_words_that_nobody_says(require: Require, word: str) -> None:
    porter = require.module("nltk.stem.porter").PorterStemmer()
    assert stem_of(word) == porter.stem(word)


# -- words and subsequences --------------------------------------------------------------------------------


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_on_ascii_both_tokenizers_agree(text: str) -> None:
    assert unicode_words(text) == ascii_words(text) == re.findall("[a-z0-9]+", text.lower())


@given(st.text())
def test_words_are_stable(text: str) -> None:
    """Words split again are the same words: nothing but letters, digits and marks is left in them."""
    found = unicode_words(text)
    assert unicode_words(" ".join(found)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("ﬁne ２０２４", ["fine", "2024"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("東京に行く", list("東京に行く")),
        ("co\u00adoperate", ["cooperate"]),
        ("snake_case it's", ["snake", "case", "it", "s"]),
        ("привет, мир!", ["привет", "мир"]),
    ],
)
def test_scripts(text: str, expected: list[str]) -> None:
    assert unicode_words(text) == expected


def test_only_english_words_are_stemmed() -> None:
    assert tokenizer_of("unicode", stem=True)("running läufe ing") == ["run", "läufe", "ing"]


@given(
    st.lists(st.lists(st.integers(1, 4), max_size=150), min_size=1, max_size=4),
    st.lists(st.integers(0, 4), max_size=90),
)
def test_common_subsequences_at_every_length(references: list[list[int]], candidate: list[int]) -> None:
    """Of more places than a machine word has, and at every prefix."""
    lengths = np.arange(len(candidate) + 1)
    found = common(np.array([candidate], dtype=np.int64).reshape(1, -1), Places(references, 4), lengths)
    for length in (0, len(candidate) // 2, len(candidate)):
        for j, reference in enumerate(references):
            expected = lcs([str(x) for x in candidate[:length]], [str(x) for x in reference])
            assert found[0, length, j] == expected


@given(texts, texts)
def test_nothing_scores_above_what_is_attainable(candidate: list[str], reference: list[str]) -> None:
    found = rouge(" ".join(candidate), " ".join(reference))
    for name, score in found.items():
        most = attainable(name, np.array(len(candidate)), np.array([len(reference)]), "max")
        assert (np.array(score) <= most + 1e-15).all()
        itself = rouge(" ".join(reference[: len(candidate)]), " ".join(reference))[name]
        if len(candidate) <= len(reference):
            assert itself == pytest.approx(tuple(most)), "the beginning of the reference reaches it"


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rouge("a", []), "no reference"),
        (lambda: rouge("a", "b", tokenizer="latin"), "unknown tokenizer 'latin'; there are unicode, ascii"),
        (lambda: rouge("a", "b", several="min"), "unknown way 'min'"),
        (lambda: rouge("a", "b", names=["ROUGE-X"]), "unknown measure 'ROUGE-X'"),
        (lambda: expected_rouge("", "a", 3), "no words to draw"),
        (lambda: expected_rouge("...", "a", 3), "no words to draw"),
        (lambda: expected_rouge("a b", "a", -1), "not a number of words"),
        (lambda: expected_rouge("a b", "a", 3, n="Lsum"), "form no sentences"),
        (lambda: expected_rouge("a b", "a", 3, n=0), "unknown measure 'ROUGE-0'"),
        (lambda: expected_rouge("a b", "a", 3, n="W"), "unknown measure 'ROUGE-W'"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(CalipersError, match=re.escape(message)):
        call()


def test_empty_texts_score_nothing() -> None:
    for candidate, reference in (("", "a b"), ("a b", ""), ("", "")):
        assert set(rouge(candidate, reference).values()) == {(0, 0, 0)}
    assert rouge("a b", ["", "a b"])["ROUGE-2"].f1 == 1
    assert rouge("a b", ["", "a b"], several="mean")["ROUGE-2"].f1 == 0.5
    assert expected_rouge("a b", "", 4)["ROUGE-1"] == (0, 0, 0)
    assert expected_rouge("a b", "a", 0)["ROUGE-1"] == (0, 0, 0)


def test_importing_does_not_load_torch() -> None:
    import subprocess
    import sys

    code = "import sys, calipers.texts as t; t.rouge('a', 'a'); t.Evaluation; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
