"""Decoding speed on a CPU, beside those who decode the same network: sentences and tokens a second, and latency.

    .venv/bin/python benchmarks/decode.py RUN ../shared/data/multi30k/test_2016_flickr.en.gz --rounds 3

Sides, all with the run's own parameters, text in and text out, tokenisation included:

    regard torch         regard.translate(…, engine="torch"), 64 at a time
    regard ctranslate2   regard.translate(…, engine="ctranslate2"), cores and batch as it measured them
    ctranslate2          benchmarks/direct.py, sorted, a single-threaded worker on each core, in the best batch
    hugging face         the exported folder's `generate` with its cache, sorted, in the best batch

In float32, and in int8 for the two that can. They take turns in each round, so that a busy neighbour is everybody's; a
ratio is of two times in one round, and what is printed is the median. Latency is of one sentence at a time. How many of
the texts differ from those of `regard torch` is printed too.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import torch
from direct import Direct
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging

import regard
from regard.data.corpus import read_lines
from regard.run import Run

Side = Callable[[Sequence[str], int], list[str]]  # lines and a beam to lines


class HuggingFace:
    def __init__(self, folder: Path, batch: int = 64):
        self.model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.batch = batch

    @torch.inference_mode()
    def __call__(self, lines: Sequence[str], beam: int) -> list[str]:
        ids = self.tokenizer(list(lines)).input_ids
        order = sorted(range(len(lines)), key=lambda index: -len(ids[index]))
        written = [""] * len(lines)
        for start in range(0, len(order), self.batch):
            chunk = order[start : start + self.batch]
            given = self.tokenizer.pad({"input_ids": [ids[index] for index in chunk]}, return_tensors="pt")
            out = self.model.generate(
                input_ids=given["input_ids"], attention_mask=given["attention_mask"], num_beams=beam
            )
            for index, text in zip(chunk, self.tokenizer.batch_decode(out, skip_special_tokens=True), strict=True):
                written[index] = text
        return written


def ours(run: Run, engine: str, precision: str = "float32") -> Side:
    def side(lines: Sequence[str], beam: int) -> list[str]:
        how = {"engine": engine, "precision": precision, "beam": beam}
        return [each.text for each in regard.translate(run, lines, **how)]

    return side


def seconds(side: Side, lines: Sequence[str], beam: int) -> tuple[float, list[str]]:
    began = perf_counter()
    texts = side(lines, beam)
    return perf_counter() - began, texts


def sides(run: Run, folder: Path, lines: Sequence[str]) -> dict[str, Side]:
    """By precision and name; those that have a batch to choose choose it here."""
    threads = torch.get_num_threads()
    chosen: dict[str, Side] = {"float32 regard torch": ours(run, "torch")}
    hugging_face = HuggingFace(regard.export(run, "huggingface", folder / "huggingface"))
    times = {}
    for hugging_face.batch in (32, 64, 128):
        times[hugging_face.batch] = seconds(hugging_face, lines[:256], 5)[0]
    hugging_face.batch = min(times, key=lambda batch: times[batch])
    chosen["float32 hugging face"] = hugging_face
    print(f"hugging face decodes {hugging_face.batch} at a time")
    for precision in ("float32", "int8"):
        direct = Direct(regard.export(run, "ctranslate2", folder / precision, precision), torch.get_num_threads())
        times = {batch: seconds(lambda some, beam: direct(some, beam, batch), lines, 5)[0] for batch in (16, 32, 64)}  # noqa: B023
        best = min(times, key=lambda batch: times[batch])
        print(f"ctranslate2 in {precision} decodes {best} at a time")
        chosen[f"{precision} ctranslate2"] = lambda some, beam, direct=direct, best=best: direct(some, beam, best)
        chosen[f"{precision} regard ctranslate2"] = ours(run, "ctranslate2", precision)
        torch.set_num_threads(threads)  # which making a Translator has set, for the whole process
    return chosen


def throughput(run: Run, chosen: dict[str, Side], lines: Sequence[str], beam: int, rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in chosen}
    texts: dict[str, list[str]] = {}
    for number in range(rounds + 1):  # the first is for warmth
        for name, side in chosen.items():
            took, texts[name] = seconds(side, lines, beam)
            if number:
                times[name].append(took)
    reference = texts["float32 regard torch"]
    tokens = sum(len(run.encode_target(text)) for text in reference)
    print(f"\nbeam {beam}, {len(lines)} sentences, {rounds} rounds\n")
    print("| | sentences/s | tokens/s | × hugging face | × ctranslate2 | other texts |\n|---|---|---|---|---|---|")
    for name, took in times.items():
        precision = name.split()[0]
        against = [
            median(other / mine for other, mine in zip(times[peer], took, strict=True))
            for peer in ("float32 hugging face", f"{precision} ctranslate2")
        ]
        differ = sum(a != b for a, b in zip(texts[name], reference, strict=True))
        rate = len(lines) / median(took)
        print(
            f"| {name} | {rate:.0f} | {rate * tokens / len(lines):,.0f} | {against[0]:.2f} | {against[1]:.2f} "
            f"| {differ} |"
        )


def latency(chosen: dict[str, Side], lines: Sequence[str], beam: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for number, line in enumerate(lines):
        for name, side in chosen.items():
            took, _ = seconds(side, [line], beam)
            if number > 4:
                times[name].append(1000 * took)
    print(f"\nbeam {beam}, one sentence at a time, {len(lines) - 5} of them\n")
    print("| | p50, ms | p95, ms |\n|---|---|---|")
    for name, took in times.items():
        cut = quantiles(took, n=20)
        print(f"| {name} | {median(took):.1f} | {cut[18]:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--single", type=int, default=60, help="sentences to measure the latency of")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--beams", default="1,5")
    given = parser.parse_args()
    logging.set_verbosity_error()
    torch.set_num_threads(given.threads)
    run, lines = regard.load(given.run, on="cpu"), read_lines(given.source)[: given.lines]
    print(f"{given.run}, {given.source.name}, {given.threads} threads, {platform.processor()}, {date.today()}")
    with tempfile.TemporaryDirectory() as folder:
        chosen = sides(run, Path(folder), lines)
        for beam in map(int, given.beams.split(",")):
            throughput(run, chosen, lines, beam, given.rounds)
            latency(chosen, lines[: given.single + 5], beam)


if __name__ == "__main__":
    main()
