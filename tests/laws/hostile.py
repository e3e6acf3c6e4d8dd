"""Files and arguments that nobody should send, through the commands: no traceback, no hang, no crash, no warning of a
library, exit 0, 1 or 2 (trec_eval has codes of its own).

A command is a template with odd values (`--kind templates`), or any command with options that are drawn from click's
metadata (`--kind options`). It runs in a fork of one process that has loaded Calipers, with a limit of time and of
memory; `--whole` runs it as users do, in a process of its own.

    python -m laws.hostile --n 1000 --seed 1 [--kind options] [--whole]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from laws.drawn_options import Drawer
from laws.kills import HANGS, forked, load_everything, make_inputs
from laws.odd import LONG, NOT_NUMBERS, SHORT, TREC, collection
from time_limit import TIME_LIMIT

MEMORY = 4 << 30  # bytes, of addresses

MEASURES = [
    *SHORT,
    *LONG,
    *TREC,
    "",
    " ",
    ",",
    "@",
    "nDCG@",
    "nDCG@0",
    "nDCG@-1",
    "nDCG@1.5",
    "nDCG@1e3",
    "@10",
    "nDCG(",
    "nDCG)",
    "nDCG()",
    "nDCG(@)",
    "nDCG(gain=exponential)",
    "nDCG(gain={[]:1})@5",
    "nDCG(gain={})",
    "nDCG(gain={1:nan})",
    "nDCG(gain={1:1e999})",
    "nDCG(gain={1:2,1:3})",
    "nDCG(gain=lambda)",
    "nDCG(discount=())",
    "d#-ndcg(discount=())",
    "w(of=0x10)",
    "V1(" * 2000,
    "V2(V2(V2(AP)))",
    "(" * 500,
    "{" * 500,
    "nDCG@" + "{1,2}" * 22,
    "nDCG@{" + ",".join("12345") * 9 + "}",
    "nDCG@" + "9" * 30,
    "nDCG@" + "9" * 5000,
    "P@999999999",
    "SDCG@1000000000",
    "alpha-DCG@295421509",
    "AP(rel=" + "9" * 400 + ")",
    "AP(rel=nan)",
    "AP(rel=inf)",
    "AP(rel=-1)",
    "AP(rel=None)",
    "AP(rel=[])",
    "AP(rel='1')",
    "RBP(p=nan)",
    "RBP(p=1e-320)",
    "RBP(p=0.9999999999)",
    "RBP(p=1)",
    "RBP(p=-1)",
    "RBP(gain=exp)",
    "SetF(beta=1e200)",
    "SetF(beta=0)",
    "SetF(beta=nan)",
    "INSQ(T=1e300)",
    "INSQ(T=0)",
    "ERR(max_grade=0)",
    "ERR(max_grade=5000)",
    "ERR(max_grade=nan)",
    "IPrec@1e-300",
    "IPrec@2",
    "GAP(t=[1e999])",
    "Z(AP)",
    "U(nDCG@10)",
    "V2(nDCG@10, population=collection(10))",
    "V2(nDCG@10, population=collection(99999999999999999999))",
    "V2(P, population=x)",
    "Accuracy@5",
    "RIC",
    "11pt_avg",
    "infAP",
    "ndcg_cut.0",
    "ndcg_cut.1e9,2",
    "P.0x10",
    "ndcg.1=nan",
    "\x00",
    "\x1b[31m",
    "nDCG\u202e",
    "АР@10",
    "nDCG＠10",
    "-m",
    "--",
    "../x",
    "%s%n",
    "nDCG@10" * 300,
    "ERR-IA@20",
    "alpha-nDCG@20",
    "D#-nDCG@10",
    "StRecall@10",
    "prefs_simp",
    "V2(prefs_pair)",
    "P_avgjg@3",
    "MeanJudge(nDCG@10)",
]
VALUES = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "nan",
    "inf",
    "1e999",
    "9" * 30,
    "x",
    "0x10",
    "\x00",
    "[",
    "é",
    "skip",
    "error",
    "1.5",
    "-0",
]

DIGITS = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE]-?\d+)?")


# -- files -------------------------------------------------------------------------------------------------------


def _spliced(pick: random.Random, content: bytes, new: bytes, over: int = 0) -> bytes:
    place = pick.randint(0, len(content))
    return content[:place] + new + content[place + over :]


def _another_number(pick: random.Random, content: bytes) -> bytes:
    """A number becomes one that is too large, too long, or none."""
    found = [*DIGITS.finditer(content)]
    if not found:
        return content
    each = pick.choice(found)
    huge = [
        b"9" * 5000,
        b"1e400",
        b"-1e308",
        b"1" + b"0" * 400,
        b"4.9e-324",
        b"1100",
        b"99999999999",
        b"-1",
        b"1e18",
        b"0" * 30 + b"1",
    ]
    return content[: each.start()] + pick.choice([*NOT_NUMBERS, *huge]) + content[each.end() :]


MUTATIONS: list[Callable[[random.Random, bytes], bytes]] = [
    _another_number,
    _another_number,
    lambda pick, content: content[: pick.randint(0, len(content))],
    lambda pick, content: _spliced(pick, content, pick.randbytes(pick.choice([1, 2, 40])), pick.choice([0, 1, 40])),
    lambda pick, content: bytes(
        byte ^ (1 << pick.randint(0, 7)) if pick.random() < 3 / (len(content) + 1) else byte for byte in content
    ),
    lambda pick, content: _spliced(
        pick, content, pick.choice([b"\0", b"\n", b"\r", b"\xff", b"\xed\xa0\x80", b'"', b"\\ud800", b"\xef\xbb\xbf"])
    ),
    lambda pick, content: _spliced(
        pick, content, pick.choice([b"[", b"{", b"(", b'{"a":', b"a=["]) * pick.choice([10, 3000])
    ),
    lambda pick, content: _spliced(pick, content, b"x" * 70_000),
    lambda pick, content: b"".join(pick.sample(lines := content.splitlines(keepends=True), len(lines))),
    lambda pick, content: content * pick.choice([2, 5]),
    lambda pick, content: b"",
    lambda pick, content: gzip.compress(content)[: pick.choice([10, 20, -1, 10**6])],
    lambda pick, content: gzip.compress(b"") * 50 + gzip.compress(content),
]


def mutated(pick: random.Random, content: bytes, name: str) -> bytes:
    for _ in range(pick.choice([1, 1, 1, 2, 3])):
        content = pick.choice(MUTATIONS)(pick, content)
    if name.endswith(".cal") and pick.random() < 0.8:
        content = with_checksum(content)
    return content


def with_checksum(model: bytes) -> bytes:
    """A model file whose checksum is right, whatever else is in it."""
    head, _, rest = model.partition(b"\n")
    _, _, body = rest.partition(b"\n")
    return head + b"\n" + sha256(body).hexdigest().encode() + b"\n" + body


ANSWERS = (
    b'{"qid": "q1", "run_id": "x", "answer": "in Ulm", "answers": ["Ulm"], "nuggets": [{"text": "n", "importance": '
    b'"vital", "assignment": "support", "weight": 2}], "statements": [{"text": "s", "citations": [{"document": "d1", '
    b'"support": "full"}]}], "retrieved": ["d1", "d2"], "relevant": {"d1": 1}}\n'
)
SUMMARIES = b"".join(
    b'{"id": "%d", "system": "%s", "summary": "the %s sat", "references": ["a cat"], "source": "a cat sat on the dog. '
    b'It saw a bird.", "human": {"q": %d}}\n' % (document, system, (b"cat", b"dog")[document % 2], document % 3)
    for document in range(3)
    for system in (b"a", b"b")
)
STORED = b'[{"system": "a", "query": "1", "AP": 0.5}, {"system": "a", "query": "2", "AP": null}]'
RESPONSES = json.dumps(
    {
        "responses": [
            {"qid": str(q), "hits": {"hits": [{"_id": f"d{d}", "_score": 9 - d} for d in range(4)]}} for q in "12"
        ]
    }
).encode()
RATINGS = json.dumps(
    {
        "judgmentRatings": [
            {"query": q, "ratings": [{"docId": f"d{d}", "rating": "1.0"} for d in range(3)]} for q in "12"
        ]
    }
).encode()
MTEB = json.dumps(
    {"mteb_model_meta": {"model_name": "m"}, "default": {"test": {"1": {"d1": 0.5, "d2": 0.25}}}}
).encode()
TRIPLES = b"".join(b"%d\td%d\t%d\n" % (q, d, d) for q in (1, 2) for d in (1, 2, 3))
PASSAGES = b"1 Q0 d1#0 1 2 t\n1 Q0 d1#1 2 1 t\n2 Q0 d2#0 1 3 t\n"
LETOR = b"".join(b"%d qid:%d 1:%.1f 2:%d #docid = D%d\n" % (n % 3, n // 9, n % 7 / 7, n % 2, n) for n in range(54))
TABLE = b"system,query,AP\na,1,0.5\nb,1,0.25\na,2,0.75\nb,2,0.5\n"


def make_bases(folder: Path) -> dict[str, bytes]:
    """Files of every kind that commands read, small and whole."""
    import calipers as cal

    make_inputs(folder)
    cal.write_run(cal.read_run(folder / "a.run"), folder / "a.json")
    cal.write_run(cal.read_run(folder / "a.run"), folder / "a.parquet")
    cal.write_run(cal.read_run(folder / "a.run"), folder / "a.csv")
    cal.write_run(cal.read_run(folder / "a.run"), folder / "a.run.gz")
    cal.write_qrels(cal.read_qrels(folder / "qrels"), folder / "qrels.json")
    cal.write_qrels(cal.read_qrels(folder / "qrels"), folder / "qrels.parquet")
    (folder / "summaries.jsonl").write_bytes(SUMMARIES)
    (folder / "answers.jsonl").write_bytes(ANSWERS)
    (folder / "table.csv").write_bytes(TABLE)
    (folder / "stored.json").write_bytes(STORED)
    (folder / "scores.txt").write_bytes(b"".join(b"%d\n" % i for i in range(LETOR.count(b"\n"))))
    (folder / "responses.json").write_bytes(RESPONSES)
    (folder / "ratings.json").write_bytes(RATINGS)
    (folder / "rank_eval.json").write_bytes(b'{"requests": [{"id": "1", "ratings": [{"_id": "d1", "rating": 2}]}]}')
    (folder / "rank_eval_response.json").write_bytes(
        b'{"metric_score": 0, "details": {"1": {"hits": [{"hit": {"_id": "d1", "_score": 2.5}, "rating": 2}]}}}'
    )
    (folder / "ragas.json").write_bytes(
        b'[{"user_input": "1", "retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d2"]}]'
    )
    (folder / "spans.jsonl").write_bytes(
        b'{"attributes": {"input.value": "1", "retrieval.documents.0.document.id": "d1", '
        b'"retrieval.documents.0.document.score": 2.5}}\n'
    )
    (folder / "mteb.json").write_bytes(MTEB)
    (folder / "run.tsv").write_bytes(TRIPLES)
    (folder / "quepid.csv").write_bytes(b"Query Text,Doc ID,Rating\n1,d1,3\n1,d2,\n2,d1,1\n2,d1,2\n")
    (folder / "utf16.csv").write_bytes("qid,docno,rank\n1,d1,1\n1,d2,2\n".encode("utf-16"))
    (folder / "passages.run").write_bytes(PASSAGES)
    (folder / "passages.tsv").write_bytes(b"d1#0\td1\nd1#1\td1\nd2#0\td2\n")
    found = [f"d{d}" for d in range(12)]
    (folder / "costs.txt").write_text("".join(f"{d} {n + 0.5}\n" for n, d in enumerate(found)))
    (folder / "strata.qrels").write_text("".join(f"1 0 d{d} {d % 2} {d % 3 - 1}\n" for d in range(9)))
    (folder / "drawn.prels").write_text("".join(f"1 d{d} {d % 3} {d % 5} {(d + 1) / 10}\n" for d in range(9)))
    (folder / "groups.svm").write_bytes(b"1 1:0.5\n0 2:0.25\n")
    (folder / "groups.svm.query").write_bytes(b"1\n1\n")
    (folder / "labels.svm").write_bytes(LETOR)
    small = {}
    for file in folder.iterdir():
        if file.is_file():
            content = file.read_bytes()
            if file.name in ("qrels", "a.run", "b.run"):  # a few lines will do, and are quick
                content = b"".join(content.splitlines(keepends=True)[:60])
            small[file.name] = content
    return small


# -- commands ------------------------------------------------------------------------------------------------------

JUDGMENTS = (
    "qrels",
    "qrels.json",
    "qrels.parquet",
    "ratings.json",
    "run.tsv",
    "quepid.csv",
    "groups.svm",
    "labels.svm",
    "rank_eval.json",
    "ragas.json",
)
RUNS = (
    "a.run",
    "b.run",
    "a.json",
    "a.csv",
    "a.parquet",
    "a.run.gz",
    "responses.json",
    "mteb.json",
    "run.tsv",
    "utf16.csv",
    "scores.txt",
    "rank_eval_response.json",
    "ragas.json",
    "spans.jsonl",
)
TEMPLATES: list[tuple[str, ...]] = [
    ("evaluate", "J", "R", "-m", "M"),
    ("evaluate", "J", "R", "R", "-m", "M", "-q", "--format", "F"),
    ("evaluate", "qrels", "a.run", "-m", "M", "OPTION", "V"),
    ("evaluate", "labels.svm", "scores.txt", "-m", "M"),
    ("evaluate", "J", "R", "--columns", "V", "--max-unpacked", "V"),
    ("evaluate", "ratings.json", "R", "--query-ids", "run.tsv"),
    ("evaluate", "quepid.csv", "R", "--combine", "mean"),
    ("evaluate", "J", "passages.run", "--rollup", "first", "--rollup-by", "passages.tsv"),
    ("convert", "responses.json", "{out}.txt", "--query-ids", "passages.tsv"),
    ("trec_eval", "-c", "J", "R"),
    ("trec_eval", "-q", "-m", "M", "qrels", "a.run"),
    ("information", "ric", "J", "R", "--judgments-as", "preferences"),
    ("trec_eval", "-q", "-c", "-Z", "J", "qrels", "a.run"),
    ("bounds", "J", "-m", "M"),
    ("queries", "qrels", "a.run", "b.run", "-m", "M"),
    ("inspect", "J", "R"),
    ("convert", "R", "{out}.json"),
    ("convert", "R", "{out}.parquet"),
    ("convert", "J", "{out}.csv"),
    ("compare", "table.csv", "--format", "F"),
    ("compare", "qrels", "a.run", "R", "-m", "M", "--test", "randomization", "--samples", "50"),
    ("fuse", "R", "R", "-o", "{out}"),
    ("properties", "M"),
    ("evaluate", "summaries.jsonl", "-m", "rouge-1"),
    ("evaluate", "table.csv", "-m", "rouge1"),
    ("evaluate", "answers.jsonl", "-m", "EM F1 NuggetRecall CitationRecall", "-m", "M", "--judgments", "J"),
    ("compare", "summaries.jsonl", "-m", "rouge1", "--baseline", "V"),
    ("metaeval", "summaries.jsonl", "-m", "rouge1 rouge2", "--samples", "20", "--table", "agreement,tests,power"),
    ("report", "summaries.jsonl", "-m", "rouge1", "-o", "{out}"),
    ("convert", "a.run", "--references", "R", "-o", "{out}"),
    ("audit", "qrels", "a.run", "-m", "M"),
    ("information", "ric", "qrels", "a.run", "b.run"),
    ("diff", "J", "R", "R", "-m", "M", "--format", "F"),
    ("diff", "qrels", "a.run", "b.run", "--top", "V", "--level", "V"),
    ("check", "J", "R", "--baseline", "R", "-m", "M", "--max-drop", "0.01", "--annotate"),
    ("check", "qrels", "a.run", "--baseline", "table.csv", "-m", "AP", "--max-drop", "V", "--junit", "{out}"),
    ("check", "qrels", "a.run", "--baseline", "stored.json", "-m", "AP", "--max-drop", "0.01", "--alpha", "V"),
    ("sampled", "J", "R", "-m", "M", "--items", "50", "--negatives", "3", "--missing", "last"),
    ("sampled", "qrels", "a.run", "b.run", "--items", "V", "--negatives", "2", "--missing", "last", "--pairs"),
    ("sampled", "qrels", "a.run", "-m", "RR", "--items", "50", "--negatives", "5", "--estimate", "--gamma", "V"),
    ("evaluate", "qrels", "R", "-m", "READ", "--costs", "costs.txt"),
    ("compare", "qrels", "a.run", "b.run", "-m", "READ", "--costs", "costs.txt"),
    ("bounds", "J", "-m", "READ", "--costs", "costs.txt"),
    ("ranges", "J", "R", "-m", "M", "--unseen", "V", "--max-grade", "V"),
    ("ranges", "qrels", "a.run", "R", "-m", "READ", "--costs", "costs.txt", "--ties", "docid"),
    ("ranges", "qrels", "a.run", "b.run", "-m", "READ", "--pairs"),
    ("evaluate", "strata.qrels", "R", "-m", "infNDCG@10"),
    ("evaluate", "drawn.prels", "R", "-m", "infNDCG@10"),
    ("measures", "M"),
    ("V", "V", "V"),
    ("evaluate", "V", "V"),
]
OPTIONS = [
    "--ties",
    "--depth",
    "--empty",
    "--missing",
    "--degenerate",
    "--interval",
    "--jobs",
    "--like",
    "--format",
    "--columns",
    "--max-unpacked",
    "--baseline",
    "--judgments-as",
    "--systems-as",
    "--condensed",
    "-o",
    "--intents",
    "--combine",
    "--rollup",
    "--query-ids",
    "--judgments-columns",
]
READ = [
    "TBG",
    "U-measure(L=9) P@3",
    "EC(BPM(T=2)@5)",
    "ETC(INST)",
    "ETU(IFT-C1-C2)",
    "Q",
    "P-plus",
    "P-measure O-measure",
    "NCU(stop=rank)",
    "nERR@3",
    "ED(AP)",
    "TBG(halflife=1e-300)",
    "IFT-C2(A=1e300,R2=1e300)",
    "BPM(T=1e-9,K=1e9)",
    "EU(RBP, depth=1)",
    "SET(beta=1e-9)@3",
    "NPV(rate=1e300)",
    "U-measure(L=1e-300)",
]
FORMS = ["table", "csv", "json", "markdown", "latex"]
USUAL = ["nDCG@10", "AP", "ERR@5", "V2(nDCG@5)", "RBP(gain=exp)", "nDCG(gain=exp)@3"]
LIBRARY_WARNING = re.compile(r"\b[A-Z]\w+Warning: ")  # ours are shown as notes


def from_template(pick: random.Random, names: list[str]) -> list[str]:
    """Draw a command from the templates. names: of all files."""
    chosen: list[str] = []
    for word in pick.choice(TEMPLATES):
        if word == "J":
            word = pick.choice(JUDGMENTS[:-1]) if pick.random() < 0.9 else pick.choice(names)
        elif word == "R":
            word = pick.choice(RUNS) if pick.random() < 0.9 else pick.choice(names)
        elif word == "M":
            word = pick.choice(MEASURES) if pick.random() < 0.6 else pick.choice(USUAL)
        elif word == "READ":
            word = pick.choice(READ)
        elif word == "F":
            word = pick.choice(FORMS)
        elif word == "V":
            word = pick.choice(VALUES)
        elif word == "OPTION":
            word = pick.choice(OPTIONS)
        chosen.append(word)
    return chosen


def with_drawn_options(pick: random.Random, names: list[str]) -> list[str]:
    """Draw any command, with any of its options."""
    measures = [*USUAL, pick.choice(MEASURES), pick.choice(READ), pick.choice(LONG)]
    return Drawer(pick, JUDGMENTS, RUNS, names, measures).call()


KINDS = {"templates": from_template, "options": with_drawn_options}


def hostile(seed: int, bases: dict[str, bytes], folder: Path, kind: str = "templates") -> list[str]:
    """Return the command of a seed, and write the files that it reads to the folder, one of them often spoilt."""
    pick = random.Random(seed)
    chosen = KINDS[kind](pick, [*bases])
    files = [word for word in chosen if word in bases]
    spoilt = pick.choice(files) if files and pick.random() < (0.8 if kind == "templates" else 0.12) else None
    odd, is_odd = collection(seed), pick.random() < 0.3
    for name in {*files}:
        content = bases[name]
        if name == "qrels" and is_odd:
            content = odd.qrels
        elif name in ("a.run", "b.run") and is_odd:
            content = odd.runs[0] if name == "a.run" else odd.runs[-1]
        (folder / name).write_bytes(mutated(pick, content, name) if name == spoilt else content)
    return [
        str(folder / word) if word in files else word.replace("{out}", f"{folder}/out").replace("\0", "\\0")
        for word in chosen
    ]


CODES = {"trec_eval": (0, 1, 2, 4, 7)}  # its own: 4 for a measure that the format cannot give, 7 for no query in common


def wrong_with(command: str, code: int, said: str) -> str | None:
    if code == HANGS:
        return "does not end"
    if code < 0:
        return f"killed by signal {-code}"
    if "Traceback (most recent call last)" in said or code not in CODES.get(command, (0, 1, 2)):
        return f"exit {code}"
    if LIBRARY_WARNING.search(said):
        return "a warning of a library"
    return None


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def in_fork(arguments: list[str], folder: Path) -> tuple[int, str]:
    def begin() -> None:
        os.chdir(folder)  # where outputs without a name go
        _limited()

    return forked(arguments, begin)


def in_process(arguments: list[str], folder: Path) -> tuple[int, str]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "calipers", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT,
            preexec_fn=_limited,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return HANGS, ""
    return done.returncode, (done.stdout[-4000:] + done.stderr[-8000:]).decode(errors="replace")


def attacks(
    n: int, seed: int, seconds: float = float("inf"), whole: bool = False, kind: str = "templates"
) -> tuple[list[str], Counter[str]]:
    """Run n commands. Return what went wrong, and how many commands ended with which exit code."""
    found: list[str] = []
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="laws-") as name:
        inputs = Path(name) / "in"
        inputs.mkdir()
        bases = make_bases(inputs)
        for each in range(seed, seed + n):
            if time.monotonic() > end:
                break
            with tempfile.TemporaryDirectory(dir=name) as place:
                folder = Path(place)
                arguments = hostile(each, bases, folder, kind)
                code, said = (in_process if whole else in_fork)(arguments, folder)
                counts[f"exit {code}"] += 1
                if wrong := wrong_with(arguments[0], code, said):
                    shown = " ".join(repr(word.replace(f"{folder}/", ""))[:120] for word in arguments)
                    found.append(f"seed {each}: {wrong}: {shown}\n{said[-700:]}")
    return found, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--kind", choices=[*KINDS], default="templates")
    parser.add_argument("--whole", action="store_true", help="each command in a process of its own")
    options = parser.parse_args()
    os.environ["NO_COLOR"] = "1"
    load_everything()
    found, counts = attacks(options.n, options.seed, options.seconds, options.whole, options.kind)
    print("\n".join(found))
    print(json.dumps({"seed": options.seed, "wrong": len(found), **counts}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
