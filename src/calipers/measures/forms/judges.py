"""A form of one grade per document, where several judges gave one: its mean over the judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Wrapper
from calipers.measures.forms.intents import ByIntent, by_part

if TYPE_CHECKING:
    from calipers.collection.several_judges import JudgesPool


class OverJudges(Wrapper):
    """The mean over judges of a form of the list, read by the grades of that judge; 0 where it is undefined for one."""

    def exactness(self, population: Population | None = None) -> Exactness:
        return super().exactness().changed(ideal="sorted", worst="sorted")

    def score(self, lists: Lists) -> Floats:
        seen = by_judge(lists)
        score = self.of.score(seen.lists)
        judges = np.diff(judges_of(lists.pool).starts)[lists.query]
        total = np.bincount(seen.parent, np.nan_to_num(score, nan=0.0), len(lists)) / judges
        return np.where(np.bincount(seen.parent, ~np.isnan(score), len(lists)) > 0, total, np.nan)

    def error(self, lists: Lists) -> Floats:
        seen = by_judge(lists)
        judges = np.diff(judges_of(lists.pool).starts)[lists.query]
        return np.sqrt(np.bincount(seen.parent, self.of.error(seen.lists) ** 2, len(lists))) / judges


def judges_of(pool: Pool) -> JudgesPool:
    """Return the pool as one of several judges, or raise an error."""
    if pool.kind != "judges":
        raise CalipersError("this measure needs judgments of several judges (query judge document grade)")
    return cast("JudgesPool", pool)


def by_judge(lists: Lists) -> ByIntent:
    """Return each list once for each judge of its query."""
    pool = judges_of(lists.pool)
    return lists.once("by judge", lambda: by_part(lists, pool.graded, pool.document, pool.starts))
