"""Whether documents, and groups of documents, get the attention that they should.

    EE-L = sum of (e - e*)^2
    EE-D = sum of e^2
    EE-R = sum of e e*

e is the attention that a document gets on average, e* what it should get: what it gets where documents of one grade are
tied and better grades come first. All documents count that are judged or that the list retrieves.

    AWRF = 1 - Jensen-Shannon divergence, in bits, of p from q
    ExposureRatio = smallest p / q of a group as a share of the largest

p is the share of each group in the attention of all documents that have one, q the share that it should have.

Diaz, Mitra, Ekstrand, Biega & Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020 (EE-L, EE-D,
    EE-R).
Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the impact of user attention on fair group representation in
    ranked lists, WWW 2019 companion (AWRF).
Ekstrand, McDonald, Raj & Johnson, Overview of the TREC 2021 Fair Ranking Track, TREC 2021 (AWRF).
Singh & Joachims, Fairness of exposure in rankings, KDD 2018 (ExposureRatio).
"""

from __future__ import annotations

from calipers.errors import CalipersError, UnknownName
from calipers.measures.forms import Form
from calipers.measures.forms.exposure import ExposureSum, Readers
from calipers.measures.forms.group_exposure import TARGETS, GroupExposure, Target
from calipers.measures.parameters import MAX_GRADE, PERSISTENCE, Parameter
from calipers.measures.registry import measure
from calipers.measures.user_models import stop_of

MODELS = ("rbp", "cascade")
PATIENCE = PERSISTENCE.by_default(0.5).changed(least=None, above=0)
MODEL = Parameter(
    "Readers go on independently of what they see (rbp), or unless a document satisfies them (cascade).",
    "word", "rbp", MODELS,
)  # fmt: skip
TARGET_SHARE = Parameter(
    "The share of attention that a group should get: its share of the relevant documents (relevant), of the target "
    "exposure of judged documents (exposure), or the same for all groups (equal).",
    "word", "relevant", TARGETS,
)  # fmt: skip


@measure("EE-L", patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, aliases=("EEL", "EE_L"))
def expected_exposure_loss(patience: float, model: str, max_grade: float | None) -> Form:
    """How far the attention that documents get is from what they should get; the less the better."""
    return ExposureSum("loss", readers_of(model, patience, max_grade))


@measure("EE-D", patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, aliases=("EED", "EE_D"))
def expected_exposure_disparity(patience: float, model: str, max_grade: float | None) -> Form:
    """How unequally attention is given to documents; the less the better."""
    return ExposureSum("disparity", readers_of(model, patience, max_grade))


@measure("EE-R", patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, aliases=("EER", "EE_R"))
def expected_exposure_relevance(patience: float, model: str, max_grade: float | None) -> Form:
    """How far attention goes to the documents that should get it."""
    return ExposureSum("relevance", readers_of(model, patience, max_grade))


@measure("AWRF", target=TARGET_SHARE, patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, reads="groups")
def attention_weighted_rank_fairness(target: Target, patience: float, model: str, max_grade: float | None) -> Form:
    """How near the shares of attention that groups of documents get are to those that they should get."""
    return GroupExposure("divergence", readers_of(model, patience, max_grade), target)


@measure("ExposureRatio", target=TARGET_SHARE, patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, reads="groups")
def exposure_ratio(target: Target, patience: float, model: str, max_grade: float | None) -> Form:
    """What the group that gets least of its share of attention gets of it, against the one that gets most."""
    return GroupExposure("ratio", readers_of(model, patience, max_grade), target)


def checked(target: str) -> Target:
    """What the share of a group is taken of; refused where there is no such thing."""
    for known in TARGETS:
        if target == known:
            return known
    raise UnknownName.among("target", target, TARGETS)


def readers_of(model: str, patience: float, max_grade: float | None) -> Readers:
    """Who reads: rbp, who go on whatever they see; cascade, who stop where they are satisfied, as those of ERR."""
    if model not in MODELS:
        raise UnknownName.among("model", model, MODELS)
    if not 0.0 < patience < 1.0:
        raise CalipersError(f"patience {patience:g} is not between 0 and 1")
    return Readers(float(patience), stop_of("exp", max_grade) if model == "cascade" else None)
