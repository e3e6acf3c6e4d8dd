"""calipers study: experiments of the papers, on your own data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import LibraryChoice, together
from calipers.cli.options import (
    FILE,
    NUMBER,
    POSITIVE,
    OutputFolder,
    depth_option,
    draw,
    jobs_option,
    note,
    plot_option,
    progress,
    seed_option,
    strict_option,
    warn,
)
from calipers.cli.output import Output, output, safe_csv_option
from calipers.cli.text_options import Bert, model_options
from calipers.plurals import counted

if TYPE_CHECKING:
    from calipers.papers.study_folder import LetorCollection


@click.group("study")
def command() -> None:
    """The experiments of the papers, on any collection.

    \b
    calipers study letor MQ2008/ --folds 5 -o study/                  rankers trained, measures judged by them
    calipers study conventions MQ2008/ -o study2/                     rankers trained and evaluated under conventions
    calipers study fusion qrels.txt runs/* --samples 100 --size 10    joint RIC of systems against their fusions
    calipers study text data.jsonl -o study4/                         random texts, and agreement with people
    """


@dataclass(frozen=True)
class SystemGroups:
    """The groups of systems that are drawn, and what is done to each, as `fusion_study` takes it."""

    samples: int
    size: int
    fusions: tuple[str, ...]
    normalize: str
    rel: float
    depth: int | None
    draws: int
    seed: int
    jobs: int | None


@command.command("fusion")
@inputs(measures=False)
@together("groups", SystemGroups)
@click.option("--samples", type=click.IntRange(min=2), default=100, show_default=True, help="Groups to draw.")
@click.option("--size", type=click.IntRange(min=2, max=40), default=10, show_default=True, help="Systems of a group.")
@click.option(
    "--fusion",
    "fusions",
    multiple=True,
    metavar="NAME",
    help="A method or bound of `calipers fuse`; repeated [default: combanz, combmnz, condorcet, bounds].",
)
@click.option("--normalize", default="minmax", show_default=True, help="As for `calipers fuse`.")
@click.option("--rel", type=NUMBER, default=1.0, show_default=True, help="The smallest grade that is relevant.")
@depth_option
@click.option(
    "--draws", type=click.IntRange(min=1), default=5, show_default=True, help="Draws of the null value per group."
)
@seed_option
@click.option("--per-sample", is_flag=True, help="One row per group instead of correlations.")
@plot_option("RIC of fusions against joint RIC")
@strict_option
@jobs_option
@output
def fusion(
    inputs: Inputs, groups: SystemGroups, per_sample: bool, plot: str | None, strict: bool, output: Output
) -> None:
    """How far fusion gets of what systems know together (Golbus & Aslam (2013), section 6).

    Draws groups of systems; compares the joint RIC of each with RIC of its fusions, and of what fusion could reach.

    \b
    calipers study fusion qrels.txt runs/* --samples 100 --size 10 --plot fusion.html
    """  # fmt: skip
    from calipers.fusion.oracles import RULES
    from calipers.fusion.study import FUSIONS, fusion_study

    known, runs = inputs.open()
    fusions = groups.fusions or FUSIONS
    with progress(groups.samples, "groups") as advance:
        study = fusion_study(known, runs, **{**vars(groups), "fusions": fusions}, progress=advance, warn=False)
    if study.skipped:
        of = counted(len(known.queries), "query")
        note(f"{study.skipped} of {of}: judgments that tell no documents apart; skipped")
    for kind in fusions:
        if kind in RULES:
            note(f"{kind}: an oracle that respects {RULES[kind]} of the runs, by look-ahead for some queries; no bound")
    joint, null = float(study.joint.mean()), float(study.null.mean())
    note(
        f"{counted(groups.samples, 'group')} of {groups.size} of {counted(len(study.systems), 'system')}, seed "
        f"{groups.seed}; joint RIC "
        f"{joint:.4f}, of systems that know nothing {null:.4f}"
    )
    warn(study.notes, strict)
    draw(plot, lambda charts: charts.fusion_scatter(study))
    output.write(study.per_sample() if per_sample else study.table())


@dataclass(frozen=True)
class Training:
    """What the studies that train rankers share."""

    folds: int | None
    rankers: tuple[str, ...]
    preset: str
    normalize: str
    queries: int | None
    seed: int
    jobs: int
    no_charts: bool
    safe_csv: bool
    folder: str

    @property
    def settings(self) -> dict[str, Any]:
        return {"preset": self.preset, "normalize": self.normalize, "seed": self.seed, "jobs": self.jobs}

    def open(self, collection: str) -> LetorCollection:
        from calipers.papers.study_folder import LetorCollection

        return LetorCollection.of(collection, self.folds, self.queries, self.seed)

    def write(self, title: str, words: list[str], tables: Any, charts: Any, long: tuple[str, ...] = ()) -> None:
        from calipers.papers.study_page import write_study

        for each in write_study(self.folder, title, words, tables, charts, long=long, safe_csv=self.safe_csv):
            note(each)
        note(f"wrote {self.folder.rstrip('/')}/study.md, with its tables and charts")


_training = together(
    "training", Training,
    click.option("--folds", type=click.IntRange(min=1), help="Only the first N folds [default: all]."),
    click.option("--ranker", "rankers", multiple=True, metavar="NAME", help="A ranker of `calipers train`; repeated."),
    click.option("--preset", type=LibraryChoice("calipers.rankers.presets:PRESETS"), default="quick",
                 show_default=True, help="Settings of the rankers: quick ones, or those of the papers."),
    click.option("--normalize", type=LibraryChoice("calipers.rankers.base:NORMALIZATIONS"), default="none",
                 show_default=True, help="query: every feature from 0 to 1 inside each query."),
    click.option("--queries", type=click.IntRange(min=2), help="Take only N queries, drawn at random."),
    seed_option,
    click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True,
                 help="Threads that grow trees; the results do not depend on it."),
    click.option("--no-charts", is_flag=True, help="Leave the charts out."),
    safe_csv_option,
    click.option("-o", "--output", "folder", required=True, metavar="FOLDER", type=OutputFolder(),
                 help="Where models, scores, tables and charts go; a study that was stopped goes on there."),
)  # fmt: skip


@command.command("letor")
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION...", type=FILE)
@_training
@click.option(
    "--metric",
    default="nDCG(gain=exp)@10",
    show_default=True,
    metavar="MEASURE",
    help="The measure that is optimised, or that decides on validation data.",
)
@click.option("--like", metavar="PROFILE", help="Conventions of that measure, as yahoo or letor4.")
@click.option(
    "--set-size",
    type=POSITIVE,
    metavar="N|SHARE",
    help="Queries in the uninformative and in the ideal set [default: the papers', or a quarter].",
)
def letor(
    collections: tuple[str, ...],
    training: Training,
    metric: str,
    like: str | None,
    set_size: float | None,
) -> None:
    """Train rankers on every fold, rank every test set, and judge nDCG and MAP and their normalisations by that
    (Karmaker & Feng (2022) and Feng (2023)).

    A COLLECTION is a folder: S1 .. S5 and a readme that lists the folds, as LETOR has it, or Fold1 .. Fold5 with train,
    vali and test, as MSLR-WEB has it. With two of them, swap rates across collections are there too.

    \b
    calipers study letor MQ2008/ --folds 5 -o study/
    calipers study letor MQ2008/ OHSUMED/ -o study/
    calipers study letor MSLR-WEB30K/ MQ2007/ --queries 1000 --normalize query -o study/
    calipers reproduce karmaker2022 --data study/          for those two: the printed figures against yours
    """
    from calipers.conventions import convention
    from calipers.papers.letor_study import EIGHT, letor_study
    from calipers.papers.study_charts import letor_charts
    from calipers.rankers.objective import Goal
    from calipers.results.tables import markdown_text

    Goal(metric, convention(like) if like else None)
    names = training.rankers or EIGHT
    opened = [training.open(each) for each in collections]
    with progress(sum(len(each.folds) for each in opened) * len(names), "models") as advance:
        study = letor_study(
            opened, training.folder, rankers=names, metric=metric, like=like, size=set_size, say=note,
            progress=advance, **training.settings,
        )  # fmt: skip
    chosen = f"{metric} like {like}" if like else metric
    words = [
        f"Settings: {training.preset}; rankers stop, or choose, by {markdown_text(chosen)}; seed {training.seed}. "
        "Scores are of the test sets of all folds together.",
        "",
        "The printed figures stand beside ours to be looked at, not to be compared: they are of other collections.",
    ]
    tables, charts = study.tables(), {} if training.no_charts else letor_charts(study)
    training.write("Measures judged by rankers", words, tables, charts)
    if "beside-scores" in tables:
        Output().write(tables["beside-scores"][1])


@command.command("conventions")
@click.argument("collection", metavar="COLLECTION", type=FILE)
@_training
@click.option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="PROFILE",
    help="Convention to train and evaluate under; repeated [default: definition, yahoo, letor4].",
)
def conventions(
    collection: str,
    training: Training,
    conventions: tuple[str, ...],
) -> None:
    """Train rankers for nDCG@10 under several conventions, and evaluate each under all (Busa-Fekete et al., 2012).

    \b
    calipers study conventions MQ2008/ -o study2/
    calipers study conventions MQ2008/ --convention definition --convention letor4:stated -o study3/
    """
    from calipers.papers.conventions_study import CONVENTIONS, SIX, convention_study
    from calipers.papers.study_charts import convention_charts
    from calipers.results.tables import markdown_text

    names, likes = training.rankers or SIX, conventions or CONVENTIONS
    opened = training.open(collection)
    with progress(len(opened.folds) * len(names) * len(likes), "models") as advance:
        study = convention_study(
            opened, training.folder, rankers=names, like=likes, say=note, progress=advance, **training.settings
        )
    name = markdown_text(study.name)
    words = [
        f"{name}: {counted(len(study.fold), 'query')} in {counted(len(opened.folds), 'fold')}, {study.empty:.1%} "
        f"without a relevant document, {study.short:.1%} with fewer than 10 documents. Settings: "
        f"{training.preset}; seed {training.seed}.",
        "",
        "Errors are the standard errors of the queries' scores in each fold, averaged in quadrature over the folds.",
    ]
    title = "Rankers trained and evaluated under conventions of nDCG"
    charts = {} if training.no_charts else convention_charts(study)
    training.write(title, words, study.tables(), charts, long=("curves",))
    Output().write(study.at_ten())


@dataclass(frozen=True)
class TextChoices:
    """What a study of texts is over."""

    measures: tuple[str, ...]
    chances: tuple[str, ...]
    human: str | None
    systems: str | None
    samples: int
    texts: int
    upper: str
    seed: int


@command.command("text")
@click.argument("data", type=FILE)
@together("choices", TextChoices)
@click.option("-m", "--measure", "measures", multiple=True, metavar="NAMES",
              help="Measures, as for `calipers text score`, not normalised [default: ROUGE-1 ROUGE-2 ROUGE-L].",
              )  # fmt: skip
@click.option("--chance", "chances", multiple=True, type=LibraryChoice("calipers.text.options:CHANCES"),
              help="A kind of random text; repeated [default: all].")  # fmt: skip
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option("--systems", metavar="A,B,...", help="Only these systems.")
@click.option("--samples", type=click.IntRange(min=10), default=1000, show_default=True, help="Resamples of documents.")
@click.option(
    "--texts", type=click.IntRange(min=2), default=5, show_default=True, help="Random texts for each summary."
)
@click.option("--upper", type=LibraryChoice("calipers.text.options:UPPER"), default="1", show_default=True,
              help="Upper bound, as for `calipers text score`.")  # fmt: skip
@seed_option
@model_options
@click.option("--no-charts", is_flag=True, help="Leave the charts out.")
@safe_csv_option
@click.option("-o", "--output", "folder", required=True, metavar="FOLDER", type=OutputFolder(),
              help="Where the page, its tables and charts go.")  # fmt: skip
def text(data: str, choices: TextChoices, bert: Bert, no_charts: bool, safe_csv: bool, folder: str) -> None:
    """Which random texts, as the zero of a measure, bring it nearest to people: all measures x kinds of random text x
    human judgments x three levels, with intervals, and honest about how many looks that is.

    \b
    calipers study text data.jsonl -o study4/
    calipers study text data.jsonl -m "chrF BLEU TER" --chance sentences --chance lead -o study5/
    calipers study text data.jsonl -m "BERTScore" --encoder roberta-large --cache kept/ -o study6/
    """
    from calipers.cli.options import words
    from calipers.papers.study_page import write_study
    from calipers.papers.text_study import MEASURES, text_study
    from calipers.text import read_summaries
    from calipers.text.measure_names import text_measures
    from calipers.text.options import CHANCES, TextOptions

    summaries = read_summaries(data)
    if choices.systems:
        summaries = summaries.of_systems(words(choices.systems))
    names = list(choices.measures) or [MEASURES]
    asked = text_measures(names)
    chances = tuple(dict.fromkeys(choices.chances)) or CHANCES
    options = TextOptions(texts=choices.texts, upper=choices.upper, seed=choices.seed)
    with progress(len(asked) * len(chances), "kinds of random text") as advance:
        study = text_study(
            summaries, names, chances, options, aspects=words(choices.human) if choices.human else (),
            samples=choices.samples, cache=bert.cache, progress=advance, matcher=bert.matcher_for(summaries, asked),
        )  # fmt: skip
    charts = {} if no_charts else study.charts()
    title = "Measures of texts between random texts and people"
    for each in write_study(folder, title, study.words(), study.tables(), charts, long=("gains",), safe_csv=safe_csv):
        note(each)
    note(f"wrote {folder.rstrip('/')}/study.md, with its tables and charts")
    Output().write(study.by_chance())
