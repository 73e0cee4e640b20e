"""The model card: what whoever finds the folder needs to know."""

from __future__ import annotations


def test_the_card_tells_data_size_score_and_how_to_use_it(counting):
    card = (counting / "README.md").read_text(encoding="utf-8")
    for words in ("| training data |", "| parameters |", "| BLEU |", "| chrF |", "beam 5", "regard translate"):
        assert words in card
    assert "BLEU `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in card
    assert "(curve.png)" in card


def test_its_table_has_two_columns_throughout(counting):
    """A signature has bars of its own, which would break a row."""
    rows = [line for line in (counting / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) > 8
    assert {row.count("|") for row in rows} == {3}
