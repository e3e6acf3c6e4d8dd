"""How long rankers take on an MQ2008 fold: `python -m benchmarks.rankers --data FOLDER [--study]`.

FOLDER holds letor/MQ2008. Reading the five parts as one plain file, best of the rounds, beside scikit-learn's
load_svmlight_file. Our three rankers on fold 1 (training on S1 to S3, 9,630 documents x 46 features), all rounds, no
stopping, one process and one numeric thread. Coordinate Ascent beside fastrank's, with as many restarts: for both the
time, and nDCG@10 on training and test data as our `definition` counts it. --study: the whole study `letor` of
research/.
"""

from __future__ import annotations

import argparse
import lzma
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import publish, seconds, verdict
from benchmarks.stats import best

ROUNDS = 3
READING = 3.0  # times as fast as scikit-learn
TRAINING = 60.0  # seconds
STUDY = 1200.0


def reading(folder: Path, plain: Path) -> tuple[float, float]:
    """Seconds that scikit-learn and we take for the same file."""
    from sklearn.datasets import load_svmlight_file

    from calipers.collection.features import read_features

    parts = [lzma.decompress((folder / f"S{i}.txt.xz").read_bytes()) for i in range(1, 6)]
    plain.write_bytes(b"".join(parts))
    theirs = best(lambda: load_svmlight_file(str(plain), query_id=True), ROUNDS)
    return theirs, best(lambda: read_features(plain).dense(), ROUNDS)


def quality(data: Any, scores: Any) -> float:
    from calipers.evaluation.evaluation import evaluate

    return float(evaluate(data.judgments(), scores, "nDCG@10", like="definition").mean().rows[0][1])  # type: ignore[arg-type]  # a number


def fastrank(train: Any, test: Any, restarts: int) -> tuple[float, Any, Any]:
    """fastrank's Coordinate Ascent: seconds, and its scores of the training and the test data."""
    import numpy as np
    from fastrank import CDataset, TrainRequest

    def dataset(data: Any) -> Any:
        return CDataset.from_numpy(data.X.astype(np.float32), data.y, data.query.astype(np.int64))

    request = TrainRequest.coordinate_ascent()
    request.measure = "ndcg@10"
    request.params.num_restarts = restarts
    request.params.seed = 42
    request.params.quiet = True
    learning, unseen = dataset(train), dataset(test)
    start = time.perf_counter()
    model = learning.train_model(request)
    took = time.perf_counter() - start
    found = [model.predict_scores(each) for each in (learning, unseen)]
    each = [
        np.array([scores[row] for row in range(len(data))]) for scores, data in zip(found, (train, test), strict=True)
    ]
    return took, *each


def main() -> None:
    from calipers.rankers import AdaRank, CoordinateAscent, RankBoost, folds_of, read_letor_data

    parser = argparse.ArgumentParser(prog="python -m benchmarks.rankers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--study", action="store_true", help="also the whole study (minutes)")
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    folder = options.data / "letor" / "MQ2008"
    lines = [
        f"One process, one thread; load {os.getloadavg()[0]:.1f} before it started.",
        "",
        "| what | time | target | | nDCG@10 train | test |",
        "|---|---:|---:|---|---:|---:|",
    ]

    def row(what: str, took: float, target: float | None, *reached: float) -> None:
        shown = [f"{value:.4f}" for value in reached] or ["", ""]
        limit = "" if target is None else seconds(target)
        lines.append(f"| {what} | {seconds(took)} | {limit} | {verdict(took, target)} | {' | '.join(shown)} |")

    with tempfile.TemporaryDirectory() as place:
        theirs, ours = reading(folder, Path(place) / "MQ2008.txt")
    row("reading MQ2008, scikit-learn", theirs, None)
    row(f"reading MQ2008, calipers ({theirs / ours:.0f} times as fast; target {READING:g})", ours, theirs / READING)

    fold = folds_of(folder)[0]
    train, test = read_letor_data(fold.train), read_letor_data(fold.test)

    def trained(what: str, make: Callable[[], Any]) -> None:
        machine = make()
        start = time.perf_counter()
        machine.fit(train.X, train.y, qid=train.query)
        took = time.perf_counter() - start
        row(what, took, TRAINING, quality(train, machine.predict(train.X)), quality(test, machine.predict(test.X)))

    trained("AdaRank, 500 rounds", lambda: AdaRank(rounds=500))
    trained("RankBoost, 300 rounds", lambda: RankBoost(rounds=300))
    trained("Coordinate Ascent, 5 restarts", lambda: CoordinateAscent(restarts=5))
    took, *scores = fastrank(train, test, 5)
    row("Coordinate Ascent of fastrank, 5 restarts", took, None, quality(train, scores[0]), quality(test, scores[1]))
    if options.study:
        from research.karmaker2022.letor_study import letor_study
        from research.study_folder import LetorCollection

        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            letor_study([LetorCollection.of(str(folder))], place).tables()
            row("study letor on MQ2008, 8 rankers x 5 folds", time.perf_counter() - start, STUDY)
    publish(lines, options.output)


if __name__ == "__main__":
    main()
