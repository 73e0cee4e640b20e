"""Pictures say what the trace says, in words people can read."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.patches import PathPatch
from rich.cells import cell_len

from regard.errors import ConfigError, DataError, RegardError
from regard.insight import figures
from regard.insight.figures import PALE, compare, figure, focus, look, save, save_figure, terminal
from regard.insight.trace import Trace
from regard.insight.words import by_word, words

SOURCE = (">>fr<<", "▁The", "▁ani", "mal", "▁was", "▁ti", "red", ".", "</s>")
TARGET = ("▁L", "'", "animal", "▁coû", "tait", "▁$", "x", "$", ".", "</s>")


def trace(source=SOURCE, target=TARGET, layers=2, decoder_layers=3, heads=4) -> Trace:
    draw = np.random.default_rng(2)

    def weights(rows, columns, causal=False):
        drawn = draw.random((1, heads, rows, columns), dtype=np.float32) ** 4
        drawn = drawn * np.tri(rows, columns) if causal else drawn
        return drawn / drawn.sum(-1, keepdims=True)

    S, T = len(source), len(target)
    maps = {f"encoder.blocks.{layer}.self_attention": weights(S, S) for layer in range(layers)}
    for layer in range(decoder_layers):
        maps[f"decoder.blocks.{layer}.self_attention"] = weights(T, T, causal=True)
        maps[f"decoder.blocks.{layer}.cross_attention"] = weights(T, S)
    return Trace(maps, "The animal was tired.", "L'animal coûtait $x$.", source, ("<s>", *target[:-1]), target)


# Words


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (SOURCE, [">>fr<<", "The", "animal", "was", "tired", ".", "</s>"]),
        (("▁did", "n", "'", "t", "▁3", ".", "5", "%"), ["didn't", "3.5", "%"]),
        (("▁(", "see", ")", ".", "▁", "x"), ["(", "see", ").", "x"]),
        (("▁It", "<0xE2>", "<0x80>", "<0x99>", "s", "▁", "<0xC3>"), ["It’s", "\ufffd"]),
        (("▁私は", "学生", "です", "。"), ["私は", "学生", "です", "。"]),
        (("▁a\x1b", "[2J"), ["a\ufffd[2J"]),
        (("▁qu", "'", "il", "▁L'", "ani", "mal", "▁c'était"), ["qu'", "il", "L'", "animal", "c'était"]),
        (("▁", "."), ["."]),
        ((), []),
    ],
)
def test_tokens_join_to_words(tokens, expected):
    joined = words(tokens)
    assert [word.text for word in joined] == expected
    assert [i for word in joined for i in range(word.start, word.end)] == list(range(len(tokens))), (
        "none lost, none twice"
    )


def test_a_word_is_looked_at_by_all_its_tokens_and_looks_on_average():
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 0.0, 0.5], [0.4, 0.0, 0.6, 0.0]])
    rows, columns = words(("▁a", "▁b", "c")), words(("▁w", "▁x", "y", "▁z"))
    expected = [[0.1, 0.5, 0.4], [0.2, (0.5 + 0.6) / 2, 0.25]]
    np.testing.assert_allclose(by_word(weights, rows, columns), expected)


# Maps


def test_every_layer_and_head_has_a_map_with_the_tokens_of_the_trace():
    drawn = figure(trace())
    maps = [axes for axes in drawn.axes if axes.get_label() != "legend"]
    assert len(maps) == (2 + 3 + 3) * 4
    for kind, rows, columns in (
        ("encoder", SOURCE, SOURCE),
        ("decoder", TARGET, ("<s>", *TARGET[:-1])),
        ("cross", TARGET, SOURCE),
    ):
        first, second = (next(axes for axes in maps if axes.get_label() == f"{kind} 1 {head}") for head in (0, 1))
        labels = [text.get_text() for text in first.texts]
        assert labels == [token.replace("▁", "_") for token in (*columns, *rows)]
        assert [text.get_text() for text in second.texts] == labels[: len(columns)], "rows are named once, on the left"


def test_a_map_shows_the_weights_and_greys_out_the_future():
    given = trace()
    drawn = {axes.get_label(): axes.images[0].get_array() for axes in figure(given).axes}
    np.testing.assert_array_equal(drawn["cross 2 3"], given.cross[2, 3])
    shown = np.ma.filled(np.ma.asarray(drawn["decoder 0 1"]), np.nan)
    np.testing.assert_array_equal(np.isnan(shown), np.triu(np.ones((10, 10)), 1).astype(bool))


def test_one_layer_and_head_can_be_chosen():
    labels = {axes.get_label() for axes in figure(trace(), layer=-1, head=2).axes}
    assert labels == {"legend", "encoder 1 2", "decoder 2 2", "cross 2 2"}
    assert {axes.get_label() for axes in figure(trace(), layer=0, head=0, kinds=["cross"]).axes} == {
        "legend",
        "cross 0 0",
    }
    deep = {axes.get_label() for axes in figure(trace(), layer=2, head=0).axes}
    assert deep == {"legend", "decoder 2 0", "cross 2 0"}, "the encoder has two layers only"
    with pytest.raises(ConfigError, match=r"^there is no head 5: they are 1 to 4$"):
        figure(trace(), head=4)
    with pytest.raises(ConfigError, match=r"^this trace holds no attention to draw: record a pass through a model$"):
        figure(Trace())


def test_the_picture_is_a_png(tmp_path):
    save(trace(), tmp_path / "maps.PNG", layer=0, head=0)
    assert (tmp_path / "maps.PNG").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(tmp_path / "maps.PNG")
    assert pixels.shape[:2] > (400, 400)
    assert pixels[..., :3].std() > 0.05, "not blank"


def test_a_large_picture_gives_up_resolution(monkeypatch):
    fine = figure(trace(), layer=0)
    monkeypatch.setattr(figures, "MOST_PIXELS", 2e5)
    coarse = figure(trace(), layer=0)
    assert fine.dpi == figures.DPI
    assert np.prod(coarse.get_size_inches() * coarse.dpi) == pytest.approx(2e5)


def test_of_very_many_tokens_not_all_are_named():
    tokens = tuple(f"▁{index}" for index in range(250))
    drawn = figure(trace(tokens, tokens, 1, 1, 1), kinds=["encoder"])
    names = [text.get_text() for text in drawn.axes[1].texts]
    assert names == 2 * [f"_{index}" for index in range(0, 250, 3)]


def test_what_no_font_has_is_drawn_without_a_warning(tmp_path):
    """Warnings fail tests; a private-use character is in no font."""
    given = trace(("▁\U000f1234", "▁naïve", "</s>"), ("▁\U000f1234", "</s>"), 1, 1, 1)
    save(given, tmp_path / "a.png")
    save_figure(focus(given, 0), tmp_path / "b.png")


def test_saving_says_what_is_wrong(tmp_path):
    with pytest.raises(RegardError, match=r"ends in neither \.png nor \.json: a picture is written as \.png"):
        save(trace(), tmp_path / "a.gif")
    with pytest.raises(RegardError, match=r"cannot be written: No such file or directory$"):
        save(trace(), tmp_path / "nowhere" / "a.json")


# One word's look


def test_a_look_is_of_words_and_sums_to_one():
    given = trace()
    one = look(given, "ANIMAL", layer=1, head=3)
    assert [word.text for word in one.columns] == [">>fr<<", "The", "animal", "was", "tired", ".", "</s>"]
    assert one.weights.sum() == pytest.approx(1)
    assert one.weights[4] == pytest.approx(given.encoder[1, 3, 2:4, 5:7].sum() / 2)
    mean = look(given, 2, layer=1)
    np.testing.assert_allclose(
        mean.weights, np.mean([look(given, 2, layer=1, head=h).weights for h in range(4)], axis=0), rtol=1e-5
    )
    with pytest.raises(DataError, match=r"^there is no word 'street' among: >>fr<< The animal was tired \. </s>$"):
        look(given, "street")


def test_two_sentences_under_each_other_show_the_same_head():
    tired, wide = trace(), trace((*SOURCE[:5], "▁wide", ".", "</s>"))
    drawn = compare([tired, wide], "animal", layer=0, head=1)
    texts = [text.get_text() for text in (*drawn.texts, *drawn.axes[0].texts)]
    assert "Encoder self-attention, layer 1, head 2" in texts
    assert {"tired", "wide"} <= set(texts)
    bold = {
        text.get_text()
        for text in drawn.axes[0].texts
        if text.get_fontweight() == "bold" and "%" not in text.get_text()
    }
    assert bold == {"tired", "wide", "animal"}, "what differs, and the word that looks"
    shares = {text.get_text() for text in drawn.axes[0].texts if "%" in text.get_text()}
    for each in (tired, wide):
        weights = look(each, "animal", layer=0, head=1).weights
        assert {f"{weight:.0%}" for weight in weights if weight >= 0.05} <= shares


def test_the_wider_the_line_the_more_it_looks():
    given = trace()
    lines = [
        patch
        for patch in focus(given, "was", layer=0, head=0, kind="encoder").axes[0].patches
        if type(patch) is PathPatch
    ]
    weights = np.delete(look(given, "was", layer=0, head=0).weights, 3)  # no line to itself
    widths = [line.get_linewidth() for line in lines]
    assert np.argsort(widths).tolist() == np.argsort(weights[weights > 0.005]).tolist()


def test_what_is_not_yet_written_is_pale():
    page = focus(trace(), "coûtait", kind="decoder").axes[0]
    assert {text.get_text() for text in page.texts if text.get_color() == PALE} == {"$x$", "."}


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_long_sentence_is_broken_into_lines(kind, tmp_path):
    long = trace(SOURCE * 7, TARGET * 6, 1, 1, 1)
    drawn = focus(long, 20, kind=kind)
    assert drawn.get_figwidth() < 12.5
    save_figure(drawn, tmp_path / "long.png")


# The terminal


def test_the_terminal_has_a_row_for_each_target_word_and_a_column_for_each_source_word():
    picture = terminal(trace())
    lines = picture.splitlines()
    assert lines[0] == "Cross-attention, layer 3, mean of 4 heads"
    assert lines[2].split() == [">>fr<<", "The", "animal", "was", "tired", ".", "</s>"]
    assert [line.split()[0] for line in lines[3:9]] == ["L'", "animal", "coûtait", "$x$", ".", "</s>"]
    assert not lines[9]
    assert lines[10] == "from  5% ░  15% ▒  35% ▓  60% █"


def test_the_terminals_shades_are_the_weights():
    weights = np.array([[[[0.62, 0.30, 0.06, 0.02], [0.0, 0.0, 0.45, 0.55]]]])
    given = Trace(
        {"decoder.blocks.0.cross_attention": weights},
        source=("▁ab", "▁c", "▁d", "</s>"),
        read=("<s>", "▁x"),
        target=("▁x", "▁y"),
    )
    lines = terminal(given, head=0).splitlines()
    assert lines[3:5] == ["x ██ ▒ ░  ·", "y ·  · ▓ ▓▓▓▓"]


@pytest.mark.parametrize(("times", "width"), [(1, 44), (3, 80), (7, 88), (30, 100)])
def test_the_terminal_picture_fits(times, width):
    picture = terminal(
        trace(SOURCE * times, (*TARGET, "▁Donaudampfschifffahrtsgesellschaft", "▁私は"), 1, 1, 2), width=width
    )
    assert max(cell_len(line) for line in picture.splitlines()) <= width
    columns = sum(len(re.findall("[░▒▓█·]+", line)) for line in picture.splitlines() if "</s>" in line and "·" in line)
    assert columns, "there is something to see"


def test_upright_names_can_be_read_downwards():
    lines = terminal(trace(), width=36).splitlines()
    columns = ["".join(letters).strip() for letters in zip(*(line.ljust(36) for line in lines[2:8]), strict=True)]
    assert [name for name in columns if name] == [">>fr<<", "The", "animal", "was", "tired", ".", "</s>"]
