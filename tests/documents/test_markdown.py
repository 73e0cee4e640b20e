"""Markdown: prose is translated, and a parser of others sees the same document around it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from translators import STAR, loud, starred

ROOT = Path(__file__).parents[2]

SAMPLE = """---
title: Keep
---
# Heading *one* {#id}

Setext two
==========

Some **bold text. More bold** and `code *x*` in a
wrapped line with [a link](http://x.y/z_(1) "Title") and ![an alt text](img.png).\x20\x20
Hard break here\\
and there. See <https://a.b> or https://c.d/e_f. 2 * 3 \\* 4 [not link] snake_case.

> A quote that
> goes on. *Emph over
> lines* here.
>
> ```py
> code
> ```

- item one
  continues
- [ ] task *two*
  1. nested

         indented code in nested

  ~~~
  fenced
  ~~~

| Head A | Head **B** |
|--------|:------:|
| cell one | `a\\|b` two |

    indented code

<div>
html *kept*
</div>

Text <b>inline html</b> and <br> break, a footnote[^1]. [Shortcut] and [Coll][] and [full text][Shortcut].

[^1]: The note text.
[Shortcut]: http://s.c "t"
[coll]: http://c
  "title"

***both** mixed* __under__ ~~gone~~ $x^2$ costs $5 and $6. {{ tpl }} &copy; &amp; <!-- c -->

> [!NOTE]
> Callout.

::: warning
Inside.
:::
***
[![badge](b.svg)](http://b)

end"""


def test_prose_is_handed_over_and_nothing_else(through):
    assert through("a.md", SAMPLE).seen == [
        "Heading <b1>one</b1>",
        "Setext two",
        "Some <x1/>bold text.",
        "an alt text",
        "More bold<x1/> and {x2} in a wrapped line with <b3>a link</b3> and {x4}.",
        "Hard break here",
        "and there.",
        "See {x1} or {x2}.",
        "2 * 3 * 4 [not link] snake_case.",
        "A quote that goes on.",
        "<b1>Emph over lines</b1> here.",
        "item one continues",
        "task <b1>two</b1>",
        "nested",
        "Head A",
        "Head <b1>B</b1>",
        "cell one",
        "{x1} two",
        "Text <b1>inline html</b1> and",
        "break, a footnote<x1/>.",
        "<b1>Shortcut</b1> and <b2>Coll</b2> and <b3>full text</b3>.",
        "The note text.",
        "<b1><b2>both</b2> mixed</b1> <b3>under</b3> <b4>gone</b4> {x5} costs $5 and $6.",
        "Callout.",
        "Inside.",
        "badge",
        "end",
    ]


def test_everything_else_stays(through):
    """In capitals the text alone has changed, and a link whose text was its label says its label."""
    text = through("a.md", SAMPLE, loud).text
    kept = [
        "title: Keep",
        "# HEADING *ONE* {#id}",
        "`code *x*`",
        '[A LINK](http://x.y/z_(1) "Title")',
        "> ```py\n> code\n> ```",
    ]
    kept += [
        "         indented code in nested",
        "  ~~~\n  fenced\n  ~~~",
        "| CELL ONE | `a\\|b` TWO |",
        "    indented code\n",
    ]
    kept += [
        "html *kept*",
        "[SHORTCUT][Shortcut] AND [COLL][Coll] AND [FULL TEXT][Shortcut].",
        "[Shortcut]: http://s.c",
        '"title"',
    ]
    kept += [
        "> A QUOTE THAT\n> GOES ON. *EMPH OVER\n> LINES* HERE.\n",
        "IN A\nWRAPPED",
        "![AN ALT TEXT](img.png).  \n",
        "HERE\\\nAND",
    ]
    kept += [
        "***BOTH** MIXED* __UNDER__ ~~GONE~~ $x^2$",
        "{{ tpl }} &copy; &amp; <!-- c -->",
        "> [!NOTE]",
        "::: warning",
        "***\n[![BADGE](",
    ]
    for piece in kept:
        assert piece in text, piece


READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shape(text: str) -> list[str]:
    """A document as another parser reads it, every text put out of sight: tags, addresses, code."""
    html = READER.render(text)
    code = r"<code[^>]*>.*?</code>"
    return [re.sub(r' (?:alt|title)="[^"]*"', "", tag) for tag in re.findall(rf"{code}|<[^>]+>", html, re.DOTALL)]


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.name
)
def test_pages_of_this_project_stay_as_they_are_around_their_prose(through, page):
    text = page.read_text()
    assert through("same.md", text).text == text
    result = through("loud.md", text, lambda sentence: loud(sentence).replace("SS", "ß"))
    assert shape(result.text) == shape(text)
    assert result.report.mended == 0


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("May is here.", "1. Mai", "1\\. Mai"),
        ("May is here.", "- so", "\\- so"),
        ("- May", "# so", "- \\# so"),
        ("# May", "1. Mai", "# 1. Mai"),
        ("May *is*.", "a * b _c_ [d](e) `f` <b> <b1>ist</b1>", "a \\* b \\_c\\_ \\[d\\](e) \\`f\\` \\<b> *ist*"),
        ("| a | b |\n|---|---|\n", "x | y", "| x \\| y | x \\| y |\n|---|---|\n"),
        ("Use 2 * 3 here.", "Nimm *2* hier.", "Nimm \\*2\\* hier."),
        ("Use 2 * 3 here.", "* 3 * 2 hier", "\\* 3 * 2 hier"),
        ("Use 2 * 3 \\* 4 here.", "Nimm 2 * 3 * 4 hier.", "Nimm 2 \\* 3 \\* 4 hier."),
        ("Use a_b here.", "Nimm a_b oder _c_.", "Nimm a_b oder \\_c\\_."),
        ("See [a] here.", "Sieh [a] und [a](b).", "Sieh [a] und \\[a\\](b)."),
        ("- See [x] and [[a b]].", "[x] und [[a b]] und [c].", "- \\[x\\] und [[a b]] und \\[c\\]."),
        ("About ~5 km.", "Etwa ~5 km, ~~so~~.", "Etwa ~5 km, \\~\\~so\\~\\~."),
        ("two lines and\nmore words here", "zwei Zeilen\n- und mehr", "zwei Zeilen\n\\- und mehr"),
    ],
)
def test_nothing_in_a_translation_can_be_markup(through, source, translation, written):
    assert through("x.md", source, lambda _: translation).text == written


SIGN = st.sampled_from(["*", "**", "_", "~~", "~", "[", "]", "[a]", "(u)", ":", "wort", " ", " "])
SIGNS = st.lists(SIGN, max_size=9).map("".join)


@given(SIGNS, SIGNS)
def test_signs_that_are_text_stay_text_wherever_a_translation_puts_them(through, source, translation):
    assume(shape(f"Word {source} here.") == ["<p>", "</p>"])
    result = through("signs.md", f"Word {source} here.", lambda _: f"Wort {translation} hier.")
    assert shape(result.text) == ["<p>", "</p>"]


def test_links_code_and_pictures_outlive_a_translation_that_loses_them(through):
    source = "Use `ls` or [the **manual**](m.md), see ![pic](p.png) and *soon* [^2].\n"
    result = through("lost.md", source, lambda text: "Bild" if text == "pic" else "Nichts")
    assert result.text == "Nichts `ls` [the **manual**](m.md) ![Bild](p.png)[^2].\n".replace("[^2].", "[^2]")
    assert result.report.mended == 1


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("[an [inner](u) link](v)", ["[an <b1>inner</b1> link](v)"]),
        ("A year such as\n1984. Not a list.", ["A year such as 1984.", "Not a list."]),
        ("A list\n1. begins with one", ["A list", "begins with one"]),
        ("3. three\n4. four", ["three", "four"]),
        ("> one\ntwo lazy\n> > three", ["one two lazy", "three"]),
        ("`a` ``b ` c`` `open", ["{x1} {x2} `open"]),
        ("*a **b*** c*d*e _f_g_ **h", ["<b1>a <b2>b</b2></b1> c<b3>d</b3>e <b4>f_g</b4> **h"]),
        ("[a]\n\n[A]: u", ["<b1>a</b1>"]),
        ("[a][b] [c][]", ["[a][b] [c][]"]),
    ],
)
def test_markdown_is_read_as_commonmark_has_it(through, text, seen):
    assert through("r.md", text).seen == seen


def test_front_matter_must_end(through):
    assert through("f.md", "---\nNo end").seen == ["No end"]
    assert through("f.md", "+++\ntitle = 'x'\n+++\nText").seen == ["Text"]
    assert through("f.md", "---\n" + "Line\n\n" * 1000 + "---\n").seen == ["Line"] * 1000


def test_code_and_html_of_any_kind_are_kept(through):
    kept = [
        "```\ncode\n",
        "~~~~\n~~~\ncode\n~~~~\n",
        "> ```\n> code\n",
        "- 9\n\n      code\n",
        "1. ```\n   code\n   ```\n",
        "    code\n\n    more code\n",
        "<!-- text\n\ntext -->\n",
        "<script>\n\ntext\n</script>\n",
        "<?php text\n\n?>\n",
        "<![CDATA[\ntext\n]]>\n",
        "<!DOCTYPE text>\n",
        "<details>\ntext\n",
        "<x-y a='b'>\ntext\n",
        "$$\nx + y\n$$\n",
        "[ref]: <http://a b> 'title'\n",
    ]
    for text in kept:
        seen = through("k.md", f"{text}\nText.\n").seen
        assert seen in (["Text."], []), text
    assert through("k.md", "> ```\n> code\n\nText.\n").seen == ["Text."]


BITS = [
    "word",
    "Two. ",
    "*",
    "**",
    "_",
    "`",
    "``",
    "[",
    "]",
    "(u)",
    "![",
    "<b>",
    "</b>",
    "<",
    "\\",
    "&amp;",
    "~~",
    "|",
    "1",
    "http://a.b",
]
STARTS = [
    "",
    "",
    "> ",
    "- ",
    "1. ",
    "2) ",
    "# ",
    "    ",
    "```",
    "~~~",
    "<div>",
    "<!--",
    "-->",
    "---",
    "===",
    "| a | b |",
    "|---|---|",
    "[r]: u",
    "\t",
    "  ",
    "***",
    "+ [ ] ",
]
ENDS = ["\n", "\n", "\n\n", "  \n", "\\\n", "\r\n", ""]
LINE = st.tuples(
    st.lists(st.sampled_from(STARTS), max_size=2).map("".join),
    st.lists(st.sampled_from([*BITS, " ", " "]), max_size=8).map("".join),
    st.sampled_from(ENDS),
).map("".join)


@given(st.lists(LINE, max_size=8).map("".join))
def test_what_comes_back_as_it_went_leaves_the_file_byte_for_byte(through, text):
    result = through("same.md", text)
    assert result.text == text
    assert result.report.mended == 0


WORDS = st.sampled_from(
    ["one", "two", "*three*", "**four**", "`five`", "[six](u)", "![seven](v)", "<b>eight</b>", "_nine_ten_", "ten."]
)
PROSE = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
BLOCK = st.one_of(
    PROSE,
    st.builds("{}\n{}".format, PROSE, PROSE),
    st.builds("# {}".format, PROSE),
    st.builds("- {}\n- {}\n  - {}".format, PROSE, PROSE, PROSE),
    st.builds("> {}\n> {}".format, PROSE, PROSE),
    st.builds("| {} | b |\n|---|---|\n| {} | c |".format, PROSE, PROSE),
    st.just("```\ncode one\n```"),
    st.just("    code two"),
    st.just("<div>\nhtml\n</div>"),
)


@given(st.lists(BLOCK, min_size=1, max_size=5).map("\n\n".join))
def test_only_the_sentences_change(through, text):
    result = through("starred.md", text, starred)
    assert result.text.replace(STAR, "") == text
    assert shape(result.text) == shape(text)


@given(
    st.lists(BLOCK, min_size=1, max_size=4).map("\n\n".join),
    st.lists(
        st.sampled_from(["<b1>", "</b1>", "<x2/>", "{x1}", "{x2}", "wort", "*", "[", "1.", "|", "#"]), max_size=8
    ).map(" ".join),
)
def test_whatever_comes_back_the_blocks_links_and_code_stay(through, text, translation):
    """Against a parser of others; emphasis may be lost, and a link may stand elsewhere in its block."""
    emphasis = {"<em>", "</em>", "<strong>", "</strong>", "<b>", "</b>"}
    before, after = (
        sorted(set(shape(each)) - emphasis)
        for each in (text, through("any.md", text, lambda _: f"a {translation}").text)
    )
    assert after == before


@pytest.mark.parametrize(
    "unit", ["[", "]", "[a](", "*a ", "a* ", "_a*", "`a``", "<", "<b>", "<!--", "{{", "![a](b)", "$a", "| "]
)
def test_time_grows_with_the_length_alone(through, unit):
    """An odd line of forty kilobytes takes seconds at most, where a square of its length would take minutes."""
    line = unit * (40_000 // len(unit))
    start = time.perf_counter()
    assert through("long.md", line).text == line
    assert time.perf_counter() - start < 15
