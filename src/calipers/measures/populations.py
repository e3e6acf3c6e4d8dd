"""Populations: the documents that a random ranking shuffles. Nothing here needs NumPy."""

from __future__ import annotations

import re

from calipers.errors import CalipersError, CheckFailed
from calipers.support.plurals import counted

DEFAULT_POPULATION = "pool"
OF_LISTS = ("retrieved", "union")  # populations that depend on what a run returned
NAMED = (DEFAULT_POPULATION, *OF_LISTS)
COLLECTION = "collection(N)"
POPULATIONS = ", ".join((*NAMED, COLLECTION))
LARGEST_COLLECTION = 150_000_000  # documents: some measures take weights of all their ranks

_COLLECTION = re.compile(r"collection\((\d{1,20})\)$")
_DOCUMENTS = {
    "pool": "the judged documents of the query",
    "retrieved": "the documents that the run returned, judged or not",
    "union": "the judged documents of the query and the unjudged ones that the run ranks above judged ones",
}


def check_population(population: str) -> None:
    """Raise an error unless the population is known."""
    if population in NAMED:
        return
    found = _COLLECTION.match(str(population))
    if found and int(found[1]) > LARGEST_COLLECTION:
        raise CalipersError(f"population {population} is above {LARGEST_COLLECTION:,} documents")
    if not found:
        raise CalipersError(f"unknown population '{population}'; expected one of {POPULATIONS}")


def collection_size(population: str) -> int:
    """Return N of collection(N)."""
    found = _COLLECTION.match(population)
    if found is None:
        raise CalipersError(f"population '{population}' is not of the form {COLLECTION}")
    return int(found[1])


def what_is_shuffled(population: str) -> str:
    """Return one sentence about the documents of a random ranking.

    >>> what_is_shuffled("pool")
    'a random ranking shuffles the judged documents of the query'
    """
    check_population(population)
    documents = _DOCUMENTS.get(population)
    if documents is None:
        size = collection_size(population)
        documents = f"{size:,} documents, of which those that are not judged are not relevant"
    return f"a random ranking shuffles {documents}"


def no_room(subject: str, flat: int, queries: int, population: str, largest_pool: int) -> CheckFailed:
    """Return the error for a collection in which random and ideal rankings score the same.

    subject: the measures or the result that cannot be computed. flat: the number of queries for which random and ideal
    rankings score the same. largest_pool: the largest number of judged documents of a query.
    """
    documents = _DOCUMENTS.get(population, population)
    same = f"every ranking of {documents} scores the same (for example, because only relevant documents are judged)"
    others = {
        "collection": "collection(N), where N is the number of documents in the collection, as in "
        f"collection({2 * largest_pool + 1000})",
        "retrieved": "retrieved, the documents that each run returned",
    }
    useful = ", or ".join(text for name, text in others.items() if not population.startswith(name))
    return CheckFailed(
        f"{subject}: for {flat:,} of {counted(queries, 'query')} {same}, so nothing lies between random and ideal. "
        f"Use the population {useful}"
    )
