"""regard: the Transformer of "Attention Is All You Need". Train it on your own text, use it, look inside it, ship it.

    run = regard.train({"data": {"source": "a.en", "target": "a.de"}}, out="runs/en-de")
    run = regard.load("runs/en-de")
    for translation in regard.translate(run, ["A dog runs."]):
        print(translation.text)
    print(regard.evaluate(run, "test.en", "test.de"))
    trace = regard.explain(run, "A dog runs.")

    run = regard.train({"data": {"text": "book.txt"}}, out="runs/book")
    for text in regard.generate(run, "Once upon a time", n=3):
        print(text)
    print(regard.evaluate_text(run, ["other.txt"]))

    run = regard.train({"data": {"pictures": "photos/"}}, out="runs/photos")
    for found in regard.classify(run, ["new.jpg"], top=3):
        print(found)

    run = regard.train({"data": {"text": "book.txt"}, "model": {"family": "bert"}}, out="runs/bert")
    print(regard.fill(run, "The [MASK] sat on the mat."))

The verbs are fetched when they are first used, so that `import regard` and `regard --help` do not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.data.doctor import doctor
    from regard.decoding.classify import classify
    from regard.decoding.ensemble import ensemble
    from regard.decoding.fill import fill
    from regard.decoding.generate import generate
    from regard.decoding.match import match
    from regard.decoding.paint import paint
    from regard.decoding.tag import tag
    from regard.decoding.translate import translate
    from regard.demos.translator import demo
    from regard.errors import RegardError
    from regard.exchange import adopt, export
    from regard.insight.explain import explain
    from regard.run import Run, load
    from regard.training.accuracy import evaluate_classes
    from regard.training.codes import evaluate_pictures
    from regard.training.evaluate import evaluate
    from regard.training.foretell import evaluate_text
    from regard.training.hidden import evaluate_hidden
    from regard.training.likeness import evaluate_matches
    from regard.training.tags import evaluate_tags
    from regard.training.train import train

HOMES = {
    "Run": "regard.run",
    "RegardError": "regard.errors",
    "adopt": "regard.exchange",
    "classify": "regard.decoding.classify",
    "demo": "regard.demos.translator",
    "doctor": "regard.data.doctor",
    "ensemble": "regard.decoding.ensemble",
    "evaluate": "regard.training.evaluate",
    "evaluate_classes": "regard.training.accuracy",
    "evaluate_hidden": "regard.training.hidden",
    "evaluate_matches": "regard.training.likeness",
    "evaluate_pictures": "regard.training.codes",
    "evaluate_tags": "regard.training.tags",
    "evaluate_text": "regard.training.foretell",
    "explain": "regard.insight.explain",
    "export": "regard.exchange",
    "fill": "regard.decoding.fill",
    "generate": "regard.decoding.generate",
    "load": "regard.run",
    "match": "regard.decoding.match",
    "paint": "regard.decoding.paint",
    "tag": "regard.decoding.tag",
    "train": "regard.training.train",
    "translate": "regard.decoding.translate",
}

__all__ = [
    "RegardError",
    "Run",
    "__version__",
    "adopt",
    "classify",
    "demo",
    "doctor",
    "ensemble",
    "evaluate",
    "evaluate_classes",
    "evaluate_hidden",
    "evaluate_matches",
    "evaluate_pictures",
    "evaluate_tags",
    "evaluate_text",
    "explain",
    "export",
    "fill",
    "generate",
    "load",
    "match",
    "paint",
    "tag",
    "train",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
