"""Teaching a head to align: the loss, the links it is taught, and that it costs nothing where it is not asked for."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F

import mirror
from regard.config import Settings, TrainConfig, TranslatorConfig, validate
from regard.data.batch import Example, collate
from regard.data.corpus import Pair, read_alignments
from regard.decoding.align import pharaoh
from regard.errors import ConfigError, DataError
from regard.model.dropout import Dropout
from regard.model.translator import Translator
from regard.precision import choose
from regard.run import Run
from regard.tokens.words import words_of
from regard.training.guide import misaligned, watched
from regard.training.learner import Learner
from regard.training.objective import Translating
from regard.training.tasks.translation import Pairs, Translation
from regard.training.train import train

CPU = torch.device("cpu")
VOCABULARY = 31


def examples(rows: int, seed: int = 1) -> list[Example]:
    draw = torch.Generator().manual_seed(seed)

    def ids(length: int) -> list[int]:
        return torch.randint(4, VOCABULARY, (length,), generator=draw).tolist()

    made = [Example(ids(6 + row), ids(9 - row)) for row in range(rows)]
    return [each._replace(links=[(1, 0), (4, 2), (2, 2)] if row != 1 else []) for row, each in enumerate(made)]


def learner(threads: int = 1, **train) -> Learner:
    torch.manual_seed(5)
    sizes = {"width": 24, "hidden": 40, "heads": 3, "layers": 2, "decoder_layers": 3, "dropout": 0.2}
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    model = Translator(TranslatorConfig.model_validate({**sizes, **vocabularies}))
    settings = TrainConfig.model_validate(train)
    made = Learner(model, settings, choose("float32", CPU, 24), Translating(settings))
    made.crew.threads = threads
    return made


def test_gold_is_spread_over_what_is_linked_where_the_token_is_read():
    batch = collate(examples(3))
    assert batch.gold.shape == (3, 9, 8)
    assert batch.gold[0].nonzero().tolist() == [[1, 1], [3, 2], [3, 4]]
    assert batch.gold[0].sum(-1).tolist() == [0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert not batch.gold[1].any()
    assert collate([each._replace(links=()) for each in examples(3)]).gold.numel() == 0
    assert [part.gold.shape for part in batch.cut(2)] == [(1, 9, 6), (2, 8, 8)]


def test_the_loss_is_the_cross_entropy_of_the_head_against_the_links():
    batch = collate(examples(4))
    scores = torch.randn(4, batch.gold.size(1), batch.gold.size(2), dtype=torch.float64)
    linked = batch.gold.sum(-1) > 0
    expected = F.cross_entropy(scores[linked], batch.gold[linked].double(), reduction="sum")
    torch.testing.assert_close(misaligned(scores.softmax(-1), batch.gold), expected)
    twice = scores.softmax(-1).repeat(2, 1, 1)
    torch.testing.assert_close(misaligned(twice, batch.gold), expected)


def test_what_is_watched_is_the_first_head_of_the_last_layer_but_one():
    model, batch = learner().model.eval(), collate(examples(3))
    assert isinstance(model, Translator)
    with watched(model) as looks:
        model(batch.source, batch.target, batch.readable)
    given = []
    hook = (
        model.decoder.blocks[1]
        .get_submodule("cross_attention")
        .register_forward_pre_hook(lambda module, arguments: given.extend(arguments[:3]))
    )
    model(batch.source, batch.target, batch.readable)
    hook.remove()
    attention = model.get_submodule("decoder.blocks.1.cross_attention")
    torch.testing.assert_close(looks.weights, attention.weights(*given)[:, 0])  # pyright: ignore
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("r_drop", [0.0, 2.0])
def test_several_workers_are_taught_what_one_is(monkeypatch, r_drop):
    monkeypatch.setattr("regard.training.crew.LEAST", 5)
    batch = collate(examples(5))
    found = []
    for threads in (1, 3):
        made = learner(threads, guided_alignment=0.7, r_drop=r_drop)
        for module in made.model.modules():
            if isinstance(module, Dropout):
                module.p = 0.0  # of which each part draws its own
        found.append(made.step([batch], rate=0.0).gradient)
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def moved(threads: int, linked: bool = True, **train) -> dict[str, torch.Tensor]:
    made = learner(threads, **train)
    torch.manual_seed(11)
    for seed in range(3):
        rows = examples(6, seed=seed)
        made.step([collate(rows if linked else [each._replace(links=()) for each in rows])], rate=1e-2)
    return made.model.state_dict()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


def test_it_is_the_same_bit_for_bit_and_nothing_where_it_is_off(monkeypatch):
    monkeypatch.setattr("regard.training.crew.LEAST", 5)
    assert same(moved(3, guided_alignment=0.5), moved(3, guided_alignment=0.5))
    assert not same(moved(3, guided_alignment=0.5), moved(3))
    assert same(moved(3, linked=True), moved(3, linked=False)), "links that are not asked for change nothing"
    assert same(moved(3, linked=False, guided_alignment=0.5), moved(3))


def test_links_between_words_reach_their_tokens_both_ways_and_however_they_are_cut():
    pairs = mirror.pairs(30, seed=1)
    given = {
        "data": {"languages": ["en", "fr"], "both_ways": True},
        "tokenizer": {"size": 330, "sampling": 0.2},
        "train": {"batch_tokens": 512},
    }
    settings = validate(Settings, given, "test")
    corpus = Pairs(pairs, [], {pair: mirror.gold(pair) for pair in pairs})
    run = Run(settings, Translator(TranslatorConfig()), Translation.learn_tokenizers(settings, corpus))
    task = Translation(run, corpus)
    first, second = task.examples(0), task.examples(1)
    assert [each.source for each in first] != [each.source for each in second]
    for example in itertools.chain(first, second):
        source, target = (words_of(run.source_tokenizer, ids) for ids in example[:2])
        last = source.max()
        expected = {(s, t) for s, a in enumerate(source) for t, b in enumerate(target) if a == last - b and b >= 0 <= a}
        assert set(example.links) == expected


def test_a_file_of_links_is_read_and_taught(tmp_path):
    known = mirror.pairs(60, seed=1)
    for name, lines in {
        "a.en": [pair.source for pair in known],
        "a.fr": [pair.target for pair in known],
        "a.links": [pharaoh(mirror.gold(pair)) for pair in known],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    assert read_alignments(tmp_path / "a.links", known) == [mirror.gold(pair) for pair in known]
    data = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr"), "alignments": str(tmp_path / "a.links")}
    base = mirror.settings(steps=2, warmup=0, guided_alignment=0.5)
    settings = base.model_copy(update={"data": base.data.model_copy(update=data)})
    assert train(settings, tmp_path / "run", on="cpu").settings.data.alignments == data["alignments"]
    unweighed = settings.model_copy(update={"train": mirror.settings().train})
    with pytest.raises(
        ConfigError, match=r"^train\.guided_alignment=0\.0 does not go with data\.alignments='.*a\.links'"
    ):
        train(unweighed, tmp_path / "other", on="cpu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n", "has 1 lines for 2 pairs: line n should align pair n"),
        ("0-0\n0:1\n", "line 2: 0:1 is no link: write source-target, such as 0-0 1-2"),
        ("0-0\n1-0 0-١\n", "line 2: 0-١ is no link: write source-target, such as 0-0 1-2"),
        ("0-0\n1-0 2-0\n", "line 2: 2-0 links words that are not there: its sentences have 2 and 1, counted from 0"),
    ],
)
def test_links_that_cannot_be_are_refused_with_their_line(tmp_path, text, message):
    (tmp_path / "links").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_alignments(tmp_path / "links", [Pair("a", "b"), Pair("a  b ", "c")])
    assert str(caught.value).endswith(message)
