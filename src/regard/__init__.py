"""regard: the Transformer of "Attention Is All You Need". Train it on your own text, use it, look inside it, ship it.

    run = regard.train({"data": {"source": "a.en", "target": "a.de"}}, out="runs/en-de")
    run = regard.load("runs/en-de")
    for translation in regard.translate(run, ["A dog runs."]):
        print(translation.text)
    print(regard.evaluate(run, "test.en", "test.de"))
    trace = regard.explain(run, "A dog runs.")

The verbs are fetched when they are first used, so that `import regard` and `regard --help` do not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.data.doctor import doctor
    from regard.decoding.ensemble import ensemble
    from regard.decoding.translate import translate
    from regard.errors import RegardError
    from regard.exchange import adopt, export
    from regard.insight.explain import explain
    from regard.run import Run, load
    from regard.showcase import demo
    from regard.training.evaluate import evaluate
    from regard.training.train import train

HOMES = {
    "Run": "regard.run",
    "RegardError": "regard.errors",
    "adopt": "regard.exchange",
    "demo": "regard.showcase",
    "doctor": "regard.data.doctor",
    "ensemble": "regard.decoding.ensemble",
    "evaluate": "regard.training.evaluate",
    "explain": "regard.insight.explain",
    "export": "regard.exchange",
    "load": "regard.run",
    "train": "regard.training.train",
    "translate": "regard.decoding.translate",
}

__all__ = [
    "RegardError",
    "Run",
    "__version__",
    "adopt",
    "demo",
    "doctor",
    "ensemble",
    "evaluate",
    "explain",
    "export",
    "load",
    "train",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
