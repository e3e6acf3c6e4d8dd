"""How long summaries take: `python -m benchmarks.text --data FOLDER [--only ROUGE] [--encoder MODEL] [--rounds N]`.

FOLDER has summaries/SummEval.json.xz: 1,600 summaries of 100 documents, 11 references each. ROUGE beside rouge-score,
and ROUGE with what a random summary would score; BERTScore beside bert-score, the same model and layer. Files are read
and models loaded before the clock starts; the two take turns, and the best round counts. Their scores are compared.
Targets are judged by CPU time, of all threads, which a machine that does other things at the same time changes least;
the clock stands beside it.
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

KINDS = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-L": "rougeL"}  # as rouge-score names them
ROUGE_TARGET = 20.0  # seconds, with expectations
ROUGE_RATIO = 3.0  # times as fast as rouge-score, scores alone
BERT_TARGET = 1.0  # times the other package's
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
    from calipers import Experiment

    rows = plain_rouge_rows(given, rounds)
    for several, how in (
        ("max", "best reference; expectations sampled, 1,000 draws"),
        ("mean", "mean; exact, L sampled"),
    ):
        plain = [f"{kind}(tokens=ascii, references={several})" for kind in KINDS]
        measures = [*plain, *(f"{normal}({each})" for each in plain for normal in ("V1", "V2"))]

        def run(measures: Any = measures) -> Any:
            return Experiment(given, measures=measures, warn=False).scores

        every = [timed(run) for _ in range(rounds)]
        took = best(each for each, _ in every)
        target = f"{ROUGE_TARGET:.0f} s | {verdict(took.cpu, ROUGE_TARGET)}"
        rows.append(f"| calipers, ROUGE with expectations | {how} | {took.cells()} | {target} |")
    return rows


def plain_rouge_rows(given: Any, rounds: int) -> list[str]:
    """Scores alone, the two taking turns."""
    from rouge_score.rouge_scorer import RougeScorer

    from calipers import Experiment

    measures = [f"{kind}(tokens=ascii)" for kind in KINDS]
    scorer = RougeScorer(list(KINDS.values()))
    times: dict[str, list[Took]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        took, ours = timed(lambda: Experiment(given, measures=measures, warn=False).scores)
        times["ours"].append(took)
        took, theirs = timed(
            lambda: [
                [scorer.score_multi(list(d.references), t) for d, t in zip(given.documents, row, strict=True)]
                for row in given.texts
            ]
        )
        times["theirs"].append(took)
        for values, peer in zip(ours.values, KINDS.values(), strict=True):
            scores = np.array([[each[peer].fmeasure for each in row] for row in theirs])
            assert np.abs(scores - values).max() < 1e-9
    least = {name: best(each) for name, each in times.items()}
    clock = least["theirs"].seconds / least["ours"].seconds
    cpu = least["theirs"].cpu / least["ours"].cpu
    said = "met" if cpu >= ROUGE_RATIO else "NOT MET"
    return [
        f"| calipers, ROUGE | best reference | {least['ours'].cells()} | {ROUGE_RATIO:g} x as fast as rouge-score | "
        f"{said}: {cpu:.1f} x by CPU time, {clock:.1f} x by the clock |",
        f"| rouge-score | best reference | {least['theirs'].cells()} | | |",
    ]


def first_documents(given: Any, count: int) -> Any:
    from calipers.texts import TextCollection

    return TextCollection(
        given.documents[:count],
        given.systems,
        tuple(row[:count] for row in given.texts),
        {aspect: values[:, :count] for aspect, values in given.human.items()},
    )


def bert_rows(given: Any, model: str, rounds: int) -> list[str]:
    from calipers import Experiment
    from calipers.texts import BERTScore, Encoder

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
            measure = BERTScore(encoder)
            took, ours = timed(lambda m=measure, c=chosen: Experiment(c, measures=[m], warn=False).scores)
            times["ours"].append(took)
            scorer = BERTScorer(model_type=model, num_layers=LAYER, device="cpu", lang="en")
            took, theirs = timed(lambda s=scorer, t=texts, r=references: s.score(t, r))
            times["theirs"].append(took)
            assert np.abs(theirs[2].numpy().reshape(ours.values[0].shape) - ours.values[0]).max() < 1e-5
        least = {name: best(each) for name, each in times.items()}
        clock = least["ours"].seconds / least["theirs"].seconds
        cpu = least["ours"].cpu / least["theirs"].cpu
        what = f"{len(texts):,} summaries, {count} reference{'s' * (count > 1)} each"
        rows.append(
            f"| calipers, BERTScore, {encoder.name} | {what} | {least['ours'].cells()} | "
            f"{BERT_TARGET:g} x bert-score | {verdict(cpu, BERT_TARGET)}: {cpu:.2f} x by CPU time, {clock:.2f} x by "
            "the clock |"
        )
        rows.append(f"| bert-score | {what} | {least['theirs'].cells()} | | |")
    return rows


def main() -> None:
    from calipers.texts import as_collection

    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("ROUGE", "BERTScore"), help="one family of measures")
    parser.add_argument("--encoder", help="a model folder; without it, BERTScore is left out")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--documents", type=int, help="only the first of them, under BERTScore")
    parser.add_argument("--output", type=Path, help="write the table there too")
    options = parser.parse_args()
    given = as_collection(options.data / "summaries/SummEval.json.xz")
    lines = [
        "1,600 summaries of SummEval, 11 references each; ROUGE is ROUGE-1, -2 and -L.",
        "",
        "| what | how | time | CPU time | target | |",
        "|---|---|---:|---:|---|---|",
    ]
    if options.only in (None, "ROUGE"):
        lines += rouge_rows(given, options.rounds)
    if options.encoder and options.only in (None, "BERTScore"):
        some = first_documents(given, options.documents or len(given.documents))
        lines += bert_rows(some, options.encoder, options.rounds)
    publish(lines, options.output)


if __name__ == "__main__":
    main()
