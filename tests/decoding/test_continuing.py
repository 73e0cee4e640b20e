"""Writing on from a prompt: cached = uncached, any company the same text, and windows that move."""

from __future__ import annotations

import itertools

import pytest
import torch

import regard
from regard.config import DecodeConfig, Gpt2Config
from regard.config.networks import Position
from regard.decoding.continuing import Continuing, first_seen
from regard.decoding.generate import generate, stream
from regard.errors import ConfigError, RunError
from regard.model.gpt2 import Gpt2
from regard.run import Run
from regard.tokens.text import BOS, EOS, TextTokenizer
from rhymes import lines, settings


@pytest.fixture(scope="module")
def run(rhymes):
    return regard.load(rhymes, on="cpu")


def lively(position: Position = "learned") -> Gpt2:
    """A random network whose choices differ clearly."""
    torch.manual_seed(3)
    sizes = {"vocabulary": 19, "width": 24, "hidden": 30, "heads": 3, "layers": 2, "max_positions": 8}
    model = Gpt2(Gpt2Config.model_validate({**sizes, "position": position})).eval()
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.2
    return model


@pytest.mark.parametrize(("position", "parted"), [("learned", False), ("rotary", True), ("alibi", False)])
@torch.no_grad()
def test_with_a_cache_and_without_the_logits_are_those_of_the_window_in_one_pass(position, parted):
    model, prompt = lively(position), [5, 9, 4]
    cached, whole = (Continuing(model, prompt, 2, window=8, cached=each, parted=parted) for each in (True, False))
    text = torch.tensor([prompt] * 2)
    for step in range(30):
        start = first_seen(text.size(1) + 1, 8)
        before = text[:, start - 1 : start] if start and parted else torch.full((2, 1), BOS)
        seen = torch.cat([before, text[:, start:]], dim=1)
        assert 4 < seen.size(1) <= 8 or step < 2, "half a window at least, and never more than one"
        expected = model(seen)[:, -1]
        torch.testing.assert_close(cached.logits(), expected)
        torch.testing.assert_close(whole.logits(), expected)
        rows, tokens = torch.tensor([step % 2, 1]), torch.tensor([4 + step % 15, 7])
        text = torch.cat([text[rows], tokens.view(-1, 1)], dim=1)
        for each in (cached, whole):
            each.go_on(rows, tokens)
        assert cached.written.tolist() == [[BOS, *row] for row in text[:, 3:].tolist()]


@pytest.mark.parametrize("window", [1, 2, 7, 8])
def test_what_is_forgotten_is_half_a_window_at_a_time(window):
    seen = [length - first_seen(length, window) for length in range(1, 60)]
    assert max(seen) == window
    assert min(seen[window:]) >= window - max(1, window // 2)
    assert seen[:window] == list(range(1, window + 1))


def test_it_writes_what_it_has_learned(run):
    [text] = generate(run, "one two three", tokens=22, temperature=0.1)
    assert str(text).startswith("one two three")
    numbers = "one two three four five six seven " * 3
    assert all(line in numbers for line in str(text).split("\n"))


def test_a_text_is_the_same_alone_and_in_company_with_a_cache_and_without(run):
    many = generate(run, "two ", n=5, tokens=60, seed=4)
    assert len({each.text for each in many}) > 1
    assert [generate(run, "two ", n=count, tokens=60, seed=4)[-1].ids for count in (1, 3, 5)] == [
        many[index].ids for index in (0, 2, 4)
    ]
    slowly = generate(run, "two ", n=5, tokens=60, seed=4, cached=False)
    assert [each.ids for each in slowly] == [each.ids for each in many]
    assert [each.log_probability for each in slowly] == pytest.approx([each.log_probability for each in many], abs=1e-3)
    assert generate(run, "two ", n=5, tokens=60, seed=5) != many


def test_what_hangs_on_a_hair_is_drawn_again_alone(run, monkeypatch):
    together = generate(run, n=3, tokens=20)
    monkeypatch.setattr("regard.decoding.generate.MARGIN", float("inf"))
    assert [each.ids for each in generate(run, n=3, tokens=20)] == [each.ids for each in together]


def test_the_pieces_of_a_stream_are_the_text(run):
    pieces = list(stream(run, "five", tokens=40, seed=2))
    assert len(pieces) > 30
    assert "".join(pieces) == generate(run, "five", tokens=40, seed=2)[0].text


def test_log_probabilities_are_the_network_s_own(run):
    """By one pass over prompt and text; ids that are not for readers are out of the question."""
    prompt, found = "three f", generate(run, "three f", tokens=12, temperature=2.0, top_k=3)[0]
    ids = run.writer.encode(prompt)
    with torch.no_grad():
        logits = run.model(torch.tensor([[BOS, *ids, *found.ids[:-1]]]))[0, len(ids) :]
    logits[:, run.tokenizers["text"].unwritten] = -torch.inf
    chosen = logits.log_softmax(-1)[range(len(found.ids)), list(found.ids)]
    assert found.log_probability == pytest.approx(chosen.sum().item(), abs=1e-3)
    assert all((row >= logit).sum() <= 3 for row, logit in zip(logits, logits[range(12), list(found.ids)], strict=True))


def test_a_beam_finds_what_trying_everything_finds(run):
    """All texts of 3 of the 6 likeliest characters: the best 2 of them, by a beam wide enough to lose none."""
    run.model.eval()
    ids = run.writer.encode("one")
    with torch.no_grad():
        first = run.model(torch.tensor([[BOS, *ids]]))[0, -1]
    letters = [*run.tokenizers["text"].ids.values()]
    texts = list(itertools.product(letters, repeat=2))
    with torch.no_grad():
        logits = run.model(torch.tensor([[BOS, *ids, one] for one in letters]))[:, -1]
    for each in (first, logits):
        each[..., run.tokenizers["text"].unwritten] = -torch.inf
    one, two = first.log_softmax(-1), logits.log_softmax(-1)
    scores = {text: (one[text[0]] + two[letters.index(text[0]), text[1]]).item() for text in texts}
    best = sorted(texts, key=lambda text: -scores[text])[:2]
    found = generate(run, "one", tokens=2, beam=40, n=2)
    assert [each.ids for each in found] == best
    assert [each.log_probability for each in found] == pytest.approx([scores[text] for text in best], abs=1e-4)
    assert not found[0].finished


def test_an_end_ends_it():
    """A network that is made to say </s> after two tokens."""

    class Brief(Gpt2):
        def logits(self, x: torch.Tensor) -> torch.Tensor:
            return super().logits(x).index_fill(-1, torch.tensor(EOS), 99.0 if self.said == 2 else -99.0)

        def decode(self, ids, cache=None):  # type: ignore[override]
            self.said = ids.size(1) - 2
            return super().decode(ids, cache)

    run = Run(settings("bpe"), Brief(Gpt2Config(vocabulary=300, width=8, hidden=8, heads=2, layers=1)).eval(), {})
    run.tokenizers["text"] = TextTokenizer.learn([lines(50, seed=3).replace("\n", " ")], size=300, kind="bpe")
    ids = run.writer.encode("one")[:1]
    run.writer.tokenizer.encode = lambda text: ids  # type: ignore[attr-defined, method-assign]
    [found] = generate(run, "one", tokens=9, cached=False)
    assert (len(found.ids), found.finished) == (2, True)
    [found] = generate(run, "one", tokens=1, cached=False)
    assert (len(found.ids), found.finished) == (1, False)


def test_what_cannot_be_asked_for(run, counting):
    with pytest.raises(ConfigError) as caught:
        generate(run, tokens=0)
    assert str(caught.value) == "tokens=0 and n=1 should both be at least 1"
    with pytest.raises(ConfigError) as caught:
        generate(run, n=4, beam=3)
    assert str(caught.value) == "n=4 is more than beam=3 finds: widen the beam"
    with pytest.raises(ConfigError, match=r"^decoding: decode\.|^decoding: temperature=0.0 should be at least"):
        generate(run, temperature=0.0)
    with pytest.raises(RunError) as caught:
        generate(regard.load(counting), "one")
    assert str(caught.value) == (f"{counting} translates and does not write text: try regard translate {counting}")
    assert DecodeConfig().samples == 0
