"""Every kind of run, looked into: what the explorer shows are the model's own numbers, whatever the family."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

import regard
import untrained
from regard.config import validate
from regard.decoding.classify import classify
from regard.decoding.fill import fill
from regard.decoding.match import match, read_captions
from regard.decoding.paint import paint, text_ids
from regard.errors import RegardError
from regard.insight import bundle, views
from regard.insight.contract import Question
from regard.insight.explain import explain
from regard.insight.explore import Memory, application
from regard.insight.figures import save, terminal
from regard.insight.overlays import laid_over
from regard.insight.overlays import terminal as picture_in_text
from regard.insight.trace import Patches, record, to_json
from regard.insight.views import ask
from regard.insight.ways import way_of
from regard.model.attention import Attention
from regard.run import TEXT, Run
from regard.tokens.image import to_tensor
from regard.tokens.text import BOS, EOS
from unpacking import unpacked

PROMPT, MASKED, CAPTION = "The animal", "The [MASK] is wide, [MASK].", "a red circle"


def looked(run: Run, given: Any, **more: Any) -> views.Answer:
    question = way_of(run).question(given)
    return ask(run, question.model_copy(update=more))


KINDS: dict[str, tuple[Any, Any]] = {  # how a run is made, and what it is given
    "writes": (untrained.writer, PROMPT),
    "writes, post-norm": (lambda: untrained.writer(family="gpt"), PROMPT),
    "writes, in bands": (lambda: untrained.writer(family="gpt3", band=3), PROMPT),
    "fills": (lambda: untrained.reader("fill"), MASKED),
    "classifies": (lambda: untrained.reader("classify"), "The street is wide."),
    "tags": (lambda: untrained.reader("tag", family="roberta"), "The street is wide."),
    "sees": (untrained.seer, untrained.photograph()),
    "sees, without a class token": (lambda: untrained.seer(summary="mean", norm="post"), untrained.photograph()),
    "paints": (untrained.painter, CAPTION),
    "compares": (untrained.judge, untrained.photograph()),
}
for position in ("halves", "rotary", "alibi", "shaw", "t5"):
    KINDS[f"writes, {position}"] = (lambda position=position: untrained.writer(position=position), PROMPT)
KINDS["writes, newer"] = (lambda: untrained.writer(norm_kind="rms", gated=True, activation="swish"), PROMPT)


@pytest.fixture(params=KINDS)
def answer(request) -> views.Answer:
    make, given = KINDS[request.param]
    return looked(make(), given)


@torch.no_grad()
def test_what_is_shown_is_what_the_network_computed(answer):
    """Weights, logits and sublayer outputs of a pass made by hand over what the lines say was read."""
    run, seen, look = answer.run, answer.seen, views.look(answer)
    with record(run.model) as trace:
        if seen.trace.patches is not None and not seen.read:
            pictures = to_tensor(seen.trace.patches.pixels[None])
            captions = read_captions(run, run.settings.data.labels) if run.task == "match" else None
            logits = run.model(pictures) if captions is None else run.model.likeness(run.model.see(pictures), captions)
        elif seen.read:
            logits = run.model(torch.tensor([[token.id for token in look.read.tokens]]))[0]
        else:
            ids = torch.tensor([[token.id for token in look.source.tokens]])
            states = run.model.states(ids, torch.ones_like(ids, dtype=torch.bool))
            said = getattr(run.model, run.task)(states)
            logits = said[0, look.places] if look.places else said
    [kind] = look.weights
    torch.testing.assert_close(unpacked(look.weights[kind]), torch.from_numpy(trace.maps(kind)))
    control = sorted(run.tokenizers[TEXT].control) if run.task == "fill" else []
    logits[:, control] = -torch.inf
    for row, step in zip(logits, look.steps, strict=True):
        assert step.chosen.probability == pytest.approx(row.softmax(-1)[step.chosen.id].item(), abs=1e-5)
        assert [option.id for option in step.options] == row.topk(len(step.options)).indices.tolist()
        assert step.options[0].logit == pytest.approx(row.max().item(), abs=1e-4)


@torch.no_grad()
def test_the_six_steps_of_all_heads_make_the_sublayers_output(answer):
    """Also where positions turn queries and keys, bias the scores or add to the values."""
    [attending] = views.machine(answer.run).kinds
    for layer in range(attending.layers):
        steps = [views.head(answer, attending.kind, layer, head) for head in range(3)]
        name = answer.attention(attending.kind, layer)
        attention: Any = answer.run.model.get_submodule(name)
        x, memory, mask = answer.seen.given[name]
        z = torch.cat([unpacked(each.z) for each in steps], dim=-1)
        torch.testing.assert_close(attention.output(z), attention(x, memory, mask)[0], atol=1e-5, rtol=1e-4)
        for each in steps:
            hidden = torch.tensor(each.masked) if each.masked else torch.zeros(each.scaled.shape, dtype=torch.bool)
            weights = unpacked(each.scaled).masked_fill(hidden, -torch.inf).softmax(-1)
            torch.testing.assert_close(unpacked(each.weights), weights, atol=1e-5, rtol=1e-4)


def test_the_machine_accounts_for_every_parameter_and_the_lines_fit_the_maps(answer):
    machine, look = views.machine(answer.run), views.look(answer)
    assert sum(part.parameters for part in machine.parts) == answer.run.size
    assert [stack.layers for stack in machine.stacks] == [2]
    [attending] = machine.kinds
    rows, columns = (len(getattr(look, line).tokens) for line in (attending.rows, attending.columns))
    assert look.weights[attending.kind].shape == (2, 3, rows, columns)
    assert {figures.kind for figures in look.heads} == {attending.kind}
    assert len(look.steps) == len(look.target.tokens) == len(answer.seen.trace.target)
    assert look.places == [] or len(look.places) == len(look.steps)
    assert ("picture" in machine.panels) == (look.picture is not None)
    for line in (look.source, look.read, look.target):
        for number, word in enumerate(line.words):
            assert [token.word for token in line.tokens[word.start : word.end]] == [number] * (word.end - word.start)


@torch.no_grad()
def test_what_enters_the_stack_is_token_and_position(answer):
    [stack] = views.machine(answer.run).stacks
    vectors, flow = views.vectors(answer, stack.line), views.flow(answer, stack.name)
    embedding, position, whole = map(unpacked, (vectors.embedding, vectors.position, vectors.sum))
    torch.testing.assert_close(embedding + position, whole)
    states = unpacked(flow.states)
    assert len(states) == len(flow.names)
    first = answer.seen.given[answer.attention(answer.way.kinds[0], 0)][0]  # what the first attention reads
    block = answer.run.model.get_submodule(stack.name).blocks[0]
    normed = block.around_self.norm(states[0]) if answer.run.settings.model.norm == "pre" else states[0]
    torch.testing.assert_close(normed, first[0], atol=1e-5, rtol=1e-4)
    other: Any = {"source": "read", "read": "source"}[stack.line]
    missing: Any = {"encoder": "decoder", "decoder": "encoder"}[stack.name]
    with pytest.raises(RegardError, match=f"this run has no line {other}: it has {stack.line}"):
        views.vectors(answer, other)
    with pytest.raises(RegardError, match=rf"this run has no {missing}: it has {stack.name}$"):
        views.flow(answer, missing)


def test_every_kind_fits_into_one_file(answer):
    sent = json.loads(views.to_json(views.offline(answer)))
    assert sent["machine"]["live"] is False
    assert len(sent["heads"]) == 2 * 3
    assert len(sent["vectors"]) == len(sent["flows"]) == 1


@torch.no_grad()
def test_heads_off_and_no_positions_hold_for_every_kind(answer):
    [kind] = answer.way.kinds
    changed = ask(answer.run, answer.question.model_copy(update={"off": (f"{kind}.1.2",)}))
    assert not torch.equal(changed.seen.logits, answer.seen.logits)
    bare = ask(answer.run, answer.question.model_copy(update={"positions": False}))
    [stack] = views.machine(answer.run).stacks
    assert not unpacked(views.vectors(bare, stack.line).position).any()
    again = ask(answer.run, answer.question)
    torch.testing.assert_close(again.seen.logits, answer.seen.logits, msg="and all is as it was")


# Writing on


def test_the_text_is_the_one_that_a_beam_finds():
    run = untrained.writer()
    look = views.look(ask(run, Question(text=PROMPT)))
    [found, _] = regard.generate(run, PROMPT, tokens=24, n=2, beam=2)
    assert look.translation == PROMPT + found.text == explain(run, PROMPT).translation
    given = run.writer.encode(PROMPT)
    ended = [EOS] if found.finished else []
    assert [token.id for token in look.target.tokens] == [*given, *found.ids, *ended]
    assert [token.id for token in look.read.tokens] == [BOS, *[token.id for token in look.target.tokens][:-1]]
    assert [step.forced for step in look.steps] == [place < len(given) for place in range(len(look.steps))]
    assert look.beam
    assert [node.id for node in look.beam.nodes if node.best] == [*found.ids, *ended]
    weights = unpacked(look.weights["decoder"])
    assert not weights.triu(1).any(), "nothing looks ahead"
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-4, rtol=0)


def test_another_token_can_be_forced_in_the_prompt_and_after_it():
    run = untrained.writer()
    given = run.writer.encode(PROMPT)
    for prefix in ([*given[:4], *run.writer.encode("s")], [*given, *run.writer.encode("is")]):
        look = views.look(ask(run, Question(text=PROMPT, prefix=tuple(prefix))))
        assert [token.id for token in look.target.tokens][: len(prefix)] == prefix
        assert sum(step.forced for step in look.steps) == len(prefix) < len(look.steps)
    ended = views.look(ask(run, Question(text=PROMPT, prefix=(*given, EOS))))
    assert [token.id for token in ended.target.tokens] == [*given, EOS]
    assert ended.beam is None


@torch.no_grad()
def test_without_the_mask_a_writer_looks_ahead():
    run = untrained.writer()
    answer = ask(run, Question(text=PROMPT, mask=False))
    read = torch.tensor([answer.seen.read])
    logits = run.model.logits(run.model.decoder(run.model.position(run.model.embedding(read)), None))[0]
    torch.testing.assert_close(answer.seen.logits, logits)
    assert unpacked(views.look(answer).weights["decoder"]).triu(1).any()


def test_a_prompt_in_another_order_is_that_prompt():
    run = untrained.writer()
    assert [word.text for word in way_of(run).typed(Question(text="The animal is")).words] == ["The", "animal", "is"]
    moved = views.look(ask(run, Question(text="The animal is", order=(1, 2))))
    ids = [token.id for token, step in zip(moved.target.tokens, moved.steps, strict=True) if step.forced]
    assert run.writer.decode(ids) == " animal is"


@pytest.mark.parametrize(("block", "window"), [(0, 50), (20, 20)])
def test_nothing_is_looked_at_where_no_token_stood_in_training(block: int, window: int):
    """Positions that are computed have no end; those that it was trained at have."""
    run = untrained.writer(position="halves")
    data = run.settings.data.model_copy(update={"block": block})
    run.settings = run.settings.model_copy(update={"data": data})
    assert len(explain(run, "a" * (window - 3)).read) <= window == views.limit(run)
    with pytest.raises(RegardError) as caught:
        explain(run, "a" * 60)
    assert str(caught.value) == f"a text of 61 tokens is too long to look at: give one of at most {window}"


# Filling in, classes and tags


def test_the_words_at_the_masks_are_those_that_fill_finds():
    run = untrained.reader("fill")
    look, found = views.look(ask(run, Question(text=MASKED))), fill(run, MASKED)
    assert [look.source.tokens[place].piece for place in look.places] == ["[MASK]", "[MASK]"]
    for step, candidates in zip(look.steps, found.masks, strict=True):
        assert [option.piece for option in step.options[:5]] == [each.token for each in candidates]
        assert [option.probability for option in step.options[:5]] == pytest.approx(
            [each.probability for each in candidates]
        )
    assert [word.control for word in look.source.words if word.text == "[MASK]"] == [True, True]


def test_a_text_without_a_mask_is_answered_at_every_token():
    run = untrained.reader("fill")
    look = views.look(ask(run, Question(text="The street is wide.")))
    assert look.places == list(range(1, len(look.source.tokens) - 1))
    assert all(unpacked(look.weights["encoder"]).flatten() > 0), "each looks at all"


def test_the_class_is_the_one_that_classify_tells():
    run, text = untrained.reader("classify"), "The street is wide."
    look, [found] = views.look(ask(run, Question(text=text))), classify(run, [text], top=2)
    [step] = look.steps
    assert (look.translation, step.chosen.piece) == (found.labels[0], found.labels[0])
    assert [option.probability for option in step.options[:2]] == pytest.approx(found.probabilities)


# Pictures


def test_a_picture_is_classified_as_it_is_elsewhere_and_comes_back_as_it_was_seen(tmp_path):
    run, photograph = untrained.seer(), untrained.photograph()
    Image.fromarray(photograph).save(tmp_path / "x.png")
    [found] = classify(run, [tmp_path / "x.png"], top=5)
    answer = looked(run, tmp_path / "x.png")
    look, trace = views.look(answer), explain(run, photograph)
    assert (look.translation, trace.translation) == (found.labels[0], found.labels[0])
    assert [option.piece for option in look.steps[0].options] == list(found.labels)
    assert [option.probability for option in look.steps[0].options] == pytest.approx(found.probabilities, abs=1e-5)
    assert look.picture
    assert trace.patches
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(look.picture.image.partition(",")[2]))))
    np.testing.assert_array_equal(shown, trace.patches.pixels[..., 0])
    assert (look.picture.height, look.picture.width, look.picture.rows, look.picture.columns) == (8, 12, 2, 3)
    assert [token.piece for token in look.source.tokens] == ["<class>", "1·1", "1·2", "1·3", "2·1", "2·2", "2·3"]
    assert look.question["picture"] == look.picture.image, "a link asks for what was seen"
    again = views.look(ask(run, Question.model_validate(look.question)))
    assert again.steps == look.steps


def test_a_picture_is_compared_with_the_captions_that_the_run_keeps_as_it_is_elsewhere():
    run, photograph = untrained.judge(), untrained.photograph()
    [found] = match(run, [photograph], top=4)
    look = views.look(looked(run, photograph))
    assert look.translation == found.labels[0]
    assert [option.piece for option in look.steps[0].options] == list(found.labels)
    assert [option.probability for option in look.steps[0].options] == pytest.approx(found.probabilities, abs=1e-5)


def test_the_roll_out_is_the_product_of_what_each_layer_passes_on():
    """R_l = (½ A_l + ½ I) R_{l−1}, entry by entry."""
    trace = explain(untrained.seer(), untrained.photograph())
    rolled, maps = trace.rollout("encoder"), trace.encoder.mean(1)
    first, second = ((layer + np.eye(7)) / 2 for layer in maps)
    by_hand = [[sum(second[i, k] * first[k, j] for k in range(7)) for j in range(7)] for i in range(7)]
    np.testing.assert_allclose(rolled[0], first, atol=1e-6)
    np.testing.assert_allclose(rolled[1], by_hand, atol=1e-6)
    np.testing.assert_allclose(rolled.sum(-1), 1, atol=1e-5)


def test_a_run_that_learned_digits_or_shapes_has_some_to_begin_with():
    seer, painter = untrained.seer(), untrained.painter()
    assert views.machine(seer).examples == views.machine(painter).examples == []
    for run, name in ((seer, "digits"), (painter, "shapes")):
        data = run.settings.data.model_copy(update={"pictures": name})
        run.settings = run.settings.model_copy(update={"data": data})
        if name == "digits":
            pytest.importorskip("sklearn", reason="scikit-learn has the digits: pip install scikit-learn")
        examples = views.machine(run).examples
        assert len(set(examples)) >= 5
    first = ask(seer, Question(picture=views.machine(seer).examples[0]))
    assert first.seen.trace.patches
    assert first.seen.trace.patches.pixels.shape == (8, 12, 1)


# Painting


@torch.no_grad()
def test_the_picture_is_the_one_that_is_painted_and_its_patches_look_at_the_words():
    run = untrained.painter()
    [painted] = paint(run, CAPTION)
    answer = ask(run, Question(text=CAPTION))
    look, trace, words = views.look(answer), answer.seen.trace, run.model.config.text_vocabulary
    assert trace.patches
    np.testing.assert_array_equal(trace.patches.pixels, painted.pixels)
    text, codes = text_ids(run, CAPTION), [words + code for code in painted.codes]
    assert [token.id for token in look.read.tokens] == [*text, *codes[:-1]]
    assert [token.id for token in look.target.tokens] == [*text[1:], *codes]
    assert look.picture
    assert look.target.tokens[look.picture.row].id == codes[0], "the row of a patch is the step that paints it"
    assert look.read.tokens[look.picture.column].id == codes[0], "and its column where it is read"
    assert [step.forced for step in look.steps] == [True] * 11 + [False] * 12
    total = sum(np.log(step.chosen.probability) for step in look.steps[11:])
    open_codes = answer.seen.logits[11:].clone()
    open_codes[:, :words] = open_codes[::2, words + 11 :] = open_codes[1::2, words : words + 11] = -torch.inf
    drawn = F.log_softmax(open_codes, -1)[range(12), codes].sum().item()
    assert drawn == pytest.approx(painted.log_probability, abs=1e-3)
    assert total <= drawn


def test_a_code_can_be_forced_and_the_text_cannot():
    run = untrained.painter()
    words, text = run.model.config.text_vocabulary, text_ids(run, CAPTION)
    look = views.look(ask(run, Question(text=CAPTION, prefix=(*text[1:], words + 3, words + 15))))
    assert [token.piece for token in look.target.tokens][11:13] == ["#3", "#15"]
    assert sum(step.forced for step in look.steps) == 13
    for prefix, sentence in (
        (text[1:5], "the text of a picture is given: force a code of the picture, or give another text"),
        ([*text[1:], 7], f"prefix=7 is no token that can be written: give ids of text below {words + 16}"),
        ([*text[1:], *[words] * 13], "prefix has 13 codes, and a picture has 12: force fewer"),
        (
            [*text[1:], words + 10, words + 10],
            "code 10 cannot stand in place 1: patterns and colours take turns, so force one of 11 to 15",
        ),
    ):
        with pytest.raises(RegardError) as caught:
            ask(run, Question(text=CAPTION, prefix=tuple(prefix)))
        assert str(caught.value) == sentence


# Before anyone asks


@pytest.mark.parametrize("make", [untrained.writer, untrained.seer, untrained.painter])
def test_a_server_warms_up_on_what_a_word_can_ask_and_remembers_nothing_of_it(make, monkeypatch):
    """A run that sees is not asked by a word; that is no failure."""
    asked = []
    monkeypatch.setattr(views, "look", lambda answer, look=views.look: asked.append(answer) or look(answer))
    memory = Memory(make())
    memory.warm_up()
    assert len(asked) == (make is not untrained.seer)
    assert not memory.answers


# Traces and files


def orange(pixels: np.ndarray) -> np.ndarray:
    return pixels[..., 0] - pixels[..., 2]


def test_a_trace_of_a_picture_is_drawn_over_it():
    run = untrained.seer()
    trace = explain(run, np.full((8, 12, 1), 128, dtype=np.uint8))
    figure = trace.figure()
    assert len(figure.axes) == 1 + 2 + 1, "the picture, a map for each layer, the roll-out"
    assert len(trace.figure(layer=1).axes) == 1 + 3
    drawn = np.asarray(trace.figure(layer=1, head=2).axes[1].get_images()[0].get_array())
    patches = orange(drawn).reshape(2, drawn.shape[0] // 2, 3, drawn.shape[1] // 3).mean((1, 3)).flatten()
    assert patches.argmax() == trace.encoder[1, 2, 0, 1:].argmax()
    assert (np.argsort(patches) == np.argsort(trace.encoder[1, 2, 0, 1:])).all()
    text = picture_in_text(trace)
    assert len(text.splitlines()) == 2 + 2
    assert "██" in text


def test_a_painted_picture_is_drawn_word_by_word():
    trace = explain(untrained.painter(), CAPTION)
    assert len(trace.figure().axes) == 1 + len(["<s>", "a", "red", "circle", "</s>"])
    lines = picture_in_text(trace).splitlines()[2:]
    assert [len(line.split()) for line in lines] == [6, 6]


def test_a_patch_that_is_an_odd_number_of_pixels_across_is_drawn_over():
    """Of five pixels, each drawn as three, the two codes of a patch have eight and seven."""
    shares = np.zeros((8, 16))
    shares[3, 5] = 1
    patches = Patches(np.full((40, 40, 3), 128, dtype=np.uint8), (8, 16), row=11, column=12)
    rows, columns = np.nonzero(orange(laid_over(patches, shares)) > 0.1)
    assert ({*rows}, {*columns}) == ({*range(45, 60)}, {*range(38, 45)})


def test_traces_of_text_are_drawn_in_the_attention_that_they_have(tmp_path):
    writes, fills = explain(untrained.writer(), PROMPT), explain(untrained.reader("fill"), MASKED)
    assert terminal(writes).startswith("Decoder self-attention, layer 2")
    assert terminal(fills).startswith("Encoder self-attention, layer 2")
    assert len(writes.figure(layer=0).axes) == 1 + 3
    assert writes.figure("The").axes[0].get_label() == "page"
    assert "<svg" in writes._repr_html_()
    save(writes, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["target"][:3] == ["T", "h", "e"]


def test_a_trace_of_a_picture_is_told_whole():
    trace = explain(untrained.seer(), untrained.photograph())
    assert trace.patches
    told = json.loads(to_json(trace))
    assert told["grid"] == [2, 3]
    np.testing.assert_array_equal(told["pixels"], trace.patches.pixels)
    assert '<img src="data:image/png;base64,' in trace._repr_html_()


def test_the_page_of_a_picture_is_one_file(tmp_path):
    trace = bundle.save(untrained.seer(), untrained.photograph(), None, tmp_path / "x.html")
    assert trace.translation in ("ant", "bee", "cow", "dog", "elk")
    assert (tmp_path / "x.html").read_text().count("data:image/png;base64,") >= 2


@pytest.mark.parametrize(
    ("make", "given", "sentence"),
    [
        (untrained.writer, {"text": " "}, "there is nothing to explain in an empty sentence: give some text"),
        (untrained.writer, {"text": "a" * 60}, "a text of 61 tokens is too long to look at: give one of at most 50"),
        (
            untrained.writer,
            {"text": "a", "prefix": [BOS]},
            "prefix=2 is no token that can be written: give ids of text below ",
        ),
        (untrained.seer, {"text": "x"}, "there is no picture to look at: choose an image file"),
        (
            untrained.seer,
            {"picture": "data:image/png;base64,%"},
            "the picture is not valid base64: choose an image file",
        ),
        (
            untrained.seer,
            {"picture": "data:image/png;base64,AAAA"},
            "the picture is not an image that can be read: save it as .png or .jpg",
        ),
        (
            untrained.painter,
            {"text": "a red circle " * 3},
            "a text of 27 tokens is too long to look at: give one of at most 10",
        ),
    ],
)
def test_a_bad_question_is_told_in_one_sentence(make, given, sentence):
    with pytest.raises(RegardError) as caught:
        ask(make(), validate(Question, given, "the question"))
    assert str(caught.value).startswith(sentence)


def test_what_is_no_picture_is_refused():
    with pytest.raises(RegardError, match="a int is no picture: give the path of an image file, or pixels"):
        explain(untrained.seer(), 5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RegardError, match=r"nowhere\.png does not exist: give the path of an image file"):
        explain(untrained.seer(), Path("nowhere.png"))
    for pixels in (np.zeros((8, 12), dtype=np.uint8), np.zeros((8, 12, 1)), np.zeros((8, 12, 4), dtype=np.uint8)):
        with pytest.raises(RegardError) as caught:
            explain(untrained.seer(), pixels)
        assert str(caught.value) == (
            f"pixels of shape {pixels.shape} are no picture: give bytes, (height, width, 1 or 3)"
        )
    with pytest.raises(RegardError, match="a picture of 8,000,001 letters is too large"):
        validate(Question, {"picture": "x" * 8_000_001}, "the question")


@pytest.mark.parametrize(
    ("run", "given", "verb"),
    [
        (untrained.reader("fill", fills=False), MASKED, "does not fill in words"),
        (untrained.seer(classes=0), untrained.photograph(), "does not tell classes apart"),
    ],
    ids=["text", "picture"],
)
def test_a_run_without_a_head_is_not_looked_into(run, given, verb):
    for look in (lambda: explain(run, given), lambda: views.machine(run), lambda: application(run)):
        with pytest.raises(RegardError) as caught:
            look()
        assert str(caught.value) == (
            f"this run was imported without a head, and {verb}: teach it with regard train --set train.start_from=RUN"
        )


def test_attention_is_counted_in_every_kind(answer):
    """All but what reads captions beside a picture, before it is asked about."""
    looking = [name for name, each in answer.run.model.named_modules() if isinstance(each, Attention)]
    assert [name for name in looking if not name.startswith("reader.")] == list(answer.seen.trace.weights)
