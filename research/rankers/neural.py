"""RankNet and ListNet: small networks that score documents, trained by PyTorch.

    RankNet: loss = sum over pairs (i above j) of ln(1 + exp(-(s_i - s_j)))
    ListNet: loss = - sum over queries, over documents i of P_y(i) ln P_s(i),        P_z(i) = exp(z_i) / sum of exp(z_j)

Burges et al., Learning to rank using gradient descent, ICML 2005.
Cao, Qin, Liu, Tsai & Li, Learning to rank: from pairwise approach to listwise approach, ICML 2007.

A trained network is a few matrices. They are saved as plain arrays and multiplied by NumPy: ranking with a model needs
no PyTorch, and reading one loads weights and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from calipers.lists import Floats, Ints
from research.rankers.base import Arrays, Best, Progress, Ranker, check_positive
from research.rankers.training_examples import Examples, row_products

CELLS_AT_ONCE = 1 << 22  # pairs of documents in a batch, at most


@dataclass(eq=False, kw_only=True)
class NeuralRanker(Ranker):
    """A network of full layers with rectified units. hidden: units of each hidden layer; none makes it linear.

    epochs: passes over the queries, at most. batch: queries in a step. rate: of Adam. decay: of the weights. patience:
    epochs without a better score on validation data; the best epoch is kept.
    """

    hidden: tuple[int, ...] = ()
    epochs: int = 100
    batch: int = 16
    rate: float = 0.001
    decay: float = 0.0001
    patience: int | None = 15

    @property
    def steps(self) -> int:
        return self.epochs

    @abstractmethod
    def _loss(self, torch: Any, score: Any, label: Any, there: Any) -> Any:
        """Return the loss of some queries from [query, document] tensors. `there` is false for padding."""

    def learn(self, train: Examples, valid: Examples | None, progress: Progress) -> Arrays:
        import torch

        check_positive(self, "epochs", "batch", "rate")
        random = np.random.default_rng(self.seed)
        mean, spread = train.dense.mean(axis=0), train.dense.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        layers = self._start(train.width, random)
        tensors = [torch.tensor(array, dtype=torch.float32, requires_grad=True) for array in layers]
        optimiser = torch.optim.Adam(tensors, lr=self.rate, weight_decay=self.decay)
        X = torch.tensor((train.dense - mean) / spread, dtype=torch.float32)
        y = torch.tensor(train.y, dtype=torch.float32)
        on_valid = self._objective(valid)
        best, kept = Best(self.patience), _as_arrays(tensors, mean, spread)
        with _one_thread(torch):
            for epoch in range(self.epochs):
                for rows, there in self._batches(train, random):
                    score = _forward(torch, tensors, X[torch.from_numpy(rows)])
                    loss = self._loss(torch, score, y[torch.from_numpy(rows)], torch.from_numpy(there))
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                progress(1)
                model = _as_arrays(tensors, mean, spread)
                score = np.inf
                if valid is not None and on_valid is not None:
                    score = on_valid.mean(self.scores_of(model, valid.X))[0]
                if valid is None or best.better(epoch, float(score)):
                    kept = model
                elif best.enough(epoch):
                    break
        return kept

    def _start(self, width: int, random: np.random.Generator) -> list[Floats]:
        """Weights and biases as PyTorch's own layers have them at first: even over +- 1 / sqrt(units before)."""
        layers: list[Floats] = []
        for before, after in pairwise((width, *self.hidden, 1)):
            end = before**-0.5
            layers += [random.uniform(-end, end, (before, after)), random.uniform(-end, end, after)]
        return layers

    def _batches(self, train: Examples, random: np.random.Generator) -> Iterator[tuple[Ints, Any]]:
        """Yield queries with documents of different labels, in random order: their rows, filled up to the longest."""
        least = np.minimum.reduceat(train.y, train.start[train.size > 0])
        most = np.maximum.reduceat(train.y, train.start[train.size > 0])
        useful = np.flatnonzero(train.size > 0)[most > least]
        order = random.permutation(useful)
        start = 0
        while start < len(order):
            taken = order[start : start + self.batch]
            longest = int(train.size[taken].max())
            taken = taken[: max(1, CELLS_AT_ONCE // longest**2)]
            longest = int(train.size[taken].max())
            place = np.arange(longest)
            there = place < train.size[taken][:, None]
            yield np.where(there, train.start[taken][:, None] + place, train.start[taken][:, None]), there
            start += len(taken)

    def scores_of(self, model: Arrays, X: Any) -> Floats:
        value: Floats = (X - model["mean"]) / model["spread"]
        last = len(self.hidden)
        for layer in range(last + 1):
            value = row_products(value, model[f"weight{layer}"].astype(np.float64)) + model[f"bias{layer}"]
            if layer < last:
                value = np.maximum(value, 0.0)
        return value.ravel()

    @classmethod
    def shapes_of(cls, features: int, model: Arrays) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {"mean": (features,), "spread": (features,)}
        before = features
        for layer in range((len(model) - 2) // 2):
            after = int(model[f"weight{layer}"].shape[1])
            shapes |= {f"weight{layer}": (before, after), f"bias{layer}": (after,)}
            before = after
        if before != 1:
            raise ValueError(f"a network that ends in {before} units")
        return shapes


def _forward(torch: Any, tensors: list[Any], value: Any) -> Any:
    for layer in range(0, len(tensors), 2):
        value = value @ tensors[layer] + tensors[layer + 1]
        if layer + 2 < len(tensors):
            value = torch.relu(value)
    return value.squeeze(-1)


def _as_arrays(tensors: list[Any], mean: Floats, spread: Floats) -> Arrays:
    model: Arrays = {"mean": mean, "spread": spread}
    for place, tensor in enumerate(tensors):
        model[f"{'bias' if place % 2 else 'weight'}{place // 2}"] = tensor.detach().numpy().copy()
    return model


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Use one thread. Threads would slow down networks this small, and would add in a different order each time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
