"""Trace → HTML for a notebook: the sentence, its translation, and what each word looked at most.

A notebook keeps this in its file and shows it wherever that is opened, so it is inert: tables, numbers, escaped text.
"""

from __future__ import annotations

from html import escape

from regard.insight.image import to_address
from regard.insight.trace import Trace
from regard.insight.words import by_word, words

CELL = 16  # pixels of a square of the map
INK = "#0072b2"
SIZE = 192  # pixels of a picture, across


def to_html(trace: Trace) -> str:
    """A table with a row for each word that looks, and a map of its attention; both of the last layer's mean."""
    title = f"<p><b>{escape(trace.text)}</b><br>→ {escape(trace.translation)}</p>"
    if not trace.target or not trace.kinds:
        return title + f"<p>attention: {escape(', '.join(trace.kinds) or 'none')}</p>"
    if trace.patches is not None:
        return title + f'<p><img src="{to_address(trace.patches.pixels)}" width="{SIZE}" alt=""></p>'
    kind = trace.kinds[-1]
    rows, columns = (words(tokens) for tokens in trace.axes(kind))
    shares = by_word(trace.maps(kind)[-1].mean(0), rows, columns)  # (rows, columns)
    lines = []
    for row, weights in zip(rows, shares, strict=True):
        best, tokens = int(weights.argmax()), slice(row.start, row.end)
        lines.append(
            f"<tr><td>{escape(row.text)}</td><td>{escape(' '.join(trace.axes(kind)[0][tokens]))}</td>"
            f"<td>{escape(columns[best].text)}</td><td>{weights[best]:.0%}</td></tr>"
        )
    squares = [
        f'<rect x="{x * CELL}" y="{y * CELL}" width="{CELL}" height="{CELL}" fill="{INK}" fill-opacity="{share:.3f}">'
        f"<title>{escape(rows[y].text)} → {escape(columns[x].text)}: {share:.1%}</title></rect>"
        for y, weights in enumerate(shares.tolist())
        for x, share in enumerate(weights)
        if share >= 0.005
    ]
    wide, tall = len(columns) * CELL, len(rows) * CELL
    frame = f'<rect width="{wide}" height="{tall}" fill="none" stroke="#b0b0b0"/>'
    drawing = f'<svg width="{wide}" height="{tall}" role="img" aria-label="attention">{frame}{"".join(squares)}</svg>'
    head = "<tr><th>word</th><th>tokens</th><th>looked most at</th><th>share</th></tr>"
    return f"{title}<table>{head}{''.join(lines)}</table><p>{drawing}</p>"
