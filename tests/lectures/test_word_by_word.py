"""The last step, and one word at a time (Vaswani et al. 2017, sections 3.1 and 3.4; Alammar)."""

from __future__ import annotations

import torch

from benchmarks.lectures import answers, backwards, sentences
from regard.config import DecodeConfig
from regard.decoding.search import search
from regard.model.translator import Translator
from regard.tokens.text import BOS, EOS


def step_by_step(model: Translator, source: torch.Tensor) -> list[int]:
    """The lecture's loop: read what is written so far, choose the next word, write it down; until the end mark."""
    written = [BOS]
    while len(written) < 30:
        logits = model(source, torch.tensor([written]), source > 0)[0, -1]
        word = int(logits.softmax(-1).argmax())
        if word == EOS:
            break
        written.append(word)
    return written[1:]


def test_the_last_step_is_linear_then_softmax_then_argmax_then_the_word(reader: Translator):
    """ "A linear layer followed by a softmax layer": a vector → a logit for each word → probabilities → a word."""
    source, target = torch.tensor([[4, 9, 6, EOS]]), torch.tensor([[BOS, 6]])
    states = reader.decode(target, reader.encode(source, source > 0), source > 0)  # (1, 2, 64)
    matrix = reader.output.table.weight  # (14, 64): the embedding, tied
    logits = states[0, -1] @ matrix.T
    torch.testing.assert_close(reader(source, target, source > 0)[0, -1], logits)
    probabilities = logits.softmax(-1)
    assert len(probabilities) == 14
    assert abs(probabilities.sum().item() - 1) < 1e-5
    assert int(probabilities.argmax()) == int(logits.argmax()) == 9, "4 9 6 backwards is 6 9 4: after 6 comes 9"
    found = search(reader, source, source > 0, DecodeConfig(beam=1), limits=[10])
    assert found[0].hypotheses[0].ids == (6, 9, 4)


def test_generation_is_autoregressive_one_time_step_at_a_time(reader: Translator):
    """ "At each step the model consumes the previously generated symbols as additional input" (ibid., section 3)."""
    examples = [backwards(words) for words in sentences(5, [2, 5, 7], seed=5)]
    by_steps = [step_by_step(reader, torch.tensor([example.source])) for example in examples]
    assert by_steps == answers(reader, [example.source for example in examples])
    assert by_steps == [example.target[:-1] for example in examples]


def test_what_was_written_is_read_at_the_next_step(reader: Translator):
    """Put another word into the decoder's mouth, and it goes on from there."""
    source = torch.tensor([[4, 9, 6, 11, EOS]])
    said = [reader(source, torch.tensor([[BOS, 11, word]]), source > 0)[0, -1].softmax(-1) for word in (6, EOS, 12)]
    assert int(said[0].argmax()) == 9
    assert all((said[0] - other).abs().amax() > 1e-4 for other in said[1:])


def test_generation_ends_with_the_end_mark(reader: Translator):
    """ "Repeat until a special symbol is reached indicating the decoder has completed its output" (Alammar)."""
    source = torch.tensor([[4, 9, EOS]])
    hypothesis = search(reader, source, source > 0, DecodeConfig(beam=1), limits=[20])[0].hypotheses[0]
    assert hypothesis.finished
    assert len(hypothesis.ids) == 2
    next_word = reader(source, torch.tensor([[BOS, 9, 4]]), source > 0)[0, -1].argmax()
    assert next_word == EOS
