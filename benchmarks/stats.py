"""How long the significance tests take over all pairs of many systems: `python -m benchmarks.stats [--data FOLDER]`.

With --data, the 143 runs of TREC-COVID round 1 (trec/covid-round1 in that folder) under nDCG@10; else random scores of
the same shape. Best of the rounds, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import publish, seconds, verdict

HERE = Path(__file__).resolve().parent
TARGETS = {"t": 0.2, "randomization": 5.0, "tukey": 2.0}  # seconds
SAMPLES = {"randomization": 10_000, "bootstrap": 1_000, "tukey": 1_000}
ROUNDS = 5


def scores_of(data: Path | None) -> Any:
    import calipers as cal

    if data is None:
        random = np.random.default_rng(42)
        return cal.as_scores(random.random((143, 30)), measure="random")
    folder = data / "trec/covid-round1"
    return cal.evaluate(folder / "qrels-rnd1.txt", folder / "runs", "nDCG@10")


def best(function: Callable[[], Any], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def scipys(values: Any, pairs: int, sample: int = 20) -> float:
    """What SciPy's permutation test would take for all pairs, from a few of them."""
    from scipy import stats

    def some() -> None:
        for i in range(sample):
            stats.permutation_test(
                (values[i] - values[i + 1],), np.mean, permutation_type="samples", n_resamples=9999, vectorized=True
            )

    return best(some, 1) * pairs / sample


def main() -> None:
    from calipers.questions.compare.comparison import compare
    from calipers.statistics.significance import TESTS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.stats", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    scores = scores_of(options.data)
    pairs = len(scores.systems) * (len(scores.systems) - 1) // 2
    source = "TREC-COVID round 1, nDCG@10" if options.data else "random scores"
    lines = [
        f"All {pairs:,} pairs of {len(scores.systems)} systems on {len(scores.queries)} topics ({source}),",
        f"with intervals, effect sizes and Holm's correction. Best of {ROUNDS}, one thread of one process.",
        "",
        "| test | samples | time | target | |",
        "|---|---:|---:|---:|---|",
    ]
    for name in TESTS:

        def run(name: str = name) -> Any:
            return compare(scores, test=name, samples=SAMPLES.get(name))

        run()  # imports
        took, target = best(run), TARGETS.get(name)
        asked = "" if target is None else seconds(target)
        lines.append(f"| {name} | {SAMPLES.get(name, '')} | {seconds(took)} | {asked} | {verdict(took, target)} |")
    lines.append(f"| SciPy's permutation test, from 20 pairs | 9999 | {seconds(scipys(scores.values[0], pairs))} | | |")
    publish(lines, options.output)


if __name__ == "__main__":
    main()
