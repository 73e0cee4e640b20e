"""Where a text falls into sentences: rules that need not be told the language, and lose no character.

A sentence ends at . ! ? … with the quotes and brackets that close after it, where white space and no small letter
follow; at 。！？ even without white space; and at every line break. A full stop is doubted further: after an
abbreviation (Dr. z. B. p. 5), an initial (J. R. R.) or an ordinal (am 3. Mai) the sentence goes on. In doubt, two
sentences stay together, which costs a translator little, while half a sentence costs it the meaning.

The rules are those that Mikheev (2002, "Periods, capitalized words, etc.") found to decide most cases; the words are
of English, German, French, Spanish, Italian and Dutch, in one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What never ends a sentence, whatever follows.
GOES_ON = words(
    """
    dr mr mrs ms prof rev hon gen col capt lt sgt sen rep gov pres messrs mme mlle mm mgr hr fr frl dipl ing st ste
    e.g i.e cf viz vs approx resp ca vgl bzw sog d.h z.b u.a u.u z.t i.d.r m.e o.ä s.o s.u v.a evtl ggf inkl exkl bspw
    bes zzgl abzgl einschl mind max min geb gest jr.-prof av bd env éd ex p.ex c.-à-d m sr sra srta dña ud uds dott
    sig avv dhr mevr mw bijv d.w.z o.a m.b.t
    """
)
# What goes on before a number: No. 5, S. 12, Fig. IV.
BEFORE_A_NUMBER = words(
    """
    no nos nr nrn num n p pp pg pag s seite fig figs abb tab tbl vol bd ch chap kap cap sec sect § art abs ziff eq gl
    ex v vv op op.cit anm lfd jh ed aufl jan feb mar apr jun jul aug sep sept oct nov dec okt dez mrz janv févr avr juil
    déc c.a
    """
)
# What may end a sentence and may not: it does where a word follows that often opens one.
EITHER = words("etc usw usf ff inc ltd co corp bros jr al ecc enz str bld blvd ave rd dept est jan feb mon tue")
OPENERS = words(
    """
    the a an this that these those he she it we they you i in on at but and so then there when while if for as after
    before what who why how where my his her our their its no not yes however also all many some most one
    der die das ein eine er sie es wir ihr ich dies diese dieser dieses da dann danach aber und doch wenn als im in am
    auch so nach vor bei mit was wer wie wo warum sein ihre mein unser nicht kein keine ja nein alle viele man jedoch
    le la les un une des il elle on nous vous ils elles je ce cette ces cela dans mais et puis alors quand si pour
    après avant que qui où comment pourquoi mon son sa ses leur notre ne oui non tous
    el los las una ella ellos este esta y pero en cuando lo gli uno questo questa ma e nel quando het een de hij zij
    wij dit dat maar en toen
    """
)

STOPS = ".!?…‽؟۔।॥։"
CLOSERS = r"""(?:["'”’“‘»«›‹)\]}*_]|[\ \u00a0\u202f]»(?=[\s,;.]|\Z)|</b\d+>|<x\d+/>)*+"""
STOP = re.compile(
    rf"(?<![{STOPS}])(?P<stop>[{STOPS}]++{CLOSERS})(?P<gap>\s++)"  # closed, and then white space
    r"|(?P<wide>[。！？｡．]++)(?P<quoted>[」』）”’》〉】]*+)\s*+"  # of Chinese and Japanese: closed by itself
    r"|(?<![^\S\n\r])[^\S\n\r]*+[\n\r]\s*+"  # a line break
)
OPENING = re.compile(r"""(?:["'“”„‚‘’«»‹›(\[¿¡*_\u00a0\u202f]|\{(?!x\d)|<b\d+>)*+""")
WIDE_OPENERS = "「『（“‘《〈【"
WORD = re.compile(r"[^\W\d_]+")
DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")  # U.S, p.m
ROMAN = re.compile(r"[IVXLC]+\b")
EDGE = re.compile(r"""[\s(\[{"'“„‚«»>/–—]""")  # of a word, on its left
WITHIN = 40  # characters before a full stop that are looked at


def split(text: str) -> Iterator[tuple[str, str]]:
    """Sentences with the white space after each; joined again they are the text."""
    start = 0
    for found in STOP.finditer(text):
        end, after = ends(text, start, found), found.end()
        if end is not None:
            yield text[start:end], text[end:after]
            start = after
    if start < len(text):
        yield text[start:], ""


def ends(text: str, start: int, found: re.Match[str]) -> int | None:
    """Where the sentence that began at `start` ends, if it ends at what was found."""
    after = text[found.end() : found.end() + 1]
    if found["wide"]:  # 「はい。」と言った。 goes on after its quotation
        goes_on = found["quoted"] and found.end() == found.end("quoted") and after and after not in WIDE_OPENERS
        return None if goes_on else found.end("quoted")
    if not found["stop"]:
        return found.start()
    if "\n" in found["gap"] or "\r" in found["gap"] or not after:
        return found.end("stop")
    following = found.end() + len(OPENING.match(text, found.end())[0])  # type: ignore[index]
    if text[following : following + 1].islower():
        return None
    single = found["stop"].startswith(".") and not found["stop"].startswith("..")
    return None if single and carries_on(text, start, found.start(), following) else found.end("stop")


def carries_on(text: str, start: int, stop: int, following: int) -> bool:
    """Whether the full stop belongs to the word before it and the sentence goes on."""
    looked_at = text[max(start, stop - WITHIN) : stop]
    before = EDGE.split(looked_at)[-1]
    word = before.lower()
    next_word = WORD.match(text, following)
    opens = next_word is not None and next_word[0].lower() in OPENERS
    numbered = text[following : following + 1].isdigit() or (ROMAN.match(text, following) is not None and not opens)
    if word in GOES_ON:
        return True
    if word in BEFORE_A_NUMBER and numbered:
        return True
    if len(before) == 1 and before.isalpha() and before != "I":  # an initial, or a letter of z. B.
        return before.isupper() or not opens
    if before.isdigit():  # 1–2 digits: an ordinal, a day or the number of a heading
        return len(before) <= 2 and (not opens or looked_at.strip() == before)
    return (word in EITHER or DOTTED.match(before) is not None) and not opens
