"""Calipers in memory. For files its command line is timed, as a user would type it."""

import json
import sys
import time

import calipers as cal

MEASURES = ["nDCG@10", "AP", "P@10", "Recall@1000", "RR", "RBP(p=0.8)"]


def table(scores, measures):
    return {
        system: {name: float(scores[name][i].mean()) for name in measures} for i, system in enumerate(scores.systems)
    }


def dicts(folder, repeats):
    qrels, run = {}, {}
    with open(f"{folder}/qrels.txt", encoding="utf-8") as lines:
        for line in lines:
            query, _, document, grade = line.split()
            qrels.setdefault(query, {})[document] = int(grade)
    with open(f"{folder}/s1.run", encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, {})[document] = float(score)
    times = []
    for _ in range(int(repeats)):
        start = time.perf_counter()
        scores = cal.evaluate(cal.Judgments.from_dict(qrels), {"s1": run}, MEASURES)
        result = table(scores, MEASURES)
        times.append(time.perf_counter() - start)
    return {"means": result, "seconds": min(times)}


def arrays(folder, repeats):
    import numpy as np

    labels, scores = np.load(f"{folder}/labels.npy"), np.load(f"{folder}/scores.npy")
    queries, documents = labels.shape
    flat, group = labels.ravel(), np.full(queries, documents)
    systems = {f"s{i}": system.ravel() for i, system in enumerate(scores, 1)}
    few = 2 * documents
    cal.evaluate(cal.Judgments.from_arrays(flat[:few], group=group[:2]), {"s1": systems["s1"][:few]}, ["nDCG@10"])
    times = []
    for _ in range(int(repeats)):
        start = time.perf_counter()
        judgments = cal.Judgments.from_arrays(flat, group=group)
        result = table(cal.evaluate(judgments, systems, ["nDCG@10"]), ["nDCG@10"])
        times.append(time.perf_counter() - start)
    return {"means": result, "seconds": min(times)}


if __name__ == "__main__":
    print(json.dumps({"dicts": dicts, "arrays": arrays}[sys.argv[1]](*sys.argv[2:])))
