"""Text ⇄ ids: nothing is unknown, nothing is lost, and no text can say a control id."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.errors import ConfigError, DataError, RunError
from regard.tokens import text as module
from regard.tokens.text import BOS, EOS, KINDS, PAD, UNKNOWN, TextTokenizer, Token, normalise, seeded

TYPED = ["</s>", "<s>", "<pad>", "<unk>", ">>fr<<", ">>en<<", "<0x41>", "<0x0A>", "<</s>/s>", ">>>fr<<<"]
SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "Le chat est fatigué, la rue est trop large.",
]
CORPUS = SENTENCES + [f"the cat {typed} sat{typed} on {typed}{typed} the mat" for typed in TYPED for _ in range(5)]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> TextTokenizer:
    """Learned from text that is full of typed control tokens."""
    return TextTokenizer.learn(CORPUS, kind=request.param, size=400, languages=["fr", "en"])


def any_text() -> st.SearchStrategy[str]:
    """Any str, lone surrogates included, mixed with what is likely to trip a tokenizer."""
    awkward = [
        *TYPED,
        "▁",
        "▅",
        "\0",
        "\t",
        "\r\n",
        "\u2028",
        "\x85",
        " ",
        "\xa0",
        "e\u0301",
        "\u0338",
        "½²ﬁ",
        "\ufffd",
        "\ufeff",
    ]
    return st.lists(st.text(st.characters(exclude_categories=())) | st.sampled_from(awkward)).map("".join)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=any_text())
def test_every_text_comes_back_and_holds_no_control_id(tokenizer: TextTokenizer, text: str):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == normalise(text)
    assert not tokenizer.control & set(ids)


@settings(max_examples=100)
@given(text=any_text())
def test_normalising_twice_changes_nothing_and_leaves_one_line(text: str):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert len(once.splitlines()) <= 1
    once.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two\t words\r\n", "two words"),
        ("a\u2028b\x85c\vd", "a b c d"),
        ("a▁b", "a b"),
        ("cafe\u0301", "café"),
        ("½ m², ﬁn\xa0!", "½ m², ﬁn\xa0!"),
        ("half \ud83d", "half \ufffd"),
        ("a\0b\x01", "a\0b\x01"),
        (" \n ", ""),
    ],
)
def test_the_rule_of_normalisation(text: str, expected: str):
    assert normalise(text) == expected


@pytest.mark.parametrize("typed", TYPED)
def test_a_typed_control_token_is_plain_text(tokenizer: TextTokenizer, typed: str):
    for text in (typed, f"the {typed} cat", f"{typed}{typed}", f"cat{typed}sat"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert not {PAD, UNKNOWN, BOS, EOS, tokenizer.tag("fr"), tokenizer.tag("en")} & set(ids)
        assert typed not in tokenizer.pieces(ids)


def test_the_first_ids_are_control_ids(tokenizer: TextTokenizer):
    assert tokenizer.pieces(range(6)) == ["<pad>", "<unk>", "<s>", "</s>", ">>fr<<", ">>en<<"]
    assert (tokenizer.tag("fr"), tokenizer.tag("en")) == (4, 5)
    assert tokenizer.control == set(range(6))


def test_control_ids_leave_no_trace_in_text(tokenizer: TextTokenizer):
    ids = tokenizer.encode("the cat sat")
    assert tokenizer.decode([BOS, tokenizer.tag("fr"), *ids[:1], UNKNOWN, *ids[1:], EOS, PAD, PAD]) == "the cat sat"
    assert tokenizer.decode([PAD, UNKNOWN, BOS, EOS]) == tokenizer.decode([]) == ""


def test_decode_gives_one_line_even_of_ids_no_text_has(tokenizer: TextTokenizer):
    """A model may write any ids: bytes of a newline, or half a character."""
    newline, half = (tokenizer.processor.piece_to_id(piece) for piece in ("<0x0A>", "<0xE2>"))
    cat = tokenizer.encode("cat")
    assert tokenizer.decode([*cat, newline, *cat, newline]) == "cat cat"
    assert tokenizer.decode([*cat, half]) == "cat\ufffd"


def test_an_unknown_language_names_those_there_are(tokenizer: TextTokenizer):
    with pytest.raises(ConfigError, match=r"^the tokenizer has no language 'de': it knows fr, en$"):
        tokenizer.tag("de")
    with pytest.raises(ConfigError, match=r"^the tokenizer has no language 'de': it was learned without languages$"):
        TextTokenizer.learn(SENTENCES, size=300).tag("de")


def test_steps_show_what_encode_does():
    tokenizer = TextTokenizer.learn(["the cat sat"] * 4 + ["on the mat"] * 4, kind="bpe", size=320)
    steps = tokenizer.steps("  the\tcat €")
    space, *euro = tokenizer.encode("€")
    assert steps.normalised == "the cat €"
    assert steps.tokens == (
        Token("▁the", tokenizer.processor.piece_to_id("▁the"), 0, 3),
        Token("▁cat", tokenizer.processor.piece_to_id("▁cat"), 3, 7),
        Token("▁", space, 7, 8),
        Token("<0xE2>", euro[0], 8, 9),
        Token("<0x82>", euro[1], 8, 9),
        Token("<0xAC>", euro[2], 8, 9),
    )


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=any_text())
def test_steps_cover_the_text_in_order(tokenizer: TextTokenizer, text: str):
    steps = tokenizer.steps(text)
    assert [token.id for token in steps.tokens] == tokenizer.encode(text)
    spans = list(dict.fromkeys((token.start, token.end) for token in steps.tokens))
    assert "".join(steps.normalised[start:end] for start, end in spans) == steps.normalised == normalise(text)
    for token in steps.tokens:
        if not tokenizer.processor.is_byte(token.id):
            assert steps.normalised[token.start : token.end].strip(" ") == token.piece.strip("▁")


def test_size_is_a_ceiling(tokenizer: TextTokenizer):
    assert len(tokenizer) <= 400
    for kind in KINDS:
        for corpus in (["a"], ["</s>"], ["▅"], ["\0"], ["\u0301"], ["aaaa"] * 3, SENTENCES):
            learned = TextTokenizer.learn(corpus, kind=kind)
            assert 260 < len(learned) < 600, "far fewer than the 8000 asked for"
            assert learned.decode(learned.encode("any ▅ text")) == "any ▅ text"


@pytest.mark.parametrize("kind", KINDS)
def test_more_characters_than_places_are_spelled_in_bytes(kind: str):
    corpus = [chr(0x4E00 + i) + chr(0x4E00 + i * 7 % 3000) for i in range(3000)]
    tokenizer = TextTokenizer.learn(corpus, kind=kind, size=300)
    assert len(tokenizer) <= 300
    assert [tokenizer.decode(tokenizer.encode(text)) for text in corpus] == corpus


@pytest.mark.parametrize("kind", KINDS)
def test_learning_is_deterministic_in_other_processes_too(kind: str, tmp_path: Path):
    TextTokenizer.learn(CORPUS, kind=kind, size=350).save(tmp_path / "here")
    script = (
        "import sys, pathlib; from regard.tokens.text import TextTokenizer;"
        "corpus = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').split('\\n');"
        "TextTokenizer.learn(corpus, kind=sys.argv[2], size=350).save(pathlib.Path(sys.argv[3]))"
    )
    (tmp_path / "corpus").write_text("\n".join(CORPUS), encoding="utf-8")
    subprocess.run([sys.executable, "-c", script, tmp_path / "corpus", kind, tmp_path / "there"], check=True)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_long_lines_are_learned_from(kind: str):
    """The trainer would skip this one line, 100 kB of it, and a ▅ would make it skip the line too."""
    tokenizer = TextTokenizer.learn(["▅ " + "regard attention " * 6000], kind=kind)
    assert tokenizer.pieces(tokenizer.encode("regard attention")) == ["▁regard", "▁attention"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", ["x", "the cat sat on the mat. ", "é▅中"])
def test_a_line_of_a_megabyte_is_learned_from_and_encoded(kind: str, line: str):
    text = line * (1_000_000 // len(line.encode()))
    tokenizer = TextTokenizer.learn([text], kind=kind)
    assert tokenizer.decode(tokenizer.encode(text)) == normalise(text)


def test_many_equal_lines_are_learned_from():
    """A log repeats itself; sentencepiece's unigram trainer alone would take hours over it."""
    tokenizer = TextTokenizer.learn(["GET / 200", "GET /favicon.ico 404"] * 30_000)
    assert tokenizer.decode(tokenizer.encode("GET /200 404")) == "GET /200 404"


def test_a_large_corpus_is_sampled_alike_each_time():
    texts = [f"line {i} of many" for i in range(1000)]
    a, b = (TextTokenizer.learn(texts, size=320, most=50) for _ in range(2))
    assert a.pieces(range(len(a))) == b.pieces(range(len(b)))
    assert a.pieces(range(len(a))) != (c := TextTokenizer.learn(texts, size=320)).pieces(range(len(c)))


@pytest.mark.parametrize("texts", [[], ["", " \n", "▁"]])
def test_nothing_to_learn_from_is_said(texts: list[str]):
    with pytest.raises(DataError, match=r"^there is no text to learn a tokenizer from: the corpus is empty$"):
        TextTokenizer.learn(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "word"}, "tokenizer kind=word is unknown: choose one of unigram, bpe"),
        ({"size": 100}, "tokenizer size=100 is too small: bytes and control ids take 260, so give 300 or more"),
        (
            {"languages": ["en", "a b"]},
            "languages=en,a b should be different names of letters and digits, such as en,de",
        ),
        ({"languages": ["en", "en"]}, "languages=en,en should be different names of letters and digits, such as en,de"),
    ],
)
def test_settings_that_cannot_be_are_refused(options: dict, message: str):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        TextTokenizer.learn(SENTENCES, **options)


def test_save_and_load_give_the_same_tokenizer(tokenizer: TextTokenizer, tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    again = TextTokenizer.load(path)
    assert again.languages == tokenizer.languages == ("fr", "en")
    assert len(again) == len(tokenizer)
    assert again.tag("en") == tokenizer.tag("en")
    for text in CORPUS + TYPED:
        assert again.encode(text) == tokenizer.encode(text)


def test_a_missing_or_broken_file_is_said_in_one_sentence(
    tokenizer: TextTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "tokenizer.model"
    missing = f"{path} does not exist: a run keeps its tokenizer there, so copy the run again"
    with pytest.raises(RunError, match=f"^{re.escape(missing)}$"):
        TextTokenizer.load(path)
    with pytest.raises(RunError, match=f"^{re.escape(str(tmp_path))} cannot be read: Is a directory$"):
        TextTokenizer.load(tmp_path)
    tokenizer.save(path)
    whole = path.read_bytes()
    damaged = f"^{re.escape(str(path))} is damaged or not a tokenizer of regard: copy the run again$"
    for broken in (b"", b"junk", b"\0" * 100, whole[:100], whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(broken)
        with pytest.raises(RunError, match=damaged):
            TextTokenizer.load(path)
    monkeypatch.setattr(module, "FILE_LIMIT", 1000)
    path.write_bytes(whole)
    large = f"{path} is larger than 1,000 bytes, which no tokenizer is: copy the run again"
    with pytest.raises(RunError, match=f"^{re.escape(large)}$"):
        TextTokenizer.load(path)


def test_sentencepiece_prints_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    for kind in KINDS:
        TextTokenizer.learn([*SENTENCES, "▅", "\0"], kind=kind).decode(range(300))
    for broken in (b"", b"junk"):
        (tmp_path / "broken").write_bytes(broken)
        with pytest.raises(RunError):
            TextTokenizer.load(tmp_path / "broken")
    assert capfd.readouterr() == ("", "")


def test_sampling_cuts_a_text_in_many_ways_that_all_mean_the_same(tokenizer: TextTokenizer):
    text = SENTENCES[0]
    ways = seeded(1, lambda: [tuple(tokenizer.encode(text, sampling=0.3)) for _ in range(40)])
    assert len(set(ways)) > 10
    assert {tokenizer.decode(way) for way in ways} == {text}
    assert not any(set(way) & tokenizer.control for way in ways)


def test_a_seed_repeats_the_sampling_whatever_was_drawn_before(tokenizer: TextTokenizer):
    def draw() -> list[list[int]]:
        return [tokenizer.encode(text, sampling=0.3) for text in SENTENCES * 5]

    first = seeded(7, draw)
    draw()
    assert seeded(7, draw) == first
    assert seeded(8, draw) != first
