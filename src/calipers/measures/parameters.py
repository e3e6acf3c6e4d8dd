"""What the parameters of measures mean, and what they take: for cards and help.

The measures themselves refuse what they do not take; a test holds the two together.
"""

from __future__ import annotations

from calipers.measures.registry import LARGEST, NEEDED, Declaration
from calipers.record import Record


class Parameter(Record):
    """One parameter: its meaning, the words that it takes, or what else it takes."""

    meaning: str
    words: tuple[str, ...] = ()
    takes: str = ""

    @property
    def choices(self) -> str:
        return ", ".join([*self.words, *([self.takes] if self.takes else [])])


_SHARE = "a number from 0 to 1"
_ANY = "a number"
_TABLE = "a table as {1:3,2:9}"

# By name; where a parameter of one measure is another than the rest's, by measure.name.
PARAMETERS = {
    "cutoff": Parameter("the ranks that are read; written behind the @", takes="a whole number of at least 1"),
    "rel": Parameter("the lowest grade that is relevant", takes=_ANY),
    "judged_only": Parameter("whether unjudged documents are left out of the lists", ("True", "False")),
    "gain": Parameter("what a grade is worth: the grade, or 2^grade - 1", ("linear", "exp"), _TABLE),
    **{
        f"{name}.gain": Parameter(
            "relevant or not where none is given; else the share of what the largest grade is worth (linear, exp, a "
            "table), or the grade as it is, as in ranx (grade)",
            ("linear", "exp", "grade"), _TABLE,
        )
        for name in ("RBP", "INSQ", "INST", "Weighted")
    },
    "gains": Parameter("the worth of single grades, as trec_eval's ndcg.1=3,2=9", takes=_TABLE),
    "discount": Parameter(
        "what a rank weighs", ("log2", "jk2", "zipf", "none", "telescoping"), "another base as jk10"
    ),
    "short": Parameter(
        "a list that ends before k goes on with nothing (pad), is divided by what it has (n), or counts 0 (zero)",
        ("pad", "n", "zero"),
    ),
    "ideal": Parameter("the best ranking of everything judged, or of what the list holds", ("pool", "list")),
    "averaged": Parameter("the mean over all cutoffs, where none is given", ("no", "cutoffs")),
    "norm": Parameter(
        "divided by the relevant documents (R), by k, or by the smaller of both (min)", ("R", "k", "min")
    ),
    "ERR-IA.norm": Parameter("divided by what answering every intent would give, as ndeval prints it", ("perfect",)),
    "alpha-DCG.norm": Parameter("divided by what answering every intent would give, as ndeval prints it", ("perfect",)),
    "max_grade": Parameter("the largest grade that there could be", takes=_ANY),
    "p": Parameter("persistence: how likely a reader goes on to the next document", takes=_SHARE),
    "T": Parameter("how many relevant documents a reader expects to need", takes=_ANY),
    "ranks": Parameter("the ranks whose weights add up to 1, where not all of them: cwl_eval takes 1000",
                       takes="a whole number of at least 1"),
    "t": Parameter("of each grade from 1 on, the share of readers for whom it is the lowest relevant one",
                   takes="a list as [0.4,0.6]"),
    "beta": Parameter("how many times as much recall counts as precision", takes=_ANY),
    "NRBP.beta": Parameter("persistence: how likely a reader goes on to the next document", takes=_SHARE),
    "nNRBP.beta": Parameter("persistence: how likely a reader goes on to the next document", takes=_SHARE),
    "normalize": Parameter("as a share of the overlap of the ideal ranking with itself", ("True", "False")),
    "Compat.depth": Parameter("the ranks whose overlap counts; 0: the longer of the list and the ideal one",
                       takes="a whole number"),
    "cut": Parameter("whether the list is cut after its last relevant document", ("relevant", "none")),
    "signed": Parameter("whether a ranking the wrong way round scores below 0", ("True", "False")),
    "recall": Parameter("the share of the relevant documents; written behind the @", takes=_SHARE),
    "weight": Parameter(
        "what a pair weighs: all the same, the difference of the grades, or how far up it stands (with p)",
        ("uniform", "gain", "top"),
    ),
    "rounding": Parameter("how many documents a share of them is", ("nearest", "up")),
    "points": Parameter("the levels of recall", takes="a list as [0,0.5,1]"),
    "multiple": Parameter("the depth, as a multiple of R; written behind the @", takes=_ANY),
    "weights": Parameter("of documents found, of others retrieved, of those missed, and of the rest",
                         takes="a list of four numbers"),
    "documents": Parameter("the documents of the collection", takes="a whole number"),
    "alpha": Parameter("how likely a document that answers an intent satisfies its reader", takes=_SHARE),
    "graded": Parameter("whether grades count, or only whether they reach rel", ("True", "False")),
    "retrieved": Parameter("how many of the two documents must be retrieved for a pair to count", takes="0, 1 or 2"),
    "fulfilled": Parameter("whether only preferences that the ranking fulfils are counted", ("True", "False")),
    "as_printed": Parameter("as trec_eval prints it: pairs of two documents that are not relevant count too",
                            ("True", "False")),
    "gamma": Parameter("the share of intent recall", takes=_SHARE),
    **{
        f"{name}.of": Parameter("the measure whose reader goes down the list", takes="a measure")
        for name in ("EU", "ETU", "EC", "ETC", "ED")
    },
    **{
        f"{name}.depth": Parameter("the ranks that a reader is followed down", takes="a whole number of at least 1")
        for name in ("EU", "ETU", "EC", "ETC", "ED")
    },
    "K": Parameter("what the reader is willing to spend: documents, or as --costs counts; written behind the @",
                   takes=_ANY),
    "BPM.T": Parameter("the gain that ends the search", takes=_ANY),
    "hb": Parameter("how far T moves with the gain of each document above the median", takes=_ANY),
    "hc": Parameter("how far K moves with the gain of each document above the median", takes=_ANY),
    "median": Parameter("the gain at which T and K stay as they are", takes=_SHARE),
    **{f"{name}.T": Parameter("the gain that is wanted", takes=_ANY) for name in ("IFT-C1", "IFT-C1-C2")},
    "A": Parameter("the rate of gain by cost that is expected", takes=_ANY),
    **{name: Parameter("how soon a reader stops whatever was found", takes=_ANY) for name in ("b1", "b2")},
    "R1": Parameter("how strictly the gain T is wanted: 0 not at all", takes=_ANY),
    "R2": Parameter("how strictly the rate A is expected: 0 not at all", takes=_ANY),
    "SET.beta": Parameter("how fast further documents are worth less: i of them are worth i^beta", takes=_SHARE),
    "rate": Parameter("the rate by which each further document is worth less", takes=_ANY),
    "patience": Parameter("with stop=rank: how much less often each further relevant document is the last one read",
                          takes=_SHARE),
    **{
        f"{name}.patience": Parameter(
            "how likely a reader goes on to the next document", takes="a number between 0 and 1"
        )
        for name in ("EE-L", "EE-D", "EE-R", "AWRF", "ExposureRatio")
    },
    "target": Parameter("the share that a group should get: of the relevant documents, of the target exposure of what "
                        "is judged, or the same for all", ("relevant", "exposure", "equal")),
    "model": Parameter("whether readers go on whatever they see, or unless a document satisfies them",
                       ("rbp", "cascade")),
    "halflife": Parameter("the cost over which attention halves, as seconds", takes=_ANY),
    "L": Parameter("the cost after which there is no attention left, as characters", takes=_ANY),
    "NCU.gamma": Parameter("with stop=rank: how much less often each further relevant document is the last one read",
                           takes=_SHARE),
    "stop": Parameter("where readers stop: at relevant documents all alike, by grade, or mostly at the first ones",
                      ("uniform", "graded", "rank")),
    "stops": Parameter("with stop=graded: how often readers stop at a grade, where that is not its gain", takes=_TABLE),
    "Q.norm": Parameter("divided by the relevant documents (R), or by the cutoff where that is smaller (min)",
                        ("R", "min")),
    **{
        f"{name}.beta": Parameter("how much gains count beside the number of relevant documents", takes=_ANY)
        for name in ("Q", "O-measure", "P-measure", "P-plus", "NCU", *(
            f"{sharp}-{of}" for of in ("Q", "O-measure", "P-measure", "P-plus", "NCU") for sharp in ("D", "D#")
        ))
    },
    "of": Parameter("the measure that is normalised, with its own cutoff and parameters", takes="a measure"),
    "population": Parameter(
        "the documents that a random ranking shuffles: the judged ones, those that the run returned, the judged ones "
        "and the unjudged ones above them, or N documents",
        ("pool", "retrieved", "union"), "collection(N)",
    ),
    "expected": Parameter("the exact expected score, or the published one of SP and AP", ("exact", "paper")),
    **{
        f"{name}.ideal": Parameter(
            "the list that takes at each rank the document that adds most, or the best one", ("greedy", "best")
        )
        for name in ("nERR-IA", "alpha-nDCG", "nNRBP")
    },
    **{
        f"{name}.ideal": Parameter("the attainable ideal score, or the published one of SP and AP", ("exact", "k"))
        for name in ("U", "W", "V1", "V2", "V2s", "Z")
    },
}  # fmt: skip


def parameters_of(declaration: Declaration) -> list[tuple[str, str, str, str]]:
    """Name, default, choices and meaning of each parameter, in the order of the declaration.

    >>> from calipers.measures.registry import look_up
    >>> parameters_of(look_up("RBP-residual")[0])[1][:2]
    ('p', '0.8')
    """
    found = []
    for name, default in declaration.defaults.items():
        known = PARAMETERS.get(f"{declaration.name}.{name}") or PARAMETERS.get(name) or Parameter("")
        found.append((name, _default(name, default), known.choices, known.meaning))
    return found


def _default(name: str, default: object) -> str:
    if default is NEEDED:
        return "needed"
    if name == "cutoff":
        return "the whole list"
    if name == "max_grade" and default is LARGEST:
        return "the largest of the judgments"
    if isinstance(default, list):
        return "[" + ",".join(f"{value:g}" for value in default) + "]"
    return "none" if default is None else str(default)
