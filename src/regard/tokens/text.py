"""Text ⇄ ids, over sentencepiece: learned from the user's own text, and complete, since no text is unknown to it.

    "It’s tired."  ──normalise──▶  "It’s tired."  ──encode──▶  [▁It, <0xE2>, <0x80>, <0x99>, s, ▁tired, .] as ids

What the vocabulary never learned is spelled in bytes (sentencepiece's byte_fallback), so decode(encode(text)) ==
normalise(text) for every str. The first ids are control ids: <pad> <unk> <s> </s>, then a tag >>fr<< for each
language (imported ones may be written __fr__, and stand elsewhere). They are put in by us alone: a typed </s> is four
characters of text, and comes back as those four.
"""

from __future__ import annotations

import io
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sentencepiece import (
    SentencePieceProcessor,
    SentencePieceTrainer,
    set_min_log_level,
    set_random_generator_seed,
)

from regard.errors import ConfigError, DataError, RunError

T = TypeVar("T")

PAD, UNKNOWN, BOS, EOS = 0, 1, 2, 3

REPEATS = 4  # of a line that are learned from
FILE_LIMIT = 1 << 26  # bytes of a model file, far more than any vocabulary takes
BYTES = 256  # tokens that spell what no other token covers
KINDS = ("unigram", "bpe")

SPACES = re.compile("[ \t\n\v\f\r\x1c-\x1e\x85\u2028\u2029▁]+")  # with all the line breaks of str.splitlines
SURROGATES = re.compile("[\ud800-\udfff]")  # half a character, which UTF-8 cannot hold
STRETCH = re.compile(".{1,1024}(?: |$)|.{1024}", re.DOTALL)  # cut at a space where there is one
TAG = re.compile(r">>([\w-]+)<<|__([\w-]+)__")  # Marian's, and ours; M2M100's
BREAK = "\t"  # sentencepiece learns no token across it, and normalised text has none

set_min_log_level(3)  # what matters of its log reaches us as exceptions


def normalise(text: str) -> str:
    """The text that encode reads and decode gives back; normalise(normalise(x)) == normalise(x).

    Spaces, tabs, line breaks and ▁ (U+2581, sentencepiece's own space), singly or in a row, become one space, and
    none at either end; a lone surrogate becomes U+FFFD; then Unicode's NFC, which keeps ½, ², ﬁ and the no-break space.
    """
    return unicodedata.normalize("NFC", SURROGATES.sub("\ufffd", SPACES.sub(" ", text)).strip(" "))


@dataclass(frozen=True)
class Token:
    """One token of a text: normalised[start:end] is what it stands for; the bytes of a character share its span."""

    piece: str  # as pictures show it, ▁ for a space
    id: int
    start: int
    end: int


@dataclass(frozen=True)
class Steps:
    """The way from a text to its ids."""

    text: str
    normalised: str
    tokens: tuple[Token, ...]


class TextTokenizer:
    """A sentencepiece model, unigram (Kudo 2018) or BPE (Sennrich et al. 2016), with our control ids."""

    mask = UNKNOWN  # what hides a token: no text has it, since bytes spell what is unknown

    def __init__(self, model: bytes):
        self.processor = SentencePieceProcessor()
        self.processor.load_from_serialized_proto(model)
        self.names = self.pieces(range(len(self)))  # of its ids, no two alike
        if self.names[: EOS + 1] != ["<pad>", "<unk>", "<s>", "</s>"]:
            raise ValueError("its first ids are not <pad> <unk> <s> </s>")
        spelled = sum(self.processor.is_byte(id) for id in range(len(self)))
        if spelled not in (BYTES, 0):
            raise ValueError("it spells unknown characters in some bytes and not in others")
        self.complete = spelled == BYTES  # an imported one may not be: to it, some characters are unknown
        self.control = frozenset(
            id for id in range(len(self)) if self.processor.is_control(id) or self.processor.is_unknown(id)
        )
        tags = ((id, TAG.fullmatch(self.names[id])) for id in sorted(self.control))
        self.tags = {match[1] or match[2]: id for id, match in tags if match}
        self.languages = tuple(self.tags)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        size: int = 8000,
        kind: str = "unigram",
        languages: Sequence[str] = (),
        most: int = 1_000_000,
    ) -> TextTokenizer:
        """A vocabulary of at most `size` tokens that suits the texts; the same texts give the same one."""
        tags = [f">>{language}<<" for language in languages]
        taken = EOS + 1 + len(tags) + BYTES
        if kind not in KINDS:
            raise ConfigError(f"tokenizer kind={kind} is unknown: choose one of {', '.join(KINDS)}")
        if len(set(tags)) != len(tags) or not all(map(TAG.fullmatch, tags)):
            raise ConfigError(
                f"languages={','.join(languages)} should be different names of letters and digits, such as en,de"
            )
        if size < taken + 2:
            raise ConfigError(
                f"tokenizer size={size} is too small: bytes and control ids take {taken}, so give 300 or more"
            )
        normalised = [text for text in map(normalise, texts) if text]
        if not normalised:
            raise DataError("there is no text to learn a tokenizer from: the corpus is empty")
        if len(normalised) > most:
            normalised = random.Random(0).sample(normalised, most)
        model = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=learnable(normalised, alphabet=(size - taken) // 2 - 1),
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            hard_vocab_limit=False,  # so that size is a ceiling
            byte_fallback=True,
            normalization_rule_name="identity",  # normalise has done it
            remove_extra_whitespaces=False,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=tags,
            num_threads=4,  # a constant, whatever the machine: sums of floats depend on it
            minloglevel=3,
        )
        return cls(model.getvalue())

    def __len__(self) -> int:
        return len(self.processor)

    @property
    def identity(self) -> bytes:
        """What it shares with those alone that give a text the same ids."""
        return self.processor.serialized_model_proto()

    def knows(self, piece: str) -> bool:
        """Whether a token of text looks like this: ▁animal."""
        return self.processor.piece_to_id(piece) not in self.control

    def tag(self, language: str) -> int:
        """The id of >>fr<<, by which a network is told a language."""
        if language not in self.tags:
            known = f"it knows {', '.join(self.languages)}" if self.tags else "it was learned without languages"
            raise ConfigError(f"the tokenizer has no language {language!r}: {known}")
        return self.tags[language]

    @property
    def unwritten(self) -> list[int]:
        """Ids that mean something to the machine and nothing to a reader: no translation has them."""
        return [PAD, UNKNOWN, BOS, *self.tags.values()]

    def encode(self, text: str, sampling: float = 0.0) -> list[int]:
        """The ids of a text; no control id is ever among them.

        With sampling, one of the many ways to cut it: unigram draws among them all with their probability to the power
        of `sampling` (Kudo 2018, section 3.3), BPE leaves out each merge with that probability (Provilkov et al. 2020).
        """
        if not self.complete:
            return self.looked_up(normalise(text))
        if not sampling:
            return self.processor.encode(normalise(text))
        return self.processor.encode(normalise(text), enable_sampling=True, alpha=sampling, nbest_size=-1)

    def looked_up(self, normalised: str) -> list[int]:
        """By what is written: a stretch that this model does not know may be a token of the other language's."""
        ids = map(self.processor.piece_to_id, self.processor.encode(normalised, out_type=str))
        return [UNKNOWN if id in self.control else id for id in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control ids left out; always one line, whatever a model has made of the bytes."""
        return normalise(self.processor.decode([id for id in map(int, ids) if id not in self.control]))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """What each id looks like: ▁animal, <0xE2>, </s>."""
        return [self.processor.id_to_piece(int(id)) for id in ids]

    def steps(self, text: str) -> Steps:
        """How encode comes to its ids: the text, normalised, and where in that each token lies."""
        normalised, ids = normalise(text), self.encode(text)
        tokens: list[Token] = []
        at, spelled = -1, 0  # -1: sentencepiece puts a space before the first word, to be like the others
        for id, piece in zip(ids, self.processor.encode(normalised, out_type=str), strict=True):
            start = max(at, 0)
            if self.processor.is_byte(id):
                end, spelled = start + 1, spelled + 1
                if spelled == len(normalised[start].encode()):
                    at, spelled = end, 0
            else:
                at = end = min(at + len(piece), len(normalised))  # more only where an imported one rewrites ½ as 1⁄2
            tokens.append(Token(piece, id, start, end))
        return Steps(text, normalised, tuple(tokens))

    def save(self, path: Path) -> None:
        """One file, sentencepiece's own: spm_encode and every other user of sentencepiece can read it."""
        path.write_bytes(self.processor.serialized_model_proto())

    @classmethod
    def load(cls, path: Path) -> TextTokenizer:
        try:
            if path.stat().st_size > FILE_LIMIT:
                raise RunError(f"{path} is larger than {FILE_LIMIT:,} bytes, which no tokenizer is: copy the run again")
            return cls(path.read_bytes())
        except FileNotFoundError:
            raise RunError(f"{path} does not exist: a run keeps its tokenizer there, so copy the run again") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror}") from None
        except (RuntimeError, ValueError, IndexError):
            raise RunError(f"{path} is damaged or not a tokenizer of regard: copy the run again") from None


def learnable(texts: Sequence[str], alphabet: int) -> Iterator[str]:
    """Normalised texts as sentencepiece's trainer can take them: it skips lines too long for it or with a ▅, its mark.

    Of the characters only the commonest, `alphabet` in number, get tokens of their own; the others, and ▅, stay in
    bytes. Long lines come in stretches, and repeats of one together and few: they cost the trainer quadratic time.
    """
    counts = Counter[str]()
    for text in texts:
        counts.update(text)
    del counts[" "], counts["▅"]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    unlearned = str.maketrans(dict.fromkeys(["▅", *ranked[alphabet:]], BREAK))
    stretches = Counter(stretch for text in texts for stretch in STRETCH.findall(text.translate(unlearned)))
    for stretch, count in stretches.items():
        yield from [stretch] * min(count, REPEATS)


def seeded(seed: int, draw: Callable[[], T]) -> T:
    """What `draw` gives when sentencepiece's sampling starts from a seed.

    Each thread has a generator of its own that is seeded once, at its first draw; so each seed gets a new thread.
    """
    set_random_generator_seed(seed)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(draw).result()
