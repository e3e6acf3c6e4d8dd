"""BARTScore, with a tiny model of random weights that is made here."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.limits.normalisation import Limits, v2
from calipers.papers.text_study import normalised_texts
from calipers.text import Document, Generator, Summaries, TextOptions, evaluate_summaries, read_summaries
from conftest import ROOT, Require

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the first model is opened

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "the", "cat", "sat", "on", "mat", "a", "dog", "ran", "rain", "fell"]
GIVEN = Summaries.of(
    [
        Document("d1", ("the cat sat", "a dog sat on the mat"), "the cat sat on the mat a dog ran"),
        Document("d2", ("rain fell",), "the rain fell on the cat"),
    ],
    {
        ("d1", "a"): "a cat ran",
        ("d1", "b"): "the dog sat on the cat",
        ("d2", "a"): "rain",
        ("d2", "b"): "the rain fell",
    },
    {},
)  # fmt: skip


@pytest.fixture(scope="module")
def model(require: Require, tmp_path_factory: pytest.TempPathFactory) -> str:
    torch, transformers = require.module("torch"), require.module("transformers")
    tokenizers = require.module("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    folder = str(tmp_path_factory.mktemp("bart") / "tiny-bart")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        model_max_length=32,
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(3)
    transformers.BartForConditionalGeneration(
        transformers.BartConfig(
            vocab_size=len(WORDS), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=40,
            init_std=0.8, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def generator(model: str) -> Generator:
    return Generator(model, device="cpu")


def alone(generator: Generator, given: str, target: str) -> float:
    """The loss that the model itself gives for one pair is the mean over its tokens."""
    ids = generator.tokenizer(given, return_tensors="pt")["input_ids"]
    labels = generator.tokenizer(target, return_tensors="pt")["input_ids"]
    with generator._torch.inference_mode():
        return -float(generator._network(input_ids=ids, labels=labels).loss)


def test_definition(generator: Generator) -> None:
    """Each pair in a batch of others is what the model says of it by itself."""
    names = ["faithfulness", "precision", "recall"]
    asked = [f"BARTScore(part={name})" for name in names] + ["bart_score"]
    found = evaluate_summaries(GIVEN, asked, TextOptions(several="mean"), generator=generator)
    assert found.scores.measures[0] == "BARTScore(tiny-bart, part=faithfulness)"
    values = found.scores.values.transpose(1, 2, 0)
    for s, row in enumerate(GIVEN.texts):
        for d, document in enumerate(GIVEN.documents):
            text = str(row[d])
            precision = np.mean([alone(generator, r, text) for r in document.references])
            recall = np.mean([alone(generator, text, r) for r in document.references])
            expected = alone(generator, str(document.source), text), precision, recall, (precision + recall) / 2
            assert values[s, d] == pytest.approx(expected, abs=1e-5)
    best = evaluate_summaries(GIVEN, "BARTScore(part=recall)", generator=generator).scores.values[0]
    assert best[0, 0] == pytest.approx(
        max(alone(generator, "a cat ran", r) for r in GIVEN.documents[0].references), abs=1e-5
    )
    assert len(set(np.round(values.ravel(), 4))) > 8, "a model of which every text is alike would prove nothing"


def test_normalised_as_probabilities(generator: Generator) -> None:
    name = "BARTScore(tiny-bart)"
    found = evaluate_summaries(
        GIVEN, "BARTScore E(BARTScore) U(BARTScore) V2(BARTScore)", TextOptions(chance="lead"), generator=generator
    ).scores
    score, chance = found[name].ravel(), found[f"E({name})"].ravel()
    assert found[f"U({name})"].ravel() == pytest.approx(np.exp(score))
    limits = Limits(np.ones(4), np.exp(chance), np.zeros(4))
    assert found[f"V2({name})"].ravel() == pytest.approx(v2(np.exp(score), limits))
    # The expectation is that of the probability, not of its logarithm.
    random = evaluate_summaries(GIVEN, "V2(BARTScore)", TextOptions(texts=30), generator=generator)
    drawn = random.measured["BARTScore"]
    assert drawn.expected is not None
    assert drawn.expected_shares is not None
    assert (drawn.expected_shares[..., -1] > np.exp(drawn.expected[..., -1])).all()


def test_parts_that_nobody_asked_for_are_not_worked_out(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []
    found = generator.log_likelihoods
    monkeypatch.setattr(generator, "log_likelihoods", lambda pairs: found((seen.extend(p := list(pairs)), p)[1]))
    evaluate_summaries(GIVEN, "BARTScore(part=faithfulness)", generator=generator)
    assert {first for first, _ in seen} == {document.source for document in GIVEN.documents}


def rows_through(part: Any) -> list[int]:
    """How many texts go through the encoder or the decoder, call by call from now on."""
    rows: list[int] = []
    part.register_forward_pre_hook(lambda _, given, named: rows.append(len(named["input_ids"])), with_kwargs=True)
    return rows


@pytest.mark.parametrize("kept", [True, False])
def test_a_text_is_read_once_for_all_that_is_written_from_it(
    model: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one call, and in several as long as there is room for it; in batches as one at a time."""
    if not kept:
        monkeypatch.setattr("calipers.text.pretrained.MOST_KEPT", 0)
    fresh = Generator(model, device="cpu", batch=4)
    rows = rows_through(fresh._network.get_encoder())
    sources = ["the cat sat on the mat", "rain fell", "a dog ran on the mat", "the", "a cat fell"]
    pairs = [(given, f"{word} sat{more}") for word in WORDS[4:10] for given in sources for more in ("", " on the mat")]
    found = fresh.log_likelihoods(pairs * 2)
    assert sum(rows) == len(sources)
    assert list(found) == pairs
    assert list(found.values()) == pytest.approx([alone(fresh, *pair) for pair in pairs], abs=1e-5)
    rows.clear()
    again = fresh.log_likelihoods([pairs[0], *((given, "a dog") for given in sources)])
    assert sum(rows) == (0 if kept else len(sources))
    assert again[sources[1], "a dog"] == pytest.approx(alone(fresh, sources[1], "a dog"), abs=1e-5)


@pytest.mark.parametrize("marks", ["<s> $A </s>", "$A </s>"])
def test_beginnings_are_scored_along_with_the_longest_text(model: str, marks: str, require: Require) -> None:
    fresh = Generator(model, device="cpu")
    template = require.module("tokenizers").processors.TemplateProcessing
    special = [("<s>", 0), ("</s>", 2)]
    fresh.tokenizer.backend_tokenizer.post_processor = template(single=marks, special_tokens=special)
    words = ["a", "dog", "ran", "on", "the", "mat"]
    texts = [*(" ".join(words[:n]) for n in range(len(words) + 1)), "a dog sat", "dog ran", "a  dog"]
    rows = rows_through(fresh._network.get_decoder())
    found = fresh.log_likelihoods(("the cat sat", text) for text in texts)
    assert rows == [3]  # the longest, "a dog sat" and "dog ran", of which none begins another
    assert list(found.values()) == pytest.approx([alone(fresh, "the cat sat", text) for text in texts], abs=1e-5)
    fresh.tokenizer.backend_tokenizer.post_processor = template(single="$A", special_tokens=[])
    assert math.isnan(fresh.log_likelihoods([("rain", "")])["rain", ""])


def test_long_texts_and_mixed_precision(model: str, generator: Generator) -> None:
    long = "the cat " * 30
    generator.log_likelihoods([(long, "rain")])
    assert generator.cut == {long}
    half = Generator(model, device="cpu", mixed=True, batch=1)
    pairs = [("the cat sat", "a dog ran"), ("rain fell", "the mat")]
    both = [list(each.log_likelihoods(pairs).values()) for each in (generator, half)]
    assert both[0] == pytest.approx(both[1], abs=0.1)
    assert both[0] != both[1]
    assert half.name == "tiny-bart mixed"


def test_the_study(tmp_path: Path, model: str) -> None:
    """`study text --generator`; documents of the same references are told apart by their sources."""
    sources = ["the cat sat on the mat", "rain fell on the dog", "a dog ran", "the rain fell"]
    texts = {"a": "a cat ran", "b": "rain fell", "c": "the dog sat on the cat"}
    lines = [
        {"id": f"d{d}", "system": system, "summary": text, "references": ["the cat sat"], "source": source,
         "human": {"good": d * len(text) % 7}}
        for d, source in enumerate(sources) for system, text in texts.items()
    ]  # fmt: skip
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    call = ["study", "text", str(tmp_path / "data.jsonl"), "-m", "BARTScore(part=faithfulness)", "--generator", model,
            "--samples", "20", "--no-charts", "-o", str(tmp_path / "study")]  # fmt: skip
    done = CliRunner().invoke(root, call)
    assert done.exit_code == 0, done.output
    assert "1 measure x 5 kinds of random text" in (tmp_path / "study" / "study.md").read_text()
    given, generator = read_summaries(tmp_path / "data.jsonl"), Generator(model, device="cpu")
    found = normalised_texts(given, "BARTScore(part=faithfulness)", ["lead"], generator=generator).plain[0]
    for s, text in enumerate(texts.values()):
        assert found[s] == pytest.approx([alone(generator, source, text) for source in sources], abs=1e-5)


def test_it_needs_a_model(tmp_path: Path, model: str) -> None:
    with pytest.raises(CalipersError, match="BARTScore needs an encoder-decoder model"):
        evaluate_summaries(GIVEN, "BARTScore")
    no_source = replace(GIVEN, documents=tuple(replace(document, source=None) for document in GIVEN.documents))
    with pytest.raises(CalipersError, match=r"'d1' has no source, which BARTScore\(part=faithfulness\) needs"):
        evaluate_summaries(no_source, "BARTScore(part=faithfulness)", generator=Generator(model, device="cpu"))
    path = tmp_path / "data.jsonl"
    lines = [
        {"id": "d1", "system": "a", "summary": "a cat ran", "references": ["the cat sat"], "source": "the cat sat"}
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    call = ["text", "score", str(path), "-m", "BARTScore"]
    assert "--generator MODEL" in str(CliRunner().invoke(root, call).exception)
    done = CliRunner().invoke(root, [*call, "--generator", model, "--device", "cpu", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert math.isfinite(float(done.stdout.splitlines()[1].split(",")[1]))
    judged = CliRunner().invoke(root, ["text", "meta", *call[2:], "--generator", model, "--table", "properties"])
    assert judged.exit_code == 0, judged.output
    assert re.search(r"BARTScore\(tiny-bart\) +complete +held +3 ", judged.stdout)
    assert re.search(r"BARTScore\(tiny-bart\) +realizable +untried", judged.stdout), "a logarithm has no bound of 1"


# -- the model of docs/text_study.md ---------------------------------------------------------------------------


def as_graphs(weights: dict[str, np.ndarray]) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Weights as the package keeps them, in an encoder's and a decoder's graph: what is kept, and matrix products.

    Norms are floats. All else has 8 bits: embeddings by their names, above 0, and matrices turned, by numbers.
    """
    graphs: list[tuple[dict[str, Any], dict[str, str]]] = [({}, {}), ({}, {})]
    for number, (name, weight) in enumerate(weights.items()):
        prefixes = {"shared": ("enc.embed_tokens", "m.shared"), "encoder": ("enc", ""), "decoder": ("", "m.decoder")}
        start, _, rest = name.partition(".")
        for (kept, products), prefix in zip(graphs, prefixes.get(start, ("", f"m.{start}")), strict=True):
            if prefix and "norm" in name:
                kept[f"{prefix}.{rest}"] = weight
            elif prefix:
                embeds = start == "shared" or "relative_attention_bias" in name
                key, zero = (f"{prefix}.{rest}", np.uint8(131)) if embeds else (f"onnx::MatMul_{number}", np.int8(-3))
                scale = np.float32(2 * np.abs(weight).max() / 240)
                kept[f"{key}_scale"], kept[f"{key}_zero_point"] = scale, zero
                kept[f"{key}_quantized"] = (np.round(weight / scale) + zero).astype(zero.dtype)
                if not embeds:
                    kept[f"{key}_quantized"] = kept[f"{key}_quantized"].T
                    module = f"{prefix}.{rest}".removesuffix(".weight")
                    parts = re.sub(r"\.(?!\d)", "/", module)  # enc.block.0.layer.1.q: /enc/block.0/layer.1/q
                    products[f"/{parts}/MatMul_quant"] = f"{key}_quantized"
    return graphs


def test_the_packaged_model_is_put_together(require: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every weight of such a model comes back from its 8 bits, and is where transformers looks for it."""
    torch, transformers = require.module("torch"), require.module("transformers")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    packaged = import_module("packaged_t5")
    sizes = {"vocab_size": 24, "d_model": 8, "d_kv": 3, "d_ff": 10, "num_layers": 2, "num_heads": 2}
    torch.manual_seed(5)
    network = transformers.T5ForConditionalGeneration(transformers.T5Config(**packaged.CONFIG | sizes))
    weights = {name: weight.numpy() for name, weight in network.state_dict().items() if ".embed_tokens." not in name}
    found: dict[str, Any] = {}
    for kept, products in as_graphs(weights):
        found |= packaged.named_weights(kept, products)
    assert found.keys() == weights.keys()
    for name, weight in weights.items():
        assert found[name].shape == weight.shape
        assert found[name].dtype == np.float32
        assert np.abs(found[name] - weight).max() <= np.abs(weight).max() / 240 + 1e-6, name
