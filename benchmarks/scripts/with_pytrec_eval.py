"""pytrec-eval-terrier, with the parse that its users write: plain Python, a dict of dicts."""

import json
import sys
import time

import pytrec_eval

NAMES = {
    "ndcg_cut_10": "nDCG@10",
    "map": "AP",
    "P_10": "P@10",
    "recall_1000": "Recall@1000",
    "recip_rank": "RR",
}


def read_qrels(path):
    qrels = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, document, grade = line.split()
            if query not in qrels:
                qrels[query] = {}
            qrels[query][document] = int(grade)
    return qrels


def read_run(path):
    run = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, tag = line.split()
            if query not in run:
                run[query] = {}
            run[query][document] = float(score)
    return tag, run


def means(evaluator, run):
    scores = evaluator.evaluate(run)
    return {ours: sum(query[name] for query in scores.values()) / len(scores) for name, ours in NAMES.items()}


def files(qrels, *runs):
    evaluator = pytrec_eval.RelevanceEvaluator(read_qrels(qrels), set(NAMES))
    result = {}
    for path in runs:
        tag, run = read_run(path)
        result[tag] = means(evaluator, run)
    return {"means": result, "seconds": None}


def dicts(folder, repeats):
    qrels = read_qrels(f"{folder}/qrels.txt")
    tag, run = read_run(f"{folder}/s1.run")
    times = []
    for _ in range(int(repeats)):
        start = time.perf_counter()
        result = means(pytrec_eval.RelevanceEvaluator(qrels, set(NAMES)), run)
        times.append(time.perf_counter() - start)
    return {"means": {tag: result}, "seconds": min(times)}


if __name__ == "__main__":
    print(json.dumps({"files": files, "dicts": dicts}[sys.argv[1]](*sys.argv[2:])))
