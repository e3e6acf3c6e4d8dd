"""`calipers trec_eval` against `calipers evaluate` on the same files: `python -m benchmarks.drop_in`.

Whole processes, which take turns; the best counts. Once with the same measures, once with those printed unasked.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.report import seconds
from benchmarks.shapes import SHAPES, is_generated
from benchmarks.start import CALIPERS, compile_bytecode

HERE = Path(__file__).resolve().parent
OURS = ["-m", "nDCG@10 AP P@10 Recall@1000 RR", "--ties", "docid", "--format", "csv"]
THEIRS = ["-m", "ndcg_cut.10", "-m", "map", "-m", "P.10", "-m", "recall.1000", "-m", "recip_rank"]
MOST = 1.3  # times `evaluate`


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drop_in", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cache", type=Path, default=HERE.parent / ".bench", help="folder of generated data")
    options = parser.parse_args()
    if os.getloadavg()[0] > 0.5:
        print("other programs are running: the figures will not be comparable", file=sys.stderr)
    compile_bytecode()
    for shape in (shape for shape in SHAPES if shape.name in ("large", "many")):
        folder = options.cache / shape.name
        if not is_generated(shape, folder):
            measure([sys.executable, "-m", "benchmarks.shapes", shape.name, str(folder)])
        files = [str(folder / "qrels.txt"), *sorted(map(str, folder.glob("*.run")))]
        commands = {
            "evaluate": [CALIPERS, "evaluate", *files, *OURS],
            "trec_eval, the same measures": [CALIPERS, "trec_eval", *THEIRS, *files],
            "trec_eval, official measures": [CALIPERS, "trec_eval", *files],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(options.rounds):
            for name, command in commands.items():
                best[name] = min(best[name], measure(command).seconds)
        print(f"{shape.name}: {shape.title}")
        for name, time in best.items():
            print(f"  {name:30} {seconds(time):>8}  x {time / best['evaluate']:.2f}")
        met = best["trec_eval, the same measures"] <= MOST * best["evaluate"]
        print(f"  {'met' if met else 'NOT MET'}: at most {MOST} times evaluate")


if __name__ == "__main__":
    main()
