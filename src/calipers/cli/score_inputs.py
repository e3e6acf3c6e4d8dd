"""What compare, plan and metaeval share: scores from a collection or from matrices, and results of several tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.atomic_files import write_whole
from calipers.cli.options import as_asked, given, note, open_collection, progress, show, warn, write
from calipers.errors import CalipersError
from calipers.results.printable import visible

if TYPE_CHECKING:
    from calipers.results.scores import Scores
    from calipers.results.tables import Table

SUFFIX = {"table": "txt", "csv": "csv", "json": "json", "markdown": "md", "latex": "tex"}


def are_matrices(judgments: str, systems: Sequence[str]) -> bool:
    """Whether the inputs are files of scores rather than judgments and runs."""
    from calipers.results.score_files import is_score_table

    if judgments != "-" and is_score_table(judgments):
        return True
    if not systems:
        raise CalipersError("expected judgments and at least one system, or a CSV file of scores", file=judgments)
    return False


def open_matrices(files: Sequence[str], measures: Sequence[str], strict: bool) -> Scores:
    """Scores from CSV files; what not all of them have is left out, and counted."""
    from calipers.results.score_files import read_scores

    names = [name for each in measures for name in each.split()]
    scores = read_scores(files, names or None, strict=strict, max_unpacked=given("max_unpacked"))
    left_out = scores.metadata.get("left_out", {})
    if any(left_out.values()):
        counts = " and ".join(f"{count} {what}" for what, count in left_out.items() if count)
        warn([f"{counts} are not in all files of scores; left out"], strict)
    return scores


def open_scores(
    judgments: str,
    systems: Sequence[str],
    measures: Sequence[str],
    *,
    strict: bool,
    jobs: int | None,
    **policies: Any,
) -> Scores:
    """Scores of runs under measures, or from files of scores, with what is to be said about them."""
    from calipers.cli.evaluate import note_undefined
    from calipers.evaluation import evaluate
    from calipers.measures.grammar import DEFAULT_MEASURES, parse_all

    if are_matrices(judgments, systems):
        return open_matrices([judgments, *systems], measures, strict)
    wanted = parse_all(measures or DEFAULT_MEASURES)
    known, runs = open_collection(judgments, systems, (measure for _, measure in wanted))
    with progress(len(runs), "runs") as advance:
        names = [name for name, _ in wanted]
        scores = evaluate(known, runs, names, jobs=jobs, progress=advance, warn=False, **policies)
    warn(scores.notes, strict)
    note_undefined(scores)
    return scores


def write_several(tables: Mapping[str, tuple[str, Table]], form: str, output: str | None) -> None:
    """Print tables, each with its title, or write them to a file, or into a directory, a file each."""
    if output is not None and (output.endswith("/") or Path(output).is_dir()):
        Path(output).mkdir(parents=True, exist_ok=True)
        for key, (_, table) in tables.items():
            write(table, form, str(Path(output) / f"{_as_file(key)}.{SUFFIX[form]}"))
        return
    text = _joined(tables, form)
    if output is None or output == "-":
        show(text)
    else:
        write_whole(output, text.encode("utf-8", "surrogateescape"))


def _joined(tables: Mapping[str, tuple[str, Table]], form: str) -> str:
    from calipers.results.tables import markdown_text

    if form == "json":
        if len(tables) == 1:
            return next(iter(tables.values()))[1].to_json()
        parts: dict[str, Any] = {key: json.loads(table.to_json()) for key, (_, table) in tables.items()}
        return json.dumps(parts, ensure_ascii=False, indent=1) + "\n"
    texts = []
    for title, table in tables.values():
        plain = visible(title)
        heads = {"table": f"{plain}\n", "markdown": f"### {markdown_text(title)}\n\n", "latex": f"% {plain}\n"}
        head = heads.get(form, "")
        if form == "csv" and len(tables) > 1:
            note(title)
        texts.append(("" if len(tables) == 1 else head) + as_asked(table, form).to(form))
    return "\n".join(texts)


def _as_file(key: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.@" else "_" for c in key)
