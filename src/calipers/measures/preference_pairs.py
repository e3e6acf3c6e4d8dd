"""Preferences between documents, by trec_eval's names.

    prefs_simp  = fulfilled preferences / preferences
    prefs_pair  = the mean over pairs of documents of (fulfilled preferences / preferences between the two)
    prefs_avgjg = the mean over judges of (fulfilled preferences / preferences of the judge)
    prefs_avgjg_Rnonrel = the same, as if each judge had seen as many non-relevant documents as relevant ones

A preference for a over b is fulfilled where a is retrieved and b is not, or stands below it. `retrieved` says how many
of the two must be retrieved for the pair to count: 0 (all pairs count), 1 (trec_eval's names in _imp) or 2 (in _ret).

Buckley's trec_eval 9 and 10. Carterette, Bennett, Chickering & Dumais, Here or there: preference judgments for
relevance, ECIR 2008.
"""

from __future__ import annotations

from calipers.measures.forms.base import Form
from calipers.measures.forms.pairs import (
    AsManyNonRelevant,
    NumberOfPairs,
    ShareByDocuments,
    ShareByJudge,
    ShareOfPairs,
)
from calipers.measures.parameters import Parameter
from calipers.measures.registry import alias, measure

RETRIEVED = Parameter(
    "The number of documents of a pair that must be retrieved for the pair to count.", "whole number", 0, (0, 1, 2)
)
FULFILLED = Parameter("Count only preferences that the ranking fulfils.", "flag", False)
AS_PRINTED = Parameter("Count pairs of two documents that are not relevant, too, as trec_eval does.", "flag", False)


@measure("prefs_num", retrieved=RETRIEVED, fulfilled=FULFILLED, reads="preferences", average="sum")
def number_of_preferences(retrieved: int, fulfilled: bool) -> Form:
    """The number of preferences, or of fulfilled preferences."""
    return NumberOfPairs(retrieved, fulfilled)


@measure("prefs_simp", retrieved=RETRIEVED, reads="preferences")
def share_of_preferences(retrieved: int) -> Form:
    """The share of the preferences that are fulfilled."""
    return ShareOfPairs(retrieved)


@measure("prefs_pair", retrieved=RETRIEVED, reads="preferences")
def share_by_documents(retrieved: int) -> Form:
    """The share of fulfilled preferences between two documents, averaged over the pairs of documents."""
    return ShareByDocuments(retrieved)


@measure("prefs_avgjg", retrieved=RETRIEVED, reads="preferences")
def share_by_judge(retrieved: int) -> Form:
    """The share of a judge's preferences that are fulfilled, averaged over the judges."""
    return ShareByJudge(retrieved)


@measure("prefs_avgjg_Rnonrel", retrieved=RETRIEVED.changed(choices=(0, 2)), as_printed=AS_PRINTED, reads="preferences")
def share_with_as_many_non_relevant(retrieved: int, as_printed: bool) -> Form:
    """prefs_avgjg as if each judge had seen as many documents that are not relevant as relevant ones.

    With as_printed=True, pairs of two documents that are not relevant count too, as in trec_eval.
    """
    return AsManyNonRelevant(retrieved, as_printed)


alias("prefs_num_prefs_poss", of="prefs_num")
alias("prefs_num_prefs_ful", of="prefs_num", fulfilled=True)
alias("prefs_num_prefs_ful_ret", of="prefs_num", fulfilled=True, retrieved=2)
for _name in ("prefs_simp", "prefs_pair", "prefs_avgjg"):
    alias(f"{_name}_ret", of=_name, retrieved=2)
    alias(f"{_name}_imp", of=_name, retrieved=1)
alias("prefs_avgjg_Rnonrel_ret", of="prefs_avgjg_Rnonrel", retrieved=2)
