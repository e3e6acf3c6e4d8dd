"""Evaluators that score the retrieval of a sentence-transformers model, during or after training.

    from calipers.tools.sentence_transformers import retrieval_evaluator

    evaluator = retrieval_evaluator(queries, corpus, relevant_docs, "nDCG@10 V2(nDCG@10)")
    evaluator(model)                                               # {'cosine_nDCG@10': ..., 'cosine_V2(nDCG@10)': ...}
    SentenceTransformerTrainer(model, evaluator=evaluator, ...)

The evaluator is an InformationRetrievalEvaluator, which encodes and compares queries and documents. Calipers scores the
documents that it finds. Relevant documents may have grades.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Unpack

from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Measures, evaluate
from calipers.evaluation.options import ScoringOptions
from calipers.measures.forms.base import deepest
from calipers.results.tables import as_number
from calipers.support.extras import load
from calipers.tools.predictions import ScoringKeywords

MEASURES = "nDCG@10 RR@10 AP@100 Recall@100"
DEPTH = 1000  # documents per query that are scored if a measure reads whole lists


def retrieval_evaluator(
    queries: Mapping[str, Any],
    corpus: Mapping[str, Any],
    relevant_docs: Mapping[str, Collection[str] | Mapping[str, float]],
    measures: Measures = MEASURES,
    *,
    name: str = "",
    options: Mapping[str, Any] | None = None,
    **policies: Unpack[ScoringKeywords],
) -> Any:
    """Return an InformationRetrievalEvaluator that reports these measures. The first measure is the primary one.

    queries, corpus: {id: text}.
    relevant_docs: {query: {document, ...}} or {query: {document: grade}}.
    options: further options of InformationRetrievalEvaluator, such as batch_size, query_prompt, score_functions.
    policies: scoring options of `evaluate`. depth: documents per query that are kept; by default as many as the
        measures read.
    """
    base: Any = _base()
    named = ScoringOptions(**policies).named(measures)
    if not any(relevant_docs.get(query) for query in queries):
        raise CalipersError("no query has a relevant document")
    kept = policies.get("depth") or deepest(measure.form for measure in named.values()) or DEPTH
    judged = {
        query: {d: float(g) for d, g in known.items()} if isinstance(known, Mapping) else dict.fromkeys(known, 1.0)
        for query, known in relevant_docs.items()
    }

    class CalipersRetrievalEvaluator(base):  # type: ignore[misc]  # the base class is known only if it is installed
        def __init__(self) -> None:
            lists = {f"{key}_at_k": [kept] for key in ("mrr", "ndcg", "accuracy", "precision_recall", "map")}
            relevant = {query: set(known) for query, known in judged.items()}
            more = {"write_csv": False, **(options or {})}
            super().__init__(dict(queries), dict(corpus), relevant, name=name, **lists, **more)

        def compute_metrics(self, queries_result_list: list[Any]) -> dict[str, float]:
            """Return the means over the queries."""
            run = {
                query: {hit["corpus_id"]: float(hit["score"]) for hit in hits}
                for query, hits in zip(self.queries_ids, queries_result_list, strict=True)
            }
            known = {query: judged[query] for query in self.queries_ids}
            row = evaluate(known, run, [*named.values()], unmatched="warn", warn=False, **policies).mean().rows[0]
            return {typed: as_number(value) for typed, value in zip(named, row[1:], strict=True)}

        def output_scores(self, scores: Mapping[str, float]) -> None:
            """Log nothing: the names that would be logged are not those of these measures."""

        def __call__(
            self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1, **more: Any
        ) -> dict[str, float]:
            if not (options or {}).get("score_functions"):
                self.score_functions = {model.similarity_fn_name: model.similarity}
                self.score_function_names = [model.similarity_fn_name]
            scores = self.compute_all_metrics(model, output_path=output_path, **more)
            first = next(iter(named))
            main = self.main_score_function
            by = main.value if main is not None else max(scores, key=lambda function: scores[function][first])
            self.primary_metric = f"{by}_{first}"
            metrics = {f"{function}_{typed}": value for function, of in scores.items() for typed, value in of.items()}
            if output_path is not None and self.write_csv:
                _append(Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **metrics})
            metrics = self.prefix_name_to_metrics(metrics, self.name)
            self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
            return dict(metrics)

    return CalipersRetrievalEvaluator()


def _append(path: Path, row: Mapping[str, float]) -> None:
    """Append a line to a CSV file. A new file gets the names first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*row], [*row.values()]] if new else [[*row.values()]])


def _base() -> Any:
    what = "evaluators of sentence-transformers"
    found = load("sentence_transformers", package="sentence-transformers", what=what)
    new = int(found.__version__.split(".")[0]) >= 6
    module = "sentence_transformers.sentence_transformer.evaluation" if new else "sentence_transformers.evaluation"
    return load(module, package="sentence-transformers", what=what).InformationRetrievalEvaluator
