"""Declarations of text measures: a name, a function of texts, and properties of its scores.

    @calipers.texts.measure("Name")
    def name(candidate, references, source): ...              one text: a number

    @calipers.texts.measure("Name", batch=True)
    def name(candidates, references, sources): ...            all texts at once: an array

A declared measure can be normalised (U, V1, V2, E), correlated with people, compared and reported, like ROUGE.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.forms.texts import Ends, TextForm
from calipers.measures.parameters import Parameter
from calipers.measures.registry import Declaration, register, written_value
from calipers.texts.rouge_scores import PARTS as PARTS, SEVERAL

if TYPE_CHECKING:
    from calipers.texts.bertscore import Matcher
    from calipers.texts.bounded_scores import Progress
    from calipers.texts.caches import ScoreCache
    from calipers.texts.collection import Document, TextCollection
    from calipers.texts.options import TextOptions

ONE = ("",)  # parts of a measure that is one number
FROM_0_TO_1: Ends = (0.0, 1.0)
REFERENCES = Parameter("Of several references, the best score or the mean.", "word", "max", SEVERAL)
Function = TypeVar("Function", bound=Callable[..., Any])
Needs = Literal["", "references", "source", "judgments"]


@dataclass(frozen=True)
class TextTask:
    """Texts about one document to be scored, with the systems that wrote them (empty for random texts)."""

    document: Document
    texts: tuple[str, ...]
    systems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Context:
    """Texts, options and models from which a scorer is prepared."""

    collection: TextCollection
    options: TextOptions
    matcher: Matcher | None = None
    cache: ScoreCache | None = None  # scores of random texts
    shared: dict[Any, Any] = field(default_factory=dict)  # values that measures of one family compute once


@dataclass(frozen=True)
class Expectation:
    """Expected scores of random texts for each text about a document: [text, part]."""

    mean: Floats
    error: Floats  # standard errors; 0 unless sampled
    exactness: str  # exact, enumerated or sampled
    draws: int = 0  # random texts per text, if sampled
    share: Floats | None = None  # the mean of scores converted to shares of 1, for measures on another scale
    share_error: Floats | None = None


class Scorer(ABC):
    """A measure that is ready to score texts."""

    shown: str = ""  # the name with the model, if that is not named with the measure
    signature: str = ""  # the library that does it, and how
    identity: str = ""  # everything except the texts that its scores depend on; empty if unknown

    can_be_negative: bool = False

    @abstractmethod
    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        """Score the texts of each task: [text, part] per task."""

    def attainable(self, task: TextTask, words: Ints) -> Floats | None:
        """Return the highest score that texts of these lengths can reach ([text, part]), or None if unknown."""
        return None

    def knows(self, chance: str) -> bool:
        """Return True if the scorer computes the expected score of these random texts itself."""
        return False

    def expected(self, tasks: Sequence[TextTask], options: TextOptions) -> list[Expectation]:
        """Return the expected scores for the texts of each task."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the texts scored so far (for example, texts that a model had to cut)."""
        return ()


_WRITTEN = re.compile(r"[^\W_][\w+.-]*$")


def declare(
    name: str,
    prepare: Callable[..., Scorer],
    parts: tuple[str, ...] = ONE,
    *,
    lower: bool = False,
    share: Callable[[Floats], Floats] | None = None,
    chance: str | None = "words",
    needs: Needs = "",
    aliases: tuple[str, ...] = (),
    range: Ends = (None, None),
    parameters: Mapping[str, Parameter] | None = None,
    options: Mapping[str, str] | None = None,
    sentence: str = "",
    formula: str = "",
    citation: str = "",
    function: Callable[..., Any] | None = None,
    example: str = "",
) -> Declaration:
    """Declare a measure of texts among all measures.

    prepare: returns the scorer, from a Context, the measure's name, and the values of `parameters` that are no
    `options`. options: the option of `TextOptions` that a parameter sets, by the parameter.
    """
    if not _WRITTEN.match(name):
        raise CalipersError(f"'{name}' cannot be the name of a measure of texts: letters, digits and +.-_")
    of_options = options or {}
    declared = dict(parameters or {})
    if len(parts) > 1:
        declared["part"] = Parameter("Which of its numbers.", "word", parts[-1], parts)

    def build(part: str = parts[-1], **values: Any) -> TextForm:
        given = {key: value for key, value in values.items() if value != declared[key].default}
        return TextForm(
            written(name, given),
            partial(prepare, name=name, **{key: value for key, value in values.items() if key not in of_options}),
            parts,
            part,
            lower,
            share,
            chance,
            needs,
            range,
            formula,
            tuple((of_options[key], value) for key, value in given.items() if key in of_options),
        )

    build.__doc__ = sentence
    build.__module__ = __name__ if function is None else function.__module__
    return register(
        Declaration(name, declared, build, example=example or name, aliases=aliases, reads="texts", source=citation)
    )


def written(name: str, given: Mapping[str, Any]) -> str:
    """Return the name of a measure with some parameters."""
    inner = ", ".join(f"{key}={written_value(value)}" for key, value in given.items())
    return f"{name}({inner})" if inner else name


def measure(
    name: str,
    *,
    batch: bool = False,
    parts: tuple[str, ...] = ONE,
    lower: bool = False,
    share: Callable[[Floats], Floats] | None = None,
    chance: str | None = "words",
    needs: Needs = "",
    aliases: tuple[str, ...] = (),
    range: Ends = (None, None),
    formula: str = "",
    citation: str = "",
) -> Callable[[Function], Function]:
    """Declare a measure of texts, as a function of (candidate, references, source) that returns a number.

    batch: the function takes all texts at once, (candidates, references, sources), and returns an array.
    parts: names of several numbers that it returns for each text, such as ("precision", "recall", "f1"); the last one
    is the default. lower: less is better. share: converts an array of scores on another scale to shares of 1, which are
    normalised. chance: random texts that an expected score comes from (`calipers.texts.options.CHANCES`), or None if
    the measure has no expected score. range: the lowest and the highest score that a text can have, None for an end
    that is unknown; exact verdicts of `check` need it. The card of the measure shows the first paragraph of the
    docstring, `formula` and `citation`.

    >>> from calipers import texts
    >>> @texts.measure("Brevity")
    ... def brevity(candidate, references, source):
    ...     '''Brevity of a summary, relative to its source.'''
    ...     return 1 - len(candidate) / len(source)
    >>> rows = [{"summary": "a cat", "references": "a cat", "source": "a cat sat on a mat"}]
    >>> texts.Evaluation(rows, "Brevity").scores["Brevity"].round(2).tolist()
    [[0.72]]
    """

    def declared(function: Function) -> Function:
        declare(
            name,
            partial(FunctionScorer, function=function, batch=batch, parts=len(parts), needs=needs),
            parts,
            lower=lower,
            share=share,
            chance=chance,
            needs=needs,
            aliases=aliases,
            range=range,
            function=function,
            sentence=" ".join((getdoc(function) or "").split("\n\n")[0].split()),
            formula=formula,
            citation=citation,
        )
        return function

    return declared


class FunctionScorer(Scorer):
    """A measure that is a function of texts."""

    def __init__(
        self, context: Context, name: str, function: Callable[..., Any], batch: bool, parts: int, needs: Needs
    ) -> None:
        self.name, self._function, self._batch, self._parts, self._needs = name, function, batch, parts, needs

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found: list[Any] = []
        for task in tasks:
            if self._needs == "source" and task.document.source is None:
                raise CalipersError(f"{task.document} has no source, which {self.name} needs")
            if not self._batch:
                given = list(task.document.references), task.document.source
                found += [self._function(text, *given) for text in task.texts]
                if progress is not None:
                    progress(1)
        if self._batch:
            flat = [
                (text, list(task.document.references), task.document.source) for task in tasks for text in task.texts
            ]
            columns = [list(column) for column in zip(*flat, strict=True)] or [[], [], []]
            found = self._function(*columns)
            if progress is not None:
                progress(len(tasks))
        sizes = [len(task.texts) for task in tasks]
        return _split(self._checked(found, sum(sizes)), sizes)

    def _checked(self, found: Any, size: int) -> Floats:
        try:
            values = np.asarray(found, dtype=np.float64).reshape(size, self._parts)
        except (TypeError, ValueError):
            wanted = "a number" if self._parts == 1 else f"{self._parts} numbers"
            raise CalipersError(f"the measure '{self.name}' must give {wanted} for each of {size} texts") from None
        if np.isinf(values).any():
            raise CalipersError(f"the measure '{self.name}' gave an infinite score")
        return values


def _split(values: Floats, sizes: Sequence[int]) -> list[Floats]:
    return np.split(values, np.cumsum(sizes)[:-1]) if len(sizes) else []
