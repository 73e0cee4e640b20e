"""Words that can stand for something else: the model writes them as it reads them, each as one token.

A placeholder left in a source is noise to a model that never saw one. A word that it copies, a name most of all, is
carried to where it belongs.
"""

from __future__ import annotations

import math

import torch

from regard.data.batch import pad
from regard.decoding.constraints.terms import wordlike
from regard.run import Run
from regard.tokens.text import BOS

TRIED, TAKEN = 512, 16  # more literals than these in one text share them, in their order
ROWS = 64  # words read at once
SURE = math.log(0.5)  # more often than not
SHORT = 4  # letters; shorter tokens are mostly beginnings of words


@torch.inference_mode()
def stand_ins(run: Run, to: str | None = None) -> dict[int, str]:
    """Ids of the target vocabulary and their words, the best first.

    Those that the model copies from a source of nothing else come first, and among them names, then longer words.
    """
    words, read = tried(run), torch.tensor([[BOS, *run.lead(to)]], device=run.device)
    scores: dict[int, float] = {}  # log p(word | word)
    for start in range(0, len(words), ROWS):
        chunk = list(words.items())[start : start + ROWS]
        sources = [run.encode_source(word, to) for _, word in chunk]
        source, lengths = pad(sources), torch.tensor([len(ids) for ids in sources])
        readable = (torch.arange(source.size(1)) < lengths.unsqueeze(1)).to(run.device)
        memory = run.model.encode(source.to(run.device), readable)
        states = run.model.decode(read.expand(len(chunk), -1), memory, readable)
        first = run.model.logits(states[:, -1]).float().log_softmax(-1)  # (rows, V)
        scores |= {id: first[row, id].item() for row, (id, _) in enumerate(chunk)}
    ranked = sorted(words, key=lambda id: (scores[id] < SURE, common(run, words[id]), -scores[id]))
    return {id: words[id] for id in ranked[:TAKEN]}


def tried(run: Run) -> dict[int, str]:
    """Words of the target vocabulary that are one token each: names first, and of equals evenly from common to rare."""
    tokenizer = run.target_tokenizer
    pieces = enumerate(tokenizer.pieces(range(len(tokenizer))))
    words = {id: piece[1:] for id, piece in pieces if piece[0] == "▁" and piece[1:] and all(map(wordlike, piece[1:]))}
    found: dict[int, str] = {}
    for kind in range(3):
        alike = [
            (id, word) for id, word in words.items() if common(run, word) == kind and tokenizer.encode(word) == [id]
        ]
        found |= alike[:: len(alike) // TRIED + 1]
    return dict(list(found.items())[:TRIED])


def common(run: Run, word: str) -> int:
    """0 for a name, or in German a noun: known with a capital alone; 1 for another word; 2 for what may be a part."""
    if len(word) < SHORT or not word.isalpha():
        return 2
    return int(run.target_tokenizer.knows(f"▁{word.lower()}") or not word.istitle())
