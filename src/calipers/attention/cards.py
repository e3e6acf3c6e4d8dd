"""AWRF, which `calipers exposure` tells of groups of documents, as a card. It is not in the registry: docs/exposure.md.

Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group representation in
    ranked lists, WWW 2019 companion (AWRF).
"""

from __future__ import annotations

from calipers.attention.expected_exposure import TARGETS
from calipers.measures.exposure import MODELS

NAME = "AWRF"
SENTENCE = "How near the shares of attention that groups of documents get are to those that they should get."
FORMULA = "AWRF = 1 - Jensen-Shannon divergence, in bits, of the shares of attention from the shares wanted"
WHERE = ("share = the attention of a group's documents, of that of all documents with a group",)
RANGE = "0 to 1"
READER = "With model=rbp goes on from each rank with the chance patience; with cascade also stops where satisfied."
TIES = "attention is averaged over all orders by a closed form, exact, before shares are taken of it"
PARAMETERS = (
    ("model", "rbp", ", ".join(MODELS), "how readers go down a list"),
    ("patience", "0.5", "above 0, below 1", "the chance of going on to the next rank"),
    ("max_grade", "largest grade", "a grade", "cascade: a document of grade g satisfies (2^g - 1) / 2^max_grade"),
    ("stochastic", "False", "True, False", "runs of one tag are samples of one ranking"),
    ("groups", "none", "a file (--document-groups)", "lines of document and group"),
    ("target", "relevant", ", ".join(TARGETS), "what share of the attention a group should have"),
)
CITATION = (
    "Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group "
    "representation in ranked lists, WWW 2019 companion.",
    "Ekstrand, McDonald, Raj & Johnson, Overview of the TREC 2021 Fair Ranking Track, TREC 2021 (the distance).",
)
