"""How well a learned codebook keeps pictures: the shapes, judged by their readers, and pictures of your own, by eye.

    .venv/bin/python benchmarks/codec.py --out codec.png
    .venv/bin/python benchmarks/codec.py --pictures ../shared/data/emoji-captions/twemoji32.npz --out emoji.png

On the shapes it prints how many reconstructed pictures of each split are read right; on all, the root of the mean
squared error of held-out pictures, out of 255, how many codes they use, and the seconds of one core that learning took.
The picture shows what went in above what came out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from regard.data import shapes
from regard.data.pictures import Pictures, read_pictures, split
from regard.insight.pictures import grid
from regard.tokens.image import ImageTokenizer

SHOWN = 10  # pictures in a row; three such rows, each above what came out


def measure(tokenizer: ImageTokenizer, held_out: Pictures, name: str) -> np.ndarray:
    ids = tokenizer.encode(held_out.pixels)
    again = tokenizer.decode(ids)
    error = np.sqrt(np.square(again.astype(float) - held_out.pixels).mean())
    print(f"{name:>8}: {len(held_out):,} pictures, error {error:.1f} of 255, {ids.unique().numel()} codes used", end="")
    if name in shapes.SPLITS:
        right = sum(map(shapes.drawn_right, held_out.captions, again))
        print(f", {right / len(held_out):.2%} read right", end="")
    print(flush=True)
    return again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="a corpus of pictures; without it, the shapes")
    parser.add_argument("--count", type=int, default=8000, help="shapes to learn from")
    parser.add_argument("--codes", type=int, default=256)
    parser.add_argument("--colours", type=int, default=64)
    parser.add_argument("--patch", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to draw pictures and reconstructions")
    given = parser.parse_args()
    torch.set_num_threads(1)

    if given.pictures:
        train, held_out = split(read_pictures(given.pictures), 0.1)
        tested = {"held out": held_out}
    else:
        train = shapes.pictures("train", given.count)
        tested = {name: shapes.pictures(name, 1000) for name in ("valid", "test", "unseen")}
    began = time.process_time()
    sizes = {"codes": given.codes, "colours": given.colours, "patch": given.patch, "hidden": given.hidden}
    tokenizer = ImageTokenizer.learn(train.pixels, **sizes, steps=given.steps, seed=given.seed)
    print(f"{given.steps} steps in {time.process_time() - began:.0f} s of one core", flush=True)
    rows = []
    for name, pictures in tested.items():
        again = measure(tokenizer, pictures, name)
        for start in range(0, SHOWN * (6 // (2 * len(tested))), SHOWN):
            rows += [pictures.pixels[start : start + SHOWN], again[start : start + SHOWN]]
    if given.out:
        grid(np.concatenate(rows), columns=SHOWN).savefig(given.out)


if __name__ == "__main__":
    main()
