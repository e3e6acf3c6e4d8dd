"""Measures of summaries, translations and answers, their bounds, and their agreement with human judgments.

Feng, Upper and expected value normalization for evaluating information retrieval and text generation systems,
Auburn University 2023, chapters 8 and 9.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.texts.answer_judgments import (
        AnswerJudgments as AnswerJudgments,
        Citation as Citation,
        Nugget as Nugget,
        Statement as Statement,
    )
    from calipers.texts.answer_measures import (
        citation_support as citation_support,
        exact_match as exact_match,
        nugget_recall as nugget_recall,
        token_f1 as token_f1,
    )
    from calipers.texts.answer_retrieval import retrieval_scores as retrieval_scores
    from calipers.texts.bertscore import Matcher as Matcher, bert_score as bert_score, matcher as matcher
    from calipers.texts.bertscore_measure import BERTScore as BERTScore
    from calipers.texts.bounded_scores import Progress as Progress
    from calipers.texts.caches import ScoreCache as ScoreCache
    from calipers.texts.collection import Document as Document, TextCollection as TextCollection
    from calipers.texts.encoder import Encoder as Encoder
    from calipers.texts.evaluation import (
        Evaluation as Evaluation,
        read_texts as read_texts,
    )
    from calipers.texts.expected_text import expected_summary as expected_summary
    from calipers.texts.measure_names import TextMeasure as TextMeasure, text_measures as text_measures
    from calipers.texts.options import CHANCES as CHANCES, UPPER as UPPER, TextOptions as TextOptions
    from calipers.texts.order_sensitivity import Profiles as Profiles, document_profiles as document_profiles
    from calipers.texts.random_summaries import (
        ExpectedRouge as ExpectedRouge,
        RandomSummaries as RandomSummaries,
        expected_rouge as expected_rouge,
    )
    from calipers.texts.random_texts import RandomTexts as RandomTexts
    from calipers.texts.registry import (
        Context as Context,
        Expectation as Expectation,
        Scorer as Scorer,
        TextTask as TextTask,
        measure as measure,
    )
    from calipers.texts.rouge_scores import References as References, Score as Score, rouge as rouge
    from calipers.texts.sacrebleu_measures import corpus_scores as corpus_scores
    from calipers.texts.scoring import bounded as bounded
    from calipers.texts.synthetic_answers import write_answers as write_answers
    from calipers.texts.text_files import as_collection as as_collection, parallel_texts as parallel_texts
    from calipers.texts.tokens import unicode_words as unicode_words
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
