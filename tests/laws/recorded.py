"""Exit codes and numbers of every command on generated collections, compared with a recording.

The recording (`recorded.json`) changes only on purpose. A commit that changes numbers updates it and says why.
Not recorded: wording, help, HTML, trained models and times; and questions whose numbers laws compare with definitions
or with other ways to compute them (`COVERED_BY_LAWS` in orders.py).

    python -m laws.recorded --check     print what differs; exit 1 if anything does
    python -m laws.recorded --update    write the recording anew
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from laws.odd import collection

RECORDING = Path(__file__).with_name("recorded.json")
DECIMALS = 4  # printed in tables

ODD = (1003, 1008)  # seeds of legal odd collections of two or three runs

SUMMARIES = [
    {
        "id": str(document),
        "system": system,
        "summary": summary,
        "source": f"A cat sat on mat {document}. It slept all day. A dog ran by. The weather was fine.",
        "references": [f"the cat sat on mat {document} and slept all day", "a cat was on the mat"],
        "human": {"coherence": 1 + (document + place) % 5},
    }
    for document in range(8)
    for place, (system, summary) in enumerate(
        [
            ("a", f"the cat sat on the mat {document}"),
            ("b", f"a dog and the cat slept {document % 3} times on the mat"),
            ("c", "the weather was fine all day" if document % 2 else "the cat slept all day"),
        ]
    )
]
ANSWERS = [
    {
        "qid": f"q{number}",
        "run_id": "x",
        "answer": f"in Ulm {number % 2}",
        "answers": ["Ulm", "in Ulm 1"],
        "nuggets": [
            {"text": "n", "importance": "vital", "assignment": "support"},
            {"text": "m", "importance": "okay", "assignment": "partial_support" if number % 2 else "not_support"},
        ],
        "statements": [{"text": "s", "citations": [{"document": "d1", "support": "full"}]}],
        "retrieved": ["d1", "d2"],
        "relevant": {"d2": 1},
    }
    for number in range(4)
]
QUESTIONS = [  # on judgments and two or three runs; Q are the judgments, R all runs, A and B two of them
    "evaluate Q R -q -m 'nDCG@{5,10} AP RR P@10 Recall@5 RBP(p=0.8) ERR@10 bpref V2(nDCG@10) V1(AP) U(AP)'",
    "evaluate Q R -m 'nDCG(gain=exp)@10 AP(rel=2)' --interval 0.95",
    "evaluate Q R -m 'nDCG@10 AP' --baseline A",
    "evaluate Q R -m 'map ndcg_cut_10 P_5' --like trec_eval-9",
    "inspect Q R",
    "bounds Q A -m 'nDCG@5 RR' --population retrieved",
    "ranges Q A B -m 'nDCG@10 P@5' --pairs",
    "pool R --depth 3",
    "pool R --budget 10 --method rbp",
    "pool R --judged Q --budget 10 -m nDCG@10",
    "queries Q R -m 'nDCG@{5,10}'",
    "audit Q A B -m 'nDCG@10 AP'",
    "trec_eval -c -m all_trec Q B",
    "compare Q R -m 'AP' --baseline A --test randomization --samples 200",
    "sampled Q R -m 'nDCG@10 RR' --items 5000 --negatives 10 --missing last",
    "diff Q A B -m 'nDCG@10 AP'",
    "diff Q A B -m 'nDCG@10' --show documents",
    "check Q A --baseline B -m 'nDCG@10 AP' --max-drop 0.01",
    "check Q B --baseline A -m 'nDCG@10 AP' --max-drop 0.01",
    "plan Q R -m 'nDCG@10 AP' --difference 0.05",
    "metaeval Q R -m 'nDCG@{5,10} AP' --table power,tau,stability",
    "judges Q J",
    "judges Q J --show confusion",
    "judges Q J --systems A --systems B -m 'nDCG@10 AP'",
    "information ric Q R",
    "information joint Q A B",
    "information difference Q R",
    "fuse R --method combmnz --keep 5",
    "fuse R --method rrf --keep 5",
    "fuse R --bound naive --qrels Q --keep 5",
    "convert A OUT.csv",
]
OTHERS = [  # on files of their own
    "evaluate summaries.jsonl -m 'ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1)'",
    "compare summaries.jsonl -m ROUGE-1 --baseline a",
    "metaeval summaries.jsonl -m 'ROUGE-1 ROUGE-L' --table agreement",
    "metaeval summaries.jsonl -m 'ROUGE-1 ROUGE-L' --table tests,power --correlation pearson --samples 50",
    "evaluate answers.jsonl -m 'EM F1 NuggetRecall CitationRecall'",
    "text expected summaries.jsonl",
    "information tau scores.csv --x AP --y RR",
    "plan scores.csv --difference 0.02",
    "compare scores.csv",
    "metaeval scores.csv --table tau",
    "evaluate letor/S3.txt first.txt -m 'nDCG(gain=exp)@10 AP'",
    "evaluate letor/S3.txt first.txt -m nDCG@10 --like letor4",
    "report letor/S3.txt first.txt -o report.html",
    "measures",
    "measures nDCG",
    "properties AP RBP",
    "demo -o demo",
    "evaluate nowhere.qrels a.run",
    "nothing",
]
WITHOUT_NUMBERS = {"measures", "properties", "report", "demo", "convert"}  # the exit code alone
TEXT_ONLY = {"trec_eval", "fuse"}  # commands whose output has one format

Recorded = dict[str, list[int | str]]  # command -> exit code, then one line of numbers per line of output that has some


def recorded(folder: Path) -> Recorded:
    """Run all commands on files in a new folder."""
    return dict(_answers(folder))


def _answers(folder: Path) -> Iterator[tuple[str, list[int | str]]]:
    names = {"simulated": _write_simulated(folder / "simulated")}
    for seed in ODD:
        names[f"odd {seed}"] = _write_odd(folder / str(seed), seed)
    for name, runs in names.items():
        place = folder / name.removeprefix("odd ")
        for question in QUESTIONS:
            yield f"{name}: {question}", _answer(place, _words(question, runs))
    _write_others(folder / "others")
    for question in OTHERS:
        yield question, _answer(folder / "others", _words(question, []))


def _words(question: str, runs: list[str]) -> list[str]:
    """The arguments of a question, its letters replaced by files."""
    import shlex

    files = {"Q": ["qrels"], "J": ["judge.qrels"], "R": runs, "A": runs[:1], "B": runs[1:2], "OUT.csv": ["out.csv"]}
    words: list[str] = []
    for word in shlex.split(question):
        is_value = bool(words) and words[-1] in ("-m", "--measure", "--x", "--y")
        words += [word] if is_value else files.get(word, [word])
    return words


def _write_odd(folder: Path, seed: int) -> list[str]:
    """Write the collection of a seed. Return the names of its runs."""
    case = collection(seed)
    folder.mkdir()
    (folder / "qrels").write_bytes(case.qrels)
    (folder / "judge.qrels").write_bytes(case.qrels)
    runs = [f"run{number}" for number in range(len(case.runs))]
    for name, content in zip(runs, case.runs, strict=True):
        (folder / name).write_bytes(content)
    return runs


def _write_simulated(folder: Path) -> list[str]:
    """Write a simulated collection. Return the names of its runs."""
    import calipers as cal

    folder.mkdir()
    made = cal.simulate(topics=8, pool=30, systems=3, retrieved=60)
    cal.write_qrels(made.qrels, folder / "qrels")
    lines = (folder / "qrels").read_text().splitlines()
    other = [f"{line[:-1]}0" if number % 5 == 0 else line for number, line in enumerate(lines)]  # a strict judge
    (folder / "judge.qrels").write_text("\n".join(other) + "\n")
    for name, run in made.runs.items():
        cal.write_run(run, folder / f"{name}.run", name=name)
    return sorted(each.name for each in folder.glob("*.run"))


def _write_others(folder: Path) -> None:
    from research.rankers.synthetic import write_collection

    folder.mkdir()
    for name, rows in (("summaries.jsonl", SUMMARIES), ("answers.jsonl", ANSWERS)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = ["system,query,AP,RR"]
    table += [f"s{s},{q},{(3 * s + 7 * q) % 11 / 11},{1 / (1 + (s + q) % 4)}" for s in range(6) for q in range(9)]
    (folder / "scores.csv").write_text("\n".join(table) + "\n")
    write_collection(folder / "letor", queries=30, parts=5)
    lines = (folder / "letor" / "S3.txt").read_bytes().count(b"\n")
    (folder / "first.txt").write_text("".join(f"{number * 37 % 101}\n" for number in range(lines)))


def _answer(folder: Path, arguments: list[str]) -> list[int | str]:
    """Run a command in a folder. Return its exit code and the numbers that it prints."""
    from calipers.cli import commands

    has_numbers = arguments[0] not in WITHOUT_NUMBERS
    if has_numbers and arguments[0] not in TEXT_ONLY:
        arguments = [*arguments, "--format", "csv"]
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            try:
                code = commands.run(arguments)
            except SystemExit as end:  # codes of trec_eval's own
                code = int(end.code or 0)
    finally:
        os.chdir(before)
    if not has_numbers or code == 2:
        return [code]
    out.seek(0)
    return [code, *numbers(out.read(), is_csv=arguments[0] not in TEXT_ONLY)]


def numbers(text: str, *, is_csv: bool) -> list[str]:
    """Return the numbers in each line of an output, rounded. Lines without a number are left out."""
    rows = csv.reader(io.StringIO(text)) if is_csv else map(str.split, text.splitlines())
    lines = (" ".join(filter(None, map(_number, row))) for row in rows)
    return [line for line in lines if line]


def _number(cell: str) -> str:
    """Return a cell as it is recorded. A cell that is not a number becomes empty."""
    try:
        value = float(cell)
    except ValueError:
        return ""
    if cell.strip().lstrip("-").isdecimal():
        return cell.strip()
    text = f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def differences(found: Recorded, expected: Recorded) -> list[str]:
    """Return one line per command whose exit code or numbers differ from the recording."""
    lines = [f"{name}: not recorded" for name in found.keys() - expected.keys()]
    lines += [f"{name}: recorded, but not run any more" for name in expected.keys() - found.keys()]
    for name in found.keys() & expected.keys():
        if found[name] != expected[name]:
            lines.append(f"{name}: {_first_difference(found[name], expected[name])}")
    return sorted(lines)


def _first_difference(found: list[int | str], expected: list[int | str]) -> str:
    if found[0] != expected[0]:
        return f"exit {found[0]}, recorded {expected[0]}"
    for place, (now, before) in enumerate(zip(found, expected, strict=False)):
        if now != before:
            return f"line {place} is '{now}', recorded '{before}'"
    return f"{len(found) - 1} lines of numbers, recorded {len(expected) - 1}"


def read() -> Recorded:
    """Read the recording."""
    answers: Recorded = json.loads(RECORDING.read_text(encoding="utf-8"))
    return answers


def write(answers: Recorded) -> None:
    """Write the recording, one command per line."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    RECORDING.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--update", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="laws-") as name:
        found = recorded(Path(name))
    if options.update:
        write(found)
        return 0
    different = differences(found, read())
    print("\n".join(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
