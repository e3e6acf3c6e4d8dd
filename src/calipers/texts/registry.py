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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from calipers.errors import CalipersError, UnknownName, suggestion
from calipers.lists import Floats, Ints
from calipers.measures.grammar import run_python_file
from calipers.statistics.bounded_intervals import Ends
from calipers.texts.rouge_scores import PARTS as PARTS

if TYPE_CHECKING:
    from calipers.texts.bertscore import Matcher
    from calipers.texts.bounded_scores import Progress
    from calipers.texts.caches import ScoreCache
    from calipers.texts.collection import Document, TextCollection
    from calipers.texts.options import TextOptions

ONE = ("",)  # parts of a measure that is one number
FROM_0_TO_1: Ends = (0.0, 1.0)
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
    shared: dict[str, Any] = field(default_factory=dict)  # values that measures of one family compute once


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

    name: str  # with the model and options that the scores depend on
    signature: str = ""  # the library that does it, and how
    identity: str = ""  # everything except the texts that its scores depend on; empty if unknown

    @abstractmethod
    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        """Score the texts of each task: [text, part] per task."""

    def attainable(self, task: TextTask, words: Ints) -> Floats | None:
        """Return the highest score that texts of these lengths can reach ([text, part]), or None if unknown."""
        return None

    def knows(self, chance: str) -> bool:
        """Return True if the scorer computes the expected score of these random texts itself."""
        return False

    def expected(self, tasks: Sequence[TextTask]) -> list[Expectation]:
        """Return the expected scores for the texts of each task."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the texts scored so far (for example, texts that a model had to cut)."""
        return ()


@dataclass(frozen=True, eq=False)
class TextDeclaration:
    """A declared measure of texts."""

    name: str
    prepare: Callable[[Context, str], Scorer]  # takes the canonical name
    parts: tuple[str, ...] = ONE  # the last one is the default
    lower: bool = False  # a lower score is the better one
    share: Callable[[Floats], Floats] | None = None  # scores as shares of 1, which are normalised
    chance: str | None = "words"  # random texts of its expected score; None if it has none
    needs: Needs = ""  # fields of the data that the measure needs
    aliases: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None  # of the names of a family, such as ROUGE-1 ... ROUGE-9
    canonical: Callable[[str], str] | None = None  # returns the canonical spelling of such a name
    range: Ends = (None, None)  # the lowest and the highest score; None if it is unknown
    function: Callable[..., Any] | None = None  # the decorated function, if the measure is one
    sentence: str = ""  # of its card
    formula: str = ""
    citation: str = ""


_DECLARED: dict[str, TextDeclaration] = {}
_BY_NAME: dict[str, TextDeclaration] = {}
_RESERVED = re.compile(r"(U|V1|V2|E)$", re.IGNORECASE)
_WRITTEN = re.compile(r"[^\W_][\w+.-]*$")


def declare(declaration: TextDeclaration) -> TextDeclaration:
    """Register a measure."""
    for name in (declaration.name, *declaration.aliases):
        if _RESERVED.match(name) or not _WRITTEN.match(name):
            raise CalipersError(f"'{name}' cannot be the name of a measure of texts: letters, digits and +.-_, not V2")
        taken = _BY_NAME.get(name.lower())
        if taken is not None and taken.name != declaration.name:
            raise CalipersError(f"the name '{name}' is taken by the measure '{taken.name}'")
        _BY_NAME[name.lower()] = declaration
    _DECLARED[declaration.name] = declaration
    return declaration


def _refuse_built_in(names: Iterable[str]) -> None:
    """Refuse a measure of a user that has the name of a built-in measure."""
    _load()
    for name in names:
        patterned = (each for each in _DECLARED.values() if each.pattern is not None and each.pattern.match(name))
        taken = _BY_NAME.get(name.lower()) or next(patterned, None)
        if taken is not None and _is_built_in(taken.function):
            raise CalipersError(f"the name '{name}' is taken by the built-in measure '{taken.name}': take another name")


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
    >>> texts.evaluate_texts(rows, "Brevity")["Brevity"].round(2).tolist()
    [[0.72]]
    """

    def declared(function: Function) -> Function:
        if not _is_built_in(function):
            _refuse_built_in((name, *aliases))

        def prepare(_: Context, canonical: str) -> Scorer:
            return FunctionScorer(canonical, function, batch, len(parts), needs)

        sentence = " ".join((getdoc(function) or "").split("\n\n")[0].split())
        declaration = TextDeclaration(
            name,
            prepare,
            parts,
            lower=lower,
            share=share,
            chance=chance,
            needs=needs,
            aliases=aliases,
            range=range,
            function=function,
            sentence=sentence,
            formula=formula,
            citation=citation,
        )
        declare(declaration)
        return function

    return declared


class FunctionScorer(Scorer):
    """A measure that is a function of texts."""

    def __init__(self, name: str, function: Callable[..., Any], batch: bool, parts: int, needs: Needs = "") -> None:
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


def _load() -> None:
    """Import the modules of built-in measures, which declare their measures."""
    from calipers.texts import answer_measures, bertscore_measure, rouge_measures, sacrebleu_measures  # noqa: F401


def _is_built_in(function: Callable[..., Any] | None) -> bool:
    """Return True for the functions of this package, and for declarations without a function."""
    return function is None or function.__module__.startswith("calipers.texts.")


def declared_measures() -> list[TextDeclaration]:
    """Return all declared measures."""
    _load()
    return list(_DECLARED.values())


def import_text_measures(path: str | Path) -> list[TextDeclaration]:
    """Run a Python file that declares measures of texts, and return the measures that it declares.

    Afterwards the names of these measures are known everywhere.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/own.py"
    >>> with open(path, "w") as file:
    ...     _ = file.write(
    ...         "from calipers import texts\\n"
    ...         "@texts.measure('Letters')\\n"
    ...         "def letters(candidate, references, source): return len(candidate)\\n"
    ...     )
    >>> [declaration.name for declaration in import_text_measures(path)]
    ['Letters']
    """
    before = {id(declaration) for declaration in declared_measures()}
    run_python_file(path)
    found = [declaration for declaration in declared_measures() if id(declaration) not in before]
    if not found:
        message = "declares no measure of texts: decorate a function with @calipers.texts.measure('NAME')"
        raise CalipersError(message, file=str(path))
    return found


def look_up(name: str) -> tuple[TextDeclaration, str]:
    """Return the declaration for a name, and the name's canonical spelling.

    >>> look_up("rouge-2")[1], look_up("bertscore")[1]
    ('ROUGE-2', 'BERTScore')
    """
    _load()
    if (found := _BY_NAME.get(name.lower())) is not None:
        return found, found.name
    for declaration in _DECLARED.values():
        if declaration.pattern is not None and declaration.pattern.match(name):
            return declaration, declaration.canonical(name) if declaration.canonical else name
    raise UnknownName(f"'{name}' is not a measure of texts; {suggestion(name, known_names())}")


def known_names() -> list[str]:
    """Return the names that messages and help suggest."""
    _load()
    return list(_DECLARED)
