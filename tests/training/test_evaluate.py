"""Scores are sacreBLEU's own, their intervals are fixed, and a difference counts only if chance cannot make it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path

import pytest
import sacrebleu
import sacremoses

import regard
from counting import pairs as counting_pairs
from regard.data.corpus import Pair
from regard.errors import ConfigError, DataError, RunError
from regard.run import Run
from regard.training.compare import Comparison, compare_translations
from regard.training.evaluate import evaluate
from regard.training.score import Estimate, known_to_moses, measure, score

TEXT = "L'eau, aujourd'hui il y a M. Dupont dans la Rue n'est-ce pas « oui » non chat chien souris 3,5 % 1.000 !"
WORDS = TEXT.split()


def corpus(lines: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 15))) + "." for _ in range(lines)]


def spoilt(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with a share of their words replaced by others."""
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else w for w in line.split(" ")) for line in lines]


def compared(references: list[str], translations: list[str], others: list[str]) -> Comparison:
    pairs = [Pair(f"source {number}", line) for number, line in enumerate(references, start=1)]
    return compare_translations(pairs, translations, others, ("new", "old"), measure(others, references))


REFERENCES = corpus(150, seed=1)
GOOD, BAD = spoilt(REFERENCES, 0.1, seed=2), spoilt(REFERENCES, 0.3, seed=3)


@pytest.fixture
def run(counting) -> Run:
    return regard.load(counting, on="cpu")


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    pairs = counting_pairs(20, seed=5)
    named = {"en": tmp_path / "a.en", "fr": tmp_path / "a.fr", "tsv": tmp_path / "a.tsv"}
    named["en"].write_text("".join(f"{pair.source}\n" for pair in pairs))
    named["fr"].write_text("".join(f"{pair.target}\n" for pair in pairs))
    named["tsv"].write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs))
    return named


def test_the_scores_are_those_of_sacrebleu_s_functions():
    quality, light = measure(GOOD, REFERENCES, "fr"), score(GOOD, REFERENCES)
    assert quality.bleu.score == light.bleu == sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score
    assert quality.chrf.score == light.chrf == sacrebleu.corpus_chrf(GOOD, [REFERENCES]).score
    assert quality.ter.score == sacrebleu.corpus_ter(GOOD, [REFERENCES]).score
    assert quality.exact == light.exact == 100 * sum(a == b for a, b in zip(GOOD, REFERENCES, strict=True)) / 150
    assert quality.sentences == light.sentences == 150


def test_scores_intervals_and_signatures_are_those_of_sacrebleu_s_command(tmp_path):
    (tmp_path / "reference").write_text("".join(f"{line}\n" for line in REFERENCES))
    (tmp_path / "output").write_text("".join(f"{line}\n" for line in GOOD))
    command = [sys.executable, "-m", "sacrebleu", "reference", "-i", "output", "-m", "bleu", "chrf", "ter"]
    confidence = ["--confidence", "--confidence-n", "1000", "-w", "6"]
    done = subprocess.run([*command, *confidence], capture_output=True, text=True, check=True, cwd=tmp_path)
    quality = measure(GOOD, REFERENCES)
    for theirs, ours in zip(json.loads(done.stdout), (quality.bleu, quality.chrf, quality.ter), strict=True):
        low, high = (theirs["confidence_mean"] + sign * theirs["confidence_var"] for sign in (-1, 1))
        assert (ours.score, ours.low, ours.high) == pytest.approx((theirs["score"], low, high), abs=1e-5)
        assert ours.signature == theirs["signature"]
        assert "|bs:1000|seed:12345|" in ours.signature


def test_an_interval_holds_the_score_and_is_the_same_each_time():
    quality = measure(GOOD, REFERENCES)
    assert quality == measure(GOOD, REFERENCES)
    for each in (quality.bleu, quality.chrf, quality.ter, quality.bleu_tokenised_lowercased):
        assert each.low < each.score < each.high
    assert quality.bleu.high - quality.bleu.low > measure(GOOD * 9, REFERENCES * 9).bleu.high - quality.bleu.score


def test_an_interval_stays_within_what_a_score_can_be():
    nearly = ["something else entirely", *REFERENCES[1:40]]
    quality = measure(nearly, REFERENCES[:40])
    assert quality.bleu.high == quality.chrf.high == 100
    assert quality.ter.low == 0
    perfect = measure(REFERENCES, REFERENCES)
    assert (perfect.bleu.low, perfect.bleu.high) == pytest.approx((100, 100))
    assert measure(["a b c d e f g"] * 3, ["a"] * 3).ter.high == pytest.approx(600), "TER knows no highest"


def test_another_seed_is_told_by_the_signature_and_a_bad_one_is_refused(run, files, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert "|seed:7|" in measure(GOOD, REFERENCES).bleu.signature
    monkeypatch.setenv("SACREBLEU_SEED", "-1")
    with pytest.raises(ConfigError) as caught:
        evaluate(run, files["tsv"], to="fr")
    assert str(caught.value) == "SACREBLEU_SEED=-1 is no seed: make it a whole number, or none for another each time"


def test_validation_pays_for_no_interval_and_no_ter(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("sacrebleu.significance._bootstrap_resample", refuse)
    monkeypatch.setattr("regard.training.score.TER", refuse)
    assert set(score(GOOD, REFERENCES).signatures) == {"bleu", "chrf"}


@pytest.mark.parametrize(
    ("language", "rules"), [("fr", "fr"), ("French", "fr"), ("fr_CA", "fr"), ("xx", "en"), (None, "en")]
)
def test_tokenised_and_lowercased_is_what_it_is_by_hand(language, rules):
    moses = sacremoses.MosesTokenizer(lang=rules)
    tokens, wanted = (
        [" ".join(moses.tokenize(line, escape=False)).lower() for line in each] for each in (GOOD, REFERENCES)
    )
    by_hand = sacrebleu.corpus_bleu(tokens, [wanted], tokenize="none", force=True)
    quality = measure(GOOD, REFERENCES, language)
    figure = quality.bleu_tokenised_lowercased
    assert figure.score == pytest.approx(by_hand.score)
    assert figure.score != pytest.approx(quality.bleu.score, abs=0.01)
    assert quality.moses == rules
    assert f"|case:lc|eff:no|tok:sacremoses-{sacremoses.__version__}-{rules}|" in figure.signature


def test_what_is_printed_says_which_figure_is_which():
    figure = Estimate(41.234, 40, 100, "s|x:1")
    quality = replace(
        measure(["a"], ["a"], "fr"), bleu=figure, chrf=figure, ter=figure, bleu_tokenised_lowercased=figure
    )
    lines = str(quality).splitlines()
    assert lines == [
        "BLEU   41.23   95 %:  40.00 – 100.00   s|x:1",
        "chrF   41.23   95 %:  40.00 – 100.00   s|x:1",
        "TER    41.23   95 %:  40.00 – 100.00   s|x:1   lower is better",
        "exact 100.00 %  of 1 sentences",
        "Tokenised and lowercased, for comparison with older papers that report it so, and with nothing else:",
        "BLEU   41.23   95 %:  40.00 – 100.00   s|x:1",
        "      Moses tokeniser with its rules for fr",
    ]
    assert str(measure(["a"], ["a"], "tlh")).endswith("with its rules for en, as it has none for tlh")
    assert str(measure(["a"], ["a"])).endswith("with its rules for en, as the run does not name its languages")
    assert known_to_moses("pt-BR") == "pt"


def test_compared_with_itself_there_is_no_difference():
    """sacreBLEU's own test counts only what differs more, and would say p = 0.0001."""
    same = compared(REFERENCES, GOOD, GOOD)
    for contrast in (same.bleu, same.chrf, same.ter):
        assert (contrast.difference, contrast.p, contrast.significant) == (0, 1, False)
    assert (same.same, same.better, same.worse, same.equal, same.differences) == (150, 0, 0, 0, ())
    assert "Most" not in str(same)


def test_clearly_worse_is_found_significantly_worse_and_the_other_way_round():
    worse, better = compared(REFERENCES, BAD, GOOD), compared(REFERENCES, GOOD, BAD)
    for down, up in ((worse.bleu, better.bleu), (worse.chrf, better.chrf), (better.ter, worse.ter)):
        assert down.significant
        assert up.significant
        assert down.difference == -up.difference < 0
    assert str(worse).count("   worse   ") == str(better).count("   better   ") == 3
    assert (worse.better, worse.worse) == (better.worse, better.better)


def test_p_is_that_of_sacrebleu_s_command(tmp_path):
    """With enough lines that differ, nothing is added to its test."""
    others = spoilt(REFERENCES, 0.13, seed=4)
    for name, lines in (("reference", REFERENCES), ("old", others), ("new", GOOD)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "sacrebleu", "reference", "-i", "old", "new", "-m", "bleu", "chrf", "ter"]
    done = subprocess.run(
        [*command, "--paired-ar", "-f", "json", "-w", "6"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    _, new = json.loads(done.stdout)
    ours = compared(REFERENCES, GOOD, others)
    for name, contrast in (("BLEU", ours.bleu), ("chrF2", ours.chrf), ("TER", ours.ter)):
        assert contrast.p == pytest.approx(new[name]["p_value"], abs=1e-6), name
        assert contrast.p > 0.001
        assert "|ar:10000|seed:12345|" in contrast.signature


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_a_few_lines_that_differ_prove_little(count):
    """n lines can be dealt out in 2ⁿ ways, two of which are the runs themselves: p is at least 2 / 2ⁿ."""
    translations = [*REFERENCES]
    for line in range(count):
        translations[line] = "nothing right"
    result = compared(REFERENCES, translations, REFERENCES)
    for contrast in (result.bleu, result.chrf, result.ter):
        assert contrast.p == 2 ** (1 - count)
    assert result.worse == count


def test_texts_that_differ_without_a_difference_in_score_prove_nothing():
    others = [line.replace("chat", "zzzz") for line in REFERENCES]
    result = compared(REFERENCES, [line.replace("zzzz", "yyyy") for line in others], others)
    assert (result.bleu.p, result.chrf.p, result.ter.p) == (1, 1, 1)
    assert (result.better, result.worse) == (0, 0)
    assert result.equal > 30
    assert len(result.differences) == result.equal


def test_the_sentences_run_from_the_largest_gain_to_the_largest_loss():
    references = ["one two three", "four five six", "seven eight nine", "ten eleven twelve", "the same"]
    new = ["one two three", "four five", "zzz", "ten eleven twelve", "the same"]
    old = ["one two", "four five six", "seven eight nine", "qqq", "the same"]
    result = compared(references, new, old)
    assert [each.line for each in result.differences] == [4, 1, 2, 3]
    first = result.differences[0]
    assert (first.source, first.reference, first.translation, first.other) == (
        "source 4",
        "ten eleven twelve",
        "ten eleven twelve",
        "qqq",
    )
    assert first.chrf == 100
    assert first.other_chrf == sacrebleu.sentence_chrf("qqq", ["ten eleven twelve"]).score
    assert first.gain == 100 - first.other_chrf
    assert (result.same, result.better, result.worse, result.equal) == (1, 2, 2, 0)
    printed = str(result)
    assert "lines 1 the same, 2 better, 2 worse, 0 different but equal, by the chrF of each sentence" in printed
    gained, lost = printed.split("\nMost gained against old:\n")[1].split("\nMost lost against old:\n")
    assert gained.splitlines()[:5] == [
        "line 4: chrF 100.00 against 0.00",
        "  source     source 4",
        "  reference  ten eleven twelve",
        "  new        ten eleven twelve",
        "  old        qqq",
    ]
    assert lost.splitlines()[0].startswith("line 3: chrF 0.00 against 100.00")


def test_five_sentences_are_printed_each_way_and_all_are_kept():
    result = compared(REFERENCES, GOOD, BAD)
    assert str(result).count("\nline ") == 10
    assert len(result.differences) == result.better + result.worse + result.equal > 100


def test_evaluate_takes_two_files_or_a_table_and_cannot_be_changed(run, files):
    result = evaluate(run, files["en"], files["fr"], to="fr")
    assert result == evaluate(run, files["tsv"], to="fr")
    assert (result.sentences, result.language, result.moses, result.comparison) == (20, "fr", "fr", None)
    assert result.exact > 90
    with pytest.raises(FrozenInstanceError):
        result.exact = 100  # type: ignore[misc]


def test_evaluate_compares_a_run_with_a_worse_one(run, files):
    """The other is the same run with every parameter's sign turned."""
    other = regard.load(str(run.folder), on="cpu")
    for parameter in other.model.parameters():
        parameter.data *= -1
    other.folder = None
    result = evaluate(run, files["tsv"], to="fr", compare=other, beam=1)
    assert result.comparison
    assert result.comparison.quality == measure(
        [each.other for each in by_line(result.comparison)], targets(files), "fr"
    )
    assert result.comparison.chrf.significant
    assert result.comparison.chrf.difference == result.chrf.score - result.comparison.quality.chrf.score > 50
    assert (result.comparison.run, result.comparison.other) == (str(run.folder), "a run without a folder")
    assert str(result).startswith(f"{run.folder}\nBLEU ")
    assert json.loads(json.dumps(asdict(result)))["comparison"]["chrf"]["p"] < 0.05


def by_line(comparison: Comparison):
    assert comparison.same == 0
    return sorted(comparison.differences, key=lambda each: each.line)


def targets(files: dict[str, Path]) -> list[str]:
    return files["fr"].read_text().splitlines()


def named(run: Run, folder: str, **data) -> Run:
    """The run under another name, with other words about its data."""
    settings = run.settings.model_copy(update={"data": run.settings.data.model_copy(update=data)})
    return replace(run, settings=settings, folder=Path(folder))


def test_a_run_that_knows_no_names_can_be_compared_with_one_that_goes_both_ways(run, files):
    nameless = named(run, "old", both_ways=False, languages=())
    result = evaluate(run, files["tsv"], to="fr", compare=nameless)
    assert result.comparison
    assert (result.language, result.comparison.quality.language) == ("fr", None)
    assert evaluate(nameless, files["tsv"], to="fr", compare=run).language is None


def test_runs_that_go_different_ways_are_refused(run, files):
    french, english = (named(run, to, both_ways=False, languages=("xx", to)) for to in ("fr", "en"))
    with pytest.raises(RunError) as caught:
        evaluate(french, files["tsv"], compare=english)
    assert str(caught.value) == "fr translates into fr and en into en: compare runs that go the same way"
    with pytest.raises(RunError) as caught:
        evaluate(french, files["tsv"], compare=named(run, "both"))
    assert str(caught.value) == (
        "both cannot be compared: this run translates into en and fr: say which, as in --to fr"
    )
    with pytest.raises(RunError) as caught:
        evaluate(named(run, "both"), files["tsv"], to="fr", compare=english)
    assert str(caught.value) == "en cannot be compared: to fr is not possible: this run translates into en only"


def test_a_file_without_tabs_is_no_table(run, files):
    with pytest.raises(DataError) as caught:
        evaluate(run, files["en"], to="fr")
    assert str(caught.value) == f"{files['en']}, line 1: there is no tab: write source, tab, target on each line"


def test_empty_lines_are_scored_like_any_other(run, tmp_path):
    (tmp_path / "a.tsv").write_text("one two\tun deux\n\t\nthree\t\n")
    result = evaluate(run, tmp_path / "a.tsv", to="fr")
    assert result.sentences == 3
    assert result.exact == pytest.approx(200 / 3)
