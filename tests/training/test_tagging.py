"""To learn to tag words, and to say the tags of others."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.config import Settings, validate
from regard.data.labelled import Parts
from regard.data.marked import Marked, collate_marked
from regard.data.tagged import Sentence
from regard.decoding.tag import tag, tag_words
from regard.errors import ConfigError, DataError, RunError
from regard.training.tags import judge
from regard.training.tasks import choose
from regard.training.tasks.tagging import NamingWords, Tagging
from regard.training.train import train_into
from rhymes import lines


def sentences(count: int, seed: int) -> list[Sentence]:
    """A number is O, but the one after "one" is of a span that begins with "one": it takes its neighbours to know."""
    found = []
    for line in lines(count, seed).splitlines():
        words = tuple(line.split())
        tags = [
            "B-X" if word == "one" else "I-X" if at and words[at - 1] == "one" else "O" for at, word in enumerate(words)
        ]
        found.append(Sentence(words, tuple(tags)))
    return found


CORPUS: Parts[Sequence[Sentence]] = Parts(sentences(300, seed=1), sentences(40, seed=2))


def settings(**train) -> Settings:
    learning = {
        "task": "tag",
        "steps": 60,
        "warmup": 5,
        "learning_rate": 1e-2,
        "label_smoothing": 0.0,
        "batch_tokens": 256,
        "validate_every": 30,
        "choose_by": "f1",
    }
    sizes = {"width": 32, "hidden": 48, "heads": 2, "layers": 2, "dropout": 0.0, "norm": "pre", "max_positions": 14}
    given = {
        "tokenizer": {"size": 310},
        "model": {"family": "distilbert", "fills": False, **sizes},
        "train": learning | train,
    }
    return validate(Settings, given, "test")


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "tagger"
    train_into(folder, settings(), CORPUS, on="cpu")
    return folder


def test_it_learns_tags_that_depend_on_the_neighbours(tagger):
    run = regard.load(tagger)
    assert run.settings.data.labels == ("B-X", "I-X", "O")
    found = Tagging(run, CORPUS).validate()
    assert found is not None
    assert found.figures["accuracy"] > 0.95
    assert found.figures["f1"] > 0.9
    assert "/" in found.samples[0]
    told = tag(run, "seven one  two three")
    assert told.words == ("seven", "one", "two", "three")
    assert told.tags == ("O", "B-X", "I-X", "O")
    assert all(0.4 < probability <= 1 for probability in told.probabilities)
    assert str(told) == "seven\tO\none\tB-X\ntwo\tI-X\nthree\tO\n"
    assert tag(run, " ").words == ()


def test_texts_side_by_side_are_tagged_as_each_alone(tagger):
    run = regard.load(tagger)
    texts = [["one", "two"], ["seven", "one", "two", "three", "four"], [], ["five"]]
    for each, alone in zip(tag_words(run, texts), (tag_words(run, [text])[0] for text in texts), strict=True):
        assert (each.words, each.tags) == (alone.words, alone.tags)
        assert each.probabilities == pytest.approx(alone.probabilities, abs=1e-5)


def test_the_loss_is_the_cross_entropy_at_each_word_s_first_token(tagger):
    model = regard.load(tagger).model
    batch = collate_marked([Marked([2, 7, 8, 3], [1], [2]), Marked([2, 9, 7, 11, 3], [1, 3], [0, 1])])
    logits = model.tag(model.states(batch.ids, batch.readable))
    expected = sum(-logits[row, at].log_softmax(-1)[label] for row, at, label in [(0, 1, 2), (1, 1, 0), (1, 3, 1)])
    found = NamingWords().loss(model, batch)
    torch.testing.assert_close(found.total, expected)
    assert found.tokens == 3


def sentence(*tags: str) -> Sentence:
    return Sentence(tuple(f"word{place}" for place in range(len(tags))), tags)


def test_f1_is_that_of_spans():
    """Two of three found are right, and two of four are found: P = 2/3, R = 1/2."""
    right = [sentence("B-X", "I-X", "O", "B-X"), sentence("B-X", "B-Y")]
    result = judge([sentence("B-X", "I-X", "O", "B-X"), sentence("B-Y", "O")], right)
    assert (result.precision, result.recall) == (2 / 3, 2 / 4)
    assert result.f1 == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert (result.accuracy, result.words, result.sentences) == (4 / 6, 6, 2)
    assert [(each.name, each.precision, each.recall, each.there) for each in result.kinds] == [
        ("X", 1.0, 2 / 3, 3),
        ("Y", 0.0, 0.0, 1),
    ]
    assert judge([sentence("O")], [sentence("O")]).f1 == 0.0


def test_a_span_is_right_if_its_first_word_its_end_and_its_kind_are():
    """Against spans put together word by word, for drawn tags."""
    drawn = random.Random(3)
    known = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    right = [sentence(*drawn.choices(known, k=drawn.randint(1, 9))) for _ in range(60)]
    said = [sentence(*(drawn.choice([each, each, "O", "B-LOC"]) for each in one.tags)) for one in right]

    def chunks(tags: Sequence[str]) -> set[tuple[str, int, int]]:
        """Kind, first and last place of each span: an I- goes on where the word before is of its kind."""
        found: list[tuple[str, int, int]] = []
        for place, now in enumerate(tags):
            kind, before = now[2:], tags[place - 1] if place else "O"
            if now.startswith("I-") and before[2:] == kind:
                found[-1] = (*found[-1][:2], place)
            elif now != "O":
                found.append((kind, place, place))
        return set(found)

    both = sum(len(chunks(a.tags) & chunks(b.tags)) for a, b in zip(said, right, strict=True))
    result = judge(said, right)
    assert result.precision == pytest.approx(both / sum(len(chunks(each.tags)) for each in said))
    assert result.recall == pytest.approx(both / sum(len(chunks(each.tags)) for each in right))
    low, high = result.interval
    assert low < result.f1 < high


def test_the_interval_is_as_wide_as_f1_varies():
    """Sentences of one word, a third of them found: F₁ is a function of a binomial share, whose spread is known."""
    right = [sentence("B-X")] * 900
    said = [sentence("B-X" if number % 3 == 0 else "O") for number in range(900)]
    share = 1 / 3
    spread = 1.96 * (share * (1 - share) / 900) ** 0.5
    low, high = judge(said, right).interval
    expected = [2 * each / (1 + each) for each in (share - spread, share + spread)]
    assert [low, high] == pytest.approx(expected, abs=0.006)


def test_held_out_sentences_are_scored_by_the_command(tagger, tmp_path):
    def file(name: str, kept: Sequence[Sentence]):
        blocks = ("".join(f"{word}\t{tag}\n" for word, tag in zip(*each, strict=True)) for each in kept)
        (tmp_path / name).write_text("\n".join(blocks), encoding="utf-8")
        return str(tmp_path / name)

    long = Sentence(("one",) * 20, ("B-X",) * 20)
    held = file("held.tsv", [long, *sentences(40, seed=2)])
    done = CliRunner().invoke(app, ["evaluate", str(tagger), held, "--json"])
    found, trained = json.loads(done.stdout), Tagging(regard.load(tagger), CORPUS).validate()
    assert trained is not None
    assert (found["f1"], found["accuracy"]) == (trained.figures["f1"], trained.figures["accuracy"])
    assert found["sentences"] == 40
    assert "left out: 1 of 41 sentences, longer than the 14 tokens" in " ".join(done.stderr.split())
    shown = CliRunner().invoke(app, ["evaluate", str(tagger), held]).stdout.splitlines()
    assert shown[0].startswith(f"F1 {100 * found['f1']:.2f}, 95 % interval ")
    assert [line.split()[0] for line in shown[4:]] == ["X", "all"]
    with pytest.raises(DataError, match="fits the 14 tokens that this run reads: give shorter ones"):
        regard.evaluate_tags(regard.load(tagger), file("long.tsv", [long]))


def test_from_files_a_part_is_set_aside_and_the_settings_suit(tmp_path):
    written = "\n\n".join("\n".join(map("\t".join, zip(*each, strict=True))) for each in CORPUS.train)
    (tmp_path / "tags.tsv").write_text(written, encoding="utf-8")
    given = {"data": {"tagged": str(tmp_path / "tags.tsv")}, "model": {"family": "bert"}, "train": {"task": "tag"}}
    chosen = validate(Settings, given, "test")
    train, valid = choose(chosen).read(chosen)
    assert (len(train), len(valid)) == (270, 30)
    assert sorted([*train, *valid]) == sorted(CORPUS.train)
    suited: Any = choose(chosen).suit(chosen, Parts(train, valid), None)
    assert (suited.model.width, suited.model.fills) == (128, False)
    both = validate(Settings, {**given, "data": {**given["data"], "valid_tagged": given["data"]["tagged"]}}, "test")
    assert [len(part) for part in choose(both).read(both)] == [300, 300]


def test_what_cannot_be_learned_or_tagged_is_told(tagger, rhymes, capsys):
    run, chosen = regard.load(tagger), settings()
    with pytest.raises(ConfigError) as caught:
        Tagging.read(chosen)
    assert str(caught.value) == (
        "there is nothing to train on: set data.tagged to a file of word, tab, tag on each line"
    )
    with pytest.raises(DataError) as caught:
        Tagging.settle(chosen, Parts([Sentence(("a",), ("O",))], []), {})
    assert str(caught.value) == "all words to learn from have one tag, O: give examples of others, too"
    with pytest.raises(DataError) as caught:
        Tagging(run, Parts(CORPUS.train, [Sentence(("a",), ("Z",))]))
    assert str(caught.value) == "the tag 'Z' is not one of those learned, which are B-X, I-X, O"
    with pytest.raises(RunError) as caught:
        tag(run, "one " * 30)
    assert str(caught.value) == "a text of 30 words is too long for this run, which reads 14 tokens: cut it"
    with pytest.raises(RunError) as caught:
        tag(regard.load(rhymes), "one")
    assert str(caught.value) == f"{rhymes} writes text and does not tag words: try regard generate {rhymes}"
    long = Sentence(("one",) * 20, ("B-X",) * 20)
    task = Tagging(run, Parts(CORPUS.train, [long, CORPUS.valid[0]]))
    assert "of 1 sentences only the first 12 tokens are read" in " ".join(capsys.readouterr().err.split())
    assert task.validate() is not None
    assert Tagging(run, Parts(CORPUS.train, [])).conclude().scores == {}


def test_the_command_prints_words_and_tags_or_json(tagger):
    done = CliRunner().invoke(app, ["tag", str(tagger)], input="one two\nfive\n")
    assert done.stdout == "one\tB-X\ntwo\tI-X\n\nfive\tO\n\n"
    done = CliRunner().invoke(app, ["tag", str(tagger), "one two", "--json"])
    assert json.loads(done.stdout)["tags"] == ["B-X", "I-X"]
