"""Scoring options: how lists are read and what undefined scores count."""

from __future__ import annotations

from typing import Any, get_args

from calipers.conventions import PLAIN, Convention, convention
from calipers.lists import TIE_RULES
from calipers.measures.grammar import Defaults, MeasuresLike, parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision
from calipers.support.checks import Policy as Policy, check_choice, check_number, check_policy, check_whole
from calipers.support.choices import TieRule
from calipers.support.record import Record


class ScoringOptions(Record):
    """Options for reading lists and for undefined scores. The convention gives the value of an option that is None.

    >>> ScoringOptions(like="trec_eval").ties, ScoringOptions(like="trec_eval", ties="best").ties
    ('docid', 'best')
    """

    like: Convention
    ties: TieRule
    relevant: float | None  # the smallest relevant grade, as `like` has it; None: that of the convention
    depth: int | None  # keep only the first `depth` documents of each list
    condensed: bool  # drop unjudged documents
    empty: Policy | None  # score of a query that leaves a measure undefined for every ranking; None: see `empty_plain`
    missing: Policy | None  # score of a list that leaves a measure undefined; as `skip` also of queries that a run
    # lacks; None: see `missing_counts`
    degenerate: Policy | None  # normalised score where all rankings score the same; None: what the formula gives
    precision: Precision  # in which document scores are compared

    def __init__(
        self,
        *,
        like: str | Convention | None = None,
        ties: TieRule | None = None,
        relevant: float | None = None,
        depth: int | None = None,
        condensed: bool = False,
        empty: Policy | None = None,
        missing: Policy | None = None,
        degenerate: Policy | None = None,
        precision: Precision | None = None,
    ) -> None:
        relevant = None if relevant is None else check_number("relevant", relevant)
        rules = convention(like).with_relevant(relevant)
        counts = missing if missing is not None or rules == PLAIN.with_(rel=rules.rel) else rules.missing
        super().__init__(
            like=rules,
            ties=check_choice("tie rule", rules.ties if ties is None else ties, TIE_RULES),
            relevant=relevant,
            depth=None if depth is None else check_whole("depth", depth),
            condensed=bool(condensed),
            empty=None if empty is None else check_policy("empty", empty),
            missing=None if counts is None else check_policy("missing", counts),
            degenerate=None if degenerate is None else check_policy("degenerate", degenerate),
            precision=check_choice(
                "precision", rules.precision if precision is None else precision, get_args(Precision)
            ),
        )

    @property
    def empty_plain(self) -> Policy:
        """Value of `empty` for measures that are not normalised. Normalised measures skip the query by default."""
        return check_policy("empty", self.like.empty) if self.empty is None else self.empty

    @property
    def missing_counts(self) -> Policy:
        """Value of `missing`, by default 0: then `compare` and `check` refuse runs that lack most judged queries."""
        return 0.0 if self.missing is None else self.missing

    @property
    def measure_defaults(self) -> Defaults | None:
        """Parameters that the convention sets where the name of a measure leaves them open. None if it sets none."""
        return None if self.like == PLAIN else self.like.defaults

    @property
    def shown_defaults(self) -> Defaults | None:
        """The defaults that names of measures show: those that `relevant` sets. None without this option."""
        gain = self.like.gain if str(self.like.gain).startswith("rel") else "linear"
        return None if self.relevant is None else PLAIN.with_(rel=self.relevant, gain=gain).defaults

    def named(self, measures: MeasuresLike) -> dict[str, Measure]:
        """Return measures by name, with the parameters that the options set.

        >>> ScoringOptions(relevant=4).named("map P@5 nDCG@10 RR(rel=2)")
        {'AP(rel=4)': AP(rel=4), 'P(rel=4)@5': P(rel=4)@5, 'nDCG@10': nDCG@10, 'RR(rel=2)': RR(rel=2)}
        """
        return dict(parse_all(measures, self.measure_defaults, self.shown_defaults))

    def as_metadata(self) -> dict[str, Any]:
        """Return the options by name, as results record them."""
        return {
            "like": None if self.like == PLAIN.with_(rel=self.like.rel) else self.like.name,
            "like_sentence": self.like.sentence,
            "ties": self.ties,
            "relevant": self.relevant,
            "depth": self.depth,
            "condensed": self.condensed,
            "empty": self.empty,
            "empty_plain": check_policy("empty", self.like.empty),
            "missing": self.missing_counts,
            "degenerate": self.degenerate,
        }
