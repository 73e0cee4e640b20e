"""ONNX's own conformance cases for what our blocks do, through our blocks; and what of it they do not claim, and why.

The reasons stand in docs/families.md as well: "What of the ONNX operators our blocks claim".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.model.attention import Attention, attention_weights
from regard.model.block import ACTIVATIONS, PostNorm
from regard.model.cache import Kept
from regard.model.mask import banded, causal, padding
from regard.model.order import Order, rotate

MODULES = ("attention", "gelu", "layernormalization", "rmsnormalization", "rotaryembedding", "softmax")
PAGE = Path(__file__).parents[2] / "docs" / "families.md"


class Case(NamedTuple):
    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    rtol: float
    atol: float

    def expect(self, output: str, found: Tensor) -> None:
        expected = self.outputs[output]
        assert found.dtype == expected.dtype, self.name
        rough = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(found.dtype, 0.0)
        rtol, atol = max(self.rtol, rough), max(self.atol, rough)
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, msg=lambda text: f"{self.name}: {text}")


def as_tensor(array: np.ndarray) -> Tensor:
    brief = "bfloat16" in str(array.dtype)  # which numpy itself does not know
    return torch.tensor(array.astype(np.float32)).bfloat16() if brief else torch.tensor(array)


@pytest.fixture(scope="module")
def cases(bfloat16_works: bool) -> dict[str, list[Case]]:
    """By operator. Each module of ONNX makes its cases when it is imported; all the others would take long."""
    node = pytest.importorskip("onnx.backend.test.case.node")
    from onnx import helper

    for name in MODULES:
        import_module(f"onnx.backend.test.case.node.{name}")
    found: dict[str, list[Case]] = {}
    for each in node._NodeTestCases:
        if len(each.model.graph.node) > 1 or "expanded" in each.name:  # the same case, spelled out
            continue
        if "bf16" in each.name and not bfloat16_works:
            continue
        (operator,) = each.model.graph.node
        given, wanted = each.data_sets[0]
        found.setdefault(operator.op_type, []).append(
            Case(
                each.name,
                {attribute.name: helper.get_attribute_value(attribute) for attribute in operator.attribute},
                {name: as_tensor(x) for name, x in zip(filter(None, operator.input), given, strict=True)},
                {name: as_tensor(x) for name, x in zip(filter(None, operator.output), wanted, strict=True)},
                each.rtol,
                each.atol,
            )
        )
    return found


# What is not claimed: the reason, as it stands on the page, and which cases it holds for


def grouped(case: Case) -> bool:
    q, k = case.inputs["Q"], case.inputs["K"]
    return case.attributes.get("q_num_heads", q.size(1)) != case.attributes.get("kv_num_heads", k.size(1))


def sided(case: Case) -> bool:
    left, right = (case.attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    return right >= 0 and left != right


def short(case: Case) -> bool:
    mask = case.inputs.get("attn_mask")
    past = case.inputs["past_key"].size(2) if "past_key" in case.inputs else 0
    return mask is not None and mask.size(-1) != past + case.inputs["K"].size(-2)


def ragged(case: Case) -> bool:
    return bool(case.attributes.get("is_causal")) and "nonpad_kv_seqlen" in case.inputs


def inner_axis(case: Case) -> bool:
    (x, *_) = case.inputs.values()
    return case.attributes.get("axis", -1) % x.dim() != x.dim() - 1


UNCLAIMED: dict[str, dict[str, Callable[[Case], bool]]] = {
    "Attention": {
        "fewer heads of keys than of queries": grouped,
        "scores held back by a tanh (`softcap`)": lambda case: case.attributes.get("softcap", 0) > 0,
        "a band that reaches further to one side": sided,
        "a mask that ends before the keys do": short,
        "queries of one batch at different distances from the end (`is_causal` with `nonpad_kv_seqlen`)": ragged,
    },
    "Gelu": {},
    "LayerNormalization": {"norms over more than the features, `axis` other than the last": inner_axis},
    "RMSNormalization": {"norms over more than the features, `axis` other than the last": inner_axis},
    "RotaryEmbedding": {},
    "Softmax": {"a softmax over anything but what is looked at, `axis` other than the last": inner_axis},
}
PARTS = {  # outputs that are not claimed, while the others of the case are
    "the scores before the softmax (`qk_matmul_output_mode` 0 to 2)",
    "the mean and the deviation that a norm found (`Mean`, `InvStdDev`)",
}


def claimed(cases: dict[str, list[Case]], operator: str) -> Iterator[Case]:
    for case in cases[operator]:
        if not any(holds(case) for holds in UNCLAIMED[operator].values()):
            yield case


# Attention


class Biased(Order):
    """Adds to the scores what a case gives as a mask of numbers."""

    def __init__(self, given: Tensor | None):
        super().__init__()
        self.given = given

    def bias(self, q: Tensor, keys: int) -> Tensor | None:
        return self.given


class Unprojected(Attention):
    """Our attention, with queries, keys and values handed in as they are."""

    def __init__(self, case: Case):
        heads = case.attributes.get("q_num_heads", case.inputs["Q"].size(1))
        mask = case.inputs.get("attn_mask")
        given = mask if mask is not None and mask.is_floating_point() else None
        super().__init__(heads, heads, order=Biased(given))
        self.output = nn.Identity()
        q, k, v = (self.split(x) if x.dim() == 3 else x for x in (case.inputs[name] for name in "QKV"))
        if "scale" in case.attributes:  # as the lectures fold it into the queries
            q = q * (case.attributes["scale"] * q.size(-1) ** 0.5)
        kept = Kept()
        if "past_key" in case.inputs:
            kept.append(case.inputs["past_key"], case.inputs["past_value"])
        self.past, self.parts = kept.length, (q, *kept.append(k, v))

    def project(self, x: Tensor, memory: Tensor | None = None, kept: Kept | None = None) -> Any:
        return self.parts


def permission(case: Case, attention: Unprojected) -> Tensor | None:
    """The masks of a case, as ours; its first query stands behind what is kept, or at the start."""
    past, queries, keys = attention.past, attention.parts[0].size(2), attention.parts[1].size(2)
    size, rows = max(keys, past + queries), slice(past, past + queries)
    reach, mask = case.attributes.get("left_window_size", -1), case.inputs.get("attn_mask")
    masks = [
        causal(size)[rows, :keys] if case.attributes.get("is_causal") else None,
        banded(size, reach)[rows, :keys] if reach >= 0 else None,
        padding(case.inputs["nonpad_kv_seqlen"], keys) if "nonpad_kv_seqlen" in case.inputs else None,
        mask if mask is not None and mask.dtype == torch.bool else None,
    ]
    return reduce(torch.logical_and, given) if (given := [each for each in masks if each is not None]) else None


def test_attention(cases: dict[str, list[Case]]):
    for case in claimed(cases, "Attention"):
        attention = Unprojected(case)
        mask, x = permission(case, attention), case.inputs["Q"]
        used, weights = attention(x, mask=mask), attention.weights(x, mask=mask)
        shown = attention.order.take(weights, attention.parts[2]).transpose(1, 2).flatten(2)
        for found in (used, shown):
            case.expect("Y", found if case.outputs["Y"].dim() == 3 else attention.split(found))
        for name, kept in zip(("present_key", "present_value"), attention.parts[1:], strict=True):
            if name in case.outputs:
                case.expect(name, kept)
        if "qk_matmul_output" in case.outputs and case.attributes.get("qk_matmul_output_mode") == 3:
            case.expect("qk_matmul_output", weights)


# The others


def test_gelu(cases: dict[str, list[Case]]):
    for case in claimed(cases, "Gelu"):
        name = "gelu-tanh" if case.attributes.get("approximate") == b"tanh" else "gelu"
        case.expect("y", ACTIVATIONS[name]()(case.inputs["x"]))


@pytest.mark.parametrize(("operator", "kind"), [("LayerNormalization", nn.LayerNorm), ("RMSNormalization", nn.RMSNorm)])
def test_norms(cases: dict[str, list[Case]], operator: str, kind: type[nn.Module]):
    """As they stand around a sublayer, here one that adds nothing."""
    for case in claimed(cases, operator):
        x, epsilon = case.inputs["X"], case.attributes.get("epsilon", 1e-5)
        around = PostNorm(x.size(-1), norm=lambda width, epsilon=epsilon: kind(width, eps=epsilon))
        around.norm.load_state_dict(
            {"weight": case.inputs["W"], **({"bias": case.inputs["B"]} if "B" in case.inputs else {})}
        )
        with torch.no_grad():
            case.expect("Y", around(x, torch.zeros_like))


def test_rotary_embedding(cases: dict[str, list[Case]]):
    for case in claimed(cases, "RotaryEmbedding"):
        x, positions = case.inputs["input"], case.inputs.get("position_ids")
        cosines, sines = (case.inputs[name] for name in ("cos_cache", "sin_cache"))  # (B, T, pairs), or by position
        if positions is not None:
            cosines, sines = cosines[positions], sines[positions]
        layout = "interleaved" if case.attributes.get("interleaved") else "halves"
        heads = Attention.split(Attention(h := case.attributes.get("num_heads", 1), h), x) if x.dim() == 3 else x
        turned = rotate(heads, cosines.unsqueeze(1), sines.unsqueeze(1), layout)
        case.expect("output", turned.transpose(1, 2).flatten(2) if x.dim() == 3 else turned)


def test_softmax(cases: dict[str, list[Case]]):
    """The scores of queries x against keys of which each is one feature are x."""
    for case in claimed(cases, "Softmax"):
        x = case.inputs["x"]
        case.expect("y", attention_weights(x, torch.eye(x.size(-1)), scale=1.0))


# The list of what is not claimed is true, and written down


def test_most_is_claimed_and_no_reason_is_idle(cases: dict[str, list[Case]]):
    for operator, reasons in UNCLAIMED.items():
        assert list(claimed(cases, operator)), operator
        for reason, holds in reasons.items():
            assert any(map(holds, cases[operator])), reason


def test_what_is_not_claimed_stands_on_the_page():
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for reason in [*(reason for reasons in UNCLAIMED.values() for reason in reasons), *PARTS]:
        assert reason in page
