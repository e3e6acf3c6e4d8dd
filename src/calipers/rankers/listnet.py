"""ListNet: a network trained on whole lists, with the cross entropy of which document comes first.

    loss = - sum over queries, over documents i of P_y(i) ln P_s(i),        P_z(i) = exp(z_i) / sum of exp(z_j)

Cao, Qin, Liu, Tsai & Li, Learning to rank: from pairwise approach to listwise approach, ICML 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calipers.rankers.neural import NeuralRanker


@dataclass(eq=False, kw_only=True)
class ListNet(NeuralRanker):
    """A network, linear as in the paper unless `hidden` says otherwise, trained on the top-one probabilities.

    >>> ListNet().get_params()["hidden"]
    ()
    """

    name: ClassVar[str] = "listnet"

    def _loss(self, torch: Any, score: Any, label: Any, there: Any) -> Any:
        wanted = torch.softmax(label.masked_fill(~there, -1e9), dim=1)
        given = torch.log_softmax(score.masked_fill(~there, -1e9), dim=1)
        return -(wanted * given).sum(dim=1).mean()
