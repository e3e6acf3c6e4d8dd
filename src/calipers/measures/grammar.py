"""Names of measures, in the ways in which people write them.

    ours, ir_measures    nDCG@10   AP(rel=2)@100   RBP(p=0.8)   nDCG(gain={1:3,2:9})@{5,10}
    trec_eval            ndcg_cut_10   ndcg_cut.10,20   map   P_5   recip_rank   ndcg.1=3,2=9
    ranx                 ndcg@10   map@100-l2   r-precision   ndcg_burges@10

Case does not matter. Names are separated by spaces or commas; braces expand, as in a shell. A measure may have a short
name of one's own, as in `bs=BERTScore(model="models/roberta", layer=17)`. Values may be quoted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import Any, cast

from calipers.errors import CalipersError, UnknownName
from calipers.measures.dialects import (
    DEFAULT_MEASURES as DEFAULT_MEASURES,
    from_ir_measures,
    meant,
    refusal,
    shortened,
    split,
    split_alias,
    split_root,
    typed_names,
)
from calipers.measures.parameters import is_finite
from calipers.measures.registry import (
    WORD,
    Declaration,
    Measure,
    all_declared,
    cached_until_declared,
    known_names,
    look_up,
    of_function,
)
from calipers.support.checks import described
from calipers.support.plurals import counted
from calipers.support.removed_names import farewell

# Defaults that a convention has for a measure, given its name and the parameters that are set.
Defaults = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
MeasureLike = str | Measure | Declaration | Callable[[Any], float]
MeasuresLike = MeasureLike | Iterable[MeasureLike]
LONGEST_WORD = 1000  # characters of a value
_NAME = re.compile(r"((?:11)?[^\W\d_][\w.#+-]*?)(\(.*\))?(?:@([^@()]+?))?(?:-l(\d+))?$", re.DOTALL)


def parse(text: str, defaults: Defaults | None = None) -> Measure:
    """Return the measure that a name stands for.

    >>> parse("map@100-l2"), parse("ndcg_cut_10"), parse("NDCG(gain=exp)")
    (AP(rel=2)@100, nDCG@10, nDCG(gain=exp))
    """
    if defaults is not None and not callable(defaults):
        raise CalipersError(f"defaults: expected a function, found {described(defaults)}")
    measures = [measure for _, measure in parse_all([text], defaults)]
    if len(measures) != 1:
        raise CalipersError(f"'{shortened(text)}' names {counted(len(measures), 'measure')}; expected one")
    return measures[0]


def parse_all(
    names: MeasuresLike, defaults: Defaults | None = None, shown: Defaults | None = None
) -> list[tuple[str, Measure]]:
    """Return the measures that names, objects and functions stand for, each with its name, without repetitions.

    defaults: values for parameters that a name leaves open, if its measure has such a parameter. Objects such as
        `nDCG @ 10` have the parameters that they show.
    shown: those of the defaults that names show: where one is used, the name becomes the full one. Objects that leave
        such a parameter open get it as well.

    >>> parse_all("nDCG@{5,10} ndcg_cut.5")
    [('nDCG@5', nDCG@5), ('nDCG@10', nDCG@10), ('ndcg_cut_5', nDCG@5)]
    >>> relevant = lambda measure, given: {"rel": 4}
    >>> parse_all("map nDCG@10", relevant, relevant)
    [('AP(rel=4)', AP(rel=4)), ('nDCG@10', nDCG@10)]
    """
    found: dict[str, Measure] = {}
    alone = isinstance(names, str | Measure | Declaration) or callable(names) or _is_of_ir_measures(names)
    if not alone and not isinstance(names, Iterable):
        raise _no_measure(names)
    for name in [names] if alone else cast("Iterable[Any]", names):
        if (measure := _of_object(name)) is not None:
            measure = measure if shown is None else _completed(measure, shown)
            if (other := found.setdefault(repr(measure), measure)).declaration.function != measure.declaration.function:
                raise CalipersError(f"two functions are called '{other.name}': each measure needs its own name")
            continue
        if not isinstance(name, str) and not _is_of_ir_measures(name):
            raise _no_measure(name)
        text = str(name)
        for typed in typed_names(text):
            try:
                for known, measure in _named(typed, defaults or _nothing, shown):
                    if found.setdefault(known, measure) != measure:
                        raise CalipersError(f"two measures are called '{known}': each needs its own name")
            except UnknownName as error:
                raise _several_words(text, typed) or error from None
    if not found:
        raise CalipersError("no measure is named")
    return list(found.items())


def _of_object(given: object) -> Measure | None:
    """Return the measure that a measure, a declaration or a plain function stands for, or None for anything else."""
    if isinstance(given, Declaration):
        given = given()
    elif callable(given) and not isinstance(given, Measure | type) and not _is_of_ir_measures(given):
        given = of_function(given)
    if not isinstance(given, Measure):
        return None
    given.form  # noqa: B018  refuses a measure that lacks a required parameter
    return given


def _completed(measure: Measure, defaults: Defaults) -> Measure:
    """Return a measure with defaults for the parameters that it leaves open."""
    given = {name: measure.parameters[name] for name, _ in measure.given}
    if isinstance(of := given.get("of"), Measure):
        given["of"] = _completed(of, defaults)
    said = defaults(measure.name, given)
    return Measure.of(measure.declaration, {k: said[k] for k in said if k in measure.declaration.defaults} | given)


def _named(typed: str, defaults: Defaults, shown: Defaults | None) -> list[tuple[str, Measure]]:
    """Return the measures that one name stands for, each with a name that has the defaults that names show."""
    alias, typed = split_alias(typed)
    if alias:
        return [(_free(alias), parse(typed, defaults))]
    parsed = _parsed(typed, defaults)
    if shown is None:
        return parsed
    changed = zip(parsed, _parsed(typed, shown), _parsed(typed, _nothing), strict=True)
    return [(name if full == plain else repr(full), measure) for (name, measure), (_, full), (_, plain) in changed]


def _free(alias: str) -> str:
    """Return a name of one's own. Raise an error if it is the name of a measure."""
    if look_up(alias) is not None:
        raise CalipersError(f"'{alias}' is the name of a measure: take another name, as in mine=nDCG@10")
    return alias


@cached_until_declared
def _parsed(typed: str, defaults: Defaults) -> list[tuple[str, Measure]]:
    """Return the measures that one name stands for, each with its name. Every name is parsed once."""
    trec = split_root(typed)
    if trec and trec[0].measure and (trec[1] or look_up(typed) is None):
        root, after = trec
        if after and root.reads is None:
            raise CalipersError(f"'{root.name}' takes no parameters, found '{shortened(typed)}'")
        measures = [(name, _measure(root.measure, typed, found, defaults)) for name, found in root.columns(after)]
        return measures if "." in typed or len(measures) > 1 else [(typed, measures[0][1])]
    match = _NAME.match(typed)
    if not match:
        raise CalipersError(
            f"'{shortened(typed)}' is not the name of a measure; expected something like nDCG@10 or AP(rel=2)@100"
        )
    name, arguments, at, level = match.groups()
    parameters = _arguments(arguments[1:-1], typed, defaults) if arguments else {}
    if at is not None:
        if "of" in parameters:
            raise CalipersError(f"the cutoff of '{shortened(typed)}' goes to the measure inside: {name}(...@{at})")
        where = _declared(name, typed).at
        parameters[where] = _whole(at, typed) if where == "cutoff" else _literal(at, typed)
    if level is not None:
        parameters["rel"] = int(level)
    return [(typed, _measure(name, typed, parameters, defaults))]


def _is_of_ir_measures(given: object) -> bool:
    """Return True for a measure object of ir_measures. Its text is in our grammar, so the library is not loaded."""
    return type(given).__module__.partition(".")[0] == "ir_measures"


def _several_words(text: str, typed: str) -> UnknownName | None:
    """Return the error for a full name in several words, such as `hit rate`, or None."""
    if not re.search(r"\s", text.strip()):
        return None
    found = meant(text, lambda name: False)
    if found is None:
        return None
    return UnknownName(f"unknown measure '{shortened(typed)}' in '{shortened(text)}'; did you mean {found}?")


def _no_measure(given: object) -> CalipersError:
    return CalipersError(f"a measure cannot be of type {type(given).__name__}; expected a name such as 'nDCG@10'")


def _measure(name: str, typed: str, parameters: dict[str, Any], defaults: Defaults) -> Measure:
    known = _known(name, typed, "cutoff" in parameters)[0]
    name, parameters = from_ir_measures(name, parameters, known.defaults)
    declaration, fixed = _known(name, typed, "cutoff" in parameters)
    said = defaults(declaration.name, {**fixed, **parameters})
    open_ones = {key: value for key, value in said.items() if key in declaration.defaults}
    measure = Measure.of(declaration, {**open_ones, **fixed, **parameters})
    measure.form  # noqa: B018  refuses a name that lacks a required parameter
    return measure


def _nothing(measure: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


def _known(name: str, typed: str, with_cutoff: bool) -> tuple[Declaration, Mapping[str, Any]]:
    """Return the declaration for a name, and the parameters that the name sets."""
    return look_up(name, with_cutoff) or (_declared(name, typed), {})


def _declared(name: str, typed: str) -> Declaration:
    if known := look_up(name):
        return known[0]
    if reason := refusal(name):
        raise CalipersError(f"measure '{shortened(typed)}' is not offered: {reason}")
    raise UnknownName(farewell("measure", name) or f"unknown measure '{shortened(typed)}'{_suggestion(name, typed)}")


def _takes_cutoff(name: str) -> bool:
    known = look_up(name)
    return known is not None and known[0].at == "cutoff" and "cutoff" in known[0].defaults


def _proper(found: str) -> str:
    """Return a name with its usual capital letters."""
    head, at, cutoff = found.partition("@")
    known = look_up(head)
    return f"{known[0].name}{at}{cutoff}" if known else found


def _suggestion(name: str, typed: str) -> str:
    if re.match(r"rbp\.\d", name, re.IGNORECASE):
        return "; persistence is written RBP(p=0.95)"
    if (found := meant(typed, _takes_cutoff)) is not None:
        return f"; did you mean {_proper(found)}?"
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), known_names(), n=3, cutoff=0.5)
    proper = list(dict.fromkeys(known[0].example for n in near if (known := look_up(n)) is not None))
    return f"; did you mean {' or '.join(proper)}?" if proper else ""


def _whole(text: str, typed: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CalipersError(
            f"cutoff '{shortened(text)}' of '{shortened(typed)}' is not a whole number of at least 1"
        ) from None


def _arguments(text: str, typed: str, defaults: Defaults) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for place, argument in enumerate(split(text, ",")):
        key, equals, value = argument.partition("=")
        if equals and key.strip().isidentifier():
            parameters[key.strip()] = _literal(value.strip(), typed)
        elif place == 0 and _NAME.match(argument.strip()):
            parameters["of"] = parse(argument.strip(), defaults)
        else:
            raise CalipersError(f"'{shortened(argument)}' in '{shortened(typed)}' is not of the form parameter=value")
    return parameters


def _literal(text: str, typed: str) -> Any:
    """Return a number, a word, a list of numbers, or a table of numbers."""
    if not text:
        raise CalipersError(f"a parameter of '{shortened(typed)}' has no value")
    if re.fullmatch(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,20})?", text):  # `ast` takes long to load
        return float(text) if "." in text else int(text)
    from ast import literal_eval

    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if len(text) <= LONGEST_WORD and WORD.fullmatch(text):
            return text
        raise _no_value(text, typed) from None
    if isinstance(value, list | tuple) and all(map(is_finite, value)):
        return [*value]
    if isinstance(value, dict) and all(is_finite(part) for pair in value.items() for part in pair):
        return value
    if value is None or isinstance(value, bool) or is_finite(value):
        return value
    if isinstance(value, str) and len(value) <= LONGEST_WORD:
        return value
    raise _no_value(text, typed)


def _no_value(text: str, typed: str) -> CalipersError:
    return CalipersError(f"'{shortened(text)}' in '{shortened(typed)}' is not a value")


def import_measures(path: str | Path) -> list[Declaration]:
    """Run a Python file that declares measures, and return the measures that it declares.

    Afterwards the names of these measures are known everywhere.
    """
    before = {id(declaration) for declaration in all_declared()}
    run_python_file(path)
    found = [declaration for declaration in all_declared() if id(declaration) not in before]
    if not found:
        raise CalipersError("declares no measure: decorate a function with @calipers.measure('NAME')", file=str(path))
    return found


def run_python_file(path: str | Path) -> None:
    """Run a Python file of a user. Errors name the file and its line."""
    file = Path(path)
    if not file.is_file():
        raise CalipersError("there is no such file", file=str(path))
    name = f"calipers_import_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CalipersError("is not a Python file: its name must end in .py", file=str(path))
    module = module_from_spec(spec)
    sys.modules[name] = module  # for pickle
    try:
        spec.loader.exec_module(module)
    except CalipersError as error:
        raise CalipersError(error.message, file=str(path)) from None
    except SyntaxError as error:
        raise CalipersError(f"is not valid Python: {error.msg}", file=str(path), line=error.lineno) from None
    except Exception as error:  # the file is a program of the user, which may raise anything
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename) == file]
        message = f"raised {type(error).__name__}: {error}"
        raise CalipersError(message, file=str(path), line=lines[-1] if lines else None) from error
