"""DistilBERT: BERT's network with half the layers, learned from BERT."""

from __future__ import annotations

from regard.model.bert import Bert


class Distilbert(Bert):
    """No segments, and a classifier with ReLU                                            Sanh et al. 2019, section 2

    Nothing but settings: token_types=0, pooling=relu.
    """
