"""The options of a call of trec_eval, in trec_eval's own syntax."""

from __future__ import annotations

import getopt
from collections.abc import Sequence
from typing import Any

from calipers.errors import CalipersError
from calipers.measures.dialects import NICKNAMES, NICKNAMES_9, ROOTS, Root, refusal, split_root
from calipers.support.record import Record
from calipers.support.removed_names import farewell

SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = (
    "help",
    "version",
    "query_eval_wanted",
    "measure=",
    "complete_rel_info_wanted",
    "level_for_rel=",
    "nosummary",
    "Debug_level=",
    "Judged_docs_only",
    "Number_docs_in_coll=",
    "Max_retrieved_per_topic=",
    "Rel_info_format=",
    "Results_format=",
    "Output_old_results_format=",
    "Zscore=",
    "v9",
    "jobs=",
)
_LETTERS = {
    "--help": "-h",
    "--version": "-v",
    "--query_eval_wanted": "-q",
    "--measure": "-m",
    "--complete_rel_info_wanted": "-c",
    "--level_for_rel": "-l",
    "--nosummary": "-n",
    "--Debug_level": "-D",
    "--Judged_docs_only": "-J",
    "--Number_docs_in_coll": "-N",
    "--Max_retrieved_per_topic": "-M",
    "--Rel_info_format": "-R",
    "--Results_format": "-T",
    "--Output_old_results_format": "-o",
    "--Zscore": "-Z",
}

USAGE = """\
Usage: calipers trec_eval [-h] [-q] [-m measure[.params]]* [-c] [-n] [-l num] [-M num] [-J] [-N num]
                          [-R format] [-T format] [-Z file] [-D level] [-o] [--v9] judgments run...
"""
HELP = (
    USAGE
    + """
Print what trec_eval prints, for one run or for several, one after the other.

  -q             values for each query too, before those for all
  -m measure     a measure, or a set of them: official (the default), all_trec, set; may be
                 repeated.
                 Parameters follow a dot: -m P.5,10  -m ndcg.1=3,2=9  -m iprec_at_recall..1,.5
  -c             queries that the run lacks count 0; without it they are an error (9.x leaves them out)
  -n             no values for all queries
  -l num         grades from num on are relevant (1)
  -M num         only the first num documents of each list
  -J             without unjudged documents
  -N num         documents in the collection, which utility may need
  -R format      of the judgments: qrels, which is all there is
  -T format      of the runs: trec_results, which is all there is
  -Z file        z-scores: lines of query, measure, mean and standard deviation
  -D level       level.query evaluates that query only; other debugging output is not printed
  -o             nothing, as in trec_eval
  --v9           as trec_eval 9.x: scores compared in single precision, its interpolation, its missing queries
  --jobs num     threads that read files (the cores)
  -h, -v         this help (with -m: what the measures are); the version

judgments and runs may be compressed; - is standard input. Exit codes: 1 for a wrong call, 2 for wrong input, 7 where
no query has both results and judgments.
"""
)


QRELS = "query iteration document grade"  # a line of judgments

# Measures for which 10.0 evaluates one unjudged document where a run lacks a query, if they have parameters.
EVALUATED_WHERE_MISSING = ("relstring", "utility", "rbp_resid")


class Request(Record):
    """The options of one call."""

    files: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()  # as they were typed
    by_query: bool = False
    summary: bool = True
    complete: bool = False
    level: float = 1
    depth: int | None = None
    judged_only: bool = False
    documents: int = 0
    format: str = "qrels"
    results_format: str = "trec_results"
    zscores: str | None = None
    debug: str = ""  # a level, and the only query to look at
    version_9: bool = False
    jobs: int | None = None
    help: bool = False
    version: bool = False

    @property
    def convention(self) -> str:
        return "trec_eval-9" if self.version_9 else "trec_eval"

    @property
    def only_query(self) -> str | None:
        _, dot, query = self.debug.partition(".")
        return query if dot else None

    def notes(self) -> list[str]:
        """Return notes about output that differs from trec_eval's on purpose."""
        roots = self.roots()
        found = []
        wrong = [root.name for root, _ in roots if root.name in ("rbp", "rbp_resid")]
        if wrong and not self.version_9:
            found.append(f"{' and '.join(wrong)}: by definition; trec_eval 10.0 computes them from memory it never set")
        if self.debug.partition(".")[0].strip("0"):
            found.append("-D: debugging output is not printed")
        for root, text in roots:
            gains = root.columns(text)[0][1].get("gains", {})
            if any(gain % 1 for gain in gains.values()):
                found.append(
                    f"-m {root.name}.{text}: gains that are fractions count as they are; trec_eval sorts them as "
                    "whole numbers"
                )
            if text and root.name in EVALUATED_WHERE_MISSING and self.complete and not self.version_9:
                found.append(
                    f"-m {root.name}.{text}: a query that the run lacks counts 0; trec_eval 10.0 evaluates one "
                    "unjudged document for it"
                )
        return found

    def roots(self) -> list[tuple[Root, str]]:
        """Return the requested measures in the order of trec_eval, with their parameters. The first parameters win."""
        asked: dict[str, str] = {}
        nicknames = NICKNAMES_9 if self.version_9 else NICKNAMES
        for typed in self.measures or ("official",):
            for name, text in _named(typed, nicknames):
                asked[name] = asked.get(name) or text
        return [(root, asked[name]) for name, root in ROOTS.items() if name in asked]


def _named(typed: str, nicknames: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    if typed.partition(".")[0] in nicknames:
        return [(name, "") for name in nicknames[typed.partition(".")[0]]]
    found = split_root(typed)
    if found is None or not typed.startswith(found[0].name):  # trec_eval distinguishes upper and lower case
        if left := farewell("measure", typed):
            raise Refused(left, 1)
        reason = refusal(typed.partition(".")[0])
        raise Refused(f"illegal measure '{typed}'" + (f": {reason}" if reason else ""), 1)
    root, text = found
    return [(root.name, text)]


def read_request(arguments: Sequence[str]) -> Request:
    """Return the options of a call in the syntax of trec_eval: -qc, -M100, -M 100, --measure P.5."""
    given = ["--version" if each == "--v" else each for each in arguments]  # --v is ambiguous because we added --v9
    try:
        options, files = getopt.gnu_getopt(given, SHORT, LONG)
    except getopt.GetoptError as error:
        raise Refused(f"{error}\n{USAGE}".rstrip(), 1) from None
    measures: list[str] = []
    found: dict[str, Any] = {}
    for option, value in options:
        letter = _LETTERS.get(option, option)
        match letter:
            case "-m":
                measures.append(value)
            case "-q" | "-c" | "-J" | "-h" | "-v" | "--v9":
                found[_FLAGS[letter]] = True
            case "-n":
                found["summary"] = False
            case "-l" | "-M" | "-N":
                found[_NUMBERS[letter]] = _whole(letter, value, 1 if letter == "-M" else 0)
            case "--jobs":
                found["jobs"] = _whole(letter, value, 1)
            case "-R" | "-T" | "-Z" | "-D":
                found[_TEXTS[letter]] = value
            case _:  # -o, which does nothing
                pass
        if letter == "-v":  # which ends trec_eval at once
            break
    request = Request(files=tuple(files), measures=tuple(measures), **found)
    if request.version:
        return request
    if request.help:
        request.roots()
        return request
    if len(files) < 2:
        raise Refused(f"expected judgments and at least one run\n{USAGE}".rstrip(), 1)
    _check(request)
    return request


def _whole(option: str, text: str, least: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise Refused(f"{option} {text} is not a whole number of at least {least}", 1)
    return int(text)


def _check(request: Request) -> None:
    """Refuse what cannot be evaluated, before anything is read."""
    if request.files.count("-") > 1:
        raise Refused("only one of the inputs can be - (standard input)", 1)
    request.roots()
    if request.format != "qrels":
        illegal = f"illegal format '{request.format}' of judgments; expected qrels"
        raise Refused(farewell("option", f"-R {request.format}", "trec_eval") or illegal, 2)
    if request.results_format != "trec_results":
        raise Refused(f"illegal format '{request.results_format}' of results; expected trec_results", 2)


_FLAGS = {"-q": "by_query", "-c": "complete", "-J": "judged_only", "-h": "help", "-v": "version", "--v9": "version_9"}
_TEXTS = {"-R": "format", "-T": "results_format", "-Z": "zscores", "-D": "debug"}
_NUMBERS = {"-l": "level", "-M": "depth", "-N": "documents"}


class Refused(CalipersError):
    """An error with an exit code of trec_eval's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
