"""Imported runs of many languages: told what they read and write, they write what transformers' generate writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import regard
from counting import pairs
from foreign_translators import MANY, foreign, their_ids
from process import call
from regard import languages
from regard.cli import main
from regard.config import DataConfig, DecodeConfig
from regard.data.batch import pad
from regard.data.direction import directed
from regard.decoding.align import align
from regard.decoding.constraints.constrain import constrained_search
from regard.decoding.constraints.keep import Keeper
from regard.decoding.constraints.standin import stand_ins, tried
from regard.decoding.engine import differing, some_sources
from regard.decoding.torch_engine import TorchEngine, decode_batch
from regard.decoding.translate import translate_together
from regard.errors import RegardError
from regard.insight import explore, views
from regard.insight.contract import Question
from regard.run import Run
from regard.tokens.text import BOS, EOS, normalise

TEXTS = [pair.source for pair in pairs(30, seed=9)]
PLAIN: dict[str, Any] = {"max_length": 13, "max_ratio": 100.0}


class Imported(NamedTuple):
    """A folder of theirs, the model in it, and the run that it became."""

    folder: Path
    model: Any
    run: Run

    def generate(self, ids: list[list[int]], **how: Any) -> tuple[list[tuple[int, ...]], list[float]]:
        """What their search writes, in our ids, without <s> and </s>, and its scores."""
        rows, config = their_ids(self.run, "target"), self.model.config
        ours = {row: id for id, row in enumerate(rows.tolist())}
        never = [[row] for row in rows[self.run.target_tokenizer.unwritten].tolist() if row >= 0]
        longest = max(map(len, ids))
        found = self.model.generate(
            torch.tensor([row + [config.pad_token_id] * (longest - len(row)) for row in ids]),
            attention_mask=torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids]),
            early_stopping=True,
            max_length=PLAIN["max_length"] + 1,
            bad_words_ids=never,
            renormalize_logits=True,
            return_dict_in_generate=True,
            output_scores=True,
            **how,
        )
        stops = (config.pad_token_id, config.eos_token_id)
        written = [tuple(ours[id] for id in row[1:] if id not in stops) for row in found.sequences.tolist()]
        return written, found.sequences_scores.tolist()


def imported(kind: str, place: Path, models: tuple[bytes, bytes], seed: int) -> Imported:
    torch.manual_seed(seed)
    model = foreign(kind, place / "theirs", models, lively=True)
    return Imported(place / "theirs", model, regard.adopt(place / "theirs", place / "run"))


@pytest.fixture(scope="module")
def hundred(models, tmp_path_factory) -> Imported:
    return imported("m2m_100-many", tmp_path_factory.mktemp("m2m"), models, seed=3)


@pytest.fixture(scope="module")
def run(hundred: Imported) -> Run:
    return hundred.run.reading("en")


@pytest.fixture(scope="module")
def tagged(models, tmp_path_factory) -> Imported:
    return imported("marian-many", tmp_path_factory.mktemp("marian"), models, seed=1)


def tokenizer_of(hundred: Imported, **languages: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(hundred.folder, **languages)


# ------------------------------------------------------------------------------------------ the same as transformers


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize(("beam", "alpha", "best"), [(4, 0.7, 3), (3, 1.4, 1)])
def test_m2m100_writes_what_generate_writes_with_a_forced_start(hundred: Imported, engine, beam, alpha, best):
    tokenizer = tokenizer_of(hundred, src_lang="en")
    how = {"num_beams": beam, "length_penalty": alpha, "num_return_sequences": best}
    start = tokenizer.get_lang_id("fr")
    written, scores = hundred.generate(tokenizer(TEXTS).input_ids, forced_bos_token_id=start, **how)
    ours = regard.translate(
        hundred.run.reading("en"), TEXTS, "fr", beam=beam, length_penalty=alpha, n_best=best, engine=engine, **PLAIN
    )
    candidates = [each for translation in ours for each in translation.candidates]
    assert [each.ids for each in candidates] == written
    assert [each.score for each in candidates] == pytest.approx(scores, abs=1e-4)
    assert {each.finished for each in candidates} == {True, False}, "some should meet their limit"
    assert len({each.text for each in candidates}) > 20
    assert not any("__" in each.text for each in candidates), "what leads a translation is no part of its text"


def test_m2m100_greedily_too(hundred: Imported):
    tokenizer = tokenizer_of(hundred, src_lang="de")
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    never = [[row] for row in their_ids(hundred.run, "target")[hundred.run.target_tokenizer.unwritten].tolist()]
    start = tokenizer.get_lang_id("zu")
    found = hundred.model.generate(
        **batch, forced_bos_token_id=start, max_length=14, bad_words_ids=[each for each in never if each[0] >= 0]
    )
    rows = their_ids(hundred.run, "target")
    for engine in ("torch", "ctranslate2"):
        ours = regard.translate(hundred.run.reading("de"), TEXTS, "zu", beam=1, engine=engine, **PLAIN)
        assert [rows[list(each.candidates[0].ids)].tolist() for each in ours] == [
            [id for id in row[1:] if id not in (1, 2)] for row in found.tolist()
        ]


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize("tag", MANY)
def test_a_marian_of_many_languages_writes_what_generate_writes(tagged: Imported, tag, engine):
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(tagged.folder)
    ids = tokenizer([f"{tag} {text}" for text in TEXTS]).input_ids
    written, scores = tagged.generate(ids, num_beams=4, length_penalty=0.7)
    ours = regard.translate(tagged.run, TEXTS, tag[2:-2], beam=4, length_penalty=0.7, engine=engine, **PLAIN)
    candidates = [each.candidates[0] for each in ours]
    assert [each.ids for each in candidates] == written
    assert [each.score for each in candidates] == pytest.approx(scores, abs=1e-4)


def test_text_has_the_ids_that_m2m100_s_tokenizer_gives_it(hundred: Imported):
    rows = their_ids(hundred.run, "source")
    for source, target in (("en", "fr"), ("ast", "zu"), ("zh", "af")):
        tokenizer = tokenizer_of(hundred, src_lang=source, tgt_lang=target)
        told = hundred.run.reading(source)
        for text in ["two five one", "ﬁve  one ", "日本 six", "__fr__ two"]:
            ids = told.encode_source(text, target)
            if not text.startswith("__"):  # typed, it is text to us, and a tag to them
                assert rows[ids].tolist() == tokenizer(text).input_ids
                written = [*told.lead(target), *told.encode_target(text)]
                assert rows[written].tolist() == tokenizer(text_target=text).input_ids
            assert [id for id in ids if id in told.source_tokenizer.tags.values()] == ids[:1]


# --------------------------------------------------------------------------------------------- what a folder tells


def test_a_folder_that_lists_its_languages_is_taken_at_its_word(models, tmp_path: Path):
    foreign("m2m_100", tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    assert (run.settings.data.languages, run.settings.data.tags) == (("de", "en"), "both")
    assert regard.load(tmp_path / "run").reading("de").lead("en") == [run.target_tokenizer.tag("en")]


def test_what_the_tags_of_a_vocabulary_say(hundred: Imported, tagged: Imported, models, tmp_path: Path):
    data = hundred.run.settings.data
    assert (len(data.languages), data.languages[:3], data.tags) == (100, ("af", "am", "ar"), "both")
    data = tagged.run.settings.data
    assert (data.languages, data.tags) == (("fra", "deu", "cmn_Hans", "por_BR"), "target")
    foreign("marian", tmp_path / "theirs", models)
    data = regard.adopt(tmp_path / "theirs", tmp_path / "run").settings.data
    assert (data.languages, data.tags) == ((), "none")


# --------------------------------------------------------------------------------------------- in batches, engines


@pytest.mark.parametrize("batch", [1, 7])
def test_languages_side_by_side_are_translated_as_alone(run: Run, batch):
    config, wanted = DecodeConfig(beam=3, **PLAIN), ["fr", "de", "zu"]
    mixed = [(text, wanted[index % 3]) for index, text in enumerate(TEXTS[:15])]
    together = translate_together(run, mixed, config, choice=lambda waiting: TorchEngine(run, batch))
    alone = [translate_together(run, [line], config)[0] for line in mixed]
    assert [each.candidates[0].ids for each in together] == [each.candidates[0].ids for each in alone]
    assert len({each.candidates[0].ids for each in together}) > 8


def test_the_engine_is_tried_with_what_leads_a_translation(run: Run, tagged: Imported):
    for each in (run, tagged.run):
        sources = some_sources(each, 9)
        assert differing(each, sources, DecodeConfig(beam=3, max_length=9)) == []
    assert set(map(languages.lead_of, some_sources(run, 9))) == {(run.target_tokenizer.tag("am"),)}


def test_runs_of_many_languages_translate_together(hundred: Imported):
    both = regard.ensemble([hundred.run, hundred.run]).reading("en")
    alone = regard.translate(hundred.run.reading("en"), TEXTS[:4], "fr", engine="torch", **PLAIN)
    together = regard.translate(both, TEXTS[:4], "fr", **PLAIN)
    assert [each.candidates[0].ids for each in together] == [each.candidates[0].ids for each in alone]


def test_samples_and_groups_begin_as_they_must(run: Run):
    ways: list[dict[str, Any]] = [
        {"samples": 3},
        {"groups": 2, "beam": 4},
        {"beam": 2, "coverage": 0.4, "no_repeat": 2},
    ]
    for how in ways:
        found = [each.candidates for each in regard.translate(run, TEXTS[:5], "fr", n_best=2, **PLAIN, **how)]
        assert {one.ids[0] for each in found for one in each} == {run.target_tokenizer.tag("fr")}


# ---------------------------------------------------------------------------------------- documents, trust, terms


def test_under_no_demand_the_constrained_search_is_the_search(run: Run):
    sources, config = [run.encode_source(text, "fr") for text in TEXTS[:6]], DecodeConfig(beam=3, max_length=9)
    limits, never = [9] * 6, torch.tensor(run.target_tokenizer.unwritten)
    source = pad(sources)
    readable = torch.arange(source.size(1)) < torch.tensor([len(ids) for ids in sources]).unsqueeze(1)
    opens, leads = [True] * len(run.target_tokenizer), [run.lead("fr")] * len(sources)
    found = constrained_search(run.model, source, readable, [[]] * 6, opens, config, limits, never, leads)
    for one, other in zip(found, decode_batch(run, sources, config), strict=True):
        assert one.hypotheses[0].ids == other.hypotheses[0].ids
        assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-5)


def test_what_stands_for_something_is_what_follows_the_lead(run: Run):
    """The words that the model copies are ranked by log p(word | __fr__, word)."""
    words = tried(run)
    scores = {}
    for id, word in words.items():
        source = torch.tensor([run.encode_source(word, "fr")])
        logits = run.model(source, torch.tensor([[BOS, *run.lead("fr")]]), torch.ones_like(source, dtype=torch.bool))
        scores[id] = logits[0, -1].log_softmax(-1)[id].item()
    sure = {id for id in words if scores[id] >= torch.tensor(0.5).log().item()}
    chosen = list(stand_ins(run, "fr"))
    assert set(chosen[: len(sure)]) == sure
    kept = Keeper(run).translate(
        [("two {name} one", "fr"), ("one <b>five</b>", "fr")], DecodeConfig(beam=3, max_length=9)
    )
    assert all(not best.unmet and best.hypothesis.ids[0] == run.target_tokenizer.tag("fr") for [best] in kept)


def test_signals_cost_what_the_search_said_of_what_it_chose(run: Run):
    for each in regard.translate(run, TEXTS, "fr", signals=True, beam=3, length_penalty=0.6, **PLAIN):
        best = each.candidates[0]
        assert best.signals is not None
        length = len(best.ids) + best.finished
        assert best.signals.log_probability == pytest.approx(best.score * length**0.6, abs=1e-4)
        assert len(best.signals.log_probabilities) == length - 1, "what leads it was not chosen"


def test_a_term_is_scored_as_the_search_would_what_leads_it_for_nothing(run: Run):
    source, text, config = run.encode_source("two five one", "fr"), "seven six", DecodeConfig(length_penalty=0.6)
    ids = run.encode_target(text)
    reads, read = torch.tensor([source]), torch.tensor([[BOS, *run.lead("fr"), *ids[:-1]]])
    logits = run.model(reads, read, torch.ones_like(reads, dtype=torch.bool))
    chosen = logits.log_softmax(-1)[0, 1:].gather(1, torch.tensor(ids).unsqueeze(1))
    [score] = Keeper(run).scores(source, [text], config)
    assert score == pytest.approx(chosen.sum().item() / (1 + len(ids)) ** 0.6, abs=1e-4)


def test_words_are_linked_by_what_was_looked_at_after_the_lead(run: Run):
    found = next(regard.translate(run, ["two five one"], "fr", signals=True, **PLAIN)).candidates[0]
    if run.encode_target(found.text)[:-1] == [*found.ids[1:]]:
        assert found.signals is not None
        assert align(run, ["two five one"], [found.text], "fr") == [found.signals.links]
    [links] = align(run, ["two five one"], ["six seven"], "fr")
    assert {target for _, target in links} <= {0, 1}
    assert {source for source, _ in links} <= {0, 1, 2}


# --------------------------------------------------------------------------------------------------- looking inside


def test_the_tags_show_where_they_are_read_and_written(run: Run, tagged: Imported):
    trace = regard.explain(run, "two five one", "fr", max_length=6)
    assert (trace.source[0], trace.target[0], trace.read[:2]) == ("__en__", "__fr__", ("<s>", "__fr__"))
    assert trace.translation == next(regard.translate(run, ["two five one"], "fr", max_length=6)).text
    assert regard.explain(tagged.run, "two", "cmn_Hans", max_length=6).source[0] == ">>cmn_Hans<<"


def test_the_explorer_knows_the_languages_and_what_was_given(run: Run, tagged: Imported):
    assert views.machine(run).languages == [*run.settings.data.languages]
    assert views.machine(tagged.run).languages == ["fra", "deu", "cmn_Hans", "por_BR"]
    look = views.look(views.ask(run, Question(text="two five one", to="fr")))
    assert (look.source.words[0].text, look.source.words[0].control) == ("__en__", True)
    assert (look.target.words[0].text, look.target.words[0].control) == ("__fr__", True)
    assert [step.forced for step in look.steps] == [True] + [False] * (len(look.steps) - 1)
    assert look.beam
    assert [(node.piece, node.log_probability) for node in look.beam.nodes if node.step == 0] == [("__fr__", 0.0)]


def test_a_word_is_forced_after_the_lead_whether_it_is_given_back_or_not(run: Run):
    [word] = run.target_tokenizer.encode("seven")
    [lead] = run.lead("fr")
    for prefix in ((word,), (lead, word)):
        look = views.look(views.ask(run, Question(text="two five one", to="fr", prefix=prefix)))
        assert [token.id for token in look.target.tokens[:2]] == [lead, word]
        assert [step.forced for step in look.steps[:3]] == [True, True, False]
    with pytest.raises(RegardError, match="is no token that can be written"):
        views.ask(run, Question(text="two", to="fr", prefix=tuple(run.lead("de"))))


# ------------------------------------------------------------------------------------------------------ the way out


def test_the_example_of_an_exported_folder_runs(hundred: Imported, tmp_path: Path, capsys):
    out = regard.export(hundred.run, "huggingface", tmp_path / "out")
    code = re.search(r"```python\n(.*?)```", (out / "README.md").read_text(), re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    given = {'"."': repr(str(out)), '"…"': '"two five one"', "**batch,": "**batch, max_length=14,"}
    exec(re.sub("|".join(map(re.escape, given)), lambda match: given[match[0]], code[1]), names)
    ours = their_ids(hundred.run, "source")[hundred.run.reading("af").encode_source("two five one", "am")]
    assert names["batch"].input_ids.tolist() == [ours.tolist()]
    assert capsys.readouterr().out.startswith("['__am__")


def test_an_exported_folder_is_led_by_hand_in_ctranslate2(run: Run, tmp_path: Path):
    import ctranslate2
    from sentencepiece import SentencePieceProcessor

    out = regard.export(run, "ctranslate2", tmp_path / "out")
    source, target = (SentencePieceProcessor(str(out / f"{side}.spm")) for side in ("source", "target"))
    result = ctranslate2.Translator(str(out)).translate_batch(
        [["__en__", *source.encode(text, out_type=str)] for text in TEXTS],
        target_prefix=[["__fr__"]] * len(TEXTS),
        beam_size=3,
        max_decoding_length=13,
        suppress_sequences=[[piece] for piece in run.target_tokenizer.pieces(run.target_tokenizer.unwritten)],
    )
    ours = [each.text for each in regard.translate(run, TEXTS, "fr", beam=3, engine="torch", **PLAIN)]
    assert [normalise(target.decode(each.hypotheses[0][1:])) for each in result] == ours


# -------------------------------------------------------------------------------------------------- what is refused


HUNDRED = "af, am, ar, ast, az, ba, be, bg and 92 more, all named in its config.json"


def test_what_is_not_told_or_not_known_is_said(hundred: Imported, tagged: Imported, models, tmp_path: Path):
    foreign("marian", tmp_path / "theirs", models)
    one_way = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    told = hundred.run.reading("en")
    four = "fra, deu, cmn_Hans and por_BR"
    unasked = "from en is not asked for: this run takes its text as it comes; leave out --from"
    nameless = "to de is not possible: this run translates one way, and does not know its languages' names"
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: hundred.run.reading(None), f"this run reads {HUNDRED}: say which, as in --from af"),
        (lambda: hundred.run.tag("fr"), f"this run reads {HUNDRED}: say which, as in --from af"),
        (lambda: hundred.run.reading("eng"), f"from eng is not possible: this run reads {HUNDRED}; did you mean en?"),
        (lambda: told.tag(None), f"this run translates into {HUNDRED}: say which, as in --to am"),
        (lambda: told.tag("qqq"), f"to qqq is not possible: this run translates into {HUNDRED}"),
        (lambda: tagged.run.tag(None), f"this run translates into {four}: say which, as in --to deu"),
        (lambda: tagged.run.tag("fr"), f"to fr is not possible: this run translates into {four}; did you mean fra?"),
        (lambda: tagged.run.reading("en"), unasked),
        (lambda: one_way.reading("en"), unasked),
        (lambda: one_way.tag("de"), nameless),
    ]
    for attempt, message in refused:
        with pytest.raises(RegardError) as caught:
            attempt()
        assert str(caught.value) == message


def test_a_translation_s_way(run: Run, tagged: Imported):
    assert run.way("fr") == ("en", "fr")
    assert tagged.run.way("fra") == (None, "fra")


def test_pairs_are_not_learned_with_the_tags_of_imported_runs():
    with pytest.raises(RegardError) as caught:
        directed(pairs(2, seed=1), DataConfig(languages=("en", "fr", "de"), tags="target"))
    assert str(caught.value) == (
        "data.tags=target is of imported runs, and pairs are of two languages: leave it at none, or set data.both_ways"
    )


# ------------------------------------------------------------------------------------------------------ the commands


def test_lines_and_documents_are_translated_between_two_of_many(hundred: Imported, tmp_path: Path, monkeypatch):
    assert hundred.run.folder
    ways = ("--from", "en", "--to", "fr", "--set", "max_length=9")
    lines = call("translate", hundred.run.folder, *ways, "--json", "--n-best", "2", stdin="two five one\n\n")
    assert lines.returncode == 0, lines.stderr
    told = [json.loads(line) for line in lines.stdout.splitlines()]
    [ours, _] = regard.translate(hundred.run.reading("en"), ["two five one", ""], "fr", max_length=9, n_best=2)
    assert [each["text"] for each in told[0]["candidates"]] == [each.text for each in ours.candidates]
    assert told[1]["candidates"][0]["text"] == ""
    page = tmp_path / "page.md"
    page.write_text("# two five\n\none **six** `x` seven\n")
    given = ["translate", hundred.run.folder, page, "--out", tmp_path / "out.md", *ways]
    monkeypatch.setattr("sys.argv", ["regard", *map(str, given)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    assert (tmp_path / "out.md").read_text().count("`x`") == 1


@pytest.mark.parametrize("other", [None, "hundred", "tagged"])
def test_evaluate_tells_the_language_to_those_that_ask(hundred, tagged, other, tmp_path, monkeypatch, capsys):
    (tmp_path / "pairs.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs(3, seed=2)))
    runs = {"hundred": hundred.run.folder, "tagged": tagged.run.folder}
    given = [
        "evaluate",
        str(hundred.run.folder),
        str(tmp_path / "pairs.tsv"),
        "--from",
        "en",
        "--to",
        "fr",
        "--beam",
        "1",
    ]
    monkeypatch.setattr("sys.argv", ["regard", *given, *(["--compare", str(runs[other])] if other else [])])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    if other == "tagged":  # which calls it fra
        assert said.err.startswith(f"regard: {tagged.run.folder} cannot be compared: to fr is not possible: ")
    else:
        assert (left.value.code or 0, said.err) == (0, "")
        assert "BLEU" in said.out


@pytest.mark.parametrize("verb", [["translate"], ["explain", "two"], ["explore", "--port", "0"]])
def test_a_command_says_at_once_what_it_must_be_told(hundred: Imported, verb, monkeypatch, capsys):
    monkeypatch.setattr(explore.bundle, "page", lambda: "")
    monkeypatch.setattr(explore.signal, "signal", lambda *given: None)  # the handler would outlive the test
    given = [verb[0], str(hundred.run.folder), *verb[1:]]
    monkeypatch.setattr("sys.argv", ["regard", *given])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err == f"regard: this run reads {HUNDRED}: say which, as in --from af\n"


def test_a_source_is_closed_and_led(run: Run):
    source = run.encode_source("two", "fr")
    assert source[-1] == EOS
    assert languages.lead_of(source) == tuple(run.lead("fr"))
    assert languages.lead_of([*source]) == ()
