"""Information theory of rankings: how much systems tell about the judgments, alone and together.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.information.information_difference import (
        InformationDifference as InformationDifference,
        difference as difference,
        difference_of as difference_of,
        same_group_share as same_group_share,
    )
    from calipers.questions.information.information_tau import (
        InformationTau as InformationTau,
        tau as tau,
        tau_between as tau_between,
    )
    from calipers.questions.information.joint_information import (
        ESTIMATORS as ESTIMATORS,
        JointInformation as JointInformation,
        estimate as estimate,
        joint as joint,
        joint_of as joint_of,
        known_by_groups as known_by_groups,
    )
    from calipers.questions.information.rankings import (
        MISSING as MISSING,
        QueryRankings as QueryRankings,
        Rankings as Rankings,
        in_parallel as in_parallel,
        pairs_of_grades as pairs_of_grades,
    )
    from calipers.questions.information.ric_scores import (
        OTHERS as OTHERS,
        PreferenceRic as PreferenceRic,
        RicStudy as RicStudy,
        preference_ric as preference_ric,
        ric as ric,
    )
    from calipers.questions.information.sign_patterns import check_number_of_lists as check_number_of_lists
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
