"""Judgments of ir_datasets, named as `irds:DATASET_ID`."""

from __future__ import annotations

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.table_rows import Rows
from calipers.errors import CalipersError
from calipers.native.ids import Ids
from calipers.support.extras import load
from calipers.support.extras import check_online

PREFIX = "irds:"


def read_irds(name: str, combine: str | None = None) -> Judgments:
    """Return the judgments of a dataset. ir_datasets downloads them the first time.

    With CALIPERS_OFFLINE the call is refused: ir_datasets has no switch that keeps it from downloading.
    """
    check_online("a dataset of ir_datasets", file=name)
    ir_datasets = load("ir_datasets", extra="irds", what=f"{PREFIX} judgments")
    try:
        dataset = ir_datasets.load(name.removeprefix(PREFIX))
        if not dataset.has_qrels():
            raise CalipersError("this dataset has no judgments", file=name)
        found = [(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in dataset.qrels_iter()]
    except CalipersError:
        raise
    except KeyError:
        raise CalipersError("ir_datasets does not know this dataset", file=name) from None
    except Exception as error:  # any error of a download
        raise CalipersError(f"ir_datasets cannot read it: {type(error).__name__}: {error}", file=name) from error
    if not found:
        raise CalipersError("this dataset has no judgments", file=name)
    codes: dict[str, int] = {}
    rows = Rows(
        query=np.array([codes.setdefault(query, len(codes)) for query, _, _ in found], np.int32),
        queries=Ids.of(codes),
        documents=Ids.of(document for _, document, _ in found),
        value=np.array([grade for _, _, grade in found], np.float64),
        file=name,
    )
    return rows.judgments(name, combine)
