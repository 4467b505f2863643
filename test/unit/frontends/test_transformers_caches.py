"""Language models of transformers, whose outputs have a cache unless something else is asked for."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
import transformers
from transformers.integrations import executorch as wrappers

import flambeau
from flambeau.frontends.torch_export import CaptureError, capture
from flambeau.runtime import Runtime

models: Any = transformers
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 64,
}
TOKENS = torch.arange(3, 11).reshape(1, 8)


def gemma2() -> Any:
    cast(Any, torch).manual_seed(0)
    return models.Gemma2ForCausalLM(models.Gemma2Config(**SIZES)).eval()


def t5() -> Any:
    config = models.T5Config(vocab_size=64, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2)
    return models.T5ForConditionalGeneration(config).eval()


def refusal(model: Any, **kwargs: Any) -> str:
    with pytest.raises(CaptureError) as caught:
        capture(model, (TOKENS,), kwargs)
    return str(caught.value)


def test_the_refusal_of_a_cache_names_what_exports_models_with_one() -> None:
    for text in (refusal(gemma2()), refusal(gemma2(), past_key_values=models.DynamicCache())):
        assert text.startswith("torch.export cannot capture Gemma2ForCausalLM"), text
        assert "a transformers.cache_utils.DynamicCache is" in text and "config.use_cache = False" in text, text
        assert "transformers.integrations.executorch.TorchExportableModuleForDecoderOnlyLM" in text and "\n" not in text, text
        assert hasattr(wrappers, "TorchExportableModuleForDecoderOnlyLM")
    assert "transformers.integrations.executorch.Seq2SeqLMExportableModule" in refusal(t5(), decoder_input_ids=TOKENS)
    assert hasattr(wrappers, "Seq2SeqLMExportableModule")


def test_what_the_refusal_names_compiles() -> None:
    model = gemma2()
    with torch.no_grad():
        expected = model(TOKENS).logits[0, -1].numpy()
        wrapper: Any = wrappers.TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=16)
        exported = wrapper.export(input_ids=TOKENS[:, :1], cache_position=torch.arange(1))
    program = flambeau.to_edge(exported).to_executorch().buffer
    step = Runtime.get().load_program(program).load_method("forward")
    found = [step.execute([TOKENS[:, [place]].numpy(), torch.tensor([place]).numpy()])[0] for place in range(TOKENS.shape[1])]
    assert abs(found[-1][0, -1] - expected).max() < 1e-5
    model.config.use_cache = False
    whole = flambeau.to_edge(capture(model, (TOKENS,))).to_executorch().buffer
    (logits,) = Runtime.get().load_program(whole).load_method("forward").execute([TOKENS.numpy()])
    assert abs(logits[0, -1] - expected).max() < 1e-5
