"""The JSON that the explorer draws, against the model's own numbers, computed by other means."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import regard
from regard.config import validate
from regard.demos import translator
from regard.errors import RegardError
from regard.insight import contract, views
from regard.insight.change import switched_off
from regard.insight.contract import Question
from regard.insight.explain import explain
from regard.insight.notebook import to_html
from regard.insight.trace import Trace
from regard.insight.views import ask
from regard.insight.ways.translating import LECTURE, PHRASEBOOK
from regard.insight.words import words
from regard.model import build
from regard.run import Run
from regard.tokens.text import BOS, EOS
from unpacking import unpacked

TEXT = "two five one"
TYPES = Path(__file__).parents[2] / "web" / "src" / "types.ts"


@pytest.fixture(scope="module")
def counted(counting) -> Run:
    return regard.load(counting, on="cpu")


@pytest.fixture
def deep(run) -> Run:
    """Untrained, with two layers that read and four that write, of three heads; it writes nine tokens at most."""
    run.settings = run.settings.model_copy(update={"decode": run.settings.decode.model_copy(update={"max_length": 9})})
    return run


def question(text: str = TEXT, **more) -> Question:
    return Question(text=text, to="fr", **more)


def test_packed_arrays_come_back_as_they_were():
    array = np.random.default_rng(1).normal(size=(2, 3, 5)).astype(np.float32)
    packed = views.pack(array.transpose(2, 0, 1))
    assert packed.shape == (5, 2, 3)
    np.testing.assert_array_equal(unpacked(packed), array.transpose(2, 0, 1))


def test_packed_shares_come_back_to_more_digits_than_are_shown():
    array = np.random.default_rng(1).dirichlet(np.ones(5), size=(2, 3)).astype(np.float32)
    array[0, 0] = [0, 0, 1, 0, 0]
    packed = contract.pack_shares(array.transpose(2, 0, 1))
    assert packed.shape == (5, 2, 3)
    back = unpacked(packed).numpy()
    np.testing.assert_allclose(back, array.transpose(2, 0, 1), atol=0.5 / 65535 + 1e-7)
    np.testing.assert_array_equal(back[:, 0, 0], array[0, 0])  # 0 and 1 are themselves


def test_the_views_have_the_fields_that_the_page_reads(deep):
    """types.ts is what the page believes in: every interface there is a view here, field by field."""
    interfaces = dict(re.findall(r"export interface (\w+) \{\n(.*?)\n\}", TYPES.read_text(), re.DOTALL))
    for name, text in interfaces.items():
        kind = getattr(contract, name)
        fields = re.findall(r"^  (\w+):", text, re.MULTILINE)
        known = kind.model_fields if name == "Question" else kind.__dataclass_fields__
        assert list(known) == fields, name
    sent = json.loads(views.to_json(views.offline(ask(deep, question("The animal is tired.")))))
    assert sent["look"]["question"] == json.loads(question("The animal is tired.").model_dump_json())
    assert sent["machine"]["format"] == sent["look"]["format"] == 2


@pytest.mark.parametrize("text", [TEXT, "seven", "one six three four two"])
def test_the_translation_is_the_one_that_translate_gives(counted, text):
    look = views.look(ask(counted, question(text)))
    [translation] = regard.translate(counted, [text], "fr")
    assert look.translation == translation.text
    assert [token.id for token in look.target.tokens] == [*translation.candidates[0].ids, EOS]
    assert [token.id for token in look.read.tokens] == [BOS, *translation.candidates[0].ids]
    assert [token.id for token in look.source.tokens] == counted.encode_source(text, "fr")
    assert [word.text for word in look.typed.words] == text.split()
    assert [word.text for word in look.source.words] == [">>fr<<", *text.split(), "</s>"]
    assert [word.control for word in look.source.words] == [True, *[False] * len(text.split()), True]
    for line in (look.typed, look.source, look.read, look.target):
        for number, word in enumerate(line.words):
            assert [token.word for token in line.tokens[word.start : word.end]] == [number] * (word.end - word.start)


def test_the_weights_are_those_that_explain_shows(deep):
    trace = explain(deep, "The animal is tired.", "fr")
    look = views.look(ask(deep, question("The animal is tired.")))
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(unpacked(look.weights[kind]), trace.maps(kind), atol=1e-5)


@torch.no_grad()
def test_probabilities_are_the_softmax_of_the_model_s_logits(counted):
    answer = ask(counted, question())
    source, read = (torch.tensor([ids]) for ids in (answer.seen.source, answer.seen.read))
    logits = counted.model(source, read, torch.ones_like(source, dtype=torch.bool))[0]
    probabilities = F.softmax(logits, -1)
    for step, told in enumerate(views.look(answer).steps):
        assert told.chosen.id == answer.seen.target[step]
        assert not told.forced
        assert [option.id for option in told.options] == probabilities[step].topk(views.OPTIONS).indices.tolist()
        for option in (told.chosen, *told.options):
            assert option.piece == counted.target_tokenizer.pieces([option.id])[0]
            assert option.logit == pytest.approx(logits[step, option.id].item(), abs=1e-4)
            assert option.probability == pytest.approx(probabilities[step, option.id].item(), abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_six_steps_lead_from_the_sublayer_s_input_to_its_output(deep, kind):
    """q, k, v → scores → ÷ √d → mask → softmax → values → z; and the z of all heads through W^O are its output."""
    answer = ask(deep, question("The animal is tired."))
    name = answer.seen.trace.named(kind)[1]
    attention = deep.model.get_submodule(name)
    heads = [views.head(answer, kind, 1, number) for number in range(3)]
    for steps in heads:
        q, k, v, scores, scaled, weights, z = (
            unpacked(each) for each in (steps.q, steps.k, steps.v, steps.scores, steps.scaled, steps.weights, steps.z)
        )
        torch.testing.assert_close(scores, q @ k.T)
        torch.testing.assert_close(scaled, scores / 2)  # d = 12 / 3
        masked = torch.tensor(steps.masked) if steps.masked else torch.zeros_like(scores, dtype=torch.bool)
        assert (steps.masked is not None) == (kind == "decoder")
        torch.testing.assert_close(F.softmax(scaled.masked_fill(masked, -torch.inf), -1), weights)
        torch.testing.assert_close(weights @ v, z)
        assert torch.equal(masked, torch.ones_like(masked).triu(1) if kind == "decoder" else masked)
    z = torch.cat([unpacked(steps.z) for steps in heads], dim=1)  # (R, D)
    x, memory, mask = answer.seen.given[name]
    torch.testing.assert_close(z @ attention.output.weight.T + attention.output.bias, attention(x, memory, mask)[0])


@torch.no_grad()
def test_vectors_add_up_and_the_flow_ends_in_the_logits(deep):
    answer = ask(deep, question("The animal is tired."))
    lines: dict[views.Side, Any] = {"source": answer.seen.source, "read": answer.seen.read}
    for side, ids in lines.items():
        vectors = views.vectors(answer, side)
        embedding, position = unpacked(vectors.embedding), unpacked(vectors.position)
        torch.testing.assert_close(embedding, deep.model.source_embedding.table.weight[ids] * 12**0.5)
        torch.testing.assert_close(position, deep.model.source_position.table[: len(ids)])
        torch.testing.assert_close(unpacked(vectors.sum), embedding + position)
    encoder, decoder = views.flow(answer, "encoder"), views.flow(answer, "decoder")
    known = [part.name for part in views.machine(deep).parts]
    assert set(encoder.names) | set(decoder.names) <= set(known)
    assert encoder.names[:3] == ["source_position", "encoder.blocks.0.self_attention", "encoder.blocks.0.feed_forward"]
    assert (len(encoder.names), len(decoder.names)) == (1 + 2 * 2, 1 + 4 * 3)
    torch.testing.assert_close(unpacked(encoder.states)[0], unpacked(views.vectors(answer, "source").sum))
    source = torch.tensor([answer.seen.source])
    memory = deep.model.encode(source, torch.ones_like(source, dtype=torch.bool))
    torch.testing.assert_close(unpacked(encoder.states)[-1], memory[0])
    torch.testing.assert_close(deep.model.logits(unpacked(decoder.states)[-1]), answer.seen.logits)


def test_a_pre_norm_stack_ends_in_its_norm(deep):
    settings = deep.settings.model_copy(update={"model": deep.settings.model.model_copy(update={"norm": "pre"})})
    run = Run(settings, build(settings.model).eval(), deep.tokenizers)
    flow = views.flow(ask(run, question("The animal is tired.")), "encoder")
    assert flow.names[-1] == "encoder.norm"
    parts = views.machine(run).parts
    assert [part.name for part in parts[2:4]] == [
        "encoder.blocks.0.around_self.norm",
        "encoder.blocks.0.self_attention",
    ]
    assert sum(part.parameters for part in parts) == run.size


@pytest.mark.parametrize("tied", ["all", "target", "none"])
@pytest.mark.parametrize("more", [{}, {"embedding_norm": True, "output_bias": True}])
def test_the_parts_hold_all_parameters_once(deep, tied, more):
    model = deep.settings.model.model_copy(update={"tied": tied, **more})
    settings = deep.settings.model_copy(update={"model": model})
    run = Run(settings, build(settings.model), deep.tokenizers)
    machine = views.machine(run)
    assert sum(part.parameters for part in machine.parts) == machine.parameters == run.size
    shares = {part.name: part.shares for part in machine.parts if part.shares}
    assert (
        shares
        == {
            "all": {"target_embedding": "source_embedding", "output": "source_embedding"},
            "target": {"output": "target_embedding"},
            "none": {},
        }[tied]
    )
    assert [part.role for part in machine.parts if part.stack == "decoder"][:6] == [
        "self", "norm", "cross", "norm", "feed", "norm",
    ]  # fmt: skip
    assert (machine.languages, machine.vocabulary["source"], machine.live) == (
        ["en", "fr"],
        len(run.source_tokenizer),
        True,
    )


def test_the_demo_knows_sentences_to_begin_with(deep, counted):
    assert translator.SETTINGS["data"]["source"] == PHRASEBOOK
    assert set(LECTURE) <= {text for text, _ in translator.LECTURE}
    data = deep.settings.data.model_copy(update={"source": PHRASEBOOK})
    deep.settings = deep.settings.model_copy(update={"data": data})
    assert views.machine(deep).examples == list(LECTURE)
    assert views.machine(counted).examples == []
    assert views.machine(counted).name == "counting"


def test_figures_of_a_head_are_means_over_its_rows(deep):
    answer = ask(deep, question("The animal is tired."))
    look = views.look(answer)
    assert len(look.heads) == (2 + 4 + 4) * 3
    ends = [index for index, word in enumerate(look.source.words) if word.control]
    for told in look.heads:
        rows = answer.seen.trace.maps(told.kind)[told.layer, told.head].tolist()
        R, C = len(rows), len(rows[0])
        assert told.entropy == pytest.approx(sum(-w * np.log2(w) for row in rows for w in row if w > 0) / R, abs=1e-4)
        places = [(t + 0.5) * C / R - 0.5 for t in range(R)]
        assert told.distance == pytest.approx(
            sum(w * abs(places[t] - s) for t, row in enumerate(rows) for s, w in enumerate(row)) / R, abs=1e-4
        )
        if told.kind != "cross":
            assert told.self == pytest.approx(sum(rows[t][t] for t in range(R)) / R, abs=1e-5)
            assert told.previous == pytest.approx(sum(rows[t][t - 1] for t in range(1, R)) / R, abs=1e-5)
            assert told.next == pytest.approx(sum(rows[t][t + 1] for t in range(R - 1)) / R, abs=1e-5)
        if told.kind != "decoder":
            assert look.source.tokens[-2].piece == "."
            assert told.punctuation == pytest.approx(sum(row[-2] for row in rows) / R, abs=1e-5)
            assert told.ends == pytest.approx(sum(row[0] + row[-1] for row in rows) / R, abs=1e-5)
    assert ends == [0, len(look.source.words) - 1]


def test_the_heads_that_bind_two_words_are_ranked(deep):
    answer = ask(deep, question("The animal is tired."))
    source = answer.source.words
    animal = next(index for index, word in enumerate(source) if word.text == "animal")
    found = views.find(answer, "encoder", from_=animal, onto=1)
    assert [each.weight for each in found] == sorted((each.weight for each in found), reverse=True)
    assert len(found) == 2 * 3
    for each in found:
        weights = answer.seen.trace.encoder[each.layer, each.head][source[animal].start : source[animal].end]
        shares = [weights[:, word.start : word.end].sum(-1).mean() for word in source]
        assert each.weight == pytest.approx(shares[1], abs=1e-5)
        assert each.rank == 1 + sum(share > shares[1] for share in shares)


# What if


def test_heads_off_are_heads_switched_off(deep):
    text = "The animal is tired."
    answer = ask(deep, question(text, off=("encoder.1.2", "encoder.1.0", "cross.3.1")))
    with (
        switched_off(deep.model, "encoder.blocks.1.self_attention", 0, 2),
        switched_off(deep.model, "decoder.blocks.3.cross_attention", 1),
    ):
        by_hand = explain(deep, text, "fr")
    assert answer.seen.trace.translation == by_hand.translation
    np.testing.assert_allclose(answer.seen.trace.cross, by_hand.cross, atol=1e-6)
    np.testing.assert_allclose(answer.seen.trace.log_probabilities, by_hand.log_probabilities, atol=1e-5)
    plain = explain(deep, text, "fr")
    assert (plain.cross == views.ask(deep, question(text)).seen.trace.cross).all(), "and on again"


@pytest.mark.parametrize("order", [(2, 0, 1), (1,), (0, 2)])
def test_words_in_another_order_are_the_sentence_in_that_order(counted, order):
    look = views.look(ask(counted, question(order=order)))
    text = " ".join(TEXT.split()[place] for place in order)
    plain = views.look(ask(counted, question(text)))
    assert look.source == plain.source
    assert look.translation == plain.translation == next(regard.translate(counted, [text], "fr")).text
    assert [word.text for word in look.typed.words] == TEXT.split(), "what was typed stays"


@torch.no_grad()
def test_without_positions_and_mask_the_pass_is_the_one_made_by_hand(counted):
    answer = ask(counted, question(positions=False, mask=False))
    model, (source, read) = counted.model, (torch.tensor([ids]) for ids in (answer.seen.source, answer.seen.read))
    memory = model.encoder(model.source_embedding(source))
    logits = model.logits(model.decoder(model.target_embedding(read), None, memory))[0]
    torch.testing.assert_close(answer.seen.logits, logits)
    look = views.look(answer)
    assert look.beam is None
    assert not unpacked(views.vectors(answer, "source").position).any()
    ids: list[int] = []  # greedy: each step looks back and forth over all that is written
    forbidden = [0, 1, 2, *counted.target_tokenizer.tags.values()]
    while len(ids) < len(answer.seen.target):
        states = model.decoder(model.target_embedding(torch.tensor([[BOS, *ids]])), None, memory)
        step = model.logits(states[0, -1])
        step[forbidden] = -torch.inf
        ids.append(int(step.argmax()))
    assert ids == answer.seen.target


@pytest.mark.parametrize("mask", [True, False])
def test_a_word_can_be_forced(counted, mask):
    [sept] = counted.target_tokenizer.encode("sept")[:1]
    plain = views.look(ask(counted, question()))
    first = plain.target.tokens[0].id
    look = views.look(ask(counted, question(prefix=(first, sept), mask=mask)))
    assert [token.id for token in look.target.tokens][:2] == [first, sept]
    assert [step.forced for step in look.steps] == [True, True] + [False] * (len(look.steps) - 2)
    ended = views.look(ask(counted, question(prefix=(first, EOS))))
    assert [token.id for token in ended.target.tokens] == [first, EOS]


def test_the_beam_leads_to_the_translation(counted):
    look = views.look(ask(counted, question()))
    assert look.beam
    best = [node for node in look.beam.nodes if node.best]
    assert [node.id for node in best] == [token.id for token in look.target.tokens]
    assert best[-1].fate == "finished"
    assert best[-1].score == max(node.score for node in look.beam.nodes if node.fate == "finished")
    total = sum(np.log(step.chosen.probability) for step in look.steps)
    assert best[-1].log_probability == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": " "}, "there is nothing to explain in an empty sentence: give some text"),
        ({"text": "x" * 10_001}, "the question: a text of 10,001 letters is too long to look at: give at most 10,000"),
        ({"to": "de"}, "to de is not possible: this run translates into en and fr"),
        ({"to": ""}, "this run translates into en and fr: say which, as in --to fr"),
        ({"prefix": [320]}, "prefix=320 is no token that can be written: give ids of text below {vocabulary}"),
        ({"prefix": [BOS]}, "prefix=2 is no token that can be written: give ids of text below {vocabulary}"),
        ({"prefix": [EOS, 9]}, "prefix goes on after </s>: nothing is written after the end"),
        ({"prefix": [-1]}, "the question: prefix.0=-1 should be at least 0"),
        (
            {"off": ["encoder.1"]},
            "the question: off='encoder.1' names no head: write kind.layer.head, such as encoder.0.3",
        ),
        ({"off": ["cross.0.2"]}, "decoder.blocks.0.cross_attention has no head 2: its heads are 0 to 1"),
        ({"order": [0, 0]}, "the question: order names a word twice: each is left once or not at all"),
        ({"order": [3]}, "there is no source word 3: there are 3, counted from 0"),
        ({"order": []}, "order leaves no word of the sentence: leave at least one"),
        ({"mask": "perhaps"}, "the question: mask='perhaps' should be true or false"),
        ({"texd": "a"}, "the question: texd is no setting; did you mean text?"),
    ],
)
def test_a_bad_question_is_told_in_one_sentence(counted, given, sentence):
    with pytest.raises(RegardError) as caught:
        ask(counted, validate(Question, {"text": TEXT, "to": "fr", **given}, "the question"))
    assert str(caught.value) == sentence.format(vocabulary=len(counted.target_tokenizer))


def test_too_many_tokens_are_refused_by_what_the_maps_would_take(counted, monkeypatch):
    monkeypatch.setattr(views, "NUMBERS", 6 * 5**2 + 1)  # three attentions of two heads
    assert views.machine(counted).limit == 5
    with pytest.raises(RegardError, match=r"tokens is too long to look at: give one of at most 5$"):
        ask(counted, question("one two three four five six"))


# Training, and all in one


def test_training_is_told_from_a_line_on(tmp_path):
    assert views.training(tmp_path) == views.Training([], 0)
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "loss": NaN, "name": "x"}\nnonsense\n{"step": 2, "ok": true}\n{"ste'
    )
    assert views.training(tmp_path) == views.Training([{"step": 1}, {}, {"step": 2}], 3)
    assert views.training(tmp_path, after=2) == views.Training([{"step": 2}], 3)
    assert views.training(tmp_path, after=9) == views.Training([], 3)


def test_an_offline_page_carries_the_first_layers_that_fit(deep, monkeypatch):
    whole = views.offline(ask(deep, question("The animal is tired.")))
    assert len(whole.heads) == (2 + 4 + 4) * 3
    assert (whole.machine.live, [each.side for each in whole.vectors]) == (False, ["source", "read"])
    first = [each for each in whole.heads if each.layer == 0]
    size = sum(
        len(base64.b64decode(array.data)) // 4
        for each in first
        for array in (each.q, each.k, each.v, each.scores, each.scaled, each.weights, each.z)
    )
    monkeypatch.setattr(views, "CARRIED", size)
    assert views.offline(ask(deep, question("The animal is tired."))).heads == first


# In a notebook


def test_a_trace_draws_itself(deep):
    trace = explain(deep, "The animal is tired.", "fr")
    assert {axes.get_label() for axes in trace.figure(layer=0, head=1, kinds=["cross"]).axes} == {"legend", "cross 0 1"}
    assert trace.figure("animal", layer=1).axes[0].get_label() == "page"
    html = trace._repr_html_()
    assert html.count("<tr>") == 1 + len(words(trace.target))
    assert "<svg" in html
    assert "<b>The animal is tired.</b>" in html


def test_a_notebook_runs_nothing_of_what_was_typed():
    tokens = ("▁<img", "▁src=x", '▁onerror="alert(1)">', "</s>")
    weights = {"decoder.blocks.0.cross_attention": np.full((1, 2, 4, 4), 0.25, dtype=np.float32)}
    html = to_html(Trace(weights, "<script>alert(1)</script>", '"><b>', tokens, tokens, tokens))
    assert "<script" not in html
    assert "<img" not in html
    assert 'onerror="' not in html
    assert set(re.findall(r"<(\w+)", html)) == {"p", "b", "br", "table", "tr", "th", "td", "svg", "rect", "title"}
    assert to_html(Trace(text="a")) == "<p><b>a</b><br>→ </p><p>attention: none</p>"
