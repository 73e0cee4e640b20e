"""RoBERTa: BERT's network, learned better."""

from __future__ import annotations

from regard.model.bert import Bert


class Roberta(Bert):
    """One segment, positions counted from 2; what differs more is how it is trained                 Liu et al. 2019

    Nothing but settings: token_types=1, position_offset=2. Its classifier is BERT's pooler and classifier in one.
    """
