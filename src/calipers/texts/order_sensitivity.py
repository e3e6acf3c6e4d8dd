"""Order documents from heterogeneous to homogeneous (algorithm 2 of Feng (2023)).

Algorithm 2 of Feng (2023) takes the absolute difference between the BERTScore of the k tokens most similar to the
document and that of the k least similar tokens. Documents with a small difference are called heterogeneous, those with
a large difference homogeneous. The profile of a document is the mean and the standard deviation of the cosine between
the vector of each token and that of the document, which is the mean over its tokens (chapter 8.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table
from calipers.support.plurals import counted, verb
from calipers.texts.bertscore import Matcher
from calipers.texts.bertscore_measure import encoded_references
from calipers.texts.bounded_scores import Progress
from calipers.texts.collection import TextCollection
from calipers.texts.keywords import expected_parts, expected_texts, similarities, tokens_of_references
from calipers.texts.options import TextOptions
from calipers.texts.random_texts import needed_source

ORDERS = ("heterogeneity", "mean", "deviation", "id")


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(Result):
    """Profiles of documents: one entry per document in each array."""

    documents: tuple[str, ...]
    encoder: str
    tokens: Ints
    k: Ints
    most: Floats  # expected BERTScore (F1) of the k most similar tokens
    least: Floats
    mean: Floats  # of the tokens' similarity to the document
    deviation: Floats
    cut: int  # sources that were longer than the model reads

    @property
    def difference(self) -> Floats:
        """|E(most) - E(least)|: small for heterogeneous documents."""
        return np.abs(self.most - self.least)

    def order(self, by: str = "heterogeneity") -> Ints:
        """Return the order of documents, most heterogeneous first: by difference, mean or deviation."""
        keys = {
            "heterogeneity": self.difference,
            "mean": self.mean,
            "deviation": -self.deviation,
            "id": np.argsort(np.argsort(self.documents)),
        }
        if by not in keys:
            raise CalipersError(f"unknown order '{by}' of documents; there are {', '.join(ORDERS)}")
        return np.argsort(keys[by], kind="stable")

    def ends(self, size: int) -> tuple[Ints, Ints]:
        """Return the `size` most heterogeneous and the `size` most homogeneous documents."""
        if not 0 < size <= len(self.documents):
            raise CalipersError(f"there are {counted(len(self.documents), 'document')}, not {size}")
        order = self.order()
        return order[:size], order[len(order) - size :]

    @property
    def title(self) -> str:
        return f"{counted(len(self.documents), 'document')}, from heterogeneous to homogeneous ({self.encoder})"

    @property
    def summary(self) -> str:
        order = self.order()
        first, last = self.documents[order[0]], self.documents[order[-1]]
        return (
            f"The expected BERTScore changes least with the choice of tokens for {first} "
            f"({self.difference[order[0]]:.4f}) and most for {last} ({self.difference[order[-1]]:.4f})."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.cut:
            return ()
        return (f"{counted(self.cut, 'source')} {verb(self.cut, 'is', 'are')} longer than the model reads; cut",)

    def tables(self) -> Mapping[str, Table]:
        return Tables({"documents": self.ordered})

    def ordered(self, by: str = "heterogeneity", top: int | None = None) -> Table:
        """Return a table with one row per document.

        With `top`, it has only that many at either end of the order, and the column `group` says at which.
        """
        order = self.order(by).tolist()
        groups: tuple[str, ...] = ()
        if top is not None and 2 * top <= len(order):
            order = order[:top] + order[-top:]
            groups = ("heterogeneous",) * top + ("homogeneous",) * top
        place = {d: i for i, d in enumerate(self.order(by).tolist(), 1)}
        named: dict[str, Floats | Ints] = {
            "tokens": self.tokens,
            "k": self.k,
            "E most": self.most,
            "E least": self.least,
            "difference": self.difference,
            "mean": self.mean,
            "deviation": self.deviation,
        }
        rows: list[tuple[Cell, ...]] = [
            (self.documents[d], place[d], *(values[d].item() for values in named.values()), *groups[i : i + 1])
            for i, d in enumerate(order)
        ]
        columns = ("document", "place", *named, *(("group",) if groups else ()))
        return Table(columns, tuple(rows), {"encoder": self.encoder})


def document_profiles(
    collection: TextCollection,
    matcher: Matcher,
    options: TextOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Profiles:
    """Return the profile of each document. `progress` is called with the number of texts that were encoded."""
    chosen = options or TextOptions()
    keywords = chosen.keywords
    if keywords.k == "candidate" or keywords.choose == "random":
        raise CalipersError("documents are compared by their most and least similar tokens: k a number, or reference")
    encoder = matcher.encoder
    sources = [needed_source(document, "its profile needs") for document in collection.documents]
    texts = [text for document in collection.documents for text in document.references]
    encoded = encoder.encode([*sources, *texts], progress)
    for document, source in zip(collection.documents, sources, strict=True):
        if encoded[source].empty:
            raise CalipersError(f"the source of {document} has no tokens")
    references = encoded_references(collection, encoded)
    sizes = [keywords.k if isinstance(keywords.k, int) else tokens_of_references(known) for known in references]
    ends = []
    for choose in ("most", "least"):
        made = [
            expected_texts(encoder, encoded[source], k, replace(keywords, choose=choose))
            for source, k in zip(sources, sizes, strict=True)
        ]
        ends.append(expected_parts(matcher, made, references, chosen.several, progress)[0][:, -1])
    near = [similarities(encoded[source]) for source in sources]
    return Profiles(
        collection.ids,
        encoder.name,
        np.array([(~encoded[source].special).sum() for source in sources]),
        np.array(sizes),
        ends[0],
        ends[1],
        np.array([each.mean() for each in near]),
        np.array([each.std() for each in near]),
        sum(encoded[source].cut for source in sources),
    )


def steps(collection: TextCollection) -> int:
    """Return the total that `progress` reaches."""
    texts = {text for document in collection.documents for text in (document.source, *document.references)}
    return len(texts) + 2 * len(collection.documents)
