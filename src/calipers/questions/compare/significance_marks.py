"""Tables for papers: means of systems, the best in bold, and marks of significant differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from calipers.errors import CalipersError
from calipers.questions.compare.comparison import LETTERS, Comparison, baseline_names, compare
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import LEAST_P, Cell, PValue, Table
from calipers.support.choices import ComparisonTest, Correction
from calipers.support.plurals import counted, plural_of, verb

MOST = 26  # largest number of systems that get letters
NAMES = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon's test",
    "sign": "sign test",
    "randomization": "randomisation test",
}


def mark_significance(
    scores: ScoresLike,
    *,
    baseline: str | Sequence[str] | None = None,
    test: ComparisonTest = "t",
    correction: Correction | None = "holm",
    alpha: float = 0.05,
    stars: bool = False,
    second_best: bool = False,
) -> Table:
    """Return the means of the systems as a paper prints them.

    With a baseline, † and ‡ mark systems that are significantly better or worse than the baseline. With `stars` (for
    terminals), * marks systems that differ significantly from the baseline, and the means show the direction. With
    several baselines, each mark is followed by the number of its baseline, and a note lists the numbers. The correction
    is for all pairs of a system and a baseline together.

    Without a baseline, each system has a letter. The letters after a mean are those of the systems that it is
    significantly better than. More than 26 systems get no letters, and a note says so. The best mean of each measure is
    in bold, and with `second_best` the second best is underlined.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    >>> print(mark_significance(scores).to_markdown(), end="")
    |  | system | AP |
    | --- | --- | ---: |
    | a | new | **0.8000**<sup>b</sup> |
    | b | old | 0.4033 |
    <BLANKLINE>
    Letters: significantly better than these systems (paired t test, holm, p < 0.05).
    """
    scores = as_scores(scores)
    baselines = baseline_names(baseline)
    table = scores.best_in_bold(scores.mean()).changed(second_best=second_best)
    if len(scores.systems) < 2 or len(scores.queries) < 2:
        if baselines:
            raise CalipersError("a baseline needs another system, and at least two queries")
        return table
    if not baselines and len(scores.systems) > MOST:
        why = (
            f"No letters of significance: {counted(len(scores.systems), 'system')}, and letters are for {MOST} at most."
        )
        return table.changed(notes=(f"{why} Name a baseline to have marks.",))
    found = compare(scores, test=test, correction=correction, baseline=baselines, alpha=alpha, warn=False)
    about = f"({NAMES.get(test, test)}, {found.metadata['correction']}, p < {alpha:g})"
    if baselines:
        marks = _against(found, baselines, stars)
        numbered = [f"{name} ({i})" for i, name in enumerate(baselines, 1)] if len(baselines) > 1 else baselines
        of_baselines = " and ".join(numbered)
        sentence = f"†, ‡: significantly better, worse than {of_baselines} {about}."
        if stars:
            differs = "*: differs" if marks else "No system differs"
            sentence = f"{differs} significantly from {of_baselines} {about}."
        return table.changed(marks=marks, notes=(sentence, *found.limits))
    rows: list[tuple[Cell, ...]] = [(LETTERS[s], *row) for s, row in enumerate(table.rows)]
    return table.changed(
        columns=("", *table.columns),
        rows=tuple(rows),
        marks={(row, column + 1): mark for (row, column), mark in _letters(found).items()},
        notes=(f"Letters: significantly better than these systems {about}.", *found.limits),
    )


def means_with_p(scores: ScoresLike, *, baseline: str | Sequence[str], test: ComparisonTest = "t") -> Table:
    """Return the means and, after each mean, the p value of its difference from the baseline's mean.

    The p values are adjusted by Holm's method. With several baselines there is one column of p values per baseline.
    The table is meant for programs.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    >>> means_with_p(scores, baseline="old").columns
    ('system', 'AP', 'AP p')
    """
    scores = as_scores(scores)
    baselines = baseline_names(baseline)
    found = compare(scores, test=test, correction="holm", baseline=baselines, warn=False)
    p = {
        (m, system, versus): PValue(found.p_adjusted[m, pair])
        for m in range(len(scores.measures))
        for pair, system, versus, _ in _tested(found, baselines)
    }
    endings = ["p"] if len(baselines) == 1 else [f"p {name}" for name in baselines]
    columns = [name for measure in scores.measures for name in (measure, *(f"{measure} {end}" for end in endings))]
    table = scores.mean()
    rows = []
    for s, (system, *means) in enumerate(table.rows):
        row: list[Cell] = [system]
        for m, mean in enumerate(means):
            row += [mean, *(p.get((m, s, baseline)) for baseline in _places(found, baselines))]
        rows.append(tuple(row))
    return Table(("system", *columns), tuple(rows), table.metadata)


def _against(found: Comparison, baselines: Sequence[str], stars: bool) -> dict[tuple[int, int], str]:
    """Return the marks of the systems that differ from a baseline, by row and column of the table."""
    places = _places(found, baselines)
    marks: dict[tuple[int, int], dict[int, str]] = {}
    for m in range(len(found.measures)):
        for pair, system, versus, sign in _tested(found, baselines):
            if found.significant[m, pair]:
                mark = "*" if stars else "†" if sign * found.improvement(m)[pair] > 0 else "‡"
                number = places.index(versus) + 1
                marks.setdefault((system, m + 1), {})[number] = mark + (str(number) if len(places) > 1 else "")
    return {place: "".join(text for _, text in sorted(of.items())) for place, of in marks.items()}


def _tested(found: Comparison, baselines: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield each pair with its system, its baseline and the sign of their difference.

    A pair of two baselines was tested once and appears twice, because each of the two is a baseline of the other.
    """
    places = _places(found, baselines)
    for pair, (a, b) in enumerate(zip(found.a.tolist(), found.b.tolist(), strict=True)):
        yield pair, a, b, 1
        if a in places:
            yield pair, b, a, -1


def _places(found: Comparison, baselines: Sequence[str]) -> list[int]:
    return [found.systems.index(name) for name in baselines]


def _letters(found: Comparison) -> dict[tuple[int, int], str]:
    """Return the letters of the systems that each system beats under each measure."""
    marks: dict[tuple[int, int], list[str]] = {}
    for m, pair in np.argwhere(found.significant).tolist():
        a, b = int(found.a[pair]), int(found.b[pair])
        better, worse = (a, b) if found.improvement(m)[pair] > 0 else (b, a)
        marks.setdefault((better, m + 1), []).append(LETTERS[worse])
    return {place: "".join(sorted(letters)) for place, letters in marks.items()}


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
