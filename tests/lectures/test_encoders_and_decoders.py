"""How the Transformer is put together (Vaswani et al. 2017, section 3; Alammar's pictures)."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from benchmarks.lectures import pupil
from regard.config import TranslatorConfig
from regard.model.attention import Attention
from regard.model.block import Block
from regard.model.embedding import Embedding
from regard.model.translator import Translator


@pytest.fixture
def model() -> Translator:
    return pupil(layers=3).eval()


class Seen(NamedTuple):
    given: tuple[Tensor, ...]
    gave: Tensor


def watch(*modules: nn.Module) -> list[Seen]:
    """A list that fills with what goes into these modules and what comes out, in the order in which they run."""
    seen: list[Seen] = []

    def note(_: nn.Module, given: tuple[Tensor, ...], gave: Tensor) -> None:
        seen.append(Seen(given, gave))

    for module in modules:
        module.register_forward_hook(note)
    return seen


SOURCE, TARGET = torch.tensor([[4, 9, 6, 5, 8]]), torch.tensor([[2, 7, 11, 4]])
READABLE = torch.ones(1, 5, dtype=torch.bool)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_layers_of_a_stack_are_alike_in_structure(model: Translator, side: str):
    """ "The encoders are all identical in structure" (Alammar; Vaswani et al. 2017, 3.1: "N = 6 identical layers")."""
    blocks = getattr(model, side).blocks
    shapes = [{name: parameter.shape for name, parameter in block.named_parameters()} for block in blocks]
    assert len(shapes) == 3
    assert shapes[0] == shapes[1] == shapes[2]


def test_layers_share_no_parameters(model: Translator):
    """ "… yet they do not share weights" (Alammar): no two layers own one tensor, nor start with the same numbers."""
    blocks = [*model.encoder.blocks, *model.decoder.blocks]
    matrices = [parameter for block in blocks for parameter in block.parameters() if parameter.dim() == 2]
    assert len({parameter.data_ptr() for block in blocks for parameter in block.parameters()}) == sum(
        len(list(block.parameters())) for block in blocks
    )
    assert len({matrix.sum().item() for matrix in matrices}) == len(matrices)


def test_there_are_as_many_decoders_as_encoders():
    """ "A stack of decoders of the same number" (Alammar); six of each in the paper."""
    for layers in (1, 6):
        config = TranslatorConfig(source_vocabulary=9, target_vocabulary=9, width=4, hidden=8, heads=1, layers=layers)
        model = Translator(config)
        assert len(model.encoder.blocks) == len(model.decoder.blocks) == layers
    assert TranslatorConfig().layers == TranslatorConfig().decoder_layers


def test_only_the_first_encoder_embeds(model: Translator):
    """ "The embedding only happens in the bottom-most encoder"; the others get what the one below gives (Alammar)."""
    embedded, encoders = watch(model.source_position), watch(*model.encoder.blocks)
    memory = model.encode(SOURCE, READABLE)
    assert len(embedded) == 1
    below = embedded[0].gave
    for encoder in encoders:
        assert torch.equal(encoder.given[0], below)
        below = encoder.gave
    assert torch.equal(memory, below)
    for block in model.modules():
        if isinstance(block, Block):
            assert not [part for part in block.modules() if isinstance(part, Embedding | nn.Embedding)]


def test_there_is_nothing_but_attention_and_dense_layers():
    """ "Dispensing with recurrence and convolutions entirely" (Vaswani et al. 2017, abstract): by the module tree."""
    leaves = {type(part) for part in pupil(layers=2).modules() if not list(part.children())}
    assert any(issubclass(leaf, nn.Linear) for leaf in leaves)
    assert {leaf.__module__.removeprefix("torch.nn.modules.") for leaf in leaves} <= {
        "regard.model.matmul",  # dense layers
        "linear",  # the Identity where a pre-norm stack has its last norm
        "normalization",
        "activation",  # the ReLU between two dense layers
        "regard.model.dropout",
        "sparse",  # embeddings: a dense layer whose input is one-hot
        "regard.model.position",
        "regard.model.order",  # what attention itself is told of positions, here nothing
    }
    assert not [leaf for leaf in leaves if issubclass(leaf, nn.RNNBase | nn.RNNCellBase | nn.modules.conv._ConvNd)]


def test_an_encoder_has_two_sublayers_and_a_decoder_a_third_between_them(model: Translator):
    """Self-attention and feed-forward; in a decoder, attention over the encoder's output between (ibid., 3.1)."""
    ran: list[str] = []
    for stack in ("encoder", "decoder"):
        block = getattr(model, stack).blocks[1]
        for name in ("self_attention", "cross_attention", "feed_forward"):
            if hasattr(block, name):
                note = f"{stack} {name}"
                getattr(block, name).register_forward_hook(lambda *_, note=note: ran.append(note))
    model(SOURCE, TARGET, READABLE)
    assert ran == [
        "encoder self_attention",
        "encoder feed_forward",
        "decoder self_attention",
        "decoder cross_attention",
        "decoder feed_forward",
    ]


def cross_attentions(model: Translator) -> list[Attention]:
    return [part for name, part in model.named_modules() if isinstance(part, Attention) and "cross" in name]


def test_keys_and_values_of_the_topmost_encoder_go_to_every_decoder(model: Translator):
    """ "The output of the top encoder is transformed into K and V, used by each decoder" (Alammar)."""
    top, reading = watch(model.encoder.blocks[-1]), watch(*cross_attentions(model))
    model(SOURCE, TARGET, READABLE)
    assert len(reading) == 3
    for decoder in reading:
        _, memory, *_ = decoder.given
        assert torch.equal(memory, top[0].gave)


def test_each_decoder_makes_its_own_keys_and_values_of_that_output(model: Translator):
    """One memory, a W^K and W^V in every decoder layer (Vaswani et al. 2017, 3.2.3)."""
    memory, x = model.encode(SOURCE, READABLE), torch.randn(1, 4, 64)
    made = [attention.project(x, memory) for attention in cross_attentions(model)]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        for which in (1, 2):  # keys, values
            assert (made[one][which] - made[other][which]).abs().amax() > 0.1


def test_the_decoders_queries_come_from_the_layer_below(model: Translator):
    """ "It creates its queries matrix from the layer below it" (Alammar), that is, from the decoder's own side."""
    own = watch(*(block.get_submodule("around_self") for block in model.decoder.blocks))
    reading = watch(*cross_attentions(model))
    model(SOURCE, TARGET, READABLE)
    model(SOURCE.flip(1), TARGET, READABLE)
    for decoder, below in zip(reading, own, strict=True):
        assert torch.equal(decoder.given[0], below.gave)
    queries = [decoder.given[0] for decoder in reading]  # three of the one source, three of the other
    assert torch.equal(queries[0], queries[3]), "the first layer asks before it knows of any source"
    assert not torch.equal(queries[1], queries[4]), "the second asks with what the first has read"
