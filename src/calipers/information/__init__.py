"""Evaluation as information: rank correlation in bits, what systems know together, which are the same underneath.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from calipers.lazy_names import lazy_names

_HOMES = {
    "difference": ("difference_of", "information_difference"),
    "estimators": ("ESTIMATORS", "estimate"),
    "joint": ("JointInformation", "joint_of", "joint_ric", "known_by_groups"),
    "preference_ric": ("PreferenceRic", "preference_ric"),
    "rankings": ("MISSING", "QueryRankings", "Rankings", "in_parallel", "pairs_of_grades"),
    "ric_scores": ("OTHERS", "RicStudy", "ric_study"),
    "sign_patterns": ("check_number_of_lists",),
    "tau": ("InformationTau", "information_tau", "tau_of_measures"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
