"""Exposure: the attention that documents and groups of documents get, compared to the attention they should get.

    EE-L = sum of (e - e*)^2
    EE-D = sum of e^2
    EE-R = sum of e e*

e is the attention that a document gets on average. e* is the attention that it should get, which is the attention in a
ranking with better grades first and ties between documents of the same grade. All documents count that are judged or
retrieved.

    AWRF = 1 - Jensen-Shannon divergence, in bits, of p from q
    ExposureRatio = smallest p / q of a group as a share of the largest

p is the share of a group in the attention of all documents that have a group, and q is the share that it should have.

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
    """The squared distance of the attention that documents get from what they should get. Smaller is better."""
    return ExposureSum("loss", readers_of(model, patience, max_grade))


@measure("EE-D", patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, aliases=("EED", "EE_D"))
def expected_exposure_disparity(patience: float, model: str, max_grade: float | None) -> Form:
    """The inequality of the attention that documents get. Smaller is better."""
    return ExposureSum("disparity", readers_of(model, patience, max_grade))


@measure("EE-R", patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, aliases=("EER", "EE_R"))
def expected_exposure_relevance(patience: float, model: str, max_grade: float | None) -> Form:
    """The agreement of the attention that documents get with what they should get."""
    return ExposureSum("relevance", readers_of(model, patience, max_grade))


@measure("AWRF", target=TARGET_SHARE, patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, reads="groups")
def attention_weighted_rank_fairness(target: Target, patience: float, model: str, max_grade: float | None) -> Form:
    """The similarity of the shares of attention that groups of documents get and those that they should get."""
    return GroupExposure("divergence", readers_of(model, patience, max_grade), target)


@measure("ExposureRatio", target=TARGET_SHARE, patience=PATIENCE, model=MODEL, max_grade=MAX_GRADE, reads="groups")
def exposure_ratio(target: Target, patience: float, model: str, max_grade: float | None) -> Form:
    """The smallest ratio of attention to wanted attention of a group, divided by the largest such ratio."""
    return GroupExposure("ratio", readers_of(model, patience, max_grade), target)


def checked(target: str) -> Target:
    """Return the name of a target if it is known, or raise an error."""
    for known in TARGETS:
        if target == known:
            return known
    raise UnknownName.among("target", target, TARGETS)


def readers_of(model: str, patience: float, max_grade: float | None) -> Readers:
    """Return the readers of a model. Readers of `rbp` ignore what they see; those of `cascade` stop when satisfied."""
    if model not in MODELS:
        raise UnknownName.among("model", model, MODELS)
    if not 0.0 < patience < 1.0:
        raise CalipersError(f"patience {patience:g} is not between 0 and 1")
    return Readers(float(patience), stop_of("exp", max_grade) if model == "cascade" else None)
