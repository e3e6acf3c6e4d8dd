"""RankNet: a network trained on pairs, with the cross entropy of the order of the two documents.

    loss = sum over pairs (i above j) of ln(1 + exp(-(s_i - s_j)))

Burges et al., Learning to rank using gradient descent, ICML 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calipers.rankers.neural import NeuralRanker


@dataclass(eq=False, kw_only=True)
class RankNet(NeuralRanker):
    """A network trained on pairs of documents of one query with different labels; the loss is their mean.

    >>> RankNet(hidden=(10, 10)).get_params()["hidden"]
    (10, 10)
    """

    name: ClassVar[str] = "ranknet"

    hidden: tuple[int, ...] = (32,)

    def _loss(self, torch: Any, score: Any, label: Any, there: Any) -> Any:
        right = (label[:, :, None] > label[:, None, :]) & there[:, :, None] & there[:, None, :]
        margin = (score[:, :, None] - score[:, None, :])[right]
        return torch.nn.functional.softplus(-margin).mean()
