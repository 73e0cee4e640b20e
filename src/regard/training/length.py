"""The length penalty that suits a run, chosen on its validation set.

Beam search with label smoothing likes to end early. How much a longer hypothesis should be let off differs from run to
run, and from text to text: what suits a validation set suits others as far as these are alike (docs/recipes.md).

What a search keeps does not depend on the penalty, only how it ranks that in the end. So one search tells of them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.config import DecodeConfig
from regard.data.direction import Directed
from regard.decoding.hypothesis import penalty
from regard.decoding.torch_engine import TorchEngine
from regard.run import Run
from regard.training.score import score

PENALTIES = tuple(tenths / 10 for tenths in range(2, 31, 2))


def tuned(run: Run, pairs: Sequence[Directed]) -> DecodeConfig:
    """The run's settings of the search with the penalty of the best BLEU; of equal ones, that nearest to its own."""
    config = run.settings.decode
    sources = [run.encode_source(pair.source, pair.to) for pair in pairs]
    found = TorchEngine(run).search(sources, config, config.beam)

    def bleu(length_penalty: float) -> float:
        by = config.model_copy(update={"length_penalty": length_penalty})
        best = [
            max(each.hypotheses, key=lambda way: way.log_probability / penalty(max(1, way.length), by))
            for each in found
        ]
        return score([run.target_tokenizer.decode(way.ids) for way in best], [pair.target for pair in pairs]).bleu

    own = config.length_penalty
    chosen = max({*PENALTIES, own}, key=lambda each: (bleu(each), -abs(each - own), each))
    return config.model_copy(update={"length_penalty": chosen})
