"""A folder in which the examples of the command line run as they are written: small, simulated, of every kind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import calipers as cal
from calipers.collection.simulate import Simulation, simulate

SYSTEMS = 22
QUERIES = 50
GRADES = (0.6, 0.25, 0.15)  # of 0, 1 and 2: what LETOR's own tool can read


def make(folder: Path) -> Path:
    """Write all of them."""
    quality = {"bm25": 0.3, **{f"system{i:02d}": i / SYSTEMS for i in range(1, SYSTEMS)}}
    simulation = simulate(topics=QUERIES, systems=quality, pool=6, grades=GRADES, retrieved=6, unjudged=0.1, seed=1)
    _collection(simulation, folder)
    _scores(simulation, folder)
    _labels(folder)
    _summaries(folder)
    return folder


def _collection(simulation: Simulation, folder: Path) -> None:
    qrels, runs = simulation.write(folder)
    (folder / "runs").mkdir()
    for number, run in enumerate(runs):
        if number < SYSTEMS - 1:
            (folder / "runs" / f"{run.stem}.gz").write_bytes(gzip.compress(run.read_bytes()))
        else:
            cal.write_run(cal.read_run(run), folder / "runs" / f"{run.stem}.parquet")
    for name, run in zip(("a.run", "b.run", "c.run", "run.txt"), runs, strict=False):
        run.replace(folder / name)
    (folder / "run.txt.gz").write_bytes(gzip.compress((folder / "run.txt").read_bytes()))
    for file in ("teams.csv", "groups.csv"):
        (folder / file).write_text(
            "run,team\n" + "".join(f"{name},{i % 4}\n" for i, name in enumerate(simulation.systems))
        )
    _judges(simulation, folder)
    cal.write_qrels(cal.read_qrels(qrels), folder / "qrels.json")
    cal.write_qrels(cal.read_qrels(qrels), folder / "qrels.parquet")
    lines = (line.split() for line in qrels.read_text().splitlines())
    (folder / "diversity.qrels").write_text(
        "".join(f"{q} {1 + number % 3} {d} {min(int(g), 1)}\n" for number, (q, _, d, g) in enumerate(lines))
    )


def _judges(simulation: Simulation, folder: Path) -> None:
    """A human who judged everything, or half of the queries, graded judges, and one who says relevant or not."""
    human = simulation.qrels
    cal.write_qrels(human, folder / "human.qrels")
    cal.write_qrels(dict(list(human.items())[: QUERIES // 2]), folder / "human-part.qrels")
    for shift, name in enumerate(("llm-a", "llm-b", "llm-all"), 3):
        labels = {
            q: {d: (g + 1) % 3 if (int(q) + i) % shift == 0 else g for i, (d, g) in enumerate(of.items())}
            for q, of in human.items()
        }
        cal.write_qrels(labels, folder / f"{name}.qrels")
    relevant = {q: {d: min(g, 1) for d, g in of.items()} for q, of in human.items()}
    cal.write_qrels(relevant, folder / "llm.qrels")


def _scores(simulation: Simulation, folder: Path) -> None:
    scores = cal.evaluate(simulation.qrels, simulation.runs, ["ERR", "nDCG", "AP", "RR"])
    (folder / "scores.csv").write_text(scores.per_query().to_csv())
    (folder / "scores").mkdir()
    for measure, names in {"AP": ("matrix", "ap"), "RR": ("rr",), "ERR": ("err",), "nDCG": ("ndcg",)}.items():
        lines = [",".join(scores.systems), *(",".join(map(str, row)) for row in scores[measure].T.tolist())]
        for name in names:
            (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _labels(folder: Path) -> None:
    """LETOR files: a test set with scores, and parts to train on."""
    quality = {"a": 0.5, "b": 0.3, "c": 0.1}
    simulation = simulate(topics=12, systems=quality, pool=8, grades=GRADES, retrieved=8, unjudged=0.0, seed=2)
    part = folder / "letor"
    labels, scores = simulation.write_letor(part)
    text = labels.read_text().replace("qid:1 ", "qid:18219 ")
    (folder / "test.svm").write_text(text)
    for name, source in zip(("a", "b", "c"), scores, strict=True):
        (folder / f"{name}.txt").write_text(source.read_text())
    for copy, name in (("model-a", "a"), ("model-b", "b"), ("scores", "c")):
        (folder / f"{copy}.txt").write_text((folder / f"{name}.txt").read_text())
    for number in range(1, 6):
        (folder / f"S{number}").write_text(text)


def _summaries(folder: Path) -> None:
    text = "the cat sat on a mat and saw two red birds near an old green house by the river"
    words = text.split()
    with open(folder / "data.jsonl", "w", encoding="utf-8") as file:
        for document in range(6):
            source = " ".join(words[document:] + words)
            for system in range(3):
                made = {
                    "id": f"d{document}",
                    "system": f"s{system}",
                    "summary": " ".join(words[document + system : document + system + 6]),
                    "references": [" ".join(words[document : document + 6])],
                    "source": source,
                    "human": {"coherence": 5 - system + document % 2, "relevance": 4 - system},
                }
                file.write(json.dumps(made) + "\n")
    verdicts = [f"d{document},s0,s1,{'s0' if document % 3 else 'tie'}\n" for document in range(6)]
    (folder / "preferences.csv").write_text("id,first,second,preferred\n" + "".join(verdicts))
