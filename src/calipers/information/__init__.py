"""Information theory of rankings: how much systems tell about the judgments, alone and together.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from calipers.lazy_names import lazy_names

_HOMES = {
    "information_difference": ("InformationDifference", "difference", "difference_of", "same_group_share"),
    "estimators": ("ESTIMATORS", "estimate"),
    "joint_information": ("JointInformation", "joint", "joint_of", "known_by_groups"),
    "ric_of_preferences": ("PreferenceRic", "preference_ric"),
    "rankings": ("MISSING", "QueryRankings", "Rankings", "in_parallel", "pairs_of_grades"),
    "ric_scores": ("OTHERS", "RicStudy", "ric"),
    "sign_patterns": ("check_number_of_lists",),
    "information_tau": ("InformationTau", "tau", "tau_between"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
