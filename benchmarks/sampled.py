"""Times expected sampled scores from full rankings: `python -m benchmarks.sampled [USERS]`.

Each user has one to five held-out items among the 50 recommended items of a catalogue of 20,000 items.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import calipers as cal

ITEMS = 20_000
RANKED = 50


def experiment(users: int) -> cal.Experiment:
    """Return an experiment with random held-out items at random ranks."""
    random = np.random.default_rng(1)
    names = [f"i{item}" for item in range(RANKED)]
    ranking = {name: float(RANKED - place) for place, name in enumerate(names)}
    held_out = {
        f"u{user}": {names[item]: 1 for item in random.integers(0, RANKED, random.integers(1, 6))}
        for user in range(users)
    }
    run = dict.fromkeys(held_out, ranking)
    return cal.Experiment(held_out, {"popular": run}, "nDCG@10 RR Success@10 Recall@10 AP", warn=False)


def main(users: int = 20_000) -> None:
    """Print the seconds for the expected scores and their standard deviations."""
    start = time.perf_counter()
    exp = experiment(users)
    made = time.perf_counter()
    cal.sampled(exp, negatives=100, items=ITEMS, missing="last")
    print(f"{users:,} users: {made - start:.1f} s to make the data, {time.perf_counter() - made:.1f} s for 5 measures")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
