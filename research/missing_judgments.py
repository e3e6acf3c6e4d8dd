"""Hide judgments of three collections, and see which treatment of unjudged documents comes closest to full judgments.

    python -m research.missing_judgments FOLDER

FOLDER has trec8-adhoc, covid-round1, dl19-passage and qrels. Nothing here is tuned: priors and smoothing are the
defaults of `calipers.ranges`. Twenty systems per collection (every n-th by name), lists cut at rank 100.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import calipers as cal

SYSTEMS = 20
DEPTH = 100
DRAWS = 10  # of gradings, where an expected score is sampled
KEPT = (0.5, 0.2, 0.1)  # shares of the judgments that are kept at random
POOLED = (20, 10, 5)  # depths of the pools whose judgments are kept
COLLECTIONS = {
    "TREC-8": ("trec8-adhoc/qrels.txt", "trec8-adhoc/runs", 1),
    "TREC-COVID round 1": ("covid-round1/qrels-rnd1.txt", "covid-round1/runs", 1),
    "DL19 passages": ("qrels/qrels.dl19-passage.txt.xz", "dl19-passage/runs", 2),
}
Grades = dict[str, dict[str, float]]
Runs = dict[str, dict[str, dict[str, float]]]


def read(folder: Path, name: str) -> tuple[Grades, Runs, int]:
    """Return the judgments, the top of some runs, and the grade from which on a document is relevant."""
    qrels, runs, rel = COLLECTIONS[name]
    files = sorted((folder / runs).iterdir())
    chosen = files[:: max(1, len(files) // SYSTEMS)][:SYSTEMS]
    judged = cal.read_qrels(folder / qrels).to_dict()
    found: Runs = {}
    for file in chosen:
        lists = cal.read_run(file).to_dict()
        found[file.name] = {
            query: dict(sorted(lists[query].items(), key=lambda pair: (-pair[1], pair[0]))[:DEPTH])
            for query in judged
            if query in lists
        }
    return judged, found, rel


def hidden(judged: Grades, runs: Runs, seed: int) -> Iterator[tuple[str, Grades]]:
    """Yield the judgments that are left, with a name for how the others were hidden.

    Every query keeps at least one relevant document, so that no measure is undefined for it.
    """
    random = np.random.default_rng(seed)
    for share in KEPT:
        yield (
            f"random {share:.0%}",
            _with_a_relevant_one(
                judged, {q: {d: g for d, g in of.items() if random.random() < share} for q, of in judged.items()}
            ),
        )
    for depth in POOLED if seed == 0 else ():  # nothing is drawn
        pool = {q: {d for run in runs.values() for d in list(run.get(q, {}))[:depth]} for q in judged}
        yield (
            f"depth {depth}",
            _with_a_relevant_one(
                judged, {q: {d: g for d, g in of.items() if d in pool[q]} for q, of in judged.items()}
            ),
        )


def _with_a_relevant_one(judged: Grades, kept: Grades) -> Grades:
    best = {query: max(of, key=lambda document: (of[document], document)) for query, of in judged.items()}
    return {query: {**kept[query], best[query]: judged[query][best[query]]} for query in judged}


def estimates(judged: Grades, left: Grades, runs: Runs, rel: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the measure that is estimated, the method, and the mean of each system."""
    names = {"nDCG@10": "nDCG@10", "AP": f"AP(rel={rel})"}

    def means(scores: cal.Scores, name: str) -> np.ndarray:
        return np.asarray(np.mean(scores[name], axis=1))

    plain = cal.evaluate(left, runs, list(names.values()), warn=False)
    condensed = cal.evaluate(left, runs, list(names.values()), condensed=True, warn=False)
    for target, name in names.items():
        yield target, "unjudged as 0", means(plain, name)
        yield target, "condensed lists", means(condensed, name)
        for prior in ("run", "pool"):
            found = cal.Experiment(left, runs, name, warn=False).ranges(prior=prior, draws=DRAWS)
            yield target, f"expected, prior {prior}", found.expected[name].expected.mean(axis=1)
    bpref = f"bpref(rel={rel})"
    yield "AP", "bpref", means(cal.evaluate(left, runs, bpref, warn=False), bpref)
    marked = {q: {d: left[q].get(d, -1) for d in of} for q, of in judged.items()}  # -1: pooled, not judged
    inferred = f"infAP(rel={rel})"
    yield "AP", "infAP", means(cal.evaluate(marked, runs, inferred, warn=False), inferred)


def compared(folder: Path, name: str, repeats: int) -> Iterator[tuple[str, str, str, str, float, float]]:
    """Yield collection, how judgments were hidden, measure, method, mean absolute error, and tau."""
    from scipy.stats import kendalltau

    judged, runs, rel = read(folder, name)
    full = cal.evaluate(judged, runs, ["nDCG@10", f"AP(rel={rel})"], warn=False)
    truth = {"nDCG@10": np.asarray(full["nDCG@10"]).mean(axis=1), "AP": np.asarray(full[f"AP(rel={rel})"]).mean(axis=1)}
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for seed in range(repeats):
        for how, left in hidden(judged, runs, seed):
            for target, method, mean in estimates(judged, left, runs, rel):
                error = float(np.abs(mean - truth[target]).mean())
                tau = float(kendalltau(mean, truth[target]).statistic)
                found.setdefault((how, target, method), []).append((error, tau))
    for (how, target, method), values in found.items():
        error, tau = np.mean(values, axis=0).tolist()
        yield name, how, target, method, error, tau


def main(arguments: Sequence[str]) -> None:
    """Print the comparison as a Markdown table."""
    folder = Path(arguments[0])
    repeats = int(arguments[1]) if len(arguments) > 1 else 2
    rows = tuple(row for name in COLLECTIONS for row in compared(folder, name, repeats))
    columns = ("collection", "judgments kept", "measure", "method", "error", "tau")
    sys.stdout.write(cal.Table(columns, rows).to_markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
