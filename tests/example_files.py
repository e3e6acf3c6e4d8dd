"""All commands, and a folder in which their examples run as they are written: small, simulated, of every kind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import click

import calipers as cal
from calipers.cli.commands import root
from calipers.collection.simulate import Simulation, simulate

SYSTEMS = 22
QUERIES = 50
GRADES = (0.6, 0.25, 0.15)  # of 0, 1 and 2: what LETOR's own tool can read


def all_commands(command: click.Command = root, name: str = "calipers") -> Iterator[tuple[str, click.Command]]:
    """Every command by its whole name, groups included."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from all_commands(found, f"{name} {each}")


def make(folder: Path, systems: int = SYSTEMS, queries: int = QUERIES) -> Path:
    """Write all of them."""
    quality = {"bm25": 0.3, **{f"system{i:02d}": i / systems for i in range(1, systems)}}
    simulation = simulate(topics=queries, systems=quality, pool=6, grades=GRADES, retrieved=6, unjudged=0.1, seed=1)
    _collection(simulation, folder)
    _scores(simulation, folder)
    _labels(folder)
    _summaries(folder)
    return folder


def _collection(simulation: Simulation, folder: Path) -> None:
    qrels, runs = simulation.write(folder)
    (folder / "runs").mkdir()
    for number, run in enumerate(runs):
        if number < len(runs) - 1:
            (folder / "runs" / f"{run.stem}.gz").write_bytes(gzip.compress(run.read_bytes()))
        else:
            cal.write_run(cal.read_run(run), folder / "runs" / f"{run.stem}.parquet")
    for name, run in zip(("a.run", "b.run", "c.run", "run.txt"), runs, strict=False):
        run.replace(folder / name)
    (folder / "new.run").write_bytes(runs[len(runs) // 2].read_bytes())
    (folder / "old.run").write_bytes((folder / "a.run").read_bytes())
    for name in ("run.txt.gz", "run2.txt.gz"):
        (folder / name).write_bytes(gzip.compress((folder / "run.txt").read_bytes()))
    ranked = (folder / "run.txt").read_text().splitlines(keepends=True)
    (folder / "shuffled.txt").write_text("".join(ranked[::2] + ranked[1::2]))
    cal.write_run(cal.read_run(folder / "run.txt"), folder / "run.json")
    documents = sorted({line.split()[2] for line in ranked})
    (folder / "seconds.txt").write_text("".join(f"{d} {5 + i % 40}\n" for i, d in enumerate(documents)))
    fields = (line.split() for line in ranked)
    (folder / "runs.csv").write_text(
        "topic_id,url,bm25,model\n" + "".join(f"{q},{d},{score},{tag}\n" for q, _, d, _, score, tag in fields)
    )
    (folder / "queries.tsv").write_text("".join(f"{q}\twhat people ask about {q}\n" for q in simulation.qrels))
    rows = (f"{q},{('ask', 'buy')[i % 2]},{1 + i % 7}\n" for i, q in enumerate(simulation.qrels))
    (folder / "queries.csv").write_text("query,intent,searches\n" + "".join(rows))
    _repeats(simulation, folder)
    _passages(ranked, folder)
    _several_ratings(simulation, folder)
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
    (folder / "probabilities.txt").write_text(
        "".join(
            f"{q} {subtopic} {share}\n" for q in simulation.qrels for subtopic, share in ((1, 0.5), (2, 0.3), (3, 0.2))
        )
    )


def _repeats(simulation: Simulation, folder: Path) -> None:
    """Runs of two systems with three seeds each."""
    (folder / "seeds").mkdir()
    for number, run in enumerate(list(simulation.runs.values())[:6]):
        system, seed = "ab"[number % 2], number // 2
        cal.write_run(run, folder / "seeds" / f"{system}-seed{seed}.run", name=f"{system}-seed{seed}")


def _passages(ranked: list[str], folder: Path) -> None:
    """A run of passages: three of each document, and a table of whose they are."""
    fields = [line.split() for line in ranked]
    (folder / "passages.run").write_text(
        "".join(f"{q} Q0 {d}#{i} 1 {float(s) - i / 100} {t}\n" for q, _, d, _, s, t in fields for i in range(3))
    )
    documents = dict.fromkeys(line[2] for line in fields)
    (folder / "passage-to-document.tsv").write_text("".join(f"{d}#{i}\t{d}\n" for d in documents for i in range(3)))


def _several_ratings(simulation: Simulation, folder: Path) -> None:
    """Three people's ratings of each document, one below another."""
    rows = [f"{q},{d},{max(g - i, 0)}\n" for q, of in simulation.qrels.items() for d, g in of.items() for i in range(3)]
    (folder / "ratings-of-three.csv").write_text("query,docid,rating\n" + "".join(rows))


def _judges(simulation: Simulation, folder: Path) -> None:
    """A human who judged everything, or half of the queries, graded judges, and one who says relevant or not."""
    human = simulation.qrels
    cal.write_qrels(human, folder / "human.qrels")
    cal.write_qrels(dict(list(human.items())[: len(human) // 2]), folder / "human-part.qrels")
    verdicts = "".join(f"a{i},gpt,{i % 3 > 0:d},{i % 2 if i < 20 else ''},{i % 7}\n" for i in range(40))
    (folder / "verdicts.csv").write_text("item,judge,label,human,length\n" + verdicts, encoding="utf-8")
    people = "".join(f"a{i},{i % 2}\n" for i in range(20))
    (folder / "people.csv").write_text("item,label\n" + people, encoding="utf-8")
    judged = "".join(f"a{i},{i % 3 > 0:d}\n" for i in range(40))
    (folder / "gpt.csv").write_text("item,label\n" + judged, encoding="utf-8")
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
    """A test set of LETOR with scores."""
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
                    "human": {
                        "coherence": 5 - system + document % 2,
                        "consistency": 5 - system,
                        "fluency": 3 + system % 2,
                        "relevance": 4 - system,
                    },
                }
                file.write(json.dumps(made) + "\n")
    kept = [json.loads(line) for line in (folder / "data.jsonl").read_text(encoding="utf-8").splitlines()]
    for name, lines in (
        ("old.txt", [each["summary"] for each in kept if each["system"] == "s0"]),
        ("new.txt", [each["summary"] for each in kept if each["system"] == "s1"]),
        ("r.txt", [each["references"][0] for each in kept if each["system"] == "s0"]),
        ("s.txt", [each["source"] for each in kept if each["system"] == "s0"]),
    ):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with open(folder / "answers.jsonl", "w", encoding="utf-8") as file:
        for question in range(6):
            for system in range(2):
                support = ("full", "partial", "none")
                made = {
                    "qid": f"q{question}",
                    "run_id": f"rag{system}",
                    "answer": words[question + system],
                    "answers": [words[question], f"the {words[question + 1]}"],
                    "nuggets": [
                        {"text": word, "importance": ("vital", "okay")[n % 2], "assignment": support[(n + system) % 3]}
                        for n, word in enumerate(words[question : question + 4])
                    ],
                    "statements": [
                        {"text": words[question], "citations": [{"document": "d1", "support": support[system]}]},
                        {"text": words[question + 1], "citations": []},
                    ],
                    "retrieved": [f"d{1 + (n + system) % 4}" for n in range(4)],
                    "relevant": {"d1": 2, "d3": 1},
                }
                file.write(json.dumps(made) + "\n")
    for place, name in enumerate(("old", "new")):
        lines = [f"what is {n}?,{words[n + place]},{words[n]}\n" for n in range(6)]
        (folder / f"{name}.csv").write_text("user_input,response,reference\n" + "".join(lines), encoding="utf-8")
    people, judge = cal.texts.write_answers(folder / "rag", questions=8)
    (folder / "people.jsonl").write_bytes(people.read_bytes())
    with people.open(encoding="utf-8") as rows:
        (folder / "people-part.jsonl").write_text("".join(list(rows)[:16]), encoding="utf-8")  # 4 of 8 questions
    for name in ("llm.jsonl", "gpt.jsonl", "llama.jsonl"):
        (folder / name).write_bytes(judge.read_bytes())
    verdicts = [f"d{document},s0,s1,{'s0' if document % 3 else 'tie'}\n" for document in range(6)]
    (folder / "preferences.csv").write_text("id,first,second,preferred\n" + "".join(verdicts))
