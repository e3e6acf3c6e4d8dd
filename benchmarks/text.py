"""How long summaries take: `python -m benchmarks.text --data FOLDER [--encoder MODEL] [--rounds N]`.

FOLDER has summaries/SummEval.json.xz: 1,600 summaries of 100 documents, 11 references each. ROUGE with what a random
summary would score beside rouge-score, which scores only; BERTScore beside bert-score, the same model and layer. Files
are read and models loaded before the clock starts; the two take turns, and the best round counts. Their scores are
compared. Targets are judged by the clock; CPU time, of all threads, stands beside it for machines that do other things
at the same time.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import publish, seconds, verdict

os.environ.setdefault("HF_HUB_OFFLINE", "1")

MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L V1(ROUGE-1) V2(ROUGE-1) V1(ROUGE-2) V2(ROUGE-2) V1(ROUGE-L) V2(ROUGE-L)"
ROUGE_TARGET = 20.0  # seconds
BERT_TARGET = 1.3  # times the other package's
LAYER = 5


@dataclass(frozen=True)
class Took:
    seconds: float
    cpu: float  # over all threads: what a machine that does something else besides does not change

    def cells(self) -> str:
        return f"{seconds(self.seconds)} | {seconds(self.cpu)}"


def timed(function: Callable[[], Any]) -> tuple[Took, Any]:
    start, before = time.perf_counter(), time.process_time()
    result = function()
    return Took(time.perf_counter() - start, time.process_time() - before), result


def best(times: Iterable[Took]) -> Took:
    every = list(times)
    return Took(min(each.seconds for each in every), min(each.cpu for each in every))


def rouge_rows(given: Any, rounds: int) -> list[str]:
    from rouge_score.rouge_scorer import RougeScorer

    from calipers.text import TextOptions, evaluate_summaries

    rows = []
    ours = {}
    for several, how in (
        ("max", "best reference; expectations sampled, 1,000 draws"),
        ("mean", "mean; exact, L sampled"),
    ):
        options = TextOptions(tokenizer="ascii", several=several)

        def run(options: Any = options) -> Any:
            return evaluate_summaries(given, MEASURES, options)

        every = [timed(run) for _ in range(rounds)]
        took, ours[several] = best(each for each, _ in every), every[0][1]
        target = f"{ROUGE_TARGET:.0f} s | {verdict(took.seconds, ROUGE_TARGET)}"
        rows.append(f"| calipers, ROUGE with expectations | {how} | {took.cells()} | {target} |")

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])

    def theirs() -> Any:
        return [
            [
                scorer.score_multi(list(d.references), text)["rouge1"].fmeasure
                for d, text in zip(given.documents, row, strict=True)
            ]
            for row in given.texts
        ]

    took, scores = timed(theirs)
    assert np.abs(np.array(scores) - ours["max"].scores["ROUGE-1"]).max() < 1e-9
    rows.append(f"| rouge-score, scores only | best reference | {took.cells()} | | |")
    return rows


def bert_rows(given: Any, model: str, rounds: int) -> list[str]:
    from calipers.text import Encoder, evaluate_summaries, matcher

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer
    rows = []
    for count in (1, 11):
        chosen = given.first_references(count)
        texts = [text for row in chosen.texts for text in row]
        references = [list(d.references) for _ in chosen.systems for d in chosen.documents]
        times: dict[str, list[Took]] = {"ours": [], "theirs": []}
        for _ in range(rounds):
            encoder = Encoder(model, LAYER, device="cpu")
            took, ours = timed(lambda e=encoder, c=chosen: evaluate_summaries(c, "BERTScore", matcher=matcher(e)))
            times["ours"].append(took)
            scorer = BERTScorer(model_type=model, num_layers=LAYER, device="cpu", lang="en")
            took, theirs = timed(lambda s=scorer, t=texts, r=references: s.score(t, r))
            times["theirs"].append(took)
            assert np.abs(theirs[2].numpy().reshape(ours.scores.values[0].shape) - ours.scores.values[0]).max() < 1e-5
        least = {name: best(each) for name, each in times.items()}
        clock = least["ours"].seconds / least["theirs"].seconds
        cpu = least["ours"].cpu / least["theirs"].cpu
        what = f"{count} reference{'s' * (count > 1)} each"
        rows.append(
            f"| calipers, BERTScore, {encoder.name} | {what} | {least['ours'].cells()} | "
            f"{BERT_TARGET} x bert-score | {verdict(clock, BERT_TARGET)}: {clock:.2f} x; {cpu:.2f} x by CPU time |"
        )
        rows.append(f"| bert-score | {what} | {least['theirs'].cells()} | | |")
    return rows


def main() -> None:
    from calipers.text import read_summaries

    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", help="a model folder; without it, BERTScore is left out")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    given = read_summaries(options.data / "summaries/SummEval.json.xz")
    lines = [
        "1,600 summaries of SummEval, 11 references each; ROUGE is ROUGE-1, -2 and -L.",
        "",
        "| what | how | time | CPU time | target | |",
        "|---|---|---:|---:|---|---|",
    ]
    lines += rouge_rows(given, options.rounds)
    if options.encoder:
        lines += bert_rows(given, options.encoder, options.rounds)
    publish(lines, options.output)


if __name__ == "__main__":
    main()
