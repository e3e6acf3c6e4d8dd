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

from calipers.errors import CalipersError
from calipers.measures.forms.base import Form
from calipers.measures.forms.pairs import (
    AsManyNonRelevant,
    NumberOfPairs,
    ShareByDocuments,
    ShareByJudge,
    ShareOfPairs,
)
from calipers.measures.registry import alias, measure


@measure("prefs_num", retrieved=0, fulfilled=False, reads="preferences", average="sum")
def number_of_preferences(retrieved: int, fulfilled: bool) -> Form:
    """How many preferences there are, or how many of them are fulfilled."""
    return NumberOfPairs(_counted("prefs_num", retrieved), fulfilled)


@measure("prefs_simp", retrieved=0, reads="preferences")
def share_of_preferences(retrieved: int) -> Form:
    """The share of the preferences that are fulfilled."""
    return ShareOfPairs(_counted("prefs_simp", retrieved))


@measure("prefs_pair", retrieved=0, reads="preferences")
def share_by_documents(retrieved: int) -> Form:
    """The share of fulfilled preferences between two documents, averaged over the pairs of documents."""
    return ShareByDocuments(_counted("prefs_pair", retrieved))


@measure("prefs_avgjg", retrieved=0, reads="preferences")
def share_by_judge(retrieved: int) -> Form:
    """The share of a judge's preferences that are fulfilled, averaged over the judges."""
    return ShareByJudge(_counted("prefs_avgjg", retrieved))


@measure("prefs_avgjg_Rnonrel", retrieved=0, as_printed=False, reads="preferences")
def share_with_as_many_non_relevant(retrieved: int, as_printed: bool) -> Form:
    """prefs_avgjg as if each judge had seen as many documents that are not relevant as relevant ones.

    With as_printed=True as trec_eval prints it, which also counts pairs of two documents that are not relevant.
    """
    if retrieved == 1:
        raise CalipersError("retrieved=1 of 'prefs_avgjg_Rnonrel' is neither 0 nor 2")
    return AsManyNonRelevant(_counted("prefs_avgjg_Rnonrel", retrieved), as_printed)


def _counted(name: str, retrieved: int) -> int:
    if retrieved not in (0, 1, 2):
        raise CalipersError(f"retrieved={retrieved} of '{name}' is not 0, 1 or 2")
    return int(retrieved)


alias("prefs_num_prefs_poss", of="prefs_num")
alias("prefs_num_prefs_ful", of="prefs_num", fulfilled=True)
alias("prefs_num_prefs_ful_ret", of="prefs_num", fulfilled=True, retrieved=2)
for _name in ("prefs_simp", "prefs_pair", "prefs_avgjg"):
    alias(f"{_name}_ret", of=_name, retrieved=2)
    alias(f"{_name}_imp", of=_name, retrieved=1)
alias("prefs_avgjg_Rnonrel_ret", of="prefs_avgjg_Rnonrel", retrieved=2)
