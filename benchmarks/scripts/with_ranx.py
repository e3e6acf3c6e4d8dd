"""ranx: its own reader. It is run once before it is timed: its compiled functions are then in its cache."""

import json
import sys
import time

from ranx import Qrels, Run, evaluate

NAMES = {
    "ndcg@10": "nDCG@10",
    "map": "AP",
    "precision@10": "P@10",
    "recall@1000": "Recall@1000",
    "mrr": "RR",
}


def means(qrels, run):
    scores = evaluate(qrels, run, list(NAMES))
    return {ours: float(scores[name]) for name, ours in NAMES.items()}


def files(qrels, *runs):
    qrels = Qrels.from_file(qrels, kind="trec")
    result = {}
    for path in runs:
        run = Run.from_file(path, kind="trec")
        result[run.name] = means(qrels, run)
    return {"means": result, "seconds": None}


def dicts(folder, repeats):
    qrels = Qrels.from_file(f"{folder}/qrels.txt", kind="trec").to_dict()
    loaded = Run.from_file(f"{folder}/s1.run", kind="trec")
    name, run = loaded.name, loaded.to_dict()
    times = []
    # Once more than asked for: the first call loads its compiled functions.
    for _ in range(int(repeats) + 1):
        start = time.perf_counter()
        result = means(Qrels(qrels), Run(run))
        times.append(time.perf_counter() - start)
    return {"means": {name: result}, "seconds": min(times[1:])}


if __name__ == "__main__":
    print(json.dumps({"files": files, "dicts": dicts}[sys.argv[1]](*sys.argv[2:])))
