"""The task classify: what is read, what the corpus fills in, what is learned, and what resumes bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import regard
import stripes
from regard.config import Settings, validate
from regard.data.labelled import Parts, Picture, Texts, collate_pictures
from regard.errors import ConfigError, DataError
from regard.model import build
from regard.training import tasks
from regard.training.tasks.classifying import ClassifyingPictures, ClassifyingTexts, Naming, patch_for
from regard.training.train import train_into


def test_the_network_says_what_it_reads():
    assert tasks.choose(stripes.stripe_settings()) is ClassifyingPictures
    assert tasks.choose(stripes.mood_settings()) is ClassifyingTexts


def test_a_run_keeps_the_names_of_its_classes_and_tells_them_apart(trained):
    for name, labels in (("stripes", stripes.DIRECTIONS), ("moods", ("glad", "sad"))):
        run = regard.load(trained[name])
        assert run.settings.data.labels == labels
        assert run.model.config.classes == 2
        last = json.loads((trained[name] / "metrics.jsonl").read_text().splitlines()[-1])
        assert last["valid_accuracy"] > 0.85
        card = (trained[name] / "README.md").read_text()
        assert "tells 2 classes apart" in card
        assert f"| classes | {', '.join(labels)} |" in card
    assert regard.load(trained["stripes"]).model.config.picture == (8, 12)
    assert regard.load(trained["stripes"]).tokenizers == {}


def test_the_loss_is_a_sum_that_smoothing_changes_and_surprise_does_not():
    model = build(ClassifyingPictures.settle(stripes.stripe_settings(), stripes.parts(stripes.stripes, 9, 4), {}).model)
    pixels = stripes.stripes(5, seed=3).pixels
    batch = collate_pictures([Picture(each, place % 2, 6) for place, each in enumerate(pixels)])
    plain, smooth = Naming(0.0).loss(model, batch), Naming(0.2).loss(model, batch)
    logs = model(batch.pictures).log_softmax(-1)
    torch.testing.assert_close(plain.total, -logs[range(5), batch.labels].sum())
    torch.testing.assert_close(smooth.total, 0.8 * plain.total - 0.2 * logs.mean(-1).sum())
    torch.testing.assert_close(smooth.surprise, plain.surprise)
    assert plain.tokens == 5


def test_pictures_change_from_epoch_to_epoch_as_far_as_they_are_let(trained):
    run, corpus = regard.load(trained["stripes"]), stripes.parts(stripes.stripes, 20, 4)

    def epochs(**data) -> tuple[np.ndarray, ...]:
        run.settings = run.settings.model_copy(update={"data": run.settings.data.model_copy(update=data)})
        task = ClassifyingPictures(run, corpus)
        return tuple(np.stack([each.pixels for each in task.examples(epoch)]) for epoch in (0, 1, 1))

    first, second, again = epochs()
    assert (first == second).all()
    for how in ({"shift": 2}, {"shift": 0, "flip": True}, {"flip": False, "erase": 3}):
        first, second, again = epochs(**how)
        assert (first != second).any()
        assert (second == again).all()


def test_validation_pictures_are_brought_to_the_size_that_the_network_sees(trained, capsys):
    run, corpus = regard.load(trained["stripes"]), stripes.parts(stripes.stripes, 20, 40)
    large = replace(corpus.valid, pixels=np.kron(corpus.valid.pixels, np.ones((1, 3, 3, 1), dtype=np.uint8)))
    found = ClassifyingPictures(run, Parts(corpus.train, large)).validate()
    assert found
    assert found.figures["accuracy"] > 0.8
    assert capsys.readouterr().err == "validation pictures: 24 × 36 pixels are brought to 8 × 12\n"


def test_a_run_taken_up_again_is_the_run_never_left(tmp_path):
    corpus, how = stripes.parts(stripes.stripes, 60, 12), stripes.stripe_settings(shift=1)

    def of(steps: int) -> Settings:
        train = how.train.model_copy(update={"schedule": "constant", "steps": steps, "validate_every": 10})
        return how.model_copy(update={"train": train})

    whole = train_into(tmp_path / "whole", of(20), corpus, on="cpu")
    train_into(tmp_path / "parts", of(10), corpus, on="cpu")
    parts = train_into(tmp_path / "parts", of(20), corpus, on="cpu", resume=True)
    for mine, other in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_a_run_that_started_from_one_of_other_pictures_is_taken_up_again(trained, tmp_path):
    pixels = stripes.stripes(20, seed=1).pixels
    np.savez(tmp_path / "x.npz", images=pixels[:, :, :8, :1], labels=np.arange(20) % 2)
    learning = {"start_from": str(trained["stripes"]), "steps": 4, "precision": "float32", "validate_every": 4}
    for resume in (False, True):
        given = {"data": {"pictures": str(tmp_path / "x.npz")}, "train": learning}
        run = regard.train(given, tmp_path / "run", on="cpu", resume=resume)
        assert (run.model.config.picture, run.model.config.channels) == ((8, 8), 1)


def test_files_are_read_and_what_is_left_open_suits_them(tmp_path):
    pictures = stripes.stripes(40, seed=1)
    assert pictures.labels is not None
    np.savez(tmp_path / "x.npz", images=pictures.pixels, labels=pictures.labels)
    train = {"steps": 4, "precision": "float32", "validate_every": 4}
    run = regard.train({"data": {"pictures": str(tmp_path / "x.npz")}, "train": train}, tmp_path / "seen", on="cpu")
    assert (run.settings.model.family, run.model.config.patch) == ("vit", 2)
    assert run.settings.train.label_smoothing == 0.1
    moods = stripes.moods(60, seed=1)
    labels = np.array(moods.names)[moods.labels]
    lines = (f"{text}\t{label}\n" for text, label in zip(moods.texts, labels, strict=True))
    (tmp_path / "x.tsv").write_text("".join(lines))
    run = regard.train({"data": {"labelled": str(tmp_path / "x.tsv")}, "train": train}, tmp_path / "read", on="cpu")
    assert (run.settings.model.family, run.task) == ("bert", "classify")
    assert run.settings.train.label_smoothing == 0.0, "docs/classify.md says both"
    assert run.settings.data.labels == ("glad", "sad")


def test_validation_files_are_read_and_may_miss_a_class(tmp_path):
    (tmp_path / "a.tsv").write_text("sun\tglad\nrain\tsad\n")
    (tmp_path / "b.tsv").write_text("gloom\tsad\n")
    data = {"labelled": str(tmp_path / "a.tsv"), "valid_labelled": str(tmp_path / "b.tsv")}
    parts = ClassifyingTexts.read(validate(Settings, {"data": data}, "test"))
    assert parts.valid.under(parts.train.names).labels.tolist() == [1]


def test_what_cannot_be_learned_is_refused(tmp_path):
    empty = validate(Settings, {"model": {"family": "bert"}}, "test")
    with pytest.raises(
        ConfigError, match=r"^there is nothing to train on: give --labelled and a TSV of text, tab, label$"
    ):
        ClassifyingTexts.read(empty)
    (tmp_path / "a.tsv").write_text("sun\tglad\nrain\tsad\nsong\tglad\n")
    with pytest.raises(DataError, match=r"a\.tsv has one text of the class 'sad': give more, or --valid-labelled$"):
        ClassifyingTexts.read(validate(Settings, {"data": {"labelled": str(tmp_path / "a.tsv")}}, "test"))
    captioned, flags = tmp_path / "x.npz", stripes.flags(9, seed=1)
    np.savez(captioned, images=flags.pixels, captions=np.array(flags.captions))
    one = Texts(("sun",), np.array([0]), ("glad",))
    with pytest.raises(
        DataError, match=r"^all there is to learn from is of one class, glad: give examples of others, too$"
    ):
        ClassifyingTexts.settle(stripes.mood_settings(), Parts(one, one), {})
    with pytest.raises(
        DataError, match=r"x\.npz has captions and no classes: set model\.family=dalle to learn to paint, "
    ):
        ClassifyingPictures.read(stripes.stripe_settings(pictures=str(captioned)))


@pytest.mark.parametrize(
    ("height", "width", "patch"), [(8, 8, 1), (28, 28, 4), (32, 32, 4), (224, 224, 28), (60, 40, 10)]
)
def test_a_picture_is_cut_into_at_most_64_patches(height, width, patch):
    assert patch_for(height, width) == patch


def test_a_picture_that_does_not_split_is_refused():
    with pytest.raises(ConfigError, match=r"^pictures of 97 × 101 pixels do not split into at most 64 squ"):
        patch_for(97, 101)
