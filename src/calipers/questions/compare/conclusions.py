"""Sentences that summarise a comparison, one per measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from calipers.results.tables import LEAST_P
from calipers.support.plurals import counted, plural_of, verb

if TYPE_CHECKING:
    from calipers.questions.compare.comparison import Comparison

_CORRECTED = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "not corrected"}
_TOGETHER = {"tukey": "Tukey's HSD", "dunnett": "Dunnett"}  # tests that need no correction


def conclusions(compared: Comparison) -> list[str]:
    """Return one sentence per measure about the pair that was compared, or about the clearest of several pairs.

    With several pairs the sentence also has the number of pairs that differ. A difference has the same sign as in the
    table of pairs.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    >>> conclusions(cal.compare(scores))
    ['new beats old by 0.397 [0.382, 0.411], p < 0.0001, Holm']
    """
    several = len(compared.measures) > 1
    found = [(f"{name}: " if several else "") + _conclusion(compared, m) for m, name in enumerate(compared.measures)]
    return found + ([_equivalence(compared)] if "equivalence" in compared.metadata else [])


def _equivalence(compared: Comparison) -> str:
    """Return how many pairs are different, equal within the margin, or undecided."""
    verdicts = [verdict for row in compared.verdicts for verdict in row]
    about = compared.metadata
    return (
        f"two one-sided t tests: {verdicts.count('different')} different, {verdicts.count('equal')} equal within "
        f"{about['equivalence']:g}, {verdicts.count('undecided')} undecided; {about['level']:.4g} intervals"
    )


def _conclusion(compared: Comparison, m: int) -> str:
    difference, p = compared.outcomes[m].difference, compared.p_adjusted[m]
    significant = compared.significant[m]
    pairs, found = len(difference), int(significant.sum())
    test, unit = compared.metadata["test"], compared.metadata.get("unit", "query")
    known = ~np.isnan(p)
    if pairs == 1 and not known[0] and compared.outcomes[m].n[0] > 1:
        a, b = compared.pairs[0]
        return f"{a} and {b} differ by {difference[0]:.3f} on each {unit}, about which the {test} test says nothing"
    if not known.any():
        return (
            f"no pair can be tested: their differences are the same on all {plural_of(unit)}, or fewer than two "
            f"{plural_of(unit)} are defined for both systems"
        )
    clearest = int(np.lexsort((-np.abs(difference), np.where(known, p, np.inf)))[0])
    sentence = _pair(compared, m, clearest)
    if pairs == 1:
        return sentence
    if not found:
        return f"none of {counted(pairs, 'pair')} differs significantly; {sentence}"
    first = "; the clearest: " if found > 1 else ": "
    return f"{found} of {counted(pairs, 'pair')} {verb(found, 'differs', 'differ')} significantly{first}{sentence}"


def _pair(compared: Comparison, m: int, pair: int) -> str:
    outcome = compared.outcomes[m]
    a, b = compared.pairs[pair]
    difference, low, high = (float(each[pair]) for each in (outcome.difference, outcome.low, outcome.high))
    verdict = f"{a} does not differ significantly from {b}:"
    if compared.significant[m, pair]:
        is_better = float(compared.improvement(m)[pair]) > 0
        verdict = f"{a} is worse than {b}:" if not is_better else f"{a} beats {b}" + (" by" if difference > 0 else ":")
    interval = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    return f"{verdict} {difference:.3f}{interval}{_how(compared, m, pair)}"


def _how(compared: Comparison, m: int, pair: int) -> str:
    test, correction = compared.metadata["test"], compared.metadata["correction"]
    if test == "bayes":
        return f", posterior probability of being better {1 - float(compared.p_adjusted[m, pair]):.3f}"
    return f", {p_text(float(compared.p_adjusted[m, pair]))}, {_TOGETHER.get(test) or _CORRECTED[correction]}"


def p_text(p: float) -> str:
    """Format a p value for a sentence.

    >>> p_text(0.0201), p_text(0.0004), p_text(0.00001)
    ('p = 0.020', 'p = 0.0004', 'p < 0.0001')
    """
    if p < LEAST_P:
        return f"p < {LEAST_P:.4f}"
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.4f}"
