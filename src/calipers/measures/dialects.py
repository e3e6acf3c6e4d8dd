"""Names of measures and parameters in other tools, as data.

trec_eval      a root, and parameters after a dot or an underscore: P.5,10  ndcg_cut_10  ndcg.1=3,2=9
ir_measures    our grammar with other parameters: nDCG(dcg='exp-log2')@10  SetP(relative=True)  INST(max_rel=3)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from calipers.errors import CalipersError
from calipers.support.record import Record

# -- trec_eval ---------------------------------------------------------------------------------------

Parameters = dict[str, Any]
Reading = Callable[["Root", str], list[tuple[str, Parameters]]]

CUTOFFS = "5,10,15,20,30,100,200,500,1000"
TENTHS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"
MULTIPLES = "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0"


def _cutoffs(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """Read whole numbers, one measure for each. A fraction is cut off, as atol does."""
    found = sorted(int(_number(root, value)) for value in text.split(","))
    if found[0] < 1:
        raise CalipersError(f"cutoff {found[0]} of '{root.name}' is not a whole number of at least 1")
    return [(f"{root.name}_{value}", {"cutoff": value}) for value in _distinct(root, found)]


def _fractions(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """Read numbers, one measure for each."""
    found = sorted(_number(root, value) for value in text.split(","))
    return [(f"{root.name}_{value:.2f}", {root.parameter: value}) for value in _distinct(root, found)]


def _numbers(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """Read numbers that are a parameter of one measure, in their order."""
    return [(f"{root.name}_{text}", {root.parameter: [_number(root, value) for value in text.split(",")]})]


def _points(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """Read numbers that ascend: trec_eval goes through them in their order, and passes by what lies behind it."""
    [(name, parameters)] = _numbers(root, text)
    if any(one >= other for one, other in pairwise(parameters[root.parameter])):
        raise CalipersError(f"the points {text} of '{root.name}' do not ascend")
    return [(name, parameters)]


def _one_number(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """Read one number. trec_eval ignores further numbers."""
    return [(f"{root.name}_{text}", {root.parameter: _number(root, text.split(",", maxsplit=1)[0])})]


def _root_of_number(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """set_F's weight is the square of the beta in F_beta."""
    weight = _number(root, text.split(",", maxsplit=1)[0])
    if weight < 0:
        raise CalipersError(f"parameter {weight:g} of '{root.name}' is below 0")
    return [(f"{root.name}_{text}", {root.parameter: math.sqrt(weight)})]


def _gains(root: Root, text: str) -> list[tuple[str, Parameters]]:
    """grade=gain pairs, and p=persistence for rbp."""
    gains: dict[float, float] = {}
    parameters: Parameters = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            hint = "; persistence is written RBP(p=0.95)" if root.parameter == "p" else ""
            if root.name == "ndcg" and pair.isdigit():
                hint = f"; a cutoff is written nDCG@{pair} or ndcg_cut_{pair}"
            raise CalipersError(f"'{shortened(pair)}' of '{root.name}' is not of the form grade=gain{hint}")
        if key == "p" and root.parameter == "p":
            parameters["p"] = _number(root, value)
            continue
        grade = _number(root, key)
        if grade in gains:
            raise CalipersError(f"grade {grade:g} of '{root.name}' is given twice")
        if grade < 0:
            raise CalipersError(f"grade {grade:g} of '{root.name}' is below 0, and cannot have a gain")
        gains[grade] = _number(root, value)
    if gains:
        parameters["gains"] = gains
    return [(f"{root.name}_{text}", parameters)]


def _number(root: Root, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CalipersError(f"parameter '{shortened(text)}' of '{root.name}' is not a number")
    return number


def _distinct(root: Root, values: list[Any]) -> list[Any]:
    for one, other in pairwise(values):
        if one == other:
            raise CalipersError(f"cutoff {one:g} of '{root.name}' is given twice")
    return values


class Root(Record):
    """A measure of trec_eval, or a family of them, with our name for it and a function that reads its parameters."""

    name: str
    measure: str  # our name; empty for text
    reads: Reading | None = None
    parameter: str = ""  # our parameter that is read
    default: str = ""  # parameters if none are given
    fixed: Mapping[str, Any] = MappingProxyType({})
    rel: bool = True  # it depends on the relevance level
    by_query: bool = True  # it is printed for each query

    @property
    def whole(self) -> bool:
        """True if trec_eval prints it as a whole number, the sum over the queries."""
        return self.name.startswith("num_")

    @property
    def family(self) -> bool:
        """True if each parameter is a measure of its own."""
        return self.reads in (_cutoffs, _fractions)

    def columns(self, text: str = "") -> list[tuple[str, Parameters]]:
        """Return the name of each of its measures, with the parameters of our measure."""
        if self.reads is None or not (text or self.default):
            return [(self.name, dict(self.fixed))]
        return [(name, {**self.fixed, **found}) for name, found in self.reads(self, text or self.default)]


# In the order in which trec_eval prints them.
_ROOTS = (
    Root("runid", "", by_query=False),
    Root("num_q", "NumQ", rel=False, by_query=False),
    Root("num_ret", "NumRet", rel=False),
    Root("num_rel", "NumRel"),
    Root("num_rel_ret", "NumRelRet"),
    Root("map", "AP"),
    Root("gm_map", "gm_map", by_query=False),
    Root("Rprec", "RPrec"),
    Root("bpref", "bpref"),
    Root("recip_rank", "RR"),
    Root("iprec_at_recall", "IPrec", _fractions, "recall", TENTHS),
    Root("P", "P", _cutoffs, default=CUTOFFS),
    Root("relstring", "", _one_number, "length", rel=False),
    Root("recall", "Recall", _cutoffs, default=CUTOFFS),
    Root("infAP", "infAP"),
    Root("gm_bpref", "gm_bpref", by_query=False),
    Root("Rprec_mult", "Rprec_mult", _fractions, "multiple", MULTIPLES),
    Root("utility", "utility", _numbers, "weights"),
    Root("11pt_avg", "11pt_avg", _points, "points"),
    Root("binG", "binG"),
    Root("G", "G", _gains, rel=False),
    Root("dcg", "DCG", _gains, rel=False),
    Root("ideal_dcg", "ideal_dcg", _gains, rel=False),
    Root("ndcg", "nDCG", _gains, rel=False),
    Root("ndcg_rel", "ndcg_rel", _gains, rel=False),
    Root("Rndcg", "Rndcg", _gains),
    Root("ndcg_cut", "nDCG", _cutoffs, default=CUTOFFS, rel=False),
    Root("map_cut", "AP", _cutoffs, default=CUTOFFS),
    Root("relative_P", "relative_P", _cutoffs, default=CUTOFFS),
    Root("success", "Success", _cutoffs, default="1,5,10"),
    Root("set_P", "SetP"),
    Root("set_relative_P", "SetRelP"),
    Root("set_recall", "SetR"),
    Root("set_map", "SetAP"),
    Root("set_F", "SetF", _root_of_number, "beta"),
    Root("num_nonrel_judged_ret", "num_nonrel_judged_ret"),
    Root("yaap", "yaap"),
    Root("rbp", "RBP", _gains, "p", fixed={"p": 0.9, "gain": "linear"}, rel=False),
    Root("rbp_resid", "RBP-residual", _gains, "p", fixed={"p": 0.9}, rel=False),
    Root("unj", "unj", _cutoffs, default="5,10,20", rel=False),
)
ROOTS = {root.name: root for root in _ROOTS}
_BY_LOWER = {root.name.lower(): root for root in _ROOTS}

OFFICIAL = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
)
SETS = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "utility",
    "set_P",
    "set_recall",
    "set_relative_P",
    "set_map",
    "set_F",
)
ALL_TREC_9 = (
    *OFFICIAL,
    "relstring",
    "recall",
    "infAP",
    "gm_bpref",
    "utility",
    "11pt_avg",
    "ndcg",
    "relative_P",
    "Rprec_mult",
    "success",
    "map_cut",
    "ndcg_cut",
    "ndcg_rel",
    "Rndcg",
    "binG",
    "G",
    "set_P",
    "set_recall",
    "set_relative_P",
    "set_map",
    "set_F",
    "num_nonrel_judged_ret",
)
NICKNAMES = {"official": OFFICIAL, "set": SETS, "all_trec": (*ALL_TREC_9, "unj", "rbp", "rbp_resid")}
NICKNAMES_9 = {**NICKNAMES, "all_trec": ALL_TREC_9}


def trec_names(measure: str) -> list[str]:
    """Return the names that trec_eval has for one of our measures.

    >>> trec_names("nDCG")
    ['ndcg', 'ndcg_cut_K']
    """
    return [f"{root.name}_K" if root.reads is _cutoffs else root.name for root in _ROOTS if root.measure == measure]


def split_root(text: str) -> tuple[Root, str] | None:
    """Split a name such as P.5,10 or P_5 into root and parameters. Return None if trec_eval has no such root."""
    if (alone := _BY_LOWER.get(text.lower())) is not None:
        return alone, ""
    head, dot, tail = text.partition(".")
    if dot and tail and (dotted := _BY_LOWER.get(head.lower())) is not None:
        return dotted, tail
    match = re.match(r"(.+?)_(-?[\d.][\d.,=+-]*)$", text)
    if match and (joined := _BY_LOWER.get(match.group(1).lower())) is not None and joined.reads is not None:
        return joined, match.group(2)
    return None


# -- ir_measures -------------------------------------------------------------------------------------

MOST_GRADES = 1000  # that a gain is written out for
REFUSED = dict.fromkeys(("runid", "relstring"), "it is text; `calipers trec_eval` prints it")


_OF_TEXT = re.compile(r"(v[12]?\()?(rouge|b[ae]rt_?score|bleu|chrf|meteor)[-_ ]?(\w*)", re.IGNORECASE)
_NOT_OF_RANKINGS = {
    **dict.fromkeys(("kappa", "cohen", "krippendorff"), "it is about judges: see calipers judges"),
    **dict.fromkeys(("tau", "kendall", "spearman", "rbo"), "it compares two rankings: see information and metaeval"),
}


def refusal(name: str) -> str | None:
    """Return the reason why a name of another tool is not offered here, or None."""
    if _OF_TEXT.match(name):
        return "it scores texts, as ROUGE-1, BLEU, chrF, TER and BERTScore do, see calipers.read_texts"
    if (other := _NOT_OF_RANKINGS.get(name.lower())) is not None:
        return other
    return REFUSED.get(name.lower())


# What people call measures: the words of their full names, and other tools' abbreviations.
_MEANINGS = {
    "mean average precision": "AP",
    "average precision": "AP",
    "mean reciprocal rank": "RR",
    "reciprocal rank": "RR",
    "expected reciprocal rank": "ERR@20",
    "normalized discounted cumulative gain": "nDCG@10",
    "normalised discounted cumulative gain": "nDCG@10",
    "discounted cumulative gain": "DCG@10",
    "discounted cumulated gain": "DCG@10",
    "cumulative gain": "DCG(discount=none)@10",
    "cg": "DCG(discount=none)@10",
    "normalized cumulative gain": "NCG@10",
    "normalised cumulative gain": "NCG@10",
    "area under the curve": "AUC",
    "hit rate": "Success@10",
    "hit ratio": "Success@10",
    "hitrate": "Success@10",
    "hr": "Success@10",
    "success rate": "Success@10",
    "top k accuracy": "Success@10",
    "top1": "Success@1",
    "rank biased precision": "RBP",
    "r precision": "RPrec",
    "f measure": "SetF",
    "f score": "SetF",
    "fmeasure": "SetF",
    "fscore": "SetF",
    "f1 score": "F@10",
    "mean precision": "P@10",
    "inferred ap": "infAP",
    "graded average precision": "GAP",
    "subtopic recall": "StRecall@10",
    "prec": "P@10",
    "sensitivity": "Recall@1000",
    "avep": "AP",
    "avgprec": "AP",
    "gmap": "gm_map",
    "geometric map": "gm_map",
    "binary preference": "bpref",
}
_BY_LENGTH = sorted(_MEANINGS, key=len, reverse=True)


def meant(text: str, takes_cutoff: Callable[[str], bool]) -> str | None:
    """Return our name for the full name of a measure, or for a name with another spelling of the cutoff.

    >>> meant("Hit rate", lambda name: False), meant("hr@5", lambda name: False), meant("err_20", lambda name: True)
    ('Success@10', 'Success@5', 'err@20')
    """
    head, _, cutoff = text.lower().partition("@")
    words = " ".join(re.split(r"[\s_-]+", head.strip()))
    for phrase in _BY_LENGTH:
        if re.search(rf"(^|\s){re.escape(phrase)}($|\s)", words):
            measure = _MEANINGS[phrase]
            return f"{measure.partition('@')[0]}@{cutoff}" if cutoff.isdigit() else measure
    apart = re.fullmatch(r"(.*?[^\W\d_])[_-]?(\d+)", text)
    return f"{apart[1]}@{apart[2]}" if apart and takes_cutoff(apart[1]) else None


_OF_ROUGE_SCORE = re.compile(
    r"(?:rouge[-_ ]?(\d|l|lsum)|bert[-_]?score)(?:_(f1|fmeasure|f_score|precision|recall))?", re.IGNORECASE
)


def from_rouge_score(name: str) -> tuple[str, Parameters] | None:
    """Translate names of rouge_score, torchmetrics and bert_score, or return None.

    >>> from_rouge_score("rougeLsum"), from_rouge_score("rouge2_recall"), from_rouge_score("bert_score")
    (('rouge-lsum', {}), ('rouge-2', {'part': 'recall'}), ('bertscore', {}))
    """
    found = _OF_ROUGE_SCORE.fullmatch(name)
    if found is None:
        return None
    part = (found[2] or "").lower()
    given = {"part": part} if part in ("precision", "recall") else {}
    return (f"rouge-{found[1].lower()}" if found[1] else "bertscore"), given


def from_ir_measures(name: str, parameters: Parameters, takes: Iterable[str]) -> tuple[str, Parameters]:
    """Translate a name with parameters of ir_measures. `takes` are the parameters of our measure."""
    given = dict(parameters)
    known = set(takes)
    if "dcg" in given and "gain" in known:
        form = given.pop("dcg")
        if form not in ("log2", "exp-log2"):
            raise CalipersError(f"dcg='{form}' of '{name}' is neither log2 nor exp-log2")
        given = {"gain": "exp" if form == "exp-log2" else "linear", **given}
    if "relative" in given and name.lower() in ("setp", "setrelp"):
        name = "SetRelP" if given.pop("relative") else "SetP"
    if name.lower() == "bpm" and "cutoff" in given:
        given = {"K": given.pop("cutoff"), **given}
    if "rel" in given and name.lower() == "numret":
        name = "NumRelRet"
    if "max_rel" in given and "gain" in known:
        given = _scaled(name, given, known)
    return name, given


def _scaled(name: str, given: Parameters, known: set[str]) -> Parameters:
    """min_rel and max_rel: gains from 0 to 1, a table of them."""
    low, high = given.pop("min_rel", 0), given.pop("max_rel")
    if not isinstance(low, int) or not isinstance(high, int) or low >= high:
        raise CalipersError(f"min_rel={low} and max_rel={high} of '{name}' are not two growing whole numbers")
    if high > MOST_GRADES:
        raise CalipersError(f"max_rel={high:g} of '{name}' is above {MOST_GRADES:,}")
    gain = {grade: max(grade - low, 0) / (high - low) for grade in range(1, high + 1)}
    return {**given, "gain": gain} | ({"max_grade": high} if "max_grade" in known else {})


DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "Recall@1000")

MOST_TEXT = 1 << 16  # characters of a text with names
MOST_NAMES = 10_000  # names that braces may expand to
DEEPEST = 20  # levels of nested brackets

_TREC_PARAMETER = re.compile(r"(?:p=|-?\d+=)?[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_BRACES = re.compile(r"\{([^{}:]*)\}")


def typed_names(text: str) -> list[str]:
    """Return the names in a text, separated by spaces or commas, with braces expanded as in a shell.

    >>> typed_names("nDCG@{5,10} ndcg_cut.10,20,AP(rel=2)")
    ['nDCG@5', 'nDCG@10', 'ndcg_cut.10,20', 'AP(rel=2)']
    """
    if len(text) > MOST_TEXT:
        raise CalipersError(f"the names of the measures have {len(text):,} characters, more than {MOST_TEXT:,}")
    names: list[str] = []
    for word in _words(text):
        names += _expanded(word, MOST_NAMES - len(names))
    return names


_ALIAS = re.compile(r"([^\W\d][\w-]*)=(\D.*)", re.DOTALL)


def split_alias(typed: str) -> tuple[str, str]:
    """Split a name of one's own from the measure that it stands for.

    >>> split_alias("bs=BERTScore(layer=17)"), split_alias("nDCG(gain=exp)"), split_alias("ndcg.1=3,2=9")
    (('bs', 'BERTScore(layer=17)'), ('', 'nDCG(gain=exp)'), ('', 'ndcg.1=3,2=9'))
    """
    found = _ALIAS.fullmatch(typed)
    return (found[1], found[2]) if found else ("", typed)


def shortened(text: str) -> str:
    """Return text for messages: on one line, and shortened if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:80]}..."


def _words(text: str) -> list[str]:
    """Split at spaces, and at commas that separate names."""
    words: list[str] = []
    for word in (part for by_space in split(text, " \t\r\n") for part in split(by_space, ",")):
        # A comma between trec_eval's parameters does not separate names: ndcg_cut.10,20 or ndcg.1=3,2=9
        if words and _TREC_PARAMETER.fullmatch(word) and re.search(r"^\w+\.[^()]+$", words[-1]):
            words[-1] += "," + word
        else:
            words.append(word)
    return words


def split(text: str, separators: str) -> list[str]:
    """Split outside all brackets and quotes, leaving out empty parts.

    >>> split("BLEU 'answer relevance' BERTScore(model='my models')", " ")
    ['BLEU', "'answer relevance'", "BERTScore(model='my models')"]
    """
    parts, depth, part, quote = [], 0, "", ""
    for character in text:
        if quote or character in "\"'":
            quote = "" if character == quote else quote or character
            part += character
            continue
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            break
        if depth > DEEPEST:
            raise CalipersError(f"the brackets of '{shortened(text.strip())}' are nested too deeply")
        if depth == 0 and character in separators:
            parts.append(part)
            part = ""
        else:
            part += character
    if depth != 0 or quote:
        what = "quotes" if quote else "brackets"
        raise CalipersError(f"the {what} of '{shortened(text.strip())}' do not match")
    return [part for part in [*parts, part] if part.strip()]


def _expanded(word: str, most: int) -> list[str]:
    """Expand nDCG@{5,10} to nDCG@5 and nDCG@10. A table such as {1:3,2:9} stays."""
    names, found = [], [word]
    while found:
        name = found.pop()
        match = _BRACES.search(name)
        if not match:
            names.append(name)
            continue
        options = [option.strip() for option in match.group(1).split(",")]
        if not all(options):
            raise CalipersError(f"'{shortened(word)}' has an empty choice in its braces")
        found += [name[: match.start()] + option + name[match.end() :] for option in reversed(options)]
        if len(names) + len(found) > most:
            raise CalipersError(f"with '{shortened(word)}' there are more than {MOST_NAMES:,} measures")
    return names
