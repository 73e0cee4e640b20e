"""How often a DALL-E trained here paints what a caption says, judged by measuring; and emoji to look at.

    python benchmarks/families/dalle.py shapes FOLDER
    python benchmarks/families/dalle.py emoji FOLDER /path/to/emoji-captions
    python benchmarks/families/dalle.py judged FOLDER JUDGE

The run is left in the folder, and beside it pictures; a run that is there already is judged as it is. The shapes' split
"test" puts together what was never seen together, two kinds of thing in one picture; in "unseen" there is a kind of
thing, such as the red circle, that no picture of training had, alone or beside another. The emoji's last 100 captions
are held out. Recipes: recipes/dalle-shapes.toml and recipes/dalle-emoji.toml. The third has a CLIP
learn from the same shapes, by recipes/clip-shapes.toml, into the folder JUDGE, and tells how often the first of eight
pictures is right, how often the one is that the CLIP chooses, and how often any of them is.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from regard.config import Settings, read_recipe, validate
from regard.data import shapes
from regard.data.gallery import read_gallery
from regard.data.labelled import Parts
from regard.data.pictures import Pictures, read_npz
from regard.decoding.match import ranked
from regard.decoding.paint import fitting, paint_each
from regard.insight.painted import save_painted
from regard.run import Run, load
from regard.training.accuracy import wilson
from regard.training.train import train_into

RECIPES = Path(__file__).parents[2] / "recipes"
JUDGED = 500  # captions of each split
SEED = 4242  # of those
CHOSEN, EACH = 100, 8  # captions that a judge chooses for, and pictures of each


def trained(recipe: str, folder: Path, corpus: Parts[Pictures] | None = None) -> Run:
    if (folder / "model.safetensors").is_file():
        return load(folder)
    settings = validate(Settings, read_recipe(RECIPES / recipe), recipe)
    clock, processor = time.perf_counter(), time.process_time()
    run = train_into(folder, settings, corpus or read_gallery(settings.data, settings.train.seed), on="cpu")
    print(f"trained in {time.perf_counter() - clock:.0f} s, {time.process_time() - processor:.0f} s of processor")
    return run


def benchmark_shapes(folder: Path) -> None:
    run = trained("dalle-shapes.toml", folder)
    for split in ("test", "unseen"):
        captions = shapes.pictures(split, JUDGED, SEED).captions
        painted = paint_each(run, captions)
        verdicts = [shapes.judge(each.caption, each.pixels) for each in painted]
        right = np.mean([verdict.right for verdict in verdicts])
        low, high = (f"{100 * share:.1f}" for share in wilson(float(right), len(verdicts)))
        wrong = Counter(name for each in verdicts if not each.right for name, fine in vars(each).items() if not fine)
        print(f"{split}: {100 * right:.1f} % of {JUDGED} painted right, 95 % interval {low} to {high}")
        print(f"    wrong of them: {', '.join(f'{name} {count}' for name, count in wrong.most_common())}", flush=True)
        save_painted(painted[:25], folder / f"{split}.png")


def benchmark_judged(folder: Path, judge: Path) -> None:
    painter, chooser = trained("dalle-shapes.toml", folder), trained("clip-shapes.toml", judge)
    for split in ("test", "unseen"):
        captions = shapes.pictures(split, CHOSEN, SEED).captions
        painted = paint_each(painter, [caption for caption in captions for _ in range(EACH)])
        right = np.array([shapes.judge(each.caption, each.pixels).right for each in painted]).reshape(-1, EACH)
        pixels = np.stack([each.pixels for each in painted]).reshape(len(captions), EACH, *painted[0].pixels.shape)
        best = [ranked(chooser, each, caption)[0] for each, caption in zip(pixels, captions, strict=True)]
        shares = right[:, 0].mean(), right[np.arange(len(best)), best].mean(), right.any(1).mean()
        first, chosen, any_of = (f"{100 * share:.1f} %" for share in shares)
        print(
            f"{split}, {len(captions)} captions: first {first}, chosen of {EACH} {chosen}, any of them {any_of}",
            flush=True,
        )


def benchmark_emoji(folder: Path, data: Path) -> None:
    lines = (data / "captions.tsv").read_text(encoding="utf-8").splitlines()[1:]
    pictures = read_npz(data / "twemoji32.npz")
    whole = Pictures(pictures.pixels, captions=tuple(line.split("\t")[2] for line in lines))
    order = np.random.default_rng(0).permutation(len(whole))
    run = trained("dalle-emoji.toml", folder, Parts(whole.at(order[:-100]), whole.at(order[-100:])))
    for name, places in (("seen", order[:100]), ("new", order[-100:])):
        save_painted(paint_each(run, fitting(run, whole.at(places).captions)[:25]), folder / f"{name}.png")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["shapes", folder]:
            benchmark_shapes(Path(folder))
        case ["emoji", folder, data]:
            benchmark_emoji(Path(folder), Path(data))
        case ["judged", folder, judge]:
            benchmark_judged(Path(folder), Path(judge))
        case _:
            sys.exit(__doc__)
