"""Learning-to-rank data to order, for tests and for trying things out.

A document has a hidden relevance z ~ N(0, 1). Its grade is z with some noise, cut so that grades have the shares asked
for. Informative features follow z, each with noise of its own, some of them bent; noisy features follow nothing; one
feature is constant. As in LETOR, features are brought to 0 .. 1 inside each query. Some queries have no relevant
document, and some fewer than ten documents: what conventions differ about.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from calipers import CalipersError
from calipers.support.atomic_files import replacing, write_whole
from research.rankers.letor_data import LetorData
from research.rankers.training_examples import by_query

DIGITS = 6


def synthetic_letor(
    queries: int = 100,
    *,
    informative: int = 6,
    noisy: int = 5,
    shares: Sequence[float] = (0.7, 0.2, 0.1),
    documents: int = 25,
    empty: float = 0.15,
    short: float = 0.25,
    noise: float = 0.6,
    first: int = 1,
    seed: int = 42,
) -> LetorData:
    """Draw queries with documents, grades and features.

    shares: of the grades 0, 1, 2 ... documents: of a query, on average, but for the share `short` of the queries, which
    have 1 to 9. empty: share of the queries that have no relevant document. first: the number of the first query.

    >>> data = synthetic_letor(queries=50)
    >>> len(data.queries), data.width, sorted(set(data.y.tolist()))
    (50, 12, [0.0, 1.0, 2.0])
    """
    if queries < 1 or informative < 1 or noisy < 0 or documents < 10:
        raise CalipersError(
            "synthetic data needs a query, an informative feature, and ten documents per query on average"
        )
    random = np.random.default_rng(seed)
    size = np.clip(random.poisson(documents, queries), 10, None)
    size[random.permutation(queries)[: round(short * queries)]] = random.integers(1, 10, round(short * queries))
    query = np.repeat(np.arange(queries), size)
    hidden = random.normal(size=len(query))
    cuts = np.quantile(hidden, np.cumsum(shares)[:-1])
    grade = np.searchsorted(cuts, hidden + 0.3 * random.normal(size=len(query)), side="right").astype(np.float64)
    grade[np.isin(query, random.permutation(queries)[: round(empty * queries)])] = 0.0
    spread = noise * (1 + np.arange(informative) / informative)
    follows = hidden[:, None] + spread * random.normal(size=(len(query), informative))
    follows[:, 2::3] = np.exp(follows[:, 2::3])  # bent: the order stays, the distances do not
    offset = random.normal(size=(queries, informative))[query]  # what a query adds to all its documents
    features = np.concatenate(
        [follows + offset, random.normal(size=(len(query), noisy)), np.ones((len(query), 1))], axis=1
    )
    names = tuple(str(first + i) for i in range(queries))
    return LetorData(by_query(features, query).round(DIGITS), grade, query, names, "synthetic")


def write_letor(data: LetorData, path: str | Path) -> None:
    """Write data as a LETOR (SVMlight) file, every feature of every document."""
    rows = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X).tolist()
    labels = [f"{label:g}" for label in data.y.tolist()]
    with replacing(str(path)) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for label, query, row, document in zip(labels, data.query.tolist(), rows, range(len(rows)), strict=True):
            features = (f"{index}:{value:.{DIGITS}g}" for index, value in enumerate(row, 1))
            ends = chain((label, f"qid:{data.queries[query]}"), features, (f"#docid = D{document + 1}",))
            file.write(" ".join(ends) + "\n")


def write_collection(folder: str | Path, queries: int = 100, parts: int = 5, seed: int = 42) -> Path:
    """Write a folder with S1 .. S5 and a readme that lists the folds, as in LETOR."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    names = [f"S{i}" for i in range(1, parts + 1)]
    for i, name in enumerate(names):
        count = queries * (i + 1) // parts - queries * i // parts
        part = synthetic_letor(count, first=1 + queries * i // parts, seed=seed + i)
        write_letor(part, place / f"{name}.txt")
    turned = [names[i:] + names[:i] for i in range(parts)]
    lines = [f"Fold{i}\t{', '.join(each[:-2])}\t{each[-2]}\t{each[-1]}\n" for i, each in enumerate(turned, 1)]
    write_whole(place / "readme.txt", ("Fold\tTraining\tValidation\tTest\n" + "".join(lines)).encode())
    return place
