"""Score texts under one measure, with expected scores and upper bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.forms.texts import TextForm
from calipers.texts.bounded_scores import BoundedScores, Progress
from calipers.texts.collection import TextCollection
from calipers.texts.options import TextOptions
from calipers.texts.random_texts import DrawnTexts, RandomTexts, random_text_lengths
from calipers.texts.registry import Context, Expectation, Scorer, TextTask
from calipers.texts.tokens import tokenizer_of


def bounded(
    context: Context,
    form: TextForm,
    scorer: Scorer,
    drawn: RandomTexts,
    expects: bool,
    upper: bool,
    progress: Progress | None = None,
    scored: Floats | None = None,
) -> BoundedScores:
    """Score all texts under one measure, with expected scores if `expects` and upper bounds if `upper`.

    scored: the scores, [system, document, part], if they are known.
    """
    collection, options = context.collection, context.options
    shape = (len(collection.systems), len(collection.documents), len(form.parts))
    share = form.share or _itself
    parts, ideal = np.full(shape, np.nan) if scored is None else scored, np.ones(shape)
    tasks, rows = _tasks(collection)
    if scored is None:
        for (present, d), found in zip(rows, scorer.scores(tasks, progress), strict=True):
            parts[present, d] = found
    unknown = upper and options.upper == "attainable" and not _attainable(scorer, tasks, rows, options, ideal)
    if upper and options.upper == "human":
        for (present, d), most in zip(rows, human_ceiling(scorer, tasks, share), strict=True):
            ideal[present, d] = most
    bounds: dict[str, Any] = {}
    if expects:
        chance = options.chance or form.chance or ""
        given = (
            scorer.expected(tasks, options)
            if scorer.knows(chance)
            else _scored(context, scorer, tasks, chance, drawn, share)
        )
        bounds = _gathered(shape, rows, given, form.share) | {"chance": chance}
    shares = None if form.share is None else share(parts)
    return BoundedScores(
        scorer.shown or form.name,
        parts,
        ideal,
        notes=scorer.notes,
        names=form.parts,
        shares=shares,
        signature=scorer.signature,
        unknown_upper=unknown,
        **bounds,
    )


def _itself(scores: Floats) -> Floats:
    return scores


def _tasks(collection: TextCollection) -> tuple[list[TextTask], list[tuple[list[int], int]]]:
    """Return the texts about each document, and the systems that wrote them."""
    tasks, rows = [], []
    for d, document in enumerate(collection.documents):
        present = [s for s, row in enumerate(collection.texts) if row[d] is not None]
        if present:
            texts = tuple(collection.texts[s][d] or "" for s in present)
            tasks.append(TextTask(document, texts, tuple(collection.systems[s] for s in present)))
            rows.append((present, d))
    return tasks, rows


def _attainable(
    scorer: Scorer,
    tasks: Sequence[TextTask],
    rows: Sequence[tuple[list[int], int]],
    options: TextOptions,
    ideal: Floats,
) -> bool:
    """Fill in attainable upper bounds. Returns False if they are not known."""
    words = tokenizer_of(options.tokenizer, options.stem)
    for task, (present, d) in zip(tasks, rows, strict=True):
        lengths = random_text_lengths(task.texts, task.document, words, options)
        own = np.array([len(words(text)) or int(n) for text, n in zip(task.texts, lengths, strict=True)])
        if (most := scorer.attainable(task, own)) is None:
            return False
        ideal[present, d] = most
    return True


def human_ceiling(
    scorer: Scorer, tasks: Sequence[TextTask], share: Callable[[Floats], Floats] = _itself
) -> list[Floats]:
    """Return the mean score of each reference against the others: [part] for each task."""
    held_out = []
    for task in tasks:
        known = task.document.references
        if len(known) < 2:
            raise CalipersError(f"{task.document} has one reference; the human ceiling takes each against the others")
        held_out += [
            TextTask(replace(task.document, references=known[:i] + known[i + 1 :]), (text,))
            for i, text in enumerate(known)
        ]
    scores = iter(scorer.scores(held_out))
    return [np.mean([share(next(scores)[0]) for _ in task.document.references], axis=0) for task in tasks]


def _scored(
    context: Context,
    scorer: Scorer,
    tasks: Sequence[TextTask],
    chance: str,
    drawn: RandomTexts,
    share: Callable[[Floats], Floats],
) -> list[Expectation]:
    """Score random texts one by one, each different text of a document once."""
    drawn_texts = [drawn.drawn_for(chance, task.document, task.texts) for task in tasks]
    known = [
        {text: i for i, text in enumerate(dict.fromkeys(t for g in each.groups for t in g))} for each in drawn_texts
    ]
    random = [TextTask(task.document, tuple(texts)) for task, texts in zip(tasks, known, strict=True)]
    scores = scorer.scores(random) if context.cache is None else context.cache.scores(scorer, random)
    found = []
    for each, place, values in zip(drawn_texts, known, scores, strict=True):
        groups_of = [values[[place[text] for text in texts]] for texts in each.groups]
        mean, error = _weighted_means(groups_of, each)
        shares, share_error = _weighted_means([share(own) for own in groups_of], each)
        found.append(Expectation(mean, error, each.exactness, context.options.texts, shares, share_error))
    return found


def _weighted_means(groups: Sequence[Floats], drawn: DrawnTexts) -> tuple[Floats, Floats]:
    """Return the mean score of the random texts for each summary, and its standard error: [summary, part] each."""
    means, errors = [], []
    for own, weights in zip(groups, drawn.weights, strict=True):
        if weights is None:
            means.append(own.mean(axis=0))
            errors.append(own.std(axis=0, ddof=1) / np.sqrt(len(own)))
        else:
            means.append(weights @ own)
            errors.append(np.zeros(own.shape[1]))
    return np.array(means)[drawn.place], np.array(errors)[drawn.place]


def _gathered(
    shape: tuple[int, ...], rows: Sequence[tuple[list[int], int]], found: Sequence[Expectation], share: object
) -> dict[str, Any]:
    expected, error, shares, share_error = (np.zeros(shape) for _ in range(4))
    for (systems, d), each in zip(rows, found, strict=True):
        expected[systems, d], error[systems, d] = each.mean, each.error
        shares[systems, d] = each.mean if each.share is None else each.share
        share_error[systems, d] = each.error if each.share_error is None else each.share_error
    order = ("exact", "enumerated", "sampled")
    return {
        "expected": expected,
        "expected_error": error,
        "exactness": max((each.exactness for each in found), key=order.index, default="exact"),
        "draws": max((each.draws for each in found), default=0),
        "expected_shares": None if share is None else shares,
        "expected_share_error": None if share is None else share_error,
    }
