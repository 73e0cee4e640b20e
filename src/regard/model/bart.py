"""BART: the Translator, first taught to restore text that was damaged."""

from __future__ import annotations

from regard.model.translator import Translator


class Bart(Translator):
    """GELU, learned positions, a norm of the embeddings and a bias of the logits      Lewis et al. 2020, section 2.1

    Nothing but settings; see BartConfig.
    """

    tasks = ("denoise", "translate")
