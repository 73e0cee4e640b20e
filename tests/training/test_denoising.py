"""To learn to restore text, and to translate from there."""

from __future__ import annotations

import pytest
import torch

import regard
from counting import pairs
from regard.config import Settings, override, validate
from regard.data.text import Prose
from regard.errors import ConfigError, DataError
from regard.tokens.text import EOS
from regard.training.inherit import like_its_parent
from regard.training.tasks import choose
from regard.training.tasks.denoising import Denoising
from regard.training.train import train_into, train_pairs_into
from rhymes import lines

PROSE = Prose([lines(400, seed=1)], [lines(30, seed=2)])


def settings(**train) -> Settings:
    learning = {
        "steps": 160,
        "warmup": 10,
        "learning_rate": 1e-2,
        "optimizer": "muon",
        "label_smoothing": 0.0,
        "batch_tokens": 256,
        "validate_every": 80,
        "noise": ["infill", "permute"],
        "noise_share": 0.25,
    }
    sizes = {"width": 32, "hidden": 48, "heads": 2, "layers": 1, "dropout": 0.0, "norm": "pre", "max_positions": 64}
    given = {
        "data": {"block": 24},
        "tokenizer": {"size": 310},
        "model": {"family": "bart", **sizes},
        "train": learning | train,
    }
    return validate(Settings, given, "test")


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """A run that has learned to restore numbers in their order."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "mended"
    train_into(folder, settings(), PROSE, on="cpu")
    return folder


def test_it_learns_to_restore(mended):
    run = regard.load(mended)
    task = Denoising(run, PROSE)
    found, again = task.validate(), task.validate()
    assert found == again, "what is validated is damaged in the same way each time"
    torch.manual_seed(7)
    run.model = type(run.model)(run.model.config)
    untrained = Denoising(run, PROSE).validate()
    assert found is not None
    assert untrained is not None
    assert found.figures["loss"] < untrained.figures["loss"] / 3
    assert "  →  " in found.samples[0]
    card = (mended / "README.md").read_text(encoding="utf-8")
    assert "| noise | infill, permute of 25% |" in card
    assert f"--set train.start_from={mended}" in card


def test_a_text_is_to_be_written_as_it_was_from_what_noise_left_of_it(mended):
    task = Denoising(regard.load(mended), PROSE)
    passage = task.examples(0)[3]
    example = task.damaged(passage)
    assert example.target == [*passage.ids, EOS]
    assert task.tokenizer.mask in example.source
    assert example.source[-1] == EOS
    assert task.damaged(passage) == example, "a seed is a seed"
    assert task.damaged(task.examples(1)[3]) != example, "another epoch, other noise"
    whole = task.collate(task.examples(0)[:9])
    assert whole.tokens == sum(each.size for each in task.examples(0)[:9])
    assert all(each.size <= 24 for each in task.examples(0))
    text = " ".join(" ".join(task.tokenizer.decode(each.ids) for each in task.examples(0)).split())
    assert text == " ".join(PROSE.train[0].split()), "the passages are the text"


def test_without_validation_text_nothing_is_validated(mended):
    task = Denoising(regard.load(mended), Prose(PROSE.train, []))
    assert task.validate() is None
    assert task.conclude().scores == {}


def test_what_cannot_be_restored_is_told(mended):
    run = regard.load(mended)
    with pytest.raises(DataError) as caught:
        Denoising(run, Prose([" "], []))
    assert str(caught.value) == "there is no text to learn from: give a file with some"
    run.settings = validate(
        Settings, {"tokenizer": {"joint": False}, "model": {"family": "bart", "tied": "target"}}, "test"
    )
    with pytest.raises(ConfigError) as caught:
        Denoising(run, PROSE)
    assert str(caught.value) == (
        "tokenizer.joint=false makes two vocabularies, and a text is restored in its own: leave it out"
    )


def test_from_files_the_settings_suit_and_the_tokenizer_can_know_two_languages(tmp_path):
    (tmp_path / "text.txt").write_text(PROSE.train[0], encoding="utf-8")
    given = {
        "data": {"text": str(tmp_path / "text.txt"), "languages": ["en", "fr"], "both_ways": True},
        "model": {"family": "translator"},
        "train": {"task": "denoise"},
    }
    chosen = validate(Settings, given, "test")
    task = choose(chosen)
    assert task is Denoising
    corpus = task.read(chosen)
    suited = task.suit(chosen, corpus, None)
    assert (suited.train.start, suited.train.optimizer, suited.model.width) == ("random", "muon", 128)
    tokenizers = task.learn_tokenizers(suited.model_copy(update={"tokenizer": settings().tokenizer}), corpus)
    assert tokenizers["source"] is tokenizers["target"]
    assert tokenizers["source"].languages == ("en", "fr")


def test_words_are_cut_anew_for_a_translator_alone_which_may_start_from_it_so(mended, tmp_path):
    drawn = settings().model_copy(update={"tokenizer": settings().tokenizer.model_copy(update={"sampling": 0.2})})
    with pytest.raises(ConfigError) as caught:
        choose(drawn)
    assert str(caught.value) == "tokenizer.sampling=0.2 means nothing to the task denoise: leave it out"
    told = [f"train.start_from={mended}", "train.task=translate", "train.steps=1", "tokenizer.sampling=0.2"]
    chosen = validate(Settings, like_its_parent(override({}, told)), "test")
    run = train_pairs_into(tmp_path / "run", chosen, pairs(20, seed=1), pairs(3, seed=2), on="cpu")
    assert (run.settings.tokenizer.sampling, run.settings.tokenizer.size) == (0.2, 310)
    back = override({"model": {"family": "bart"}}, [f"train.start_from={run.folder}", "train.task=denoise"])
    assert choose(validate(Settings, like_its_parent(back), "test")) is Denoising, "nobody asked it to draw"


def test_a_translator_starts_from_it(mended, tmp_path, capsys):
    """With its tokenizer and its sizes; and before the first step all parameters are its own."""
    given = override(
        {"data": {"source": "x.tsv"}},
        [f"train.start_from={mended}", "train.task=translate", "train.steps=1", "train.learning_rate=1e-9"],
    )
    chosen = validate(Settings, like_its_parent(given), "test")
    run = train_pairs_into(tmp_path / "translator", chosen, pairs(20, seed=1), pairs(3, seed=2), on="cpu")
    parent = regard.load(mended)
    assert run.task == "translate"
    assert run.source_tokenizer.pieces(range(30)) == parent.source_tokenizer.pieces(range(30))
    for (name, ours), theirs in zip(run.model.named_parameters(), parent.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6, msg=name)
    assert "parameters taken over; new: nothing" in " ".join(capsys.readouterr().err.split())
