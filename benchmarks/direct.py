"""CTranslate2 driven by hand, as its own documentation does at its best: what `regard translate` is measured against.

    .venv/bin/regard export RUN --format ctranslate2 --out FOLDER
    .venv/bin/python benchmarks/direct.py FOLDER < english.txt > german.txt

Reads everything, sorts by length, decodes on as many single-threaded workers as there are cores, and writes in order.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
from sentencepiece import SentencePieceProcessor


class Direct:
    def __init__(self, folder: Path, workers: int | None = None, threads: int = 1):
        self.source, self.target = (
            SentencePieceProcessor(str(folder / f"{side}.spm")) for side in ("source", "target")
        )
        self.translator = ctranslate2.Translator(
            str(folder), device="cpu", inter_threads=workers or os.cpu_count() or 1, intra_threads=threads
        )

    def __call__(self, lines: Sequence[str], beam: int = 5, batch: int = 32) -> list[str]:
        tokens = self.source.encode(list(lines), out_type=str)
        order = sorted(range(len(lines)), key=lambda index: -len(tokens[index]))
        results = self.translator.translate_batch(
            [tokens[index] for index in order], beam_size=beam, max_batch_size=batch, max_input_length=0
        )
        texts = self.target.decode([result.hypotheses[0] for result in results])
        written = [""] * len(lines)
        for index, text in zip(order, texts, strict=True):
            written[index] = text
        return written


if __name__ == "__main__":
    print("\n".join(Direct(Path(sys.argv[1]))([line.rstrip("\n") for line in sys.stdin])))
