"""What is dropped and why: each rule finds what it should, leaves alone what it should, and the sums come out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.clean import DROPPING, RULES, Corpus, judge
from regard.data.corpus import Pair, read_pairs, read_table
from regard.errors import ConfigError

ENGLISH = ["The old man reads a book.", "Where is the station?", "She has never been to the sea before.", "Come in!"]
GERMAN = ["Der alte Mann liest ein Buch.", "Wo ist der Bahnhof?", "Sie war noch nie zuvor am Meer.", "Herein!"]
FRENCH = ["Le vieil homme lit un livre.", "Où est la gare ?", "Elle n’a jamais été à la mer.", "Entrez\u202f!"]
GREEK = ["Ο γέρος διαβάζει ένα βιβλίο.", "Πού είναι ο σταθμός;", "Δεν έχει ξαναπάει στη θάλασσα.", "Περάστε!"]
CHINESE = ["那位老人在看书。", "车站在哪里？", "她以前从来没有去过海边。", "请进！"]
JAPANESE = ["お爺さんは本を読んでいます。", "駅はどこですか。", "彼女は海に行ったことがない。", "どうぞ！"]
KOREAN = ["노인이 책을 읽는다.", "역이 어디입니까?", "그녀는 바다에 가 본 적이 없다.", "들어오세요!"]


def around(
    pair: Pair, sources: Sequence[str] = ENGLISH, targets: Sequence[str] = GERMAN, copies: int = 5
) -> list[Pair]:
    """The pair, first, in a corpus of two languages; a number at the end keeps its other pairs apart."""
    rest = [
        Pair(f"{source} {number}", f"{target} {number}")
        for number in range(copies)
        for source, target in zip(sources, targets, strict=True)
    ]
    return [pair, *rest]


def found(pairs: Sequence[Pair], rule: str, test: Sequence[Pair] = ()) -> list[int]:
    """Line numbers of what a rule finds."""
    return sorted(index + 1 for index in judge(Corpus(pairs, test)).found[rule])


def rules_of(pair: Pair, sources: Sequence[str] = ENGLISH, targets: Sequence[str] = GERMAN) -> list[str]:
    """The rules that find this pair among others; none finds the others."""
    judgement = judge(Corpus(around(pair, sources, targets)))
    assert {index for seen in judgement.found.values() for index in seen} <= {0}
    return [name for name, seen in judgement.found.items() if seen]


@pytest.mark.parametrize("pair", [("", "Ja"), ("Yes", ""), ("Yes", " \t"), ("▁", "Ja"), ("", ""), ("Yes", "\u2028")])
def test_an_empty_side_is_found(pair):
    assert "empty" in rules_of(Pair(*pair))


@pytest.mark.parametrize(
    "damaged",
    [
        "Il a Ã©tÃ© ici.",  # été
        "Ã€ bientôt",  # À
        "Il va Ã\xa0 la gare.",  # à
        "NoÃ«l approche.",  # Noël
        "Itâ€™s late.",  # It’s
        "Das kostet 5 â‚¬.",  # €
        "Das kostetÂ\xa05 Euro.",  # a no-break space
        "Er sagte: Â« Nein Â».",
        "So schÃ¶n",
        "GrÃ¼ÃŸe",  # Grüße
        "KoÅ¡ice",  # Košice
        "Ð¿Ñ€Ð¸Ð²ÐµÑ‚ an alle",  # привет
        "Î•Î»Î»Î¬Î´Î±",  # Ελλάδα
        "æ—¥æœ¬èªž",  # 日本語
        "Toll ðŸ˜€",  # an emoji
        "Ein \ufffd in der Mitte",
        "Er sagt \x93ja\x94.",  # Windows-1252's quotation marks as C1 controls
        "Warte\x85",
    ],
)
def test_text_that_was_decoded_wrongly_is_found(damaged):
    for pair in (Pair("This is a sentence.", damaged), Pair(damaged, "Dies ist ein Satz.")):
        assert rules_of(pair) == ["encoding"]


@pytest.mark.parametrize(
    "sound",
    [
        "Où est l’été à Noël, où ça ? Là-bas, çà et là…",
        "« Il est arrivé »…",
        "“Il est arrivé”…",
        "CAFÉ» CAFÉ” CAFÉ… ÉTÉ–HIVER",
        "AMANHÃ… AMANHÃ” «AMANHÃ» NÃO",
        "A LETRA «Ã» E A LETRA “Â”",
        "Äpfel, Öl, Übermut, Straße, ÄÖÜ, ẞ und „Ä“",
        "10 Å² und 3 Å, 20 °C, 5 €, 7 £, ½ ¾ ± µm × ÷",
        "Đã đến Ấn Độ; ÂM NHẠC; CHÂU ÂU",
        "În România, ÎNTR-O ZI, Â și î",
        "Þetta er ágætt, þú ert góð; Ærø; smörgåsbord",
        "Zażółć gęślą jaźń; Příliš žluťoučký kůň; İstanbul; Rīga",
        "El niño — ¿qué? ¡Olé!",
        "Schön 😀 und gut ✓ → ja",
        "Das ist ein Zeilen\u2028umbruch mit\xa0Leerzeichen",
    ],
)
def test_accents_and_symbols_are_no_damage(sound):
    assert not found(around(Pair("This is a sentence with accents.", sound)), "encoding")


@pytest.mark.parametrize("text", ["a\x07b", "a\x1b[31mb", "a\x0bb", "a\rb", "\x7f", "in\ufeffside", "a\ufff9b"])
def test_control_characters_are_found(text):
    assert "control" in rules_of(Pair(text, "abc"))


@pytest.mark.parametrize("text", ["a\tb", "a\xa0b", "می\u200cخواهم", "👩\u200d🚀", "\u200fשלום", "soft\u00adhyphen"])
def test_tabs_joiners_and_direction_marks_are_text(text):
    assert not found(around(Pair(text, "abc")), "control")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("This sentence was never translated.", "This sentence was never translated."),
        ("This sentence was  never translated.", "this sentence was never translated. "),
    ],
)
def test_a_sentence_as_its_own_translation_is_found(source, target):
    assert rules_of(Pair(source, target)) == ["copy"]


def test_a_copy_in_a_script_without_spaces_is_found():
    copied = "那位老人每天都在公园里看书。"
    assert "copy" in rules_of(Pair(copied, copied), JAPANESE, CHINESE)
    assert not found(around(Pair("東京都庁", "東京都庁"), JAPANESE, CHINESE), "copy")


@pytest.mark.parametrize(
    "text",
    [
        "Johann Wolfgang von Goethe",
        "The Lord of the Rings",
        "OK",
        "https://example.org/a/b?c=d",
        "name.surname@example.org or www.example.org",
        "3.14159 26535 89793 23846",
        "x = y + 2 z",
        "NATO, UNESCO, FIFA, UEFA",
    ],
)
def test_names_titles_addresses_and_numbers_may_be_copied(text):
    assert rules_of(Pair(text, text)) == []


def test_very_long_lines_are_found():
    assert rules_of(Pair("word " * 201, "Wort " * 190)) == ["long"]
    assert rules_of(Pair("word " * 190, "Wort " * 190)) == []


def test_the_first_of_equal_pairs_stays():
    pairs = [Pair("One.", "Eins."), Pair("Two.", "Zwei."), Pair(" One. ", "Eins."), Pair("One.", "Ein.")]
    pairs += [Pair("Cafe\u0301.", "Café."), Pair("Café.", "Café.")]
    judgement = judge(Corpus(pairs))
    assert judgement.found["duplicate"] == {2: "as line 1", 5: "as line 5"}
    assert judgement.kept == [0, 1, 3, 4]


def test_a_damaged_pair_does_not_take_its_sound_double_along():
    pairs = [Pair("One.\x85", "Eins."), Pair("One.", "Eins.")]
    judgement = judge(Corpus(pairs))
    assert list(judgement.dropped()) == [(0, "encoding")]
    assert judgement.kept == [1]


def test_pairs_that_differ_in_case_are_told_and_kept():
    pairs = [Pair("I saw you.", "Ich sah Sie."), Pair("I saw you.", "ich sah sie."), Pair("I saw you.", "Ich sah Sie.")]
    judgement = judge(Corpus(pairs))
    assert judgement.found["near-duplicate"] == {1: "as line 1"}
    assert judgement.found["duplicate"] == {2: "as line 1"}
    assert judgement.kept == [0, 1]


def test_sources_with_many_targets_are_told_and_kept():
    pairs = [Pair("Hi.", "Hallo."), Pair("Hi.", "Grüß Gott!"), Pair("Bye.", "Hallo.")]
    judgement = judge(Corpus(pairs))
    assert judgement.found["many-targets"] == {1: "line 1 says: Hallo."}
    assert judgement.kept == [0, 1, 2]


@pytest.mark.parametrize("text", ["stone &amp; tile", "it&#39;s", "it&#x27;s", "a&nbsp;b", "1 &lt; 2"])
def test_entities_are_told(text):
    assert rules_of(Pair(text, "Stein")) == ["entity"]
    assert 0 in judge(Corpus(around(Pair(text, "Stein")))).kept


@pytest.mark.parametrize("text", ["R&D; sales", "Tom & Jerry; both", "AT&T", "&;", "&#;", "a&b;"])
def test_an_ampersand_is_no_entity(text):
    assert rules_of(Pair(text, "Und")) == []


@pytest.mark.parametrize("text", ["<b>bold</b>", "a<br/>b", 'a <a href="x">b</a>', "<!-- no -->", "[url]x[/url]"])
def test_markup_is_told(text):
    assert rules_of(Pair(text, "fett und so")) == ["markup"]


@pytest.mark.parametrize("text", ["1 < 2 and 3 > 2", "I <3 you", "a<x>c", "->", "[1] see there", "<name> of the file"])
def test_comparisons_and_placeholders_are_no_markup(text):
    assert rules_of(Pair(text, "kleiner und größer")) == []


@pytest.mark.parametrize(
    ("source", "target", "sources", "targets"),
    [
        ("This is Russian.", "Это не по-немецки.", ENGLISH, GERMAN),
        ("Hello, dear world!", "你好，世界！", ENGLISH, GERMAN),
        ("This was not translated.", "This was never translated here.", ENGLISH, GREEK),
        ("This was not translated.", "This was never translated here.", ENGLISH, CHINESE),
        ("This is Japanese here.", "これはにほんごです。", ENGLISH, CHINESE),
        ("Это не по-английски.", "Das ist kein Englisch.", ENGLISH, GERMAN),
        ("Thai it is.", "นี่คือภาษาไทย", ENGLISH, FRENCH),
    ],
)
def test_a_line_in_another_script_than_its_side_is_found(source, target, sources, targets):
    assert rules_of(Pair(source, target), sources, targets) == ["script"]


@pytest.mark.parametrize(
    ("target", "targets"),
    [
        ("Η Microsoft και η Apple", GREEK),
        ("Apple iPhone 12 Pro Max", GREEK),
        ("Johann Sebastian Bach", CHINESE),
        ("https://example.org/the/long/path", CHINESE),
        ("name@example.org", JAPANESE),
        ("12 345,67 (8:9)", GREEK),
        ("…?!", CHINESE),
        ("ω = 2πf", GERMAN),
        ("Die Zahl π und der Winkel α", GERMAN),
        ("ÉCOLE ÉLÉMENTAIRE", FRENCH),
        ("ÄRGER ÜBER STRASSENBAHN", GERMAN),
        ("東京都庁舎", JAPANESE),
        ("コンピューター", JAPANESE),
        ("大韓民國", KOREAN),
        ("ＡＢＣ１２３", CHINESE),
        ("㎏ ① ℃ µ ª º", GERMAN),
    ],
)
def test_names_symbols_and_numbers_are_in_no_wrong_script(target, targets):
    assert rules_of(Pair("Something, in English.", target), ENGLISH, targets) == []


def test_a_corpus_may_be_in_two_scripts():
    """Serbian is written in both; and where a side is mixed through and through, no line of it is wrong."""
    cyrillic = [Pair(f"It is so. {i}", f"Тако је то. {i}") for i in range(30)]
    latin = [Pair(f"It is not so. {i}", f"Nije to tako bilo. {i}") for i in range(20)]
    assert found(cyrillic + latin, "script") == []
    assert found(cyrillic + latin[:1], "script") == [31]


@pytest.mark.parametrize("targets", [GERMAN, FRENCH, GREEK, CHINESE, JAPANESE, KOREAN])
def test_a_length_is_judged_by_the_corpus_s_own_measure(targets):
    """Chinese has a third of the characters of English; what is usual is not wrong."""
    assert rules_of(Pair("Come here, will you?", targets[1]), ENGLISH, targets) == []
    far_too_long = Pair("Come in!", " ".join(targets[:3]))
    assert found(around(Pair("Come in!", far_too_long.target * 3), ENGLISH, targets), "length-ratio") == [1]
    far_too_short = Pair(" ".join(ENGLISH * 2), "@@")
    assert found(around(far_too_short, ENGLISH, targets), "length-ratio") == [1]


def test_short_sentences_may_differ_in_length():
    assert rules_of(Pair("Why?", "Warum denn das nur?")) == []
    assert rules_of(Pair("Is that so?", "Ja?")) == []


def test_length_works_the_same_both_ways():
    pairs = around(Pair("Come in!", " ".join(CHINESE * 3)), ENGLISH, CHINESE)
    swapped = [Pair(pair.target, pair.source) for pair in pairs]
    assert found(pairs, "length-ratio") == found(swapped, "length-ratio") == [1]


def test_where_lengths_vary_widely_by_nature_none_is_wrong():
    """Texts of 5 to 500 words and their label: the task, not a fault."""
    pairs = [Pair("word " * (5 + i), "good" if i % 2 else "bad") for i in range(0, 150, 3)]
    assert found(pairs, "length-ratio") == []


def test_a_handful_of_pairs_has_no_measure():
    assert judge(Corpus([Pair("Hi.", "Привет."), Pair("Come in!", "x" * 200)])).kept == [0, 1]


def test_what_the_test_set_asks_for_is_found_in_training():
    test = [Pair("Who is it?", "Wer ist es?"), Pair("Thanks.", "Danke."), Pair("", "")]
    pairs = [
        Pair("Who is  it?", "wer ist es?"),
        Pair("Who is it?", "Wer ist das?"),
        Pair("Thank you.", "Danke."),
        Pair("Other.", "Anderes."),
        Pair("", "Leer."),
    ]
    judgement = judge(Corpus(pairs, test))
    assert judgement.found["test-pair"] == {0: "test line 1"}
    assert judgement.found["test-source"] == {1: "test line 1"}
    assert judgement.found["test-target"] == {2: "test line 2"}
    assert judgement.found["empty"] == {4: "no source"}
    assert judgement.kept == [2, 3]


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(ConfigError) as caught:
        judge(Corpus([]), ["empty", "duplicat"])
    assert str(caught.value) == "'duplicat' is no rule; did you mean duplicate?"
    with pytest.raises(ConfigError, match="'xyz' is no rule; known are test-pair, test-source, empty, "):
        judge(Corpus([]), ["xyz"])


def test_no_pairs_are_no_trouble():
    assert judge(Corpus([])).kept == []


TEXTS = st.one_of(
    st.sampled_from([*ENGLISH, *GERMAN, *GREEK, *CHINESE, "", " ", "@@", "Ã©", "&amp;", "<b>", "a\x07", "hello there"]),
    st.text(max_size=40),
    st.integers(1, 400).map(lambda length: "long words " * length),
)
PAIRS = st.lists(st.builds(Pair, TEXTS, TEXTS), max_size=60)
CHOICES = st.one_of(st.just(DROPPING), st.lists(st.sampled_from([rule.name for rule in RULES]), unique=True))


@settings(max_examples=150)
@given(pairs=PAIRS, test=st.lists(st.builds(Pair, TEXTS, TEXTS), max_size=5), dropping=CHOICES)
def test_nothing_is_lost_and_what_is_clean_stays(pairs, test, dropping):
    """In = kept + dropped, each pair once and in order; and cleaning what is clean drops nothing."""
    judgement = judge(Corpus(pairs, test), dropping)
    dropped = list(judgement.dropped())
    assert sorted([*judgement.kept, *(index for index, _ in dropped)]) == list(range(len(pairs)))
    assert len(judgement.kept) + sum(len(judgement.found[rule]) for rule in judgement.dropping) == len(pairs)
    assert list(judgement.kept) == sorted(judgement.kept)
    assert {rule for _, rule in dropped} <= set(dropping)
    kept = [pairs[index] for index in judgement.kept]
    assert list(judge(Corpus(kept, test), dropping).kept) == list(range(len(kept)))


def test_a_measure_that_moves_is_followed_until_it_rests():
    """Lengths in a geometric row: whatever goes moves the median, and the rest is judged by the new one."""
    pairs = [Pair("x" * 100, "y" * int(100 * 1.35**i)) for i in range(20) for _ in range(1 + (i % 7))]
    pairs = [Pair(pair.source + str(i), pair.target) for i, pair in enumerate(pairs)]
    kept = [pairs[index] for index in judge(Corpus(pairs), ["length-ratio"]).kept]
    assert len(judge(Corpus(kept), ["length-ratio"]).kept) == len(kept)


@pytest.fixture(scope="session")
def tatoeba(multi30k: Path) -> Path:
    """The folder of the real short sentences, beside Multi30k."""
    folder = multi30k.parent / "tatoeba"
    if not folder.is_dir():
        pytest.skip(f"Tatoeba is not at {folder}: set REGARD_DATA to the folder that holds tatoeba/")
    return folder


def test_multi30k_has_these_faults_and_no_others(multi30k):
    pairs = read_pairs(multi30k / "train.en.gz", multi30k / "train.de.gz")
    test = read_pairs(multi30k / "test_2016_flickr.en.gz", multi30k / "test_2016_flickr.de.gz")
    started = time.process_time()
    judgement = judge(Corpus(pairs, test))
    assert time.process_time() - started < 5
    dropped = [(index + 1, rule) for index, rule in judgement.dropped()]
    assert dropped == [
        (14215, "duplicate"),
        (16510, "length-ratio"),
        (16664, "length-ratio"),
        (16867, "duplicate"),
        (20149, "duplicate"),
    ]
    assert pairs[16509].target == pairs[16663].target == "@@"
    assert {name: len(seen) for name, seen in judgement.found.items() if seen} == {
        "duplicate": 3,
        "length-ratio": 2,
        "many-targets": 6,
        "entity": 16,
    }


@pytest.mark.parametrize("language", ["de", "fr"])
def test_clean_text_is_left_alone(tatoeba, language):
    """40,000 of the sentences that people proofread: nothing to drop. (Nor is there in the rest.)"""
    pairs = read_table(tatoeba / f"en-{language}.train.tsv.xz")[::4]
    judgement = judge(Corpus(pairs, read_table(tatoeba / f"en-{language}.test.tsv.xz")))
    assert list(judgement.dropped()) == []
    assert set(itertools.chain(*(judgement.found[rule] for rule in ("entity", "markup")))) == set()


def test_faults_put_into_real_text_are_found(multi30k):
    """Each hundredth line is damaged in one way or another: found under its own name, and nothing else is."""
    pairs = read_pairs(multi30k / "train.en.gz", multi30k / "train.fr.gz")[:6000]
    before = judge(Corpus(pairs))
    other = [Pair(source, "Это предложение совсем не по-французски.") for source, _ in pairs]
    harm = {
        "empty": lambda i: Pair(pairs[i].source, ""),
        "encoding": lambda i: Pair(pairs[i].source, (pairs[i].target + " déjà").encode().decode("latin-1")),
        "copy": lambda i: Pair(pairs[i].source, pairs[i].source),
        "duplicate": lambda i: pairs[i - 1],
        "script": lambda i: other[i],
        "length-ratio": lambda i: Pair(pairs[i].source, "@@"),
    }
    wanted = dict(zip(range(50, 6000, 100), itertools.cycle(harm), strict=False))
    harmed = [harm[wanted[i]](i) if i in wanted else pair for i, pair in enumerate(pairs)]
    assert dict(judge(Corpus(harmed)).dropped()) == {**dict(before.dropped()), **wanted}
