"""Options that the commands of `calipers text` share: texts, measures, models, scoring."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.option_groups import LibraryChoice, declared, option_group
from calipers.cli.options import FILE, WholeNumber, max_unpacked_option, note, progress, seed_option, warn, words
from calipers.collection.run_names import named_files, stem_of
from calipers.errors import CalipersError, place_of

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.texts.bertscore import Matcher
    from calipers.texts.collection import TextCollection
    from calipers.texts.evaluation import Evaluation
    from calipers.texts.options import TextOptions

ENDS = ("heterogeneous", "homogeneous")  # of the order of documents


def _length(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    try:
        return int(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class TextFiles:
    """Files of texts, and the selection of systems and references."""

    data: str | None
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    source: str | None
    systems: str | None
    use_references: int | None
    judgments: str | None
    scores: str | None
    lower: str | None
    documents: str | None
    max_unpacked: int | None

    @property
    def name(self) -> str:
        return self.data or ", ".join(self.candidates)

    def files(self) -> dict[str, str]:
        """Return the files that are read, with their roles."""
        roles = {
            "texts": (self.data,),
            "candidates": self.candidates,
            "references": self.references,
            "source": (self.source,),
            "judgments": (self.judgments,),
            "scores": (self.scores,),
        }
        return {path: role for role, paths in roles.items() for path in paths if path is not None}

    def open(self, bert: Bert | None = None, options: TextOptions | None = None) -> TextCollection:
        """Read the texts, and select systems, references and documents."""
        found = self._read()
        if self.systems:
            found = found.of_systems(words(self.systems))
        if self.use_references:
            found = found.first_references(self.use_references)
        return found if self.documents is None else self.selected(found, self.documents, bert, options)

    @staticmethod
    def selected(found: TextCollection, given: str, bert: Bert | None, options: TextOptions | None) -> TextCollection:
        """Return the documents of a file of ids, or those at one end of the order of algorithm 2 (heterogeneous:20)."""
        end, _, count = given.partition(":")
        if end not in ENDS or not count.isdecimal():
            from calipers.collection.files import text_lines

            return found.of_documents([id for line in text_lines(Path(given)) if (id := line.strip())])
        from calipers.texts.order_sensitivity import document_profiles

        if bert is None:
            raise CalipersError(f"--documents {given} is for score, correlate and compare; name a file of ids here")
        matcher = bert.matcher(found, f"--documents {given} needs an encoder: --encoder MODEL")
        places = document_profiles(found, matcher, options).ends(int(count))[ENDS.index(end)]
        return found.of_documents([found.ids[place] for place in places.tolist()])

    def judged(self) -> Judgments | None:
        """Read the judgments of retrieved documents, if a file was given."""
        from calipers.collection.sources import read_judgments

        return None if self.judgments is None else read_judgments(self.judgments, max_unpacked=self.max_unpacked)

    def _read(self) -> TextCollection:
        from calipers.texts.text_files import as_collection, parallel_texts

        parallel = self.candidates or self.references or self.source is not None
        if self.data is not None and not parallel:
            return as_collection(self.data, max_unpacked=self.max_unpacked)
        for given in self.references:
            if given in ("max", "mean") and not os.path.exists(given):
                raise CalipersError(f"--references takes files; to combine several references, use --several {given}")
        if self.data is not None:
            raise CalipersError("give either a file of texts, or parallel texts by --candidates and --references")
        if not self.candidates or not self.references:
            raise CalipersError(
                "no texts: give a file (JSON lines, CSV, Parquet, SummEval), or parallel texts: --candidates a.txt "
                "--references r.txt"
            )
        systems: dict[str, str] = {}
        for given in self.candidates:
            for named, path in named_files(given):
                name = named or stem_of(path)
                if name in systems:
                    raise CalipersError(
                        f"two systems have the name '{name}': give one of them another name, such as other={path}"
                    )
                systems[name] = path
        return parallel_texts(systems, self.references, self.source, max_unpacked=self.max_unpacked)


@dataclass(frozen=True)
class Bert:
    """Model of BERTScore, and its options."""

    encoder: str | None
    layer: int | None
    idf: bool
    rescale: str | None
    device: str | None
    batch: int
    cache: str | None
    mixed: bool | None

    def matcher(self, collection: TextCollection, otherwise: str = "") -> Matcher:
        """Return the model fitted to these texts. Raise an error with the given words if no encoder is named."""
        from calipers.texts.bertscore import matcher
        from calipers.texts.encoder import Encoder

        if self.encoder is None:
            raise CalipersError(otherwise)
        encoder = Encoder(
            self.encoder, self.layer, device=self.device, batch=self.batch, cache=self.cache, mixed=self.mixed
        )
        references = [text for document in collection.documents for text in document.references]
        return matcher(encoder, references, idf=self.idf, baseline=self.rescale)


def _import_files(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> None:
    from calipers.measures.grammar import import_measures

    for path in paths:
        import_measures(path)


import_option = click.option(
    "--import",
    multiple=True,
    metavar="FILE.py",
    type=FILE,
    expose_value=False,
    is_eager=True,
    callback=_import_files,
    help="Python file that declares measures of texts with @calipers.texts.measure; may be repeated.",
)
measures_options = click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAMES",
    help="Measures: ROUGE-1 to -9, -L, -Lsum (also ROUGE-2(part=recall)), BLEU, chrF, chrF++, TER, BERTScore; of "
    "answers EM, F1, NuggetRecall, CitationPrecision, CitationRecall, CitationF1; of retrieved documents "
    "ContextPrecision, ContextRecall, nDCG@10, ...; U(..) V1(..) V2(..) E(..) of them; names of scores that the "
    "data have [default: those that fit the data].",
)
data_options = option_group(
    "data",
    TextFiles,
    click.argument("data", required=False, type=FILE),
    click.option(
        "--candidates",
        multiple=True,
        metavar="[NAME=]FILE",
        type=FILE,
        help="Instead of DATA: a system's texts as plain text, one per line; may be repeated.",
    ),
    click.option(
        "--references",
        multiple=True,
        metavar="FILE",
        type=FILE,
        help="With --candidates: references, one per line; may be repeated for several references.",
    ),
    click.option("--source", metavar="FILE", type=FILE, help="With --candidates: the sources, one per line."),
    click.option("--systems", metavar="A,B,...", help="Only these systems."),
    click.option(
        "--documents",
        metavar="FILE|heterogeneous:N|homogeneous:N",
        help="Only the documents in a file of ids, one per line; or the N most heterogeneous or homogeneous "
        "documents (algorithm 2; needs --encoder).",
    ),
    click.option(
        "--use-references", type=WholeNumber(1), metavar="N", help="Only the first N references of each document."
    ),
    click.option(
        "--several",
        type=LibraryChoice("calipers.texts.rouge_scores:SEVERAL"),
        default="max",
        show_default=True,
        help="With several references: the best score, or the mean.",
    ),
    click.option(
        "--judgments",
        metavar="FILE",
        type=FILE,
        help="Judgments (qrels) of the retrieved documents, for measures of rankings.",
    ),
    click.option(
        "--scores",
        metavar="FILE",
        type=FILE,
        help="Scores of other tools (CSV, Parquet, JSON lines): id, system, one column per measure.",
    ),
    click.option("--lower", metavar="A,B,...", help="Scores of other tools for which smaller values are better."),
    max_unpacked_option,
)
rouge_options = declared(
    click.option(
        "--tokenizer",
        type=LibraryChoice("calipers.texts.tokens:TOKENIZERS"),
        default="unicode",
        show_default=True,
        help="Words of any script, or those of the original ROUGE.",
    ),
    click.option(
        "--bleu-tokenizer",
        type=LibraryChoice("calipers.texts.options:BLEU_TOKENIZERS"),
        help="Tokenizer of BLEU (sacrebleu) [default: 13a; zh or char in scripts without spaces].",
    ),
    click.option("--stem", is_flag=True, help="Cut words to their stems (Porter, English)."),
    click.option(
        "--length",
        default="candidate",
        show_default=True,
        callback=_length,
        metavar="candidate|reference|N",
        help="Words of the random texts.",
    ),
    click.option(
        "--chance",
        type=LibraryChoice("calipers.texts.options:CHANCES"),
        help="Random texts behind all expected scores: words or sentences of the source, its beginning, the "
        "candidate's words shuffled, a reference of another document [default: words; for BERTScore the "
        "source's key tokens].",
    ),
    click.option(
        "--texts",
        type=WholeNumber(2),
        default=10,
        show_default=True,
        help="Random texts for each text, if they are scored one by one.",
    ),
    click.option(
        "--upper",
        type=LibraryChoice("calipers.texts.options:UPPER"),
        default="1",
        show_default=True,
        help="Upper bound: 1, attainable (by a text of this length; ROUGE only), or human (each reference "
        "scored against the others).",
    ),
    click.option(
        "--draws",
        type=click.IntRange(2, 100_000),
        default=1000,
        show_default=True,
        help="Random summaries, if the expected score of ROUGE-N or ROUGE-L is sampled.",
    ),
    seed_option,
)
model_options = option_group(
    "bert",
    Bert,
    click.option(
        "--encoder",
        metavar="MODEL",
        envvar="CALIPERS_ENCODER",
        show_envvar=True,
        help="Model of BERTScore: its name on the Hugging Face hub, or a folder.",
    ),
    click.option("--layer", type=WholeNumber(0), help="Layer of the model [default: the best known, else the last]."),
    click.option("--idf", is_flag=True, help="Weight tokens by their inverse document frequency in the references."),
    click.option(
        "--rescale", metavar="FILE", type=FILE, help="Rescale scores by a baseline file of bert-score (LAYER,P,R,F)."
    ),
    click.option("--device", help="cpu, cuda, cuda:1, mps [default: a GPU if there is one]."),
    click.option(
        "--batch", type=WholeNumber(1), default=64, show_default=True, help="Texts that are encoded together."
    ),
    click.option(
        "--cache", metavar="FOLDER", type=FILE, help="Folder that keeps vectors of texts and scores of random texts."
    ),
    click.option(
        "--mixed/--no-mixed", default=None, help="Half precision inside the model [default: on a CUDA device only]."
    ),
)
bert_options = declared(
    model_options,
    click.option(
        "-k",
        "k",
        default="reference",
        show_default=True,
        callback=_length,
        metavar="reference|candidate|N",
        help="Number of tokens of the expected summary of BERTScore.",
    ),
    click.option(
        "--tokens",
        type=LibraryChoice("calipers.texts.options:CHOICES"),
        default="most",
        show_default=True,
        help="Its tokens: the most or least similar to the document, or random ones.",
    ),
)
scoring_options = option_group("options", "calipers.texts.options:TextOptions")
texts_and_measures = declared(scoring_options, data_options, measures_options, import_option)
details_of_measures = declared(rouge_options, bert_options)


# -- scores -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextRequest:
    """Texts, measures and options, as they were given to a command."""

    data: TextFiles
    measures: tuple[str, ...]
    options: TextOptions
    bert: Bert
    strict: bool

    def evaluate(self, *systems: str) -> Evaluation:
        """Score the texts, and print notes. An unknown system is an error before anything takes long."""
        from calipers.texts.evaluation import Evaluation

        data, bert = self.data, self.bert
        collection = data.open(bert, self.options)
        for system in systems:
            place_of("system", system, collection.systems)
        evaluation = Evaluation(
            collection,
            self.measures,
            judgments=data.judged(),
            scores=data.scores,
            lower=words(data.lower or ""),
            encoder=partial(bert.matcher, collection) if bert.encoder else None,
            cache=bert.cache,
            **vars(self.options),
        )
        if evaluation.needs_encoder and bert.encoder is None:
            raise CalipersError("BERTScore needs an encoder: --encoder MODEL, a name on the hub or a folder")
        with progress(evaluation.steps, "texts") as advance:
            evaluation.progress = advance
            notes = evaluation.notes
        warn(evaluation.warnings, self.strict)
        for sentence in (*notes[len(evaluation.warnings) :], *evaluation.remarks):
            note(sentence)
        return evaluation


text_request = option_group("request", TextRequest)  # must be the last decorator of texts
