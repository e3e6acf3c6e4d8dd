"""Measures of texts as scorers see them: a measure with its words and references, one of its parts, and U, V1, V2 or E.

ROUGE-2(part=recall)                precision, recall or f1 (the default)
ROUGE-1(stem=true, references=mean) stems of words; the mean over several references
V2(ROUGE-1, random=sentences)       the score between that of random texts (0) and the upper bound (1)
E(ROUGE-1)                          the mean score of random texts
"lower name"(lower=true)            a column of scores that the data bring along, by its exact name
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.errors import CalipersError, UnknownName, suggestion
from calipers.measures.dialects import split_alias, typed_names
from calipers.measures.forms.texts import Ends, NormalisedTextForm, TextForm
from calipers.measures.grammar import MeasuresLike, parse_all
from calipers.measures.registry import Declaration, Measure
from calipers.support.record import Record
from calipers.texts.options import TextOptions


@dataclass(frozen=True)
class TextMeasure:
    """A part of a declared measure, as it is or normalised."""

    base: str  # ROUGE-1, ..., BERTScore(layer=17)
    form: TextForm = field(compare=False)
    part: str = ""  # empty for a measure that is one number
    normal: str = ""  # U, V1, V2, E, or empty
    options: tuple[tuple[str, Any], ...] = ()  # random texts and upper bounds, where they are not the usual ones
    alias: str = ""  # a short name of one's own

    @staticmethod
    def of(measure: Measure, alias: str = "") -> TextMeasure:
        """Return a measure of texts as scorers see it."""
        form = measure.form
        if isinstance(form, NormalisedTextForm):
            return TextMeasure(form.base.name, form.base, form.base.part, form.normal, form.options, alias)
        if not isinstance(form, TextForm):
            raise UnknownName(f"'{measure!r}' is not a measure of texts, such as ROUGE-2, V2(ROUGE-L) or BERTScore")
        return TextMeasure(form.name, form, form.part, alias=alias)

    @property
    def key(self) -> str:
        """The measure, with the random texts and upper bounds of normalised ones if they are not the usual ones."""
        return f"{self.base}{_listed(self.options)}"

    @property
    def expects(self) -> bool:
        """True if the measure needs the expected score of random texts."""
        return self.normal in ("V1", "V2", "E")

    @property
    def lower(self) -> bool:
        """True if a lower score is better. For normalised measures, higher is always better."""
        return self.form.lower and self.normal in ("", "E")

    @property
    def ends(self) -> Ends:
        """The lowest and the highest score of any text, each None if it is unknown."""
        return NormalisedTextForm(self.form, self.normal).range if self.normal else self.form.range

    def scoring(self, options: TextOptions) -> TextOptions:
        """Return the options of the scorer: words and references."""
        return replace(options, **dict(self.form.options))

    def bounds(self, options: TextOptions) -> TextOptions:
        """Return the options with random texts and upper bounds."""
        given = {"chance" if name == "random" else name: value for name, value in self.options}
        if given.get("chance") == "keywords":
            if self.form.chance != "keywords":
                raise CalipersError(f"{self.named()}: random=keywords is for BERTScore")
            given["chance"] = None
        if "upper" in given:
            given["upper"] = str(given["upper"])
        return replace(self.scoring(options), **given)

    def named(self, base: str | None = None) -> str:
        """Return the measure's name, with another name for the base if one is given.

        >>> text_measure("V2(BERTScore(part=recall))").named("BERTScore(roberta-large L17)")
        'V2(BERTScore(roberta-large L17, part=recall))'
        """
        if self.alias:
            return self.alias
        plain = base or self.base
        if self.part != self.form.parts[-1]:
            plain = f"{plain[:-1]}, part={self.part})" if plain.endswith(")") else f"{plain}(part={self.part})"
        return f"{self.normal}({plain}{_listed(self.options)})" if self.normal else plain


def _listed(options: tuple[tuple[str, Any], ...]) -> str:
    return "".join(f", {name}={value}" for name, value in options)


class AskedMeasures(Record):
    """Measures of texts, of retrieved documents, and scores of other tools."""

    texts: tuple[TextMeasure, ...]
    rankings: Mapping[str, Any]  # by their names, as they were asked for
    others: tuple[str, ...]  # columns of scores
    lower: tuple[str, ...]  # those of them for which smaller values are better
    order: tuple[int, ...]  # the place of each, among texts, rankings and others side by side


def asked_measures(names: MeasuresLike, other_scores: Collection[str] = ()) -> AskedMeasures:
    """Split measures into measures of texts, measures of rankings, and scores of other tools.

    Columns of scores are tried last, by their exact names. A name in quotes is a column.

    >>> found = asked_measures(["EM,nDCG(gain=exp)@10 V2(F1)", "V2(AP)", "latency(lower=true)"], {"latency"})
    >>> [each.named() for each in found.texts], list(found.rankings), found.others, found.lower
    (['EM', 'V2(F1)'], ['nDCG(gain=exp)@10', 'V2(AP)'], ('latency',), ('latency',))
    """
    texts: dict[TextMeasure, None] = {}
    rankings: dict[str, Any] = {}
    others: dict[str, bool] = {}
    order: dict[tuple[int, Any], None] = {}  # the kind and the measure
    alone = isinstance(names, str | Measure | Declaration) or callable(names)
    for given in [names] if alone else names:  # type: ignore[union-attr]
        whole = isinstance(given, str) and given in other_scores and not _is_known(given)
        for typed in [given] if whole or not isinstance(given, str) else typed_names(given):
            column = _column(typed, other_scores)
            try:
                if column is not None and column[1]:
                    raise UnknownName(str(typed))
                for name, measure in parse_all(typed):
                    if measure.reads == "texts":
                        is_alias = isinstance(typed, str) and bool(split_alias(typed)[0])
                        found = TextMeasure.of(measure, name if is_alias else "")
                        texts[found] = order[0, found] = None
                    else:
                        if name in rankings and rankings[name] != typed:
                            raise CalipersError(f"two measures are called '{name}': each needs its own name")
                        rankings[name], order[1, name] = typed, None
            except CalipersError as unknown:
                if column is None:
                    raise _with_columns(unknown, typed, other_scores) from None
                others[column[0]] = column[2]
                order[2, column[0]] = None
    if not (texts or rankings or others):
        raise CalipersError("no measure is named, such as ROUGE-1, V2(ROUGE-L) or BERTScore")
    for alias, count in Counter(each.alias for each in texts if each.alias).items():
        if count > 1 or alias in rankings:
            raise CalipersError(f"two measures are called '{alias}': each needs its own name")
    if same := {each.named() for each in texts}.union(rankings).intersection(others):
        name = sorted(same)[0]
        raise CalipersError(f"the data have a column '{name}', too: give the measure another name, as in mine={name}")
    places = {each: place for place, each in enumerate(sorted(order, key=lambda each: each[0]))}
    lower = tuple(name for name in others if others[name])
    return AskedMeasures(tuple(texts), rankings, tuple(others), lower, tuple(places[each] for each in order))


def _is_known(name: str) -> bool:
    try:
        parse_all(name)
    except CalipersError:
        return False
    return True


_COLUMN = re.compile(r"""(?P<quote>["']?)(?P<name>.+?)(?P=quote)(?P<lower>\(\s*lower\s*=\s*(true|false)\s*\))?""", re.I)


def _column(typed: Any, other_scores: Collection[str]) -> tuple[str, bool, bool] | None:
    """Return the column that is meant, True if its name is quoted, and True if smaller values are better."""
    found = _COLUMN.fullmatch(typed) if isinstance(typed, str) else None
    if isinstance(typed, str) and typed in other_scores:
        return typed, False, False
    if found is None or found["name"] not in other_scores:
        return None
    return found["name"], bool(found["quote"]), (found["lower"] or "").lower().replace(" ", "") == "(lower=true)"


def _with_columns(unknown: CalipersError, typed: Any, other_scores: Collection[str]) -> CalipersError:
    """Return the error for an unknown name, with columns of the data that have a similar name."""
    if not isinstance(unknown, UnknownName) or not other_scores:
        return unknown
    return UnknownName(f"{unknown.message}; among the scores of the data, {suggestion(str(typed), other_scores)}")


def text_measure(name: str) -> TextMeasure:
    """Return the measure of texts that a name stands for.

    >>> text_measure("V2(ROUGE-2(part=recall))").named(), text_measure("rouge1").base
    ('V2(ROUGE-2(part=recall))', 'ROUGE-1')
    """
    [(_, measure)] = parse_all(name)
    return TextMeasure.of(measure)


def text_measures(names: MeasuresLike) -> list[TextMeasure]:
    """Return the measures of texts that names stand for. Duplicates are dropped.

    >>> [measure.named() for measure in text_measures("rouge-1, V1(ROUGE-1)")]
    ['ROUGE-1', 'V1(ROUGE-1)']
    """
    found = asked_measures(names)
    if found.rankings:
        raise UnknownName(
            f"'{next(iter(found.rankings))}' is not a measure of texts, such as ROUGE-2, V2(ROUGE-L) or BERTScore"
        )
    return list(found.texts)
