"""What `calipers exposure` measures, as cards. None is in the registry: see docs/exposure.md.

Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020.
Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group representation in
    ranked lists, WWW 2019 companion (AWRF).
"""

from __future__ import annotations

from calipers.attention.expected_exposure import TARGETS
from calipers.attention.of_documents import MODELS
from calipers.record import Record

ATTENTION = (
    "e = the attention that a document gets on average, over orders of ties and over samples of a ranking",
    "e* = that which it gets where documents of one grade are tied and better grades come first",
)
READER = "With model=rbp goes on from each rank with the chance patience; with cascade also stops where satisfied."
TIES = "attention is averaged over all orders by a closed form, exact, before anything is squared: see docs/exposure.md"
PARAMETERS = (
    ("model", "rbp", ", ".join(MODELS), "how readers go down a list"),
    ("patience", "0.5", "above 0, below 1", "the chance of going on to the next rank"),
    ("max_grade", "largest grade", "a grade", "cascade: a document of grade g satisfies (2^g - 1) / 2^max_grade"),
    ("stochastic", "False", "True, False", "runs of one tag are samples of one ranking"),
)
OF_GROUPS = (
    ("groups", "none", "a file (--document-groups)", "lines of document and group"),
    ("target", "relevant", ", ".join(TARGETS), "what share of the attention a group should have"),
)
EXPOSURE = (
    "Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020."
)
AWRF = (
    "Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group "
    "representation in ranked lists, WWW 2019 companion.",
    "Ekstrand, McDonald, Raj & Johnson, Overview of the TREC 2021 Fair Ranking Track, TREC 2021 (the distance).",
)


class ExposureCard(Record):
    """One column of `calipers exposure`."""

    sentence: str
    formula: str
    range: str
    where: tuple[str, ...] = ATTENTION
    citation: tuple[str, ...] = (EXPOSURE,)
    parameters: tuple[tuple[str, str, str, str], ...] = PARAMETERS


CARDS = {
    "EE-L": ExposureCard(
        "How far the attention that documents get is from what they should get. The less the better.",
        "EE-L = sum over documents of (e - e*)^2 = EE-D - 2 EE-R + sum of e*^2",
        "0 and up",
    ),
    "EE-D": ExposureCard(
        "How unequally attention is given to documents. The less the better.",
        "EE-D = sum over documents of e^2",
        "0 and up",
    ),
    "EE-R": ExposureCard(
        "How far attention goes to relevant documents. The more the better.",
        "EE-R = sum over documents of e * e*",
        "0 to the sum of e*^2",
    ),
    "AWRF": ExposureCard(
        "How near the shares of attention that groups of documents get are to those that they should get.",
        "AWRF = 1 - Jensen-Shannon divergence, in bits, of the shares of attention from the shares wanted",
        "0 to 1",
        ("share = the attention of a group's documents, of that of all documents with a group",),
        AWRF,
        (*PARAMETERS, *OF_GROUPS),
    ),
}
