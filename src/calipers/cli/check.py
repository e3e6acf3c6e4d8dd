"""The command `calipers check`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, ScoreFiles, relevant_documents_option, say_scores, system_of
from calipers.cli.option_groups import LibraryChoice, declared, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    OUTPUT,
    WholeNumber,
    alpha_option,
    data_argument,
    how_to_read,
    measures_option,
    note,
    query_groups_option,
    show,
    warn,
    words,
)
from calipers.cli.output import Output, output
from calipers.cli.policies import ListPolicies, lists
from calipers.cli.printing import write_text
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.collection.runs import Run
    from calipers.experiment import Experiment
    from calipers.questions.check.check_result import Check
    from calipers.results.scores import Scores

READ_BY_PEOPLE = ("table", "markdown")


def two_runs(old: Sequence[Run], new: Sequence[Run]) -> list[Run]:
    """Return the old and the new run. Several runs for one of them are refused."""
    from calipers.results.messages import some

    for runs, what in ((old, "old"), (new, "new")):
        if len(runs) != 1:
            names = some([run.name for run in runs])
            raise CalipersError(f"the {what} system is {len(runs)} runs ({names}): expected one")
    return [*old, *new]


@dataclass(frozen=True, kw_only=True)
class NewAndOld(Inputs):
    """Judgments, a new system, and the old one: a run, or a file of its scores."""

    new: str
    baseline: str | None

    def experiment_and_baseline(self, lists: ListPolicies) -> tuple[Experiment, str, str | Scores | None]:
        """Return an experiment, the name of the new system, and the baseline: its name or its stored scores."""
        from calipers.experiment import Experiment
        from calipers.results.score_files import are_stored_scores

        wanted = {} if self.are_texts else self.wanted()
        stored: Scores | None = None
        if self.baseline is not None:
            system, path = self._baseline_file(self.baseline)
            stored = self._stored(system, path, lists.strict) if are_stored_scores(path) else None
        if self.are_texts:
            old = () if self.baseline is None or stored is not None else (self.baseline,)
            with replace(self, systems=(self.new, *old)).scored(lists) as experiment:
                say_scores(experiment, lists.strict)
            return experiment, system_of(self.new), system_of(*old) if old else stored
        known = self.read_judgments(self.judgments, wanted.values())
        runs = self.read_systems([self.new])
        if len(runs) > 1:
            raise CalipersError(f"the new system is {len(runs)} runs: expected one")
        if self.baseline is not None and stored is None:
            runs = two_runs(self.read_systems([self.baseline]), runs)
        found = Experiment(known, runs, self.typed(), jobs=lists.jobs, warn=False, **lists.policies)
        return found, found.systems[-1], found.systems[0] if len(runs) == 2 else stored

    def _baseline_file(self, baseline: str) -> tuple[str | None, str]:
        """Return system and file of NAME=FILE, or the file alone."""
        system, equals, path = baseline.partition("=")
        return (system, path) if equals and not os.path.exists(baseline) else (None, baseline)

    def _stored(self, system: str | None, path: str, strict: bool) -> Scores:
        scores = ScoreFiles(files=(path,), max_unpacked=self.max_unpacked, strict=strict).open()
        if system is not None:
            return scores.of_systems([system])
        if len(scores.systems) > 1:
            raise CalipersError(
                f"holds {len(scores.systems)} systems: choose one, as --baseline {scores.systems[0]}={path}", file=path
            )
        return scores


@dataclass(frozen=True)
class GateLimits:
    """Limits of a check, as the library's `check` takes them."""

    max_drop: tuple[str, ...]
    max_query_drop: tuple[str, ...]
    min: tuple[str, ...]
    fail_if: str
    query_groups: str | None
    fail_on: tuple[str, ...]
    alpha: float
    worst: int

    def keywords(self, baseline: object) -> dict[str, Any]:
        """Return keywords of `check`. Refuse a check of nothing, and a drop without a baseline."""
        limits = {name: getattr(self, name) for name in ("max_drop", "max_query_drop", "min")}
        if not any(limits.values()):
            raise CalipersError("there is nothing to check: give --max-drop, --max-query-drop or --min")
        if (self.max_drop or self.max_query_drop) and baseline is None:
            raise CalipersError("--max-drop and --max-query-drop compare the new system with another: give --baseline")
        given = {name: " ".join(texts) or None for name, texts in limits.items()}
        return {**vars(self), **given, "fail_on": [kind for each in self.fail_on for kind in words(each)]}


@dataclass(frozen=True)
class Reports:
    """Files and lines that a job reads."""

    junit: str | None
    annotate: bool

    def refuse_mixed_output(self, output: Output) -> None:
        """Refuse annotations on the screen if the result is printed there for programs."""
        if self.annotate and output.file is None and output.format not in READ_BY_PEOPLE:
            raise CalipersError(
                f"--annotate prints to the screen, where the {output.format} would be: give it a file (-o)"
            )


class Kinds(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """Kinds of problems, separated by commas."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from calipers.questions.check.checking import FAIL_ON

        for kind in words(value):
            if kind == "undecided":
                self.fail("'undecided' is a choice of --fail-if", param, ctx)
            if kind not in FAIL_ON:
                self.fail(f"'{kind}' is not one of {', '.join(FAIL_ON)}", param, ctx)
        return str(value)


# Limits, and what a job reads.
verdict_options = declared(
    option_group(
        "limits",
        GateLimits,
        click.option(
            "--max-drop",
            metavar="D|P%|MEASURE=D",
            multiple=True,
            help="Drop of the mean that is allowed: a number, a percentage of the old mean, or a limit per "
            'measure, as "nDCG@10=0.02"; may be repeated.',
        ),
        click.option(
            "--max-query-drop",
            metavar="D|MEASURE=D",
            multiple=True,
            help="Drop of any single query that is allowed, for all measures or per measure.",
        ),
        click.option(
            "--min",
            metavar="F|P%|MEASURE=F",
            multiple=True,
            help='Floor for the new mean, as "nDCG@10=0.6"; 60% is 0.6 of a measure with scores from 0 to 1; '
            "may be repeated.",
        ),
        click.option(
            "--fail-if",
            type=LibraryChoice("calipers.questions.check.verdicts:FAIL_IF"),
            default="drop",
            show_default=True,
            help="Exit with 1 if a mean breaks its limit on these queries (drop), only if that is shown to go "
            "beyond them (worse), or unless the contrary is shown (undecided).",
        ),
        query_groups_option,
        click.option(
            "--fail-on",
            metavar="KINDS",
            multiple=True,
            type=Kinds(),
            help="Exit with 1 for these as well, separated by commas: unmatched (queries without judgments), "
            "missing (queries), ties, unjudged (documents in the top 10).",
        ),
        alpha_option,
        click.option(
            "--worst",
            type=WholeNumber(0),
            default=5,
            show_default=True,
            metavar="N",
            help="Queries with the largest loss that are named for each measure.",
        ),
    ),
    option_group(
        "reports",
        Reports,
        click.option(
            "--junit", metavar="FILE", type=OUTPUT, help="Write JUnit's XML as well: one test case per measure."
        ),
        click.option(
            "--annotate",
            is_flag=True,
            help="Print GitHub's annotations as well: an error, a warning or a notice for each measure.",
        ),
    ),
)


@grouped_command("check")
@option_group(
    "inputs",
    NewAndOld,
    data_argument,
    click.argument("new", metavar="NEW", type=FILE),
    relevant_documents_option,
    how_to_read,
    measures_option,
)
@click.option(
    "--baseline",
    metavar="OLD",
    type=FILE,
    help="The old system: a run, or its scores as evaluate -q writes them in CSV or JSON (NAME=FILE if "
    "the file has several systems).",
)
@verdict_options
@click.option(
    "--other-judgments",
    type=LibraryChoice("calipers.questions.check.checking:OTHER_JUDGMENTS"),
    default="error",
    show_default=True,
    help="What to do if the old scores were made with other judgments: fail, or warn and go on.",
)
@lists
@output
def command(
    inputs: NewAndOld,
    limits: GateLimits,
    other_judgments: str,
    reports: Reports,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Check that a new system does not drop by more than is allowed, or reaches a floor: a gate for jobs.

    DATA is judgments, and NEW and OLD are runs; or DATA is texts, and NEW and OLD are names of systems in it. Errors of
    texts, such as TER, are negated, so that more is better.

    The check fails (exit 1) if the mean drops by more than --max-drop or is below --min on these queries: one measure
    is enough. It also says what that shows beyond these queries: worse, not worse, or undecided, with the number of
    queries that would tell. A verdict other than undecided is wrong with a chance of at most alpha, unless it is
    marked as approximate.

    \b
    calipers check qrels.txt new.run --baseline old.run -m "nDCG@10 RR" --max-drop 0.01
    calipers check qrels.txt new.run --baseline old.run -m "nDCG@10 RR" --max-drop 2% --max-query-drop 0.9
    calipers check qrels.txt new.run -m "nDCG@10 RR" --min "nDCG@10=0.1 RR=20%"
    calipers check qrels.txt new.run --baseline old.run -m "AP" --max-drop 0.1 --query-groups queries.csv:intent
    calipers check qrels.txt new.run --baseline old.run -m "AP" --max-drop 0.01 --fail-if worse
    calipers check qrels.txt new.run --baseline bm25=scores.csv -m "AP" --max-drop 0.01 --format json
    calipers check qrels.txt new.run --baseline old.run -m "AP" --max-drop 0.01 --junit check.xml --annotate
    calipers check answers.jsonl rag1 --baseline rag0 -m "F1" --max-drop 0.5
    """
    reports.refuse_mixed_output(output)
    keywords = limits.keywords(inputs.baseline)
    experiment, new, baseline = inputs.experiment_and_baseline(lists)
    found = experiment.check(new, baseline=baseline, other_judgments=other_judgments, warn=False, **keywords)  # type: ignore[arg-type]
    warn(found.notes, lists.strict)
    conclude(found, reports, output, experiment.scores.remarks)


def conclude(found: Check, reports: Reports, output: Output, remarks: Sequence[str] = ()) -> None:
    """Write the verdict for people and other programs, and exit with 1 if the check failed."""
    for text in (*remarks, *found.remarks):
        note(text)
    _write(found, output)
    if reports.junit is not None:
        write_text(found.to_junit(), reports.junit)
    if reports.annotate:
        show("".join(f"{line}\n" for line in found.annotations()), workflow_commands=True)
    if found.failed:
        click.get_current_context().exit(1)


def _write(found: Check, output: Output) -> None:
    """Write sentence and tables for people; for programs the main table or JSON, and the sentence to the terminal."""
    if output.format == "json":
        output.write_text(found.to_json())
    elif output.format not in READ_BY_PEOPLE:
        output.write(found.table())
    else:
        output.write_text(found.text() if output.format == "table" else found.for_pull_request())
        return
    note(found.summary)
