"""Our search and Hugging Face's generate: the same parameters, the same rule, the same tokens and scores."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lively import lively, sources
from references import HUGGING_FACE, hugging_face_sizes, renamed
from regard.config import DecodeConfig
from regard.decoding.search import search
from regard.tokens.text import BOS, EOS, PAD


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("beam", "alpha"), [(1, 1.0), (3, 1.0), (5, 0.6), (4, 2.0)])
def test_beam_search_is_hugging_face_s_with_early_stopping(seed: int, beam: int, alpha: float):
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    model = lively(vocabulary=37, seed=seed)
    reference: Any = MarianMTModel(MarianConfig(**hugging_face_sizes(model.config))).eval()
    parameters = renamed(model.state_dict(), HUGGING_FACE)
    reference.load_state_dict(parameters | {"model.shared.weight": model.source_embedding.table.weight}, strict=False)
    source, readable = sources(37, [6, 3, 9, 1])
    limit = 12
    theirs = reference.generate(
        input_ids=source,
        attention_mask=readable.long(),
        generation_config=GenerationConfig(
            num_beams=beam,
            num_return_sequences=beam,
            early_stopping=True,
            length_penalty=alpha,
            max_new_tokens=limit,
            do_sample=False,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            bad_words_ids=[[PAD], [BOS], [1]],
            renormalize_logits=True,  # so that the others share what these had
            output_scores=True,
            return_dict_in_generate=True,
        ),
    )
    forbidden = torch.tensor([PAD, BOS, 1])
    ours = search(model, source, readable, DecodeConfig(beam=beam, length_penalty=alpha), [limit] * 4, forbidden)
    expected = theirs.sequences.view(4, beam, -1).tolist()
    for row, found in enumerate(ours):
        for rank, hypothesis in enumerate(found.hypotheses[:beam]):
            written = [*hypothesis.ids, EOS] if hypothesis.finished else [*hypothesis.ids]
            after = set(expected[row][rank][1 + len(written) :])
            assert written == expected[row][rank][1 : 1 + len(written)]
            assert after <= {PAD, EOS}, "they fill up with either"
            if beam > 1:
                score = theirs.sequences_scores.view(4, beam)[row, rank].item()
                assert hypothesis.score == pytest.approx(score, abs=1e-4)
