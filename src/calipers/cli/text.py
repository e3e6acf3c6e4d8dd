"""calipers text"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.cli.options import (
    FILE,
    given,
    max_unpacked_option,
    note,
    output_options,
    plot_option,
    progress,
    several_output_options,
    warn,
    write,
)
from calipers.cli.score_inputs import write_several
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.text.bertscore import Matcher
    from calipers.text.human import HumanCorrelation
    from calipers.text.options import TextOptions
    from calipers.text.scoring import TextScores
    from calipers.text.summaries import Summaries

Command = TypeVar("Command", bound=Callable[..., Any])
Values = dict[str, Any]

ROUGES = "ROUGE-1 ROUGE-2 ROUGE-L V1(ROUGE-1) V2(ROUGE-1)"
BERT = "BERTScore V1(BERTScore) V2(BERTScore)"


@click.group("text")
def command() -> None:
    """Summaries between their bounds: ROUGE and BERTScore, and how well they agree with people.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large
    calipers text correlate data.jsonl --human coherence,relevance
    calipers text documents data.jsonl --encoder roberta-large --by heterogeneity

    DATA is a file of JSON lines, an object a document and system (id, system, summary, references, source, human), or
    has SummEval's layout. It may be compressed.
    """


def _measures(command: Command) -> Command:
    return click.option(
        "-m", "--measure", "measures", multiple=True, metavar="NAMES",
        help=f'Measures, as "ROUGE-2 ROUGE-L(part=recall) U(..) V1(..) V2(..) E(..) BERTScore" [default: {ROUGES}, '
             "and with --encoder the same of BERTScore].",
    )(command)  # fmt: skip


def _length(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    try:
        return int(value)
    except ValueError:
        return value


def _data_options(command: Command) -> Command:
    for option in reversed(
        (
            click.argument("data", type=FILE),
            click.option("--systems", metavar="A,B,...", help="Only these systems."),
            click.option("--use-references", type=click.IntRange(min=1), metavar="N",
                         help="Only the first N references of each document."),
            click.option("--references", "several", type=click.Choice(("max", "mean")), default="max",
                         show_default=True, help="Of several references: the best, or the mean over all."),
            max_unpacked_option,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _rouge_options(command: Command) -> Command:
    for option in reversed(
        (
            click.option("--tokenizer", type=click.Choice(("unicode", "ascii")), default="unicode", show_default=True,
                         help="Words of any script, or those of the original ROUGE."),
            click.option("--stem", is_flag=True, help="Cut words to their stems (Porter, English)."),
            click.option("--length", default="candidate", show_default=True, callback=_length,
                         metavar="candidate|reference|N", help="Words of the random summary behind an expected ROUGE."),
            click.option("--without-replacement", is_flag=True, help="Draw each word of the source at most once."),
            click.option("--upper", type=click.Choice(("1", "attainable")), default="1", show_default=True,
                         help="Upper bound of ROUGE: 1, or what a summary of this length can reach."),
            click.option("--draws", type=click.IntRange(min=2), default=1000, show_default=True,
                         help="Of random summaries, where an expected ROUGE is sampled."),
            click.option("--seed", type=click.IntRange(min=0), default=42, show_default=True),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _bert_options(command: Command) -> Command:
    for option in reversed(
        (
            click.option("--encoder", metavar="MODEL", envvar="CALIPERS_ENCODER", show_envvar=True,
                         help="Model of BERTScore: its name on the Hugging Face hub, or a folder."),
            click.option("--layer", type=click.IntRange(min=0),
                         help="Its layer [default: the best known, else the last]."),
            click.option("--idf", is_flag=True, help="Weigh tokens by how few references have them."),
            click.option("--baseline", metavar="FILE", type=FILE,
                         help="Rescale by this file of bert-score's (LAYER,P,R,F)."),
            click.option("-k", "k", default="reference", show_default=True, callback=_length,
                         metavar="reference|candidate|N", help="Tokens of the expected summary of BERTScore."),
            click.option("--tokens", type=click.Choice(("most", "least", "random")), default="most", show_default=True,
                         help="Which tokens of the source it has: by likeness to the document."),
            click.option("--repeated", is_flag=True, help="It may have a token as often as the source does."),
            click.option("--device", help="cpu, cuda, cuda:1, mps [default: a GPU where there is one]."),
            click.option("--batch", type=click.IntRange(min=1), default=64, show_default=True,
                         help="Texts that are encoded together."),
            click.option("--cache", metavar="FOLDER", type=FILE, help="Keep the vectors of texts there."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


# -- score -----------------------------------------------------------------------------------------------


@command.command("score")
@_data_options
@_measures
@_rouge_options
@_bert_options
@click.option("-q", "--per-document", is_flag=True, help="One row a system and document instead of means.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@output_options
def score(
    data: str, measures: tuple[str, ...], per_document: bool, strict: bool, form: str, output: str | None,
    **values: Any,
) -> None:  # fmt: skip
    """Score summaries: a table of systems x measures.

    \b
    calipers text score data.jsonl -m "ROUGE-1 ROUGE-2 ROUGE-L V2(ROUGE-1)"
    calipers text score data.jsonl -m "BERTScore V2(BERTScore)" --encoder roberta-large --per-document --format csv
    """
    summaries = _summaries(data, values)
    found = _scored(summaries, measures, values)
    _say(found, summaries, strict)
    scores = found.scores
    write(scores.per_query() if per_document else scores.mean(), form, output)


# -- correlate -------------------------------------------------------------------------------------------


@command.command("correlate")
@_data_options
@_measures
@click.option("--human", metavar="A,B,...", help="Aspects of human judgment [default: all that DATA has].")
@click.option("--level", default="system,summary,pooled", show_default=True, metavar="A,B,...",
              help="Over means of systems, over systems for each document, or over all summaries.")  # fmt: skip
@click.option("--coefficient", default="tau-b", show_default=True, metavar="A,B,...", help="tau-b, spearman, pearson.")
@click.option("--samples", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Of documents, for the intervals; 0 for none.")  # fmt: skip
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--preferences", metavar="FILE", type=FILE,
              help="Instead: win, lost and tie of normalised measures against pairwise human preferences "
                   "(CSV: id, first, second, preferred).")  # fmt: skip
@click.option("--wide", is_flag=True, help="A table of measures x aspects for each level and coefficient.")
@plot_option("the correlations and their intervals")
@_rouge_options
@_bert_options
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@several_output_options
def correlate(
    data: str, measures: tuple[str, ...], human: str | None, level: str, coefficient: str, samples: int,
    confidence: float, preferences: str | None, wide: bool, plot: str | None, strict: bool, form: str,
    output: str | None, **values: Any,
) -> None:  # fmt: skip
    """How well measures agree with people, with intervals over documents.

    PAI is the increase of a normalised measure's correlation over that of the measure itself, in percent.

    \b
    calipers text correlate data.jsonl --human coherence,relevance --level system
    calipers text correlate data.jsonl -m "ROUGE-L V2(ROUGE-L)" --wide --format latex
    calipers text correlate data.jsonl -m "ROUGE-1 V2(ROUGE-1)" --preferences preferences.csv
    """
    from calipers.text.human import check_choices, human_correlation

    levels, coefficients = _words(level), _words(coefficient)
    check_choices(levels, coefficients, confidence)
    summaries = _summaries(data, values)
    if preferences is None:
        aspects = _words(human) if human else list(summaries.human)
        if not aspects:
            raise CalipersError("has no human scores", file=data)
        judged = {aspect: summaries.judgments(aspect) for aspect in aspects}
    found = _scored(summaries, measures, values)
    _say(found, summaries, strict, summary_level="summary" in levels)
    if preferences is not None:
        _write_preferences(found, preferences, form, output)
        return
    bases = {name: base for name in found.scores.measures if (base := found.base_of(name)) is not None}
    correlation = human_correlation(
        found.scores, judged, levels, coefficients, bases=bases, samples=samples, confidence=confidence,
        seed=values["seed"],
    )  # fmt: skip
    note(
        f"{len(summaries.systems)} systems, {len(summaries.documents)} documents; intervals from {samples} samples of "
        f"documents, seed {values['seed']}"
    )
    if plot:
        from calipers import plot as charts
        from calipers.text.charts import correlation_chart

        charts.save(correlation_chart(correlation, levels[0], coefficients[0]), plot)
        note(f"wrote {plot}")
    if wide:
        write_several(_wide(correlation, levels, coefficients), form, output)
    else:
        write(correlation.table(), form, output)


def _wide(correlation: HumanCorrelation, levels: Sequence[str], coefficients: Sequence[str]) -> dict[str, Any]:
    return {
        f"{level}-{coefficient}": (f"{level} level, {coefficient}", correlation.matrix(level, coefficient))
        for level in levels
        for coefficient in coefficients
    }


def _write_preferences(found: TextScores, path: str, form: str, output: str | None) -> None:
    from calipers.text.preferences import read_preferences, win_lost_tie

    given = read_preferences(path)
    pairs = [(base, name) for name in found.scores.measures if (base := found.base_of(name)) is not None]
    if not pairs:
        raise CalipersError('preferences compare a normalised measure with its base: -m "ROUGE-1 V2(ROUGE-1)"')
    shown = {}
    for base, new in pairs:
        result = win_lost_tie(found.scores, base, new, given)
        shown[new] = (f"{new} against {base}", result.table())
    if result.undecided:
        note(f"{result.undecided} items on which people prefer neither summary are left out")
    write_several(shown, form, output)


# -- documents -------------------------------------------------------------------------------------------


@command.command("documents")
@_data_options
@_bert_options
@click.option("--by", type=click.Choice(("heterogeneity", "mean", "deviation", "id")), default="heterogeneity",
              show_default=True,
              help="Order: by the difference of algorithm 2, or by similarities of tokens.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only N documents at either end.")
@click.option("--attention", is_flag=True, help="Also how tokens attend to the document, in the last layer.")
@plot_option("the profiles of both ends (figure 8.3)")
@output_options
def documents(
    data: str, by: str, top: int | None, attention: bool, plot: str | None, form: str, output: str | None,
    **values: Any,
) -> None:  # fmt: skip
    """Documents from order-insensitive (heterogeneous) to order-sensitive (homogeneous).

    By how much the expected BERTScore changes when the tokens least like the document take the place of those most
    like it (algorithm 2); beside it the similarities of tokens to their document.

    \b
    calipers text documents data.jsonl --encoder roberta-large --top 20
    calipers text documents data.jsonl --encoder ./model --attention --plot profiles.html
    """
    from calipers.text.profiles import document_profiles, steps

    summaries = _summaries(data, values)
    matcher = _matcher(summaries, values)
    if matcher is None:
        raise CalipersError("profiles of documents need an encoder: --encoder MODEL")
    attention = attention or plot is not None
    with progress(steps(summaries, attention), "texts") as advance:
        found = document_profiles(summaries, matcher, _options(values), attention=attention, progress=advance)
    note(f"{len(found.documents)} documents, {found.encoder}, expected summaries of {_range(found.k.tolist())} tokens")
    if found.cut:
        note(f"{found.cut} sources are longer than the {matcher.encoder.longest} tokens of the model; cut")
    if plot:
        from calipers import plot as charts
        from calipers.text.charts import profile_chart

        size = min(20 if top is None else top, max(1, len(found.documents) // 2))
        charts.save(profile_chart(found, size), plot)
        note(f"wrote {plot}")
    write(found.table(by, top), form, output)


# -- what they share -------------------------------------------------------------------------------------


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _range(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _summaries(data: str, values: Values) -> Summaries:
    from calipers.text.summaries import read_summaries

    found = read_summaries(data, given("max_unpacked"))
    if values["systems"]:
        found = found.of_systems(_words(values["systems"]))
    if values["use_references"]:
        found = found.first_references(values["use_references"])
    return found


def _options(values: Values) -> TextOptions:
    from calipers.text.options import Keywords, TextOptions

    given = {name: values[name] for name in ("tokenizer", "stem", "length", "upper", "draws", "seed") if name in values}
    keywords = Keywords(values["tokens"], values["k"], values["repeated"], seed=values.get("seed", 42))
    replacement = not values.get("without_replacement", False)
    return TextOptions(several=values["several"], replacement=replacement, keywords=keywords, **given)


def _matcher(summaries: Summaries, values: Values) -> Matcher | None:
    if values["encoder"] is None:
        return None
    from calipers.text.bertscore import matcher
    from calipers.text.encoder import Encoder

    encoder = Encoder(
        values["encoder"], values["layer"], device=values["device"], batch=values["batch"], cache=values["cache"]
    )
    references = [text for document in summaries.documents for text in document.references]
    return matcher(encoder, references, idf=values["idf"], baseline=values["baseline"])


def _scored(summaries: Summaries, measures: tuple[str, ...], values: Values) -> TextScores:
    from calipers.text.names import text_measures
    from calipers.text.scoring import evaluate_summaries, steps

    options = _options(values)
    names = list(measures) or [ROUGES, *([BERT] if values["encoder"] else [])]
    asked = text_measures(names)
    wants = any(measure.base == "BERTScore" for measure in asked)
    if wants and values["encoder"] is None:
        raise CalipersError("BERTScore needs an encoder: --encoder MODEL, a name on the hub or a folder")
    matcher = _matcher(summaries, values) if wants else None
    with progress(steps(summaries, names), "texts") as advance:
        return evaluate_summaries(summaries, names, options, matcher, advance)


def _say(found: TextScores, summaries: Summaries, strict: bool, summary_level: bool = False) -> None:
    """What was left out, how expected scores were found, and what they cannot show."""
    counts = (
        (found.missing, "summary is missing; left out", "summaries are missing; left out"),
        (found.empty_summaries, "summary is empty; it scores 0", "summaries are empty; they score 0"),
        (found.empty_references, "reference is empty; it matches nothing", "references are empty; they match nothing"),
    )
    warn([f"{count} {one if count == 1 else more}" for count, one, more in counts if count], strict)
    for measured in found.measured.values():
        if measured.cut:
            longer = "text is" if measured.cut == 1 else "texts are"
            warn([f"{measured.cut} {longer} longer than the model of {measured.name} reads; cut"], strict)
        if measured.expected is not None and measured.exactness == "sampled":
            note(
                f"expected {measured.name}: sampled, {found.options.draws} draws, seed {found.options.seed}, standard "
                f"error at most {measured.error:.4f}"
            )
        if measured.clamped:
            note(f"expected {measured.name}: above the upper bound of {measured.clamped} summaries; lowered to it")
    for name in found.cannot_reorder:
        follows = "; tau-b and rho at the summary level are those of the measure itself" if summary_level else ""
        note(
            f"V1 and V2 of {name} cannot change the order of two summaries of one document: all of a document's "
            f"summaries have the same expected score and upper bound{follows}"
        )
