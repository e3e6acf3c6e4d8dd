"""The command `python -m research study`: the experiments of the papers, on any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from calipers import Table, progress_bar, read_judgments, read_runs
from calipers.conventions import convention
from calipers.plot.drawing import check_chart, save
from calipers.questions.fuse import RULES
from calipers.results import markdown_text
from calipers.support.plurals import counted
from calipers.texts import CHANCES, UPPER, TextCollection, TextOptions, as_collection, text_measures
from research.busafekete2012.conventions_study import CONVENTIONS, SIX, convention_study
from research.command_line import note, options, seed_option, study_folder, table_output, write_table
from research.feng2023.text_study import MEASURES, text_study
from research.golbus2013.charts import fusion_scatter
from research.golbus2013.fusion_study import FUSIONS, fusion_study
from research.karmaker2022.letor_study import EIGHT, letor_study
from research.karmaker2022.rerun import NORMALISERS
from research.rankers.objective import Goal
from research.rankers.train import preset_and_normalize
from research.study_charts import convention_charts, letor_charts
from research.study_folder import LetorCollection
from research.study_page import write_study


@click.group("study")
def study() -> None:
    """Run the experiments of the papers on any collection.

    \b
    python -m research study letor MQ2008/ --folds 5 -o study/                  train rankers, judge measures by them
    python -m research study conventions MQ2008/ -o study2/                     train and evaluate under conventions
    python -m research study fusion qrels.txt runs/* --samples 100 --size 10    joint RIC of systems and their fusions
    python -m research study text data.jsonl -o study4/                         random texts, and agreement with people
    """


def _write(
    folder: str,
    title: str,
    words: Sequence[str],
    tables: Mapping[str, tuple[str, Table]],
    charts: Mapping[str, Any],
    long: tuple[str, ...] = (),
) -> None:
    for missing in write_study(folder, title, words, tables, charts, long=long):
        note(missing)
    note(f"wrote {folder.rstrip('/')}/study.md, with its tables and charts")


def _checked_chart(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        check_chart(value)
    return value


# -- fusion ------------------------------------------------------------------------------------------


@study.command("fusion")
@click.argument("judgments", metavar="JUDGMENTS")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
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
@click.option("--rel", type=float, default=1.0, show_default=True, help="The smallest grade that is relevant.")
@click.option("--depth", type=click.IntRange(min=1), help="Cut every list after this number of documents.")
@click.option(
    "--draws", type=click.IntRange(min=1), default=5, show_default=True, help="Draws of the null value per group."
)
@seed_option
@click.option("--jobs", type=click.IntRange(min=1), help="Threads that read files [default: the cores].")
@click.option("--per-sample", is_flag=True, help="One row per group instead of correlations.")
@click.option(
    "--plot",
    metavar="FILE",
    callback=_checked_chart,
    help="Draw RIC of fusions against joint RIC, as .html, .svg, .png or .json.",
)
@table_output
def fusion(
    judgments: str,
    systems: tuple[str, ...],
    fusions: tuple[str, ...],
    per_sample: bool,
    plot: str | None,
    format: str | None,
    file: str | None,
    **settings: Any,
) -> None:
    """Compare joint RIC of groups of systems with RIC of their fusions (Golbus & Aslam (2013), section 6).

    Draws groups of systems; compares the joint RIC of each with RIC of its fusions, and with the bounds of fusion.

    \b
    python -m research study fusion qrels.txt runs/* --samples 100 --size 10 --plot fusion.html
    """
    known = read_judgments(judgments)
    names = fusions or FUSIONS
    with progress_bar(settings["samples"], "groups") as advance:
        found = fusion_study(known, read_runs(list(systems)), fusions=names, progress=advance, warn=False, **settings)
    if found.skipped:
        of = counted(len(known.queries), "query")
        note(f"{found.skipped} of {of}: judgments that tell no documents apart; skipped")
    for kind in names:
        if kind in RULES:
            note(f"{kind}: an oracle that respects {RULES[kind]} of the runs, by look-ahead for some queries; no bound")
    note(
        f"{counted(settings['samples'], 'group')} of {settings['size']} of {counted(len(found.systems), 'system')}, "
        f"seed {settings['seed']}; joint RIC {found.joint.mean():.4f}, of systems that know nothing "
        f"{found.null.mean():.4f}"
    )
    for text in found.notes:
        note(f"warning: {text}")
    if plot is not None:
        save(fusion_scatter(found), plot)
        note(f"wrote {plot}")
    write_table(found.per_sample() if per_sample else found.table(), format, file)


# -- rankers -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """Options that the studies that train rankers share."""

    folds: int | None
    rankers: tuple[str, ...]
    preset: str
    normalize: str
    queries: int | None
    seed: int
    jobs: int
    no_charts: bool
    folder: str

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of the studies."""
        return {"preset": self.preset, "normalize": self.normalize, "seed": self.seed, "jobs": self.jobs}

    def open(self, collection: str) -> LetorCollection:
        """Open the folder of a collection."""
        return LetorCollection.of(collection, self.folds, self.queries, self.seed)


_training = options(
    click.option("--folds", type=click.IntRange(min=1), help="Only the first N folds [default: all]."),
    click.option("--ranker", "rankers", multiple=True, metavar="NAME", help="A ranker, as for `train`; repeated."),
    preset_and_normalize,
    click.option("--queries", type=click.IntRange(min=2), help="Take only N queries, drawn at random."),
    seed_option,
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Threads that grow trees; the results do not depend on it.",
    ),
    click.option("--no-charts", is_flag=True, help="Leave the charts out."),
    study_folder,
)


@study.command("letor")
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION...")
@_training
@click.option(
    "--metric",
    default="nDCG(gain=exp)@10",
    show_default=True,
    metavar="MEASURE",
    help="The measure that is optimised, or that decides on validation data.",
)
@click.option("--like", metavar="PROFILE", help="Conventions of that measure, for example yahoo or letor4.")
@click.option(
    "--set-size",
    type=float,
    metavar="N|SHARE",
    help="Queries in the uninformative and in the ideal set [default: the papers', or a quarter].",
)
@click.option(
    "--normaliser",
    type=click.Choice([*NORMALISERS]),
    default="k",
    show_default=True,
    help="What AP divides the sum of precisions by. Equation 3 of the paper says k.",
)
def letor(
    collections: tuple[str, ...], metric: str, like: str | None, set_size: float | None, normaliser: str, **given: Any
) -> None:
    """Train rankers on every fold, rank every test set, and judge nDCG and MAP and their normalisations by that
    (Karmaker & Feng (2022) and Feng (2023)).

    A COLLECTION is a folder: S1 .. S5 and a readme that lists the folds, as in LETOR, or Fold1 .. Fold5 with train,
    vali and test, as in MSLR-WEB. Two collections also give swap rates across collections. A study that was stopped
    continues in its folder.

    \b
    python -m research study letor MQ2008/ --folds 5 -o study/
    python -m research study letor MQ2008/ OHSUMED/ -o study/
    python -m research study letor MSLR-WEB30K/ MQ2007/ --queries 1000 --normalize query -o study/
    python -m research reproduce karmaker2022 --data study/     for those two: the printed figures against yours
    """
    training = Training(**given)
    Goal(metric, convention(like) if like else None)  # refused before any model is trained
    names = training.rankers or EIGHT
    opened = [training.open(each) for each in collections]
    with progress_bar(sum(len(each.folds) for each in opened) * len(names), "models") as advance:
        found = letor_study(
            opened,
            training.folder,
            rankers=names,
            metric=metric,
            like=like,
            size=set_size,
            normaliser=normaliser,
            say=note,
            progress=advance,
            **training.settings,
        )
    chosen = f"{metric} like {like}" if like else metric
    words = [
        f"Settings: {training.preset}; rankers stop, or choose, by {markdown_text(chosen)}; seed {training.seed}. "
        "Scores are of the test sets of all folds together.",
        "",
        "The printed figures stand beside ours to be looked at, not to be compared: they are of other collections.",
    ]
    tables, charts = found.tables(), {} if training.no_charts else letor_charts(found)
    _write(training.folder, "Measures judged by rankers", words, tables, charts)
    if "beside-scores" in tables:
        write_table(tables["beside-scores"][1])


@study.command("conventions")
@click.argument("collection", metavar="COLLECTION")
@_training
@click.option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="PROFILE",
    help="Convention to train and evaluate under; repeated [default: definition, yahoo, letor4].",
)
def conventions(collection: str, conventions: tuple[str, ...], **given: Any) -> None:
    """Train rankers for nDCG@10 under several conventions, and evaluate each under all (Busa-Fekete et al., 2012).

    \b
    python -m research study conventions MQ2008/ -o study2/
    python -m research study conventions MQ2008/ --convention definition --convention letor4:stated -o study3/
    """
    training = Training(**given)
    names, likes = training.rankers or SIX, conventions or CONVENTIONS
    opened = training.open(collection)
    with progress_bar(len(opened.folds) * len(names) * len(likes), "models") as advance:
        found = convention_study(
            opened, training.folder, rankers=names, like=likes, say=note, progress=advance, **training.settings
        )
    name = markdown_text(found.name)
    words = [
        f"{name}: {counted(len(found.fold), 'query')} in {counted(len(opened.folds), 'fold')}, {found.empty:.1%} "
        f"without a relevant document, {found.short:.1%} with fewer than 10 documents. Settings: "
        f"{training.preset}; seed {training.seed}.",
        "",
        "Errors are the standard errors of the queries' scores in each fold, averaged in quadrature over the folds.",
    ]
    title = "Rankers trained and evaluated under conventions of nDCG"
    charts = {} if training.no_charts else convention_charts(found)
    _write(training.folder, title, words, found.tables(), charts, long=("curves",))
    write_table(found.at_ten())


# -- texts -------------------------------------------------------------------------------------------


@study.command("text")
@click.argument("data", metavar="DATA")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAMES",
    help=f"Measures, not normalised [default: {MEASURES}].",
)
@click.option(
    "--chance",
    "chances",
    multiple=True,
    type=click.Choice(CHANCES),
    help="A kind of random text; repeated [default: all].",
)
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option("--systems", metavar="A,B,...", help="Only these systems.")
@click.option("--samples", type=click.IntRange(min=10), default=1000, show_default=True, help="Resamples of documents.")
@click.option(
    "--texts", type=click.IntRange(min=2), default=5, show_default=True, help="Random texts for each summary."
)
@click.option(
    "--upper",
    type=click.Choice(UPPER),
    default="1",
    show_default=True,
    help="Upper bound, as in V2(ROUGE-1, upper=attainable).",
)
@seed_option
@click.option(
    "--encoder",
    metavar="MODEL",
    envvar="CALIPERS_ENCODER",
    show_envvar=True,
    help="Model of BERTScore: its name on the Hugging Face hub, or a folder.",
)
@click.option("--cache", metavar="FOLDER", help="Keep the vectors of texts, and the scores of random ones, there.")
@click.option("--no-charts", is_flag=True, help="Leave the charts out.")
@study_folder
def text(
    data: str,
    measures: tuple[str, ...],
    chances: tuple[str, ...],
    human: str | None,
    systems: str | None,
    samples: int,
    texts: int,
    upper: str,
    seed: int,
    encoder: str | None,
    cache: str | None,
    no_charts: bool,
    folder: str,
) -> None:
    """Find which random texts, as the zero of a measure, bring the measure nearest to people.

    Compares all measures, kinds of random text, human judgments and three levels, with intervals, and corrects for the
    number of comparisons.

    \b
    python -m research study text data.jsonl -o study4/
    python -m research study text data.jsonl -m "chrF BLEU TER" --chance sentences --chance lead -o study5/
    python -m research study text data.jsonl -m "BERTScore" --encoder roberta-large --cache kept/ -o study6/
    """
    summaries = as_collection(data)
    if systems:
        summaries = summaries.of_systems(_words(systems))
    names = list(measures) or [MEASURES]
    asked = text_measures(names)
    kinds = tuple(dict.fromkeys(chances)) or CHANCES
    needs_encoder = any(measure.base == "BERTScore" for measure in asked)
    with progress_bar(len(asked) * len(kinds), "kinds of random text") as advance:
        found = text_study(
            summaries,
            names,
            kinds,
            TextOptions(texts=texts, upper=upper, seed=seed),
            aspects=_words(human) if human else (),
            samples=samples,
            cache=cache,
            progress=advance,
            matcher=_matcher(summaries, encoder, cache) if needs_encoder else None,
        )
    charts = {} if no_charts else found.charts()
    title = "Measures of texts between random texts and people"
    _write(folder, title, found.words(), found.tables(), charts, long=("gains",))
    write_table(found.by_chance())


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _matcher(summaries: TextCollection, encoder: str | None, cache: str | None) -> Any:
    """Open the model of BERTScore."""
    from calipers.texts import Encoder, matcher

    if encoder is None:
        raise click.UsageError("BERTScore needs an encoder: --encoder MODEL, a name on the hub or a folder")
    references = [reference for document in summaries.documents for reference in document.references]
    return matcher(Encoder(encoder, cache=cache), references)
