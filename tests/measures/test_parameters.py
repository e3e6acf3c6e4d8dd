"""What cards say of parameters is what measures take; names that people use for measures lead to ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest

import calipers as cal
from calipers.measures.grammar import parse_all
from calipers.measures.normalisation import OF_TEXTS
from calipers.measures.parameters import REQUIRED, Parameter, ParameterType
from calipers.measures.registry import Declaration, Measure, Reads, declared
from calipers.questions.properties.cards import citation_of, measure_card
from calipers.texts.measure_names import text_measures

EVERY = [each for reads in get_args(Reads) for each in declared(reads)]
NEEDS = {"cutoff": 10, "of": cal.parse("AP"), "recall": 0.5, "multiple": 1.0}
TEXTS = cal.parse("ROUGE-1")


def built(declaration: Declaration, **given: Any) -> Measure:
    needed = {name: NEEDS[name] for name, default in declaration.defaults.items() if default is REQUIRED}
    needed |= {"cutoff": 10} if "cutoff" in declaration.defaults and "cutoff" not in given else {}
    if "of" in needed and (declaration.reads == "texts" or OF_TEXTS.keys() & given):
        needed["of"] = TEXTS
    return Measure.of(declaration, {**needed, **given})


@pytest.mark.parametrize("declaration", EVERY, ids=lambda each: each.name)
def test_every_parameter_has_a_type_and_a_sentence(declaration: Declaration) -> None:
    for name, parameter in declaration.parameters.items():
        assert parameter.type in get_args(ParameterType), name
        assert parameter.type != "any", name
        assert parameter.meaning.endswith("."), name
        assert parameter.takes, name
        assert parameter.choices or parameter.type != "word", name


@pytest.mark.parametrize("declaration", EVERY, ids=lambda each: each.name)
def test_parameters_take_their_choices_and_refuse_other_values(declaration: Declaration) -> None:
    for name, parameter in declaration.parameters.items():
        for choice in parameter.choices:
            built(declaration, **{name: choice})
        if parameter.type in ("model", "file"):  # any name may be theirs
            continue
        with pytest.raises(cal.CalipersError, match=rf"{name}|{name.title()}|unknown (gain|discount|population)"):
            built(declaration, **{name: "nonsense"})
        if parameter.type in ("number", "whole number"):
            for beyond in outside(parameter):
                with pytest.raises(cal.CalipersError, match=rf"^{name}=\S+ of '{re.escape(declaration.name)}' is not "):
                    built(declaration, **{name: beyond})


def outside(parameter: Parameter) -> Iterator[float]:
    """Yield the numbers just outside the range of a parameter."""
    if parameter.least is not None:
        yield parameter.least - 1
    if parameter.above is not None:
        yield parameter.above
    if parameter.most is not None:
        yield parameter.most * 2
    if parameter.below is not None:
        yield parameter.below


@pytest.mark.parametrize("declaration", EVERY, ids=lambda each: each.name)
def test_every_measure_has_a_card_by_its_name(declaration: Declaration) -> None:
    if declaration.reads != "grades":  # those of grades are pages of the manual, which another test compares
        card = str(measure_card(declaration.name))
        assert card.startswith(f"# {declaration.name}\n\n{declaration.sentence}")
        assert ("| judged_only | False |" in card) == ("judged_only" in declaration.defaults)


def test_every_card_cites_whole_references() -> None:
    cited = {each.name: citation_of(each) for each in EVERY if each.function.__module__.startswith("calipers.")}
    for name, lines in cited.items():
        assert lines, name
        for line in lines:
            assert line.endswith("."), line
            assert line.count("(") == line.count(")"), line
    assert cited["NERR8"][0].startswith("Azzopardi, Mackenzie & Moffat, ERR is not C/W/L")
    assert cited["GAP"][0].startswith("Robertson, Kanoulas & Yilmaz")


def test_a_card_has_parameters_and_other_names() -> None:
    card = str(measure_card("nDCG"))
    assert "| gain | linear | linear, exp, a table such as {1:3,2:9} | The gain of a grade: the grade " in card
    assert "- **Other names:** ndcg_burges (gain=exp), meanndcg (averaged=cutoffs), msndcg, ndcg, ndcg_cut_K" in card
    assert "alpha-nDCG@k = alpha-DCG@k / " in str(measure_card("alpha-nDCG@5"))


@pytest.mark.parametrize(
    ("name", "formula"),
    [("infAP", "infAP = AP if only "), ("nERR-IA", "nERR-IA = ERR-IA divided by "), ("utility", "utility = ")],
)
def test_a_formula_in_words_keeps_the_names_of_measures(name: str, formula: str) -> None:
    found = measure_card(name).formula
    assert found.startswith(formula)
    assert not re.search(r"= [a-z][A-Z]", found)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hit rate", "Success@10"),
        ("hit rate@5", "Success@5"),
        ("mean average precision", "AP"),
        ("AP mean reciprocal rank", "RR"),
        ("f_score", "SetF"),
        ("f1_score", "F@10"),
        ("f-measure", "SetF"),
        ("err_20", "ERR@20"),
        ("ndcg10", "nDCG@10"),
        ("map10", "AP@10"),
        ("rank biased precision", "RBP"),
        ("discounted cumulative gain", "DCG@10"),
    ],
)
def test_names_are_suggested_by_meaning(typed: str, meant: str) -> None:
    with pytest.raises(cal.UnknownName, match=rf"did you mean {meant}\?$"):
        cal.parse(typed)
    cal.parse(meant)  # what is suggested is a measure


@pytest.mark.parametrize(
    ("typed", "where"), [("meteor", "ROUGE-1, BLEU, chrF, TER and BERTScore do"), ("kappa", "calipers judges")]
)
def test_measures_of_something_else_are_sent_there(typed: str, where: str) -> None:
    with pytest.raises(cal.CalipersError, match=where):
        cal.parse(typed)


def test_the_names_of_rouge_score_are_known_where_texts_are_scored() -> None:
    names = "rouge1 rouge2_recall rougeL V2(rougeLsum) bert_score bertscore_recall"
    ours = "ROUGE-1 ROUGE-2(part=recall) ROUGE-L V2(ROUGE-Lsum) BERTScore BERTScore(part=recall)"
    assert text_measures(names) == text_measures(ours)


def test_measures_of_ir_measures_are_ours(require: Any) -> None:
    ir_measures = require.module("ir_measures")
    theirs = [ir_measures.nDCG @ 10, ir_measures.nDCG(dcg="exp-log2") @ 5, ir_measures.AP(rel=2), "RR"]
    assert [repr(each) for _, each in parse_all(theirs)] == ["nDCG@10", "nDCG(gain=exp)@5", "AP(rel=2)", "RR"]
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 2.0}}
    assert cal.evaluate(qrels, run, ir_measures.P @ 1)["P@1"][0, 0] == 0
