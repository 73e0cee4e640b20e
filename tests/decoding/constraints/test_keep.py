"""Translating with demands: literals intact, tags around the right words, terms in their places, the rest as ever."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from counting import NUMBERS, pairs
from regard.config import DecodeConfig
from regard.decoding.constraints import keep as module
from regard.decoding.constraints.keep import Keeper
from regard.decoding.constraints.standin import stand_ins
from regard.decoding.constraints.terms import Glossary
from regard.errors import ConfigError
from regard.model import build
from regard.run import Run
from regard.tokens.text import TextTokenizer
from traded import random_run

CONFIG = DecodeConfig(beam=3)


@pytest.fixture(scope="module")
def run(counting):
    return regard.load(counting)


def best(keeper: Keeper, *texts: str, to: str | None = "fr", config: DecodeConfig = CONFIG):
    return [each[0] for each in keeper.translate([(text, to) for text in texts], config)]


def test_without_demands_texts_are_translated_as_ever(run):
    lines = ["one two", "", "seven six five four", "  ", "!!", "three"]
    plain = [each.text for each in regard.translate(run, lines, to="fr", beam=3, engine="torch")]
    assert [each.text for each in best(Keeper(run), *lines)] == plain


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("<b>one</b> two", "<b>un</b> deux"),
        ("one <b>two three</b> four", "un <b>deux trois</b> quatre"),
        ("<p>one <b>two <i>three</i></b></p>", "<p>un <b>deux <i>trois</i></b></p>"),
        ("one <b> two </b> five", "un <b> deux </b> cinq"),
        ("one<br/>two", "un<br/>deux"),
        ("one <br/> two &nbsp; five", "un <br/> deux &nbsp; cinq"),
        ("one <i></i>two", "un <i></i>deux"),
        ("<br/>one two<br/>", "<br/>un deux<br/>"),
        ('<a href="http://x.y/{z}">five</a>', '<a href="http://x.y/{z}">cinq</a>'),
    ],
)
def test_tags_stand_around_the_translation_of_what_they_held(run, text, translation):
    assert [(each.text, each.unmet) for each in best(Keeper(run), text)] == [(translation, ())]


def test_terms_replace_the_model_s_own_words(run):
    keeper = Keeper(run, Glossary({"two": ("II",), "five": ("the fist", "une main"), "six seven": ("treize",)}))
    texts = ["one two three", "six seven five", "one <b>two</b> three"]
    kept = best(keeper, *texts)
    assert [each.unmet for each in kept] == [()] * 3
    assert kept[0].text == "un II trois"
    assert re.search("treize (the fist|une main)$", kept[1].text)
    assert kept[2].text == "un <b>II</b> trois"


def test_a_term_that_comes_twice_is_there_twice_or_said_to_be_missing(run):
    """No number came twice in what the network was taught, so it may write one where two were asked for."""
    (kept,) = best(Keeper(run, Glossary({"two": ("II",)})), "two two")
    assert (kept.text.split().count("II"), kept.unmet) in [(2, ()), (1, ("II (1 of 2)",))]


def test_a_term_that_the_model_writes_itself_is_left_alone_and_one_that_opens_a_sentence_gets_its_capital(run):
    assert best(Keeper(run, Glossary({"two": ("deux", "II")})), "one two")[0].text == "un deux"
    words = [module.Word("", "Un"), module.Word(" ", "chien"), module.Word("", ".")]
    assert module.joined(module.put(words, (0, 2), "le chat")) == "Le chat."
    assert module.joined(module.put(words, (1, 2), "chat")) == "Un chat."
    assert module.joined(words) == "Un chien."


def test_a_term_is_never_run_together_with_the_words_beside_it(run):
    words = [module.Word("", "abat"), module.Word("", "-"), module.Word("", "jour"), module.Word("", ".")]
    assert module.joined(module.put(words, (1, 2), "et")) == "abat et jour."
    assert module.joined(module.put(words, (3, 4), "là")) == "abat-jour là"
    assert module.joined(module.put(words, (1, 2), "&")) == "abat&jour."


def test_a_word_takes_the_place_of_a_word_and_a_sign_that_of_a_sign(run):
    """Whatever hangs on what: here all on the comma and on the full stop."""
    keeper = Keeper(run, Glossary({"two": ("II",), "?": ("!",)}))
    order = keeper.order("one two?", "fr")
    words = [module.Word("", "un"), module.Word("", ","), module.Word(" ", "deux"), module.Word("", ".")]
    hangs_on = [[1.0, 0.0, 0.0], [0.1, 0.9, 0.0], [0.3, 0.4, 0.3], [0.0, 0.4, 0.6]]
    keeper.put_terms(order, words, hangs_on, CONFIG, "fr")
    assert module.joined(words) == "un, II!"


ADVERSARIAL = [
    "{name}",
    "%1$s",
    "https://a.b/c?d={e}&f=%20g",
    "x@y.org",
    "[[</s> <unk> ▁ >>fr<<]]",
    "[[  two  spaces e\u0301 \N{CAT FACE} 日本]]",
    "{{ six }}",
]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(ADVERSARIAL), st.sampled_from([*NUMBERS]), st.sampled_from(["", " "])),
        min_size=1,
        max_size=4,
    )
)
def test_literals_come_out_to_the_letter_wherever_they_stand(run, parts):
    text = " ".join(f"{word}{space}{literal}" for literal, word, space in parts)
    keeper = Keeper(run, keep=[r"\[\[(.+?)\]\]"])
    keeper.stand_ins["fr"] = stand_ins(run, "fr")
    [kept] = best(keeper, text)
    assert kept.unmet == ()
    for literal in ADVERSARIAL:
        inner = literal.removeprefix("[[").removesuffix("]]")
        assert kept.text.count(inner) == sum(each == literal for each, _, _ in parts), (text, kept.text)


def test_a_literal_at_the_edge_of_a_sentence_keeps_its_own_spaces():
    assert module.bare([" ", "  two  ", " ", "un", "  "]) == "  two   un"
    assert module.bare([" <b> ", "un", " ", "  two  ", " </b>  "]) == "<b> un   two   </b>"
    assert module.bare([" ", "", " un", "", "  <br/> "]) == "un  <br/>"


def test_a_literal_touches_what_it_touched_and_stands_in_its_place(run):
    kept = best(Keeper(run), "one {a} two", "one ({a}) five", 'one "{a}" six', "five {a}{b} one")
    assert kept[0].text == "un {a} deux"
    assert all("( {a}" not in each.text and "{a} )" not in each.text for each in kept)
    assert [each.unmet for each in kept] == [()] * 4


def test_a_text_of_literals_alone_stays_as_it_is(run):
    kept = best(Keeper(run, keep=[r"\[\[(.+?)\]\]"]), "{a} <b>{b}</b>!", "[[one]]")
    assert [each.text for each in kept] == ["{a} <b>{b}</b>!", "one"]


def test_an_address_behind_the_sentence_is_not_read(run):
    order = Keeper(run).order("one two. https://x.y/z", "fr")
    assert (order.reads, order.standing) == ("one two.", {})
    assert Keeper(run).order("one https://x.y/z two.", "fr").standing
    assert Keeper(run).order("one. {a} <b>{b}</b>", "fr").standing == {}
    assert Keeper(run, Glossary({"two": ("II",)})).order("one. {a} <b>two</b>", "fr").standing, "a term is a word, too"


def test_what_cannot_be_met_is_said(run):
    kept = best(Keeper(run), "one {a} {b} {c}", config=DecodeConfig(beam=2, max_length=2))
    assert len(kept[0].unmet) == 1
    assert kept[0].unmet[0] in ("{a}", "{b}", "{c}")
    assert sum(literal in kept[0].text for literal in ("{a}", "{b}", "{c}")) == 2


def test_the_same_text_in_any_batch(run):
    """Random parameters, whose choices are near-ties."""
    torch.manual_seed(3)
    model = build(run.settings.model).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.3)
    keeper = Keeper(Run(run.settings, model, run.tokenizers), Glossary({"two": ("II",)}))
    texts = [
        f"{pair.source} {'{x}' * (i % 3)} <b>{pair.source}</b> {'{y}' * (i % 2)}" for i, pair in enumerate(pairs(14, 6))
    ]
    config = DecodeConfig(beam=3, max_length=20)
    together = best(keeper, *texts, config=config)
    alone = [best(keeper, text, config=config)[0] for text in texts]
    assert [each.text for each in together] == [each.text for each in alone]
    assert [each.hypothesis.score for each in together] == pytest.approx(
        [each.hypothesis.score for each in alone], abs=1e-4
    )


def test_a_sentence_that_hung_by_a_hair_is_searched_again_alone(run, monkeypatch):
    keeper, counted = Keeper(run), []
    real = keeper.search_batch

    def watched(ordered, config):
        counted.append(len(ordered))
        found = real(ordered, config)
        if len(ordered) > 1:
            found[0].margin = 1e-6  # as if the first had hung by a hair
            found[0].hypotheses = found[0].hypotheses[::-1]  # and fallen the wrong way
            found[1].margin = 1.0
        return found

    texts = ["one {a}", "one two {a} three"]
    expected = [best(keeper, text)[0].text for text in texts]
    monkeypatch.setattr(keeper, "search_batch", watched)
    assert [each.text for each in best(keeper, *texts)] == expected
    assert counted == [2, 1]


def test_no_more_lines_are_searched_together_than_were_asked_for(run, monkeypatch):
    sizes, real = [], Keeper.search_batch
    monkeypatch.setattr(Keeper, "search_batch", lambda self, *given: sizes.append(len(given[0])) or real(self, *given))
    list(regard.translate(run, ["one {a}", "two {a}", "six {b}", "{a} five", "{c} one"], to="fr", keep=True, batch=2))
    assert max(sizes) == 2


def test_several_translations_of_one_text_each_keep_what_was_demanded(run):
    [kept] = Keeper(run).translate([("<b>one</b> {a} two", "fr")], CONFIG, n_best=3)
    assert len(kept) == 3
    assert len({each.text for each in kept}) > 1
    assert all(each.unmet == () for each in kept)
    assert all(re.search("<b>.+</b>", each.text) and each.text.count("{a}") == 1 for each in kept)


def test_drawing_and_literals_do_not_go_together(run):
    expected = "^placeholders and the like are searched for with one beam: set groups=1 and samples=0$"
    with pytest.raises(ConfigError, match=expected):
        best(Keeper(run), "one {a}", config=DecodeConfig(samples=2))
    assert best(Keeper(run), "<b>one</b>", config=DecodeConfig(samples=2))[0].unmet == ()


def test_a_vocabulary_without_words_has_no_stand_ins_and_literals_are_placed_like_marks(tmp_path):
    """Three signs that never stand together: every token is a sign or a byte."""
    tokenizer = TextTokenizer.learn(["+", "-", "="], size=300)
    keeper = Keeper(random_run((tokenizer, tokenizer), tmp_path))
    assert stand_ins(keeper.run) == {}
    [kept] = best(keeper, "one {a} two", to=None)
    assert kept.text.count("{a}") == 1
    assert kept.unmet == ()


def test_stand_ins_are_words_that_the_model_copies(run):
    words = stand_ins(run, "fr")
    assert next(iter(words.values())) == "six", "it is French, too"
    assert all(run.target_tokenizer.encode(word) == [id] for id, word in words.items())
