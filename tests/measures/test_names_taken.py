"""Names of measures: which of them are taken, and what `hit` means."""

from __future__ import annotations

import pytest

import calipers as cal
from calipers import texts as text
from calipers.measures import registry

QRELS = {"q": {"a": 3, "b": 1, "c": 0}}
RUN = {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no measure behind."""
    registry.known_names()
    for name in ("_DECLARED", "_BY_NAME"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


def own(name: str, value: float = 0.25, aliases: tuple[str, ...] = ()) -> None:
    """Declare a measure whose score is always the same."""
    cal.measure(name, aliases=aliases)(lambda: lambda ranking: value)


@pytest.mark.parametrize("name", sorted({*registry.known_names(), "nDCG", "Success", "HIT", "Hit"}))
def test_no_measure_of_a_user_shadows_a_built_in_one(name: str) -> None:
    before = registry.look_up(name)
    for names in ((name, ()), ("Mine", (name,))):
        with pytest.raises(cal.CalipersError, match="built-in measure"):
            own(names[0], aliases=names[1])
    assert registry.look_up(name) == before
    assert registry.look_up("Mine") is None


@pytest.mark.parametrize("name", ["ROUGE-1", "bleu", "BERTScore"])
def test_measures_of_rankings_cannot_have_the_names_of_text_measures(name: str) -> None:
    with pytest.raises(cal.CalipersError, match="built-in measure"):
        own(name)


def test_measures_of_rankings_cannot_have_the_names_of_measures_of_other_tools() -> None:
    with pytest.raises(cal.CalipersError, match="scores texts"):
        own("meteor")


@pytest.mark.parametrize(
    "name", sorted({each.name for each in registry.declared("texts")} | {"ROUGE-7", "Rouge-L", "rouge1", "nDCG", "V2"})
)
def test_no_text_measure_of_a_user_shadows_a_built_in_one(name: str) -> None:
    before = registry.look_up(name)
    with pytest.raises(cal.CalipersError, match="built-in measure"):
        text.measure(name)(lambda candidate, references, source: 1.0)
    assert registry.look_up(name) == before


def test_a_measure_of_ones_own_can_be_declared_anew() -> None:
    for value in (0.25, 0.75):
        own("Mine", value)
        assert cal.evaluate(QRELS, RUN, "mine").values.item() == value
    given = text.TextCollection.of([text.Document("d", ("a cat",))], {("d", "s"): "a cat"}, {})
    for length in (1.0, 2.0):
        text.measure("Length")(lambda candidate, references, source, length=length: length)
        assert text.Evaluation(given, "Length").scores.values.item() == length


@pytest.mark.parametrize("name", ["hit@2", "Hit@2", "hIT@2", "HR@2", "hr@2", "hit_rate@2", "HIT_RATE@2", "Success@2"])
def test_a_hit_is_success(name: str) -> None:
    assert repr(cal.parse(name)) == "Success@2"
    scores = cal.evaluate(QRELS, RUN, name)
    assert scores.values.item() == 1
    assert not any("largest gain" in remark for remark in scores.remarks)


def test_only_capital_letters_mean_the_largest_gain_and_a_note_says_so() -> None:
    scores = cal.evaluate(QRELS, RUN, ["HIT@2", "Hits@3"])
    assert scores.values.ravel().tolist() == [3, 2]
    assert repr(scores.definitions[0]) == "HIT@2"
    assert sum("largest gain" in remark for remark in scores.remarks) == 1
    assert any("largest gain" in remark for remark in cal.evaluate(QRELS, RUN, "V2(HIT@2)").remarks)
