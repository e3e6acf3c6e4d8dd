"""What bounds and normalisation cost: `python -m benchmarks.bounds [--rounds N]`.

10,000 pools of 120 documents with grades 0 to 4. Bounds of all measures are to take at most 3 times as long as
evaluating one run of that shape; V2 of a measure at most 1.5 times as long as the measure itself, over 8 systems.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import calipers as cal

POOLS, DOCUMENTS, SYSTEMS = 10_000, 120, 8
MEASURES = ["nDCG@10", "AP", "ERR@10", "P@10", "RR", "RBP(p=0.8)"]


def best(work: Callable[[], object], rounds: int) -> float:
    """The shortest of so many times, each with judgments that know nothing yet."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    random = np.random.default_rng(42)
    labels = random.choice(5, p=[0.5, 0.25, 0.15, 0.07, 0.03], size=POOLS * DOCUMENTS).astype(float)
    group = np.full(POOLS, DOCUMENTS)
    systems = {f"s{i}": random.normal(size=len(labels)) + 0.1 * i * labels for i in range(SYSTEMS)}

    def judgments() -> cal.Judgments:
        return cal.Judgments.from_arrays(labels, group=group)

    one = {"s1": systems["s1"]}
    evaluated = best(lambda: cal.evaluate(judgments(), one, MEASURES), rounds)
    bounded = best(lambda: cal.bounds(judgments(), MEASURES), rounds)
    print(f"{' '.join(MEASURES)}, {POOLS:,} pools of {DOCUMENTS}")
    print(f"evaluating one run  {evaluated:.3f} s")
    print(f"bounds              {bounded:.3f} s   {verdict(bounded / evaluated, 3)}")
    for name in ("nDCG@10", "AP", "ERR@10"):
        plain = best(lambda name=name: cal.evaluate(judgments(), systems, [name]), rounds)
        normal = best(lambda name=name: cal.evaluate(judgments(), systems, [f"V2({name})"]), rounds)
        cost = f"{normal:.3f} s against {plain:.3f} s"
        print(f"V2({name}) over {SYSTEMS} systems  {cost}   {verdict(normal / plain, 1.5)}")


def verdict(ratio: float, most: float) -> str:
    return f"{ratio:.2f}x ({'met' if ratio <= most else 'NOT MET'}: at most {most}x)"


if __name__ == "__main__":
    main()
