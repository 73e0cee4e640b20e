"""Settings as they are written: a recipe or a run's config.json read, overridden, validated, and written again."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from regard.config.base import Config
from regard.errors import ConfigError

C = TypeVar("C", bound=Config)


def read_recipe(path: Path) -> dict[str, Any]:
    """The settings that a TOML file names, or those of a run's config.json."""
    try:
        text = path.read_text(encoding="utf-8")
        given = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        if not isinstance(given, dict):
            raise ValueError("there are no sections in it")
        return given
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: give the path of a recipe, such as recipes/laptop.toml") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read as a recipe: {error.strerror}; give the path of a TOML file"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8 text") from None
    except (ValueError, RecursionError) as error:  # besides bad TOML: thousands of digits, or brackets within brackets
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"{path} is not a recipe in {kind}: {error}") from None


def override(given: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """`given` with each "model.width=512" put in; a value is read as TOML, and as plain text where it is none."""
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        section, _, key = name.strip().partition(".")
        if not (equals and section and key):
            raise ConfigError(
                f"--set {assignment} is not of the form section.key=value: write, say, --set model.width=512"
            )
        part = result.setdefault(section, {})
        if not isinstance(part, dict):
            raise ConfigError(f"--set {assignment} is not possible: {section} is a single setting and has no key {key}")
        part[key] = value_of(text.strip())
    return result


def value_of(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str | list | dict) else text  # no setting is a date


def validate(kind: type[C], given: Mapping[str, Any], where: str) -> C:
    """`given` as settings of a kind, or a ConfigError that says in one sentence what is wrong `where`."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise ConfigError(f"{where}: {sentence(kind, error)}") from None


# What pydantic complains of, and how it is said here after the setting and its value.
COMPLAINTS = {
    "int": "should be a whole number",
    "float": "should be a number",
    "finite": "should be a finite number",
    "bool": "should be true or false",
    "string": "should be text: put it in quotes",
    "string_unicode": "is not valid Unicode text",
    "tuple": "should be a list: put its values in brackets, with commas between them",
    "model": "should be a section with settings of its own, not a single value",
    "missing": "lacks value number {number}",
    "too_long": "has too many values: it takes {max_length}",
    "literal": "should be {expected}",
    "union": "should be {expected}",
    "greater_than": "should be greater than {gt}",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be less than {lt}",
    "less_than_equal": "should be at most {le}",
}


def sentence(kind: type[Config], error: ValidationError) -> str:
    """The first complaint of a validation, in our words."""
    first = error.errors(include_url=False)[0]
    path, context, value = [str(part) for part in first["loc"]], first.get("ctx", {}), first["input"]
    match first["type"]:
        case "value_error":  # raised by a validator above, which names the settings itself
            return str(context["error"])
        case "extra_forbidden" | "invalid_key":
            return f"{written(kind, path)} is no setting; {suggestion(kind, path)}"
        case "missing":  # of the values of one setting: every setting has a default
            context = {"number": int(path.pop()) + 1}
        case "union_tag_invalid":  # of the families, which have a class of settings each
            path, value = [*path, "family"], value["family"]
            context = {"expected": " or ".join(context["expected_tags"].rsplit(", ", 1))}
    complaint = COMPLAINTS.get(first["type"]) or COMPLAINTS.get(first["type"].split("_")[0])
    reason = complaint.format(**context) if complaint else f"is not possible: {first['msg']}"
    name = written(kind, path)
    return f"{name}{'=' if name else ''}{shown(value)} {reason}"


def written(kind: type[Config], path: list[str]) -> str:
    """The path as a recipe has it: pydantic puts the family's name between the model and its setting."""
    tagged = path[1:2] and path[1] not in fields_at(kind, path[:1]) and kinds_at(kind, path[:2])
    return ".".join([*path[:1], *path[2:]] if tagged else path)


def suggestion(kind: type[Config], path: list[str]) -> str:
    """What an unknown setting may have been meant to be: the same name in another section, or one much like it."""
    *sections, key = path
    known = fields_at(kind, sections)
    others = [section for section in kind.model_fields if section not in sections]
    elsewhere = [[section, key] for section in others if key in fields_at(kind, [section])]
    close = [[*sections, name] for name in difflib.get_close_matches(key, known, n=1)]
    for meant in elsewhere + close:
        return f"did you mean {written(kind, meant)}?"
    return f"known are {', '.join(known)}"


def fields_at(kind: type[Config], path: list[str]) -> list[str]:
    return list(dict.fromkeys(name for each in kinds_at(kind, path) for name in each.model_fields))


def kinds_at(kind: type[Config], path: list[str]) -> list[type[Config]]:
    """The classes of settings that a path leads to: one for a section, or one for each family, until one is named."""
    kinds = [kind]
    for part in path:
        kinds = [inner for each in kinds for inner in kinds_within(each, part)]
    return kinds


def kinds_within(kind: type[Config], part: str) -> list[type[Config]]:
    if part not in kind.model_fields:
        return [kind] if "family" in kind.model_fields and kind.model_fields["family"].default == part else []
    annotation = kind.model_fields[part].annotation
    choices = get_args(annotation) or (annotation,)
    return [each for each in choices if isinstance(each, type) and issubclass(each, Config)]


def shown(value: Any) -> str:
    """A value as it was given, cut where it is too long for a sentence."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of more digits than Python prints; lists within lists
        return f"(a very long {type(value).__name__})"
    return text if len(text) <= 60 else f"{text[:59]}…"


def to_json(config: Config) -> str:
    """As JSON; a file name that is no Unicode stays readable, its odd bytes as JSON's own escapes."""
    text = json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    return text.encode(errors="backslashreplace").decode()
