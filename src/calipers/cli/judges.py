"""The command `calipers judges`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from calipers.cli.inputs import Runs
from calipers.cli.option_groups import LibraryChoice, command_with_several_values, option_group
from calipers.cli.options import (
    FILE,
    LEVEL,
    NUMBER,
    draw,
    how_to_read_files,
    measures_option,
    note,
    plot_option,
    progress,
    read_system_groups,
    warn,
)
from calipers.cli.output import Output, several_outputs
from calipers.cli.policies import ListPolicies, Significance, lists, significance
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.questions.judges.judge_study import JudgeStudy
    from calipers.results.tables import Table

OF_LABELS = ("agreement", "confusion")
OF_SYSTEMS = ("effects", "ranks", "differences", "circularity")
OF_ANSWERS = {
    "agreement": "agreement with people",
    "ranks": "systems under the labels of people and of the judge",
    "confusion": "how often each pair of labels was given",
    "labels": "all labels that both gave",
    "corrected": "scores corrected by the labels of people",
    "differences": "differences corrected by the labels of people",
}


@dataclass(frozen=True, kw_only=True)
class JudgesInputs(Runs):
    """Everybody's judgments, what is made of them, and the runs that are scored under them."""

    human: str
    judges: tuple[str, ...]
    maps: tuple[str, ...]
    combine: tuple[str, ...]

    @property
    def are_labels_of_items(self) -> bool:
        """True if people's labels are of single items. Names of columns say so, or the first row of the file."""
        from calipers.questions.judges.verdict_rows import are_labels_of_items

        if self.judgments_as is not None or self.columns is not None:
            return bool({"item", "label"} & {*(self.columns or ())})
        return are_labels_of_items(self.human)

    @property
    def named_judges(self) -> dict[str, str]:
        """Files of judges by name: that of the file, or the name in name=file."""
        from calipers.collection.run_names import named_files, stem_of

        return {name or stem_of(file): file for judge in self.judges for name, file in named_files(judge)}

    combine_option: ClassVar[str] = "calipers convert --combine"  # here, --combine is about judges


@dataclass(frozen=True)
class JudgesTables:
    """The tables that are asked for, and what they need."""

    correct: bool
    groups: str | None
    show: tuple[str, ...]
    level: float
    draws: int | None
    threshold: float | None
    human_threshold: float | None

    def tables(self, systems: bool, several: bool) -> list[str]:
        """Return the names of the tables to print, in order. The default depends on systems and output format."""
        asked = {"families": self.groups is not None, "corrected": self.correct}
        wanted = list(dict.fromkeys([*self.show, *(name for name, yes in asked.items() if yes)]))
        if "labels" in wanted:
            raise CalipersError("the table labels needs answers with nuggets or citations")
        needing = [name for name in wanted if name not in OF_LABELS]
        if needing and not systems:
            raise CalipersError(f"{needing[0]} needs runs: name them with --systems, as --systems runs/*")
        if wanted and (self.show or wanted != ["families"]):
            return wanted
        if not systems:
            return ["agreement"]
        return [*(["agreement", "effects"] if several else [] if wanted else ["effects"]), *wanted]


@command_with_several_values("judges", "--systems")
@option_group("asked_judges", JudgesInputs)
@option_group("asked", JudgesTables)
@click.argument("human", metavar="HUMAN", type=FILE)
@click.argument("judges", nargs=-1, metavar="JUDGE...", type=FILE)
@how_to_read_files
@click.option(
    "--systems",
    multiple=True,
    metavar="RUNS",
    type=FILE,
    help="Runs, folders or patterns to score under the labels of every judge: all words up to the next option.",
)
@measures_option
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="[WHO:]MAP",
    help="Other grades for `human`, for a judge by name or pattern, or without WHO: for all. MAP is "
    "0=0,1=0,2=1 (a grade for each), >=2 (1 from there on; >=1,2,3 counts the thresholds reached), or "
    "same (the grades mean the same). May be repeated.",
)
@click.option(
    "--correct",
    is_flag=True,
    help="Scores on all the queries that a judge labelled, repaired by those that people judged, with "
    "intervals (prediction-powered inference).",
)
@click.option(
    "--combine",
    multiple=True,
    type=LibraryChoice("calipers.questions.judges.combination:COMBINATIONS"),
    help="A further judge, made of all the others; may be repeated.",
)
@click.option(
    "--groups",
    metavar="FILE",
    type=FILE,
    help="CSV whose first two columns are systems and their groups: does a judge favour a family of systems?",
)
@click.option(
    "--show",
    multiple=True,
    type=click.Choice((*OF_LABELS, *OF_SYSTEMS, "labels")),
    help="Other tables; may be repeated [default: agreement, with --systems effects, and for answers ranks; in formats "
    "other than table and markdown, the last that was asked for]. The table labels is for answers only.",
)
@click.option(
    "--threshold", type=NUMBER, help="With a table of verdicts: judges' labels of at least this value count as passed."
)
@click.option("--human-threshold", type=NUMBER, help="With a table of verdicts: the same for the labels of people.")
@click.option(
    "--level",
    type=LEVEL,
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Resamples of queries for --groups, and for answers [default: 1000].",
)
@significance
@plot_option("the confusion matrices; with --systems how the systems' ranks move")
@lists
@several_outputs
def command(
    asked_judges: JudgesInputs,
    asked: JudgesTables,
    significance: Significance,
    plot: str | None,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Compare judges with people: how well they agree, and what their disagreement does to systems.

    HUMAN and each JUDGE are judgments as for evaluate. Judges are compared with HUMAN on the labels that both gave, and
    go by their file names without the ending. With --systems, runs are scored under everybody's labels on the queries
    that both judged.

    HUMAN and JUDGE may also be files of the same answers, with nuggets and cited statements as either labelled them. If
    people labelled only some of them, --correct repairs the score of each system, and --show differences each
    difference of two systems.

    Instead of judgments, HUMAN may be a table of verdicts on single items (CSV or JSON lines), without JUDGE: columns
    item, system, judge, label (a number, pass or fail), human (empty for items that people did not label), and if known
    length and position. With JUDGE, HUMAN has the labels of people only, and each JUDGE those of a judge: item, system,
    label. The pass rate of each system, and each difference of two systems, is then repaired by the human labels.

    \b
    calipers judges human.qrels llm-a.qrels llm-b.qrels
    calipers judges human.qrels llm-*.qrels --systems runs/* -m "nDCG@10 AP"
    calipers judges human.qrels llm.qrels --map 'human:>=2' --show confusion
    calipers judges human-part.qrels llm-all.qrels --systems runs/* -m nDCG@10 --correct
    calipers judges people.jsonl llm.jsonl
    calipers judges people-part.jsonl gpt=gpt.jsonl llama=llama.jsonl -m NuggetRecall --correct
    calipers judges verdicts.csv
    calipers judges people.csv gpt=gpt.csv
    """
    from calipers.experiment import Experiment
    from calipers.texts.recognition import are_judged_answers, refuse_texts

    if asked_judges.judgments_as is None and are_judged_answers(asked_judges.human):
        _write_answers(asked_judges, asked, significance.seed, plot, lists.strict, output)
        return
    if not asked_judges.judges or asked_judges.are_labels_of_items:
        _write_verdicts(asked_judges, asked, significance.seed, lists.strict, output)
        return
    refuse_texts(asked_judges.human, "no answer has nuggets or statements, whose labels are compared")
    wanted = asked.tables(bool(asked_judges.systems), output.format in ("table", "markdown"))
    if [asked_judges.human, *asked_judges.judges, *asked_judges.systems].count("-") > 1:
        raise CalipersError("only one of the inputs can be - (standard input)")
    of_group = None if asked.groups is None else read_system_groups(asked.groups)
    named = asked_judges.typed()
    known, others = asked_judges.read_judgments(asked_judges.human), asked_judges.read_judges(asked_judges.judges)
    runs = asked_judges.runs() if asked_judges.systems else None
    with progress(len(others) + 1 if runs else 0, "judges") as advance:
        given = Experiment(known, runs, named, jobs=lists.jobs, progress=advance, warn=False, **lists.policies)
        found = given.judges(others, map=asked_judges.maps or None, combine=asked_judges.combine, **vars(significance))
    drawn = {"seed": significance.seed, **({} if asked.draws is None else {"draws": asked.draws})}
    tables = {name: each for what in wanted for name, each in _tables(found, what, asked, drawn, of_group).items()}
    _say(found, wanted, tables, lists.strict)
    draw(plot, lambda charts: _chart(found, charts))
    output.write_several(tables)


def _write_verdicts(given: JudgesInputs, asked: JudgesTables, seed: int, strict: bool, output: Output) -> None:
    """Compare the verdicts of a table with the labels of people, and write the tables."""
    from calipers.questions.judges.verdict_rows import is_verdict_table
    from calipers.questions.judges.verdict_study import judge_verdicts

    if not given.judges and given.columns is None and not is_verdict_table(given.human):
        raise CalipersError(
            "expected judges after the judgments of people, or a table of verdicts with the columns item, label and "
            "human",
            file=given.human,
        )
    if given.systems or set(asked.show) - {"differences"}:
        raise CalipersError("a table of verdicts is compared without runs: leave out --systems and other tables")
    if given.maps or given.combine:
        raise CalipersError(
            "--map and --combine are for judgments; for verdicts, use --threshold and --human-threshold"
        )
    found = judge_verdicts(
        given.human,
        given.named_judges or None,
        threshold=asked.threshold,
        human_threshold=asked.human_threshold,
        columns=given.columns,
        level=asked.level,
        seed=seed,
    )
    warn(found.notes, strict)
    tables = {"verdicts": ("verdicts compared with people", found.table())}
    if found.differences:
        tables["differences"] = ("differences of systems, repaired", found.table("differences"))
    if found.bias:
        tables["bias"] = ("error of the judge by length and position", found.table("bias"))
    default = list(tables) if output.format in ("table", "markdown") else ["verdicts"]
    if asked.show and not found.differences:
        raise CalipersError("there is no table differences: the rows have no second system")
    output.write_several({name: tables[name] for name in asked.show or default})
    note(found.summary)


def _write_answers(
    given: JudgesInputs, asked: JudgesTables, seed: int, plot: str | None, strict: bool, output: Output
) -> None:
    """Compare labels of nuggets and citations with those of people, and write the tables."""
    from calipers.questions.judges.answer_study import DRAWS, judge_answers
    from calipers.questions.judges.repaired_scores import helped

    if not given.judges:
        raise CalipersError("expected the answers with the labels of a judge, after those of people", file=given.human)
    if unknown := [name for name in asked.show if name not in OF_ANSWERS]:
        raise CalipersError(f"there is no table {unknown[0]} of answers; there are {', '.join(OF_ANSWERS)}")
    if given.systems or given.maps or given.combine or asked.groups:
        raise CalipersError("--systems, --map, --combine and --groups are for judgments; leave them out for answers")
    if asked.threshold is not None or asked.human_threshold is not None:
        raise CalipersError("--threshold and --human-threshold are for a table of verdicts; leave them out for answers")
    wanted = [name for name in OF_ANSWERS if name in asked.show or (name == "corrected" and asked.correct)]
    draws = DRAWS if asked.draws is None else asked.draws
    found = judge_answers(
        given.human, given.named_judges, given.measures or None, draws=draws, level=asked.level, seed=seed
    )
    makers = {"corrected": found.correct, "differences": found.correct_differences}
    shown = output.format in ("table", "markdown")
    tables = {
        name: makers[name](asked.level, seed) if name in makers else found.table(name)
        for name in wanted or (["agreement", "ranks"] if shown else ["agreement"])
    }
    if set(tables) - set(makers):
        warn(found.notes, strict)
    if "agreement" in tables:
        note(found.summary)
        note(f"intervals of the weighted kappa: {draws:,} resamples of queries, seed {seed}")
    for name in makers:
        if name in tables:
            warn(tables[name].notes, strict)
            for line in helped(tables[name]):
                note(line)
    draw(plot, lambda charts: charts.stacked(*(charts.confusion(each) for each in found.confusion.values())))
    output.write_several({name: (OF_ANSWERS[name], table.changed(notes=())) for name, table in tables.items()})


def _tables(
    found: JudgeStudy, what: str, asked: JudgesTables, drawn: Mapping[str, int], groups: dict[str, str] | None
) -> dict[str, tuple[str, Table]]:
    level, seed = asked.level, drawn["seed"]
    if what == "confusion":
        found.refuse_other_scales()
        return {
            f"confusion-{judge}": (f"grades of the human (rows) and of {judge}", each.table())
            for judge, each in found.confusion.items()
        }
    makers: dict[str, tuple[str, Callable[[], Table]]] = {
        "agreement": ("agreement with the human", found.table),
        "effects": ("what it does to the systems", found.effects),
        "ranks": ("systems under the labels of the human and of the judge", found.ranks),
        "families": (
            "ranks that families of systems gain over the others",
            lambda: found.families(groups or {}, level, **drawn),
        ),
        "corrected": ("scores corrected by the human's judgments", lambda: found.correct(level, seed)),
        "differences": (
            "differences corrected by the human's judgments",
            lambda: found.correct_differences(level, seed),
        ),
        "circularity": ("systems re-ranked by the judge's own labels", found.circularity),
    }
    title, make = makers[what]
    return {what: (title, make())}


def _say(found: JudgeStudy, wanted: Sequence[str], tables: Mapping[str, tuple[str, Table]], strict: bool) -> None:
    """Print notes on methods, and on queries and labels that were left out."""
    if any(name in OF_LABELS for name in wanted):
        warn(found.notes, strict)
    if found.on_systems is not None:
        from calipers.cli.evaluate import note_undefined

        repaired = set(wanted) <= {"corrected", "differences"}  # these tables use all queries of the judge
        ours = found.on_systems.scores[1 if repaired else 0]
        warn([*ours.notes, *(found.on_systems.notes if "effects" in wanted else ())], strict)
        note_undefined(ours)
    if "effects" in wanted:
        about = found.effect.testing
        corrected = "" if about["correction"] in (None, "none") else f", corrected by {about['correction']}"
        note(f"pairs of systems by the {about['test']} test{corrected}, alpha {about['alpha']:g}")
    if "families" in tables:
        about = tables["families"][1].metadata
        note(f"families: {about['draws']} draws, seed {about['seed']}")
    for name in ("corrected", "differences"):
        if name in tables:
            from calipers.questions.judges.repaired_scores import helped

            for line in helped(tables[name][1]):
                note(line)
    if "circularity" in tables:
        from calipers.questions.judges.effects_on_systems import circularity_notes

        warn(circularity_notes(tables["circularity"][1]), strict)


def _chart(found: JudgeStudy, charts: Any) -> Any:
    if found.on_systems is None:
        found.refuse_other_scales()
        return charts.stacked(*(charts.confusion(each) for each in found.confusion.values()))
    return charts.stacked(*(charts.slopes(found.on_systems, measure) for measure in found.effect.measures))
