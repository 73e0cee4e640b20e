"""What a translation must hold: terms of a glossary, and spans that come out as they went in.

    text ──terms──▶ spans ──order──▶ what the model reads ──constrain──▶ hypotheses ──placing──▶ text, all in its place

`keep` is the door: a Keeper translates lines with what they demand, and says what it could not meet.
"""
