"""HTML: what is read is translated, every other byte stays."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents import markup
from translators import STAR, loud, starred

PAGE = """\
<!DOCTYPE html>
<html lang=en>
<head><title>My page &amp; you</title><style>p { color: red }</style>
<script>if (a < b && "</p>") { go("Hello there.") }</script></head>
<body><p class="x">Hello <b>big</b> world.
   This is <a href="/x?a=1&b=2" title="A link">my link</a> &mdash; and <code>x &lt; y</code>
   too.<br>New line<!-- c -->here &copy; 2020.</p>
<img src=a.png alt=Cat><img alt='The "big" cat' src=b>
<ul><li>One<li>Two. Three!</ul><pre>keep me</pre><p translate="no">Keep <b>this</b>.</p>
<span class="a notranslate">nor <span>this</span></span>
<input placeholder="Your name"><div aria-label="A box">AT&T <i class="icon"></i> ok < 3</div>
<svg><title>Not this</title></svg><textarea>nor that</textarea><P>Loud</P>
</body></html>
"""


def test_sentences_and_read_attributes_are_handed_over(through):
    assert through("a.html", PAGE).seen == [
        "My page & you",
        "Hello <b1>big</b1> world.",
        "A link",
        "This is <b1>my link</b1> — and {x2} too.",
        "New line<x1/>here © 2020.",
        "Cat",
        'The "big" cat',
        "One",
        "Two.",
        "Three!",
        "Your name",
        "A box",
        "AT&T <x1/> ok < 3",
        "Loud",
    ]


def test_all_else_stays(through):
    assert (
        through("a.html", PAGE, loud).text
        == """\
<!DOCTYPE html>
<html lang=en>
<head><title>MY PAGE &amp; YOU</title><style>p { color: red }</style>
<script>if (a < b && "</p>") { go("Hello there.") }</script></head>
<body><p class="x">HELLO <b>BIG</b> WORLD.
   THIS IS <a href="/x?a=1&b=2" title="A LINK">MY LINK</a> &mdash; AND <code>x &lt; y</code>
   TOO.<br>NEW LINE<!-- c -->HERE &copy; 2020.</p>
<img src=a.png alt=CAT><img alt='THE &quot;BIG&quot; CAT' src=b>
<ul><li>ONE<li>TWO. THREE!</ul><pre>keep me</pre><p translate="no">Keep <b>this</b>.</p>
<span class="a notranslate">nor <span>this</span></span>
<input placeholder="YOUR NAME"><div aria-label="A BOX">AT&amp;T <i class="icon"></i> OK &lt; 3</div>
<svg><title>Not this</title></svg><textarea>nor that</textarea><P>LOUD</P>
</body></html>
"""
    )


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<ul><li translate=no>Acme<li>Read this.</ul><p>And this.", ["Read this.", "And this."]),
        ("<ul><li>Read this.<li class=notranslate>Acme</ul><p>And this.", ["Read this.", "And this."]),
        ("<ul><li translate=no>A<ul><li>B</ul>C<li>Read this.</ul>And this.", ["Read this.", "And this."]),
        ("<div><p translate=no>Acme <b>Corp</b><p>Read this.</div>And this.", ["Read this.", "And this."]),
        ("<div><p translate=no>Acme</div>Read this.", ["Read this."]),
        ("<p translate=no>Acme<h2>Read this.</h2>", ["Read this."]),
        ("<ul><li><p translate=no>Acme<li>Read this.</ul>", ["Read this."]),
        ("<dl><dt translate=no>Acme<dd>Read this.<dd translate=no>Corp</dl>And this.", ["Read this.", "And this."]),
        (
            "<table><tr><td translate=no>A<table><tr><td>B</table>C<td>Read this.<tr translate=no><th>D<td>E"
            "<tr><th translate=no>F</table>And this.",
            ["Read this.", "And this."],
        ),
        ("<table><thead translate=no><tr><td>A<td>B<tbody><tr><td>Read this.</table>", ["Read this."]),
        ("<select><option translate=no>Acme<option>Read this.</select>", ["Read this."]),
        ("<ul><li translate=no>Acme</b></p> Corp</ul>Read this.", ["Read this."]),
        ("<p>See <svg><svg/>A</svg> here.<p>Read this.", ["See {x1} here.", "Read this."]),
    ],
)
def test_what_is_kept_ends_where_its_end_tag_was_left_out(through, page, seen):
    assert through("o.html", page).seen == seen


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<html>", '<html lang="de">'),
        ("<HTML LANG='en' class=a>", '<HTML LANG="de" class=a>'),
        ("<html xml:lang=x data-lang=y>", '<html lang="de" xml:lang=x data-lang=y>'),
    ],
)
def test_the_page_says_its_new_language(through, tag, expected):
    assert through("l.html", f"{tag}<p lang=en>x</p></html>", target="de").text == f"{expected}<p lang=en>x</p></html>"


def test_nothing_in_a_translation_can_be_markup(through):
    result = through("x.html", '<p>Hi</p><img alt="Hi" title=Hi>', lambda _: "\"'><script>&amp;")
    assert result.text == (
        "<p>\"'&gt;&lt;script&gt;&amp;amp;</p>"
        '<img alt="&quot;&#39;&gt;&lt;script&gt;&amp;amp;" title=&quot;&#39;&gt;&lt;script&gt;&amp;amp;>'
    )


def test_an_attribute_without_quotation_marks_gets_them_when_it_needs_them(through):
    assert through("q.html", "<img alt=Cat>", lambda _: "Die Katze").text == '<img alt="Die Katze">'


def test_a_lost_link_is_put_at_the_end(through):
    result = through("lost.html", '<p>Go <a href="/x">there <b>now</b></a> or <b>not</b>.</p>', lambda _: "Geh.")
    assert result.text == '<p>Geh. <a href="/x">there <b>now</b></a></p>'
    assert result.report.mended == 1


def test_a_lost_link_is_put_there_with_its_picture(through):
    result = through("pic.html", "<p>Go <a href=x><img alt=Cat> there</a> now.</p>", lambda _: "Geh.")
    assert result.text == "<p>Geh. <a href=x><img alt=Cat> there</a></p>"


TEXTS = [
    "One.",
    "two",
    " ",
    "3 < 4",
    "&amp;",
    "&nbsp;",
    "&bogus;",
    "&#233;",
    "&",
    "<",
    ">",
    "é",
    "\n",
    "\n  ",
    '"',
    "'",
]
TAGS = ["<b>", "</b>", '<a href="x&y">', "</a>", "<br>", "<br/>", "<p>", "</p>", "<div title='Hi'>", "<img alt=Cat>"]
OMITTED = ["<ul>", "</ul>", "<li>", "<li translate=no>", "</li>", "<p class=notranslate>", "<td translate=no>", "<tr>"]
KEPT = ["<pre>", "</pre>", "<script>", "</script>", "<span translate=no>", "</span>", "<code>", "</code>", "<svg/>"]
ODD = ["</", "<!", "<!-- c -->", "<!-->", "<![CDATA[x]]>", "<?php x ?>", "<td", "<i></i>", "<1>", "<b1>", "</b1>", "&#"]
PIECES = st.sampled_from(TEXTS + TAGS + OMITTED + KEPT + ODD)


@given(st.lists(PIECES).map("".join))
def test_what_comes_back_as_it_went_leaves_the_file_byte_for_byte(through, page):
    assert through("same.html", page).text == page


SOUND = st.sampled_from(
    ["One.", " two ", "&amp;", "&eacute;", "<b>x</b>", '<a href="y">z</a>', "<br>", "<p>", "</p>", "\n", "<i></i>"]
)


@given(st.lists(SOUND).map("".join))
def test_only_the_sentences_change(through, page):
    result = through("starred.html", page, starred)
    assert result.text.replace(STAR, "") == page
    assert result.text.count(STAR) == len(result.seen)


class Skeleton(HTMLParser):
    """The tags of a page, as another reads them."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(f"<{tag} {dict(attrs).get('href')}>")

    def handle_endtag(self, tag):
        self.tags.append(f"</{tag}>")


@given(
    st.lists(SOUND).map("".join),
    st.lists(st.sampled_from(["<b1>", "</b1>", "<x1/>", "<", "&", "wort", "<script>"])).map(" ".join),
)
def test_whatever_comes_back_the_links_and_blocks_of_the_page_stay(through, page, translation):
    before, after = (Skeleton(text).tags for text in (page, through("any.html", page, lambda _: translation).text))
    assert [tag for tag in after if tag not in ("<b None>", "</b>")] == [
        tag for tag in before if tag not in ("<b None>", "</b>")
    ]


def test_pieces_of_any_size_are_read_alike(through, monkeypatch):
    whole = through("a.html", PAGE, loud)
    for size in (1, 7, 64):
        monkeypatch.setattr(markup, "CHUNK", size)
        assert through("a.html", PAGE, loud) == whole
