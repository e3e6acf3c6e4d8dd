"""Which chance makes measures of texts agree best with people: all measures under all kinds of random texts.

For each measure, each kind of random text (`calipers.texts.random_texts`) and each normalisation, Kendall's tau-b with
people at three levels, beside that of the measure itself. The gain is the difference of the two, its interval and
standard error from resampled documents, the same for both; its p-value is that of gain / standard error under
a normal distribution, as resampling has no small ones. There are hundreds of such gains, so that

    - p-values are adjusted for all of them (Holm);
    - the best normalisation is chosen on one half of the documents and looked at on the other, over random splits: what
      it gains where it was chosen is flattered, what it gains on the other half is not.

Feng, Upper and expected value normalization for evaluating information retrieval and text generation systems, Auburn
University 2023, asks the question for one chance.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers import CalipersError, Table
from calipers.lists import Floats
from calipers.questions.metaeval import DIGITS, LEVELS, both_defined, correlations_under, drawn_documents, interval
from calipers.results import Cell
from calipers.statistics import holm
from calipers.support.plurals import counted
from calipers.texts import (
    CHANCES,
    Context,
    Expectation,
    RandomTexts,
    ScoreCache,
    Scorer,
    TextCollection,
    TextMeasure,
    TextOptions,
    TextTask,
    bounded,
    text_measures,
)
from research.study_charts import Charts

if TYPE_CHECKING:
    from calipers.texts import Matcher, Progress

MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L"  # these need no further package and little time
NORMALS = ("V1", "V2")
TEXTS = 5  # random texts for each summary: the errors of single ones average out over documents
SPLITS = 200
COEFFICIENT = "tau-b"
SAME = 1e-9  # a gain that is none


@dataclass(frozen=True, eq=False)
class TextStudy:
    """Correlations under resampled documents: the documents as they are, samples of them, and halves."""

    measures: tuple[str, ...]
    chances: tuple[str, ...]
    aspects: tuple[str, ...]
    levels: tuple[str, ...]
    plain: Floats  # [measure, aspect, level, row]
    normal: Floats  # [measure, chance, normalisation, aspect, level, row]
    samples: int
    splits: int
    options: TextOptions
    alpha: float = 0.05

    @property
    def gains(self) -> Floats:
        """[measure, chance, normalisation, aspect, level, row]."""
        return np.asarray(self.normal - self.plain[:, None, None])

    @property
    def p(self) -> tuple[Floats, Floats]:
        """p-values of the gains, [measure, chance, normalisation, aspect, level]: each alone, and adjusted for all."""
        gain = self.gains
        resampled = gain[..., 1 : 1 + self.samples]
        deviation = np.sqrt(_means((resampled - _means(resampled)[..., None]) ** 2))
        point = gain[..., 0]
        there = ~np.isnan(point) & (np.nan_to_num(deviation) > SAME)
        alone = np.where(np.isnan(point), np.nan, 1.0)
        alone[there] = [math.erfc(abs(z) / math.sqrt(2)) for z in (point[there] / deviation[there]).tolist()]
        adjusted = alone.copy()
        adjusted[there] = holm(alone[there])
        return alone, adjusted

    def looks(self) -> int:
        """How many gains there are that could differ from 0."""
        return int((~np.isnan(self.gains[..., 0])).sum())

    # -- tables --------------------------------------------------------------------------------------------

    def tables(self) -> dict[str, tuple[str, Table]]:
        """By name: a heading and the table."""
        return {
            "by-chance": ("Gain over the measures themselves, by kind of random text", self.by_chance()),
            "chosen": ("The best normalisation, chosen on one half of the documents", self.chosen()),
            "by-measure": ("Gain of V2 by measure, the mean over what people judged", self.by_measure()),
            "plain": ("Agreement of the measures themselves", self.agreement()),
            "gains": ("All gains", self.all_gains()),
        }

    def by_chance(self) -> Table:
        """One row per level, kind of random text and normalisation: the mean gain over measures and aspects."""
        point, (_, adjusted) = self.gains[..., 0], self.p
        rows: list[tuple[Cell, ...]] = []
        for lv, level in enumerate(self.levels):
            for c, chance in enumerate(self.chances):
                for n, normal in enumerate(NORMALS):
                    some, sure = point[:, c, n, :, lv], adjusted[:, c, n, :, lv] < self.alpha
                    low, high = self._interval(self.gains[:, c, n, :, lv])
                    rows.append(
                        (
                            level,
                            chance,
                            normal,
                            _mean(some),
                            low,
                            high,
                            int((some > SAME).sum()),
                            int((some < -SAME).sum()),
                            int((sure & (some > 0)).sum()),
                            int((sure & (some < 0)).sum()),
                        )
                    )
        columns = (
            "level",
            "chance",
            "normalised",
            "mean gain",
            "low",
            "high",
            "up",
            "down",
            "surely up",
            "surely down",
        )
        return Table(columns, tuple(rows))

    def _interval(self, gains: Floats) -> tuple[float, float]:
        """Of the mean gain over measures and aspects, from resampled documents."""
        flat = gains[..., 1 : 1 + self.samples].reshape(-1, self.samples)
        flat = flat[~np.isnan(flat).all(axis=1)]
        if not flat.size:
            return math.nan, math.nan
        return interval(_means(flat.T))

    def chosen(self) -> Table:
        """One row per level: what the choice of the best normalisation promises, and what it keeps."""
        halves = self.gains[..., 1 + self.samples :]
        rows: list[tuple[Cell, ...]] = []
        for lv, level in enumerate(self.levels):
            own = halves[:, :, :, :, lv].transpose(1, 2, 4, 0, 3)
            own = own.reshape(len(self.chances), len(NORMALS), 2 * self.splits, -1)  # the last: measures and aspects
            mean = np.nan_to_num(_means(own))
            first, second = (mean[:, :, half::2].reshape(-1, self.splits) for half in (0, 1))
            best = first.argmax(axis=0)
            each = np.arange(self.splits)
            counts = np.bincount(best, minlength=len(first))
            most = divmod(int(counts.argmax()), len(NORMALS))
            name = f"{NORMALS[most[1]]}, {self.chances[most[0]]}"
            kept = second[best, each]
            share = float((kept > SAME).mean())
            rows.append((level, name, float(counts.max() / self.splits), _mean(first[best, each]), _mean(kept), share))
        columns = (
            "level",
            "chosen most often",
            "share of splits",
            "gain where chosen",
            "gain on the other half",
            "splits with a gain there",
        )
        return Table(columns, tuple(rows))

    def by_measure(self) -> Table:
        """One row per level and measure: the mean gain of V2 over aspects, under each kind of random text."""
        point = self.gains[:, :, NORMALS.index("V2"), :, :, 0]
        rows: list[tuple[Cell, ...]] = [
            (level, name, *(_mean(point[m, c, :, lv]) for c in range(len(self.chances))))
            for lv, level in enumerate(self.levels)
            for m, name in enumerate(self.measures)
        ]
        return Table(("level", "measure", *self.chances), tuple(rows))

    def agreement(self) -> Table:
        """One row per level and measure: its own tau-b with each aspect."""
        rows: list[tuple[Cell, ...]] = [
            (level, name, *(float(self.plain[m, a, lv, 0]) for a in range(len(self.aspects))))
            for lv, level in enumerate(self.levels)
            for m, name in enumerate(self.measures)
        ]
        return Table(("level", "measure", *self.aspects), tuple(rows))

    def all_gains(self) -> Table:
        """One row per gain."""
        alone, adjusted = self.p
        gain = self.gains
        rows: list[tuple[Cell, ...]] = []
        for place in np.ndindex(gain.shape[:-1]):
            m, c, n, a, lv = place
            low, high = interval(gain[place][1 : 1 + self.samples])
            rows.append(
                (
                    self.measures[m],
                    self.chances[c],
                    NORMALS[n],
                    self.aspects[a],
                    self.levels[lv],
                    float(self.plain[m, a, lv, 0]),
                    float(self.normal[place][0]),
                    float(gain[place][0]),
                    low,
                    high,
                    float(alone[place]),
                    float(adjusted[place]),
                )
            )
        columns = (
            "measure",
            "chance",
            "normalised",
            "human",
            "level",
            "tau-b",
            "normalised tau-b",
            "gain",
            "low",
            "high",
            "p",
            "adjusted p",
        )
        return Table(columns, tuple(rows))

    def charts(self) -> Charts:
        return {"gains": ("Gain of each normalisation over the measures themselves", lambda: gain_chart(self))}

    def words(self) -> list[str]:
        """What the tables are, and what they come to, in Markdown."""
        looks = self.looks()
        point, (_, adjusted) = self.gains[..., 0], self.p
        up, down = (int(((adjusted < self.alpha) & (sign * point > 0)).sum()) for sign in (1, -1))
        return [
            f"Kendall's tau-b with people, normalised less plain: {counted(len(self.measures), 'measure')} x "
            f"{counted(len(self.chances), 'kind')} of random text x {len(NORMALS)} normalisations x "
            f"{counted(len(self.aspects), 'human judgment')} x {counted(len(self.levels), 'level')}, {looks} looks. "
            "One in twenty would be significant by chance; after Holm's correction for all of them, "
            f"{counted(up, 'gain')} and {counted(down, 'loss')} are left (*surely* up or down).",
            "",
            f"Random texts: {self.options.texts} for each summary where they are sampled, seed {self.options.seed}; "
            f"upper bound: {self.options.upper}. Intervals: {self.samples} resamples of documents. *Chosen*: the "
            "normalisation with the best mean gain on one half of the documents, over "
            f"{self.splits} random splits.",
        ]


@dataclass(frozen=True, eq=False)
class NormalisedTexts:
    """Summaries under measures, as they are and between each kind of random text and the upper bound.

    More is better everywhere.
    """

    summaries: TextCollection
    measures: tuple[str, ...]
    chances: tuple[str, ...]
    plain: Floats  # [measure, system, document]
    normal: Floats  # [measure, chance, normalisation, system, document]
    options: TextOptions

    def of_systems(self, systems: Sequence[str]) -> NormalisedTexts:
        """Those of some systems, beside the random texts that were drawn for all."""
        place = [self.summaries.systems.index(system) for system in systems]
        return replace(
            self,
            summaries=self.summaries.of_systems(systems),
            plain=self.plain[:, place],
            normal=self.normal[..., place, :],
        )

    def study(self, aspects: Sequence[str] = (), samples: int = 1000, splits: int = SPLITS) -> TextStudy:
        """The agreement of all of them with what people said, under resampled documents."""
        judged = _judged(self.summaries, aspects)
        weights = _weights(len(self.summaries.documents), samples, splits, self.options.seed)
        shape = (len(judged), len(LEVELS), len(weights))
        plain, normal = (np.empty((*each.shape[:-2], *shape)) for each in (self.plain, self.normal))
        for place in np.ndindex(plain.shape[:-3]):
            plain[place] = _taus(self.plain[place], judged.values(), weights)
        for place in np.ndindex(normal.shape[:-3]):
            normal[place] = _taus(self.normal[place], judged.values(), weights)
        return TextStudy(
            self.measures, self.chances, tuple(judged), LEVELS, plain, normal, samples, splits, self.options
        )


def text_study(
    summaries: TextCollection,
    measures: str | Sequence[str] = MEASURES,
    chances: Sequence[str] = CHANCES,
    options: TextOptions | None = None,
    *,
    aspects: Sequence[str] = (),
    samples: int = 1000,
    splits: int = SPLITS,
    **scoring: Any,
) -> TextStudy:
    """All measures under all kinds of random texts, against what people said at three levels.

    scoring: matcher, cache and progress, as for `normalised_texts`.
    """
    _judged(summaries, aspects)  # before anything takes long
    return normalised_texts(summaries, measures, chances, options, **scoring).study(aspects, samples, splits)


def normalised_texts(
    summaries: TextCollection,
    measures: str | Sequence[str] = MEASURES,
    chances: Sequence[str] = CHANCES,
    options: TextOptions | None = None,
    *,
    matcher: Matcher | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> NormalisedTexts:
    """All measures under all kinds of random texts.

    A matcher is for BERTScore. cache: a folder that keeps the scores of texts, so that
    a study that was stopped goes on where it was.
    """
    base = options or TextOptions(texts=TEXTS)
    asked = text_measures(measures if isinstance(measures, str) else list(measures))
    _check(asked, chances, summaries)
    if matcher is not None and matcher.baseline is not None:
        raise CalipersError("rescaled scores can be negative, where V1 and V2 mean nothing; leave the baseline out")
    shape = len(summaries.systems), len(summaries.documents)
    plain = np.empty((len(asked), *shape))
    normal = np.empty((len(asked), len(chances), len(NORMALS), *shape))
    kept = None if cache is None else ScoreCache(cache)
    context = Context(summaries, base, matcher)
    drawn = RandomTexts(summaries, base)
    names = []
    for m, measure in enumerate(asked):
        sign = -1 if measure.form.lower else 1
        scorer = _Remembering(measure.form.prepare(context), kept)
        for c, chance in enumerate(chances):
            own = replace(context, options=replace(base, chance=chance))
            found = bounded(own, measure.form, scorer, drawn, True, True)
            if c == 0:
                names.append(measure.named(found.name))
                plain[m] = sign * found.value(measure)
            for n, name in enumerate(NORMALS):
                normal[m, c, n] = found.value(replace(measure, normal=name))
            if progress is not None:
                progress(1)
    return NormalisedTexts(summaries, tuple(names), tuple(chances), plain, normal, base)


def _judged(summaries: TextCollection, aspects: Sequence[str]) -> dict[str, Floats]:
    found = {aspect: summaries.judgments(aspect) for aspect in aspects or summaries.human}
    if not found:
        raise CalipersError("has no human scores", file=summaries.name)
    return found


def _check(asked: Sequence[TextMeasure], chances: Sequence[str], summaries: TextCollection) -> None:
    for measure in asked:
        if measure.normal:
            raise CalipersError(f"{measure.named()}: the study normalises measures itself; name {measure.base}")
        if measure.form.chance is None:
            raise CalipersError(f"{measure.named()} has no expected score, as random texts have none under it")
        if measure.base == "ROUGE-Lsum" and "words" in chances:
            raise CalipersError("ROUGE-Lsum: words drawn at random form no sentences; take ROUGE-L")
    for chance in chances:
        if chance not in CHANCES:
            raise CalipersError(f"unknown chance '{chance}'; there are {', '.join(CHANCES)}")
    if len(summaries.documents) < 4 or len(summaries.systems) < 3:
        raise CalipersError("a study takes at least 4 documents and 3 systems", file=summaries.name)


def _weights(documents: int, samples: int, splits: int, seed: int) -> Floats:
    """How often each document counts: as it is, in samples, and in the halves of splits, one after the other."""
    random = np.random.default_rng(seed)
    drawn = drawn_documents(random, documents, samples)
    halves = np.zeros((splits, 2, documents))
    for split in range(splits):
        order = random.permutation(documents)
        halves[split, 0, order[: documents // 2]] = 1
        halves[split, 1, order[documents // 2 :]] = 1
    return np.concatenate([np.ones((1, documents)), drawn, halves.reshape(-1, documents)])


def _taus(values: Floats, human: Any, weights: Floats) -> Floats:
    """[aspect, level, row]."""
    found = []
    for judged in human:
        x, y = both_defined(np.round(values, DIGITS), judged)  # sums in another order are no difference
        found.append([correlations_under(x, y, weights, level, COEFFICIENT) for level in LEVELS])
    return np.array(found)


def _means(values: Floats) -> Floats:
    """Along the last axis, of what is defined."""
    there = (~np.isnan(values)).sum(axis=-1)
    total = np.where(np.isnan(values), 0.0, values).sum(axis=-1)
    return np.asarray(np.divide(total, there, out=np.full(there.shape, np.nan), where=there > 0))


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else math.nan


Given = tuple[tuple[str, ...], str | None]  # references, source


def _given(task: TextTask) -> Given:
    """What a text of this task is scored against."""
    return task.document.references, task.document.source


class _Remembering(Scorer):
    """A scorer that scores no text of a document twice: kinds of random texts share the candidates."""

    def __init__(self, scorer: Scorer, kept: ScoreCache | None) -> None:
        self._scorer, self._kept, self.shown = scorer, kept, scorer.shown
        self._known: dict[tuple[Given, str], Floats] = {}

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        wanted = []
        for task in tasks:
            given = _given(task)
            missing = tuple(text for text in dict.fromkeys(task.texts) if (given, text) not in self._known)
            if missing:
                wanted.append(replace(task, texts=missing, systems=()))
        made = self._scorer.scores(wanted) if self._kept is None else self._kept.scores(self._scorer, wanted)
        for task, found in zip(wanted, made, strict=True):
            self._known.update({(_given(task), t): f for t, f in zip(task.texts, found, strict=True)})
        return [np.array([self._known[_given(task), text] for text in task.texts]) for task in tasks]

    def attainable(self, task: TextTask, words: Any) -> Floats | None:
        return self._scorer.attainable(task, words)

    def knows(self, chance: str) -> bool:
        return self._scorer.knows(chance)

    def expected(self, tasks: Sequence[TextTask], options: TextOptions) -> list[Expectation]:
        return self._scorer.expected(tasks, options)


def gain_chart(study: TextStudy) -> Any:
    """The mean gain under each kind of random text, with its interval: one panel per level."""
    from calipers.plot import Chart
    from calipers.plot.specifications import COLOURS, DASHED, category, layer, mark, quantity

    columns = ("level", "chance", "normalised", "gain", "low", "high")
    rows = [dict(zip(columns, row[:6], strict=True)) for row in study.by_chance().rows if row[3] == row[3]]
    rows = [{**row, "what": f"{row['normalised']}, {row['chance']}"} for row in rows]
    y = category("what", title=None, sort=None, axis={"labelLimit": 300})
    zero = layer(DASHED, x={"datum": 0})
    low = quantity("low", title="mean gain in tau-b")
    bars = layer(mark("rule", color=COLOURS[0]), x=low, x2={"field": "high"}, y=y)
    points = layer(mark("circle", size=60, color=COLOURS[0], opacity=1), x=quantity("gain"), y=y)
    return Chart(
        {
            "data": {"values": rows},
            "facet": category("level", title=None, sort=list(study.levels)),
            "spec": {"layer": [zero, bars, points], "width": 220},
        }
    )
