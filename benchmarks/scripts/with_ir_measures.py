"""ir_measures: its own readers, its own choice of provider for each measure."""

import json
import sys
import time

import ir_measures
from ir_measures import AP, RR, P, R, nDCG

MEASURES = {nDCG @ 10: "nDCG@10", AP: "AP", P @ 10: "P@10", R @ 1000: "Recall@1000", RR: "RR"}


def files(qrels, *runs):
    evaluator = ir_measures.evaluator(list(MEASURES), list(ir_measures.read_trec_qrels(qrels)))
    result = {}
    for path in runs:
        with open(path, encoding="utf-8") as lines:
            tag = lines.readline().split()[-1]
        means = evaluator.calc_aggregate(ir_measures.read_trec_run(path))
        result[tag] = {MEASURES[measure]: mean for measure, mean in means.items()}
    return {"means": result, "seconds": None}


def dicts(folder, repeats):
    qrels, run = {}, {}
    for row in ir_measures.read_trec_qrels(f"{folder}/qrels.txt"):
        qrels.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    for row in ir_measures.read_trec_run(f"{folder}/s1.run"):
        run.setdefault(row.query_id, {})[row.doc_id] = row.score
    times = []
    for _ in range(int(repeats)):
        start = time.perf_counter()
        means = ir_measures.calc_aggregate(list(MEASURES), qrels, run)
        times.append(time.perf_counter() - start)
    return {
        "means": {"s1": {MEASURES[measure]: mean for measure, mean in means.items()}},
        "seconds": min(times),
    }


if __name__ == "__main__":
    print(json.dumps({"files": files, "dicts": dicts}[sys.argv[1]](*sys.argv[2:])))
