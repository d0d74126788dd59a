"""The settings as data: every key with its default, its range and its meaning."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from vaultd.settings.model import Settings
from vaultd.settings.rules import RULE, Rule, Shape

T = TypeVar("T")
Value: TypeAlias = str | int | float | bool | Path | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Key:
    """One setting as data: dotted name in the file, where it lies in `Settings`, and its rule."""

    name: str
    attributes: tuple[str, ...]
    shape: Shape
    default: Value
    about: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    hot: bool
    secret: bool
    env: tuple[str, ...]
    optional: bool  # null is a value of its own

    @property
    def allowed(self) -> str:
        """What may stand there, as the end of the sentence "use …"."""
        if self.choices:
            return " | ".join(self.choices)
        if self.shape is Shape.DURATION:
            return "auto, or a time such as 0, 30min, 24h, up to 366d"
        if self.low is not None and self.high is not None:
            return f"{self.low:g}…{self.high:g}" if self.high < 1e6 else f"{self.low:.0f}…{self.high:.0f}"
        return {Shape.WHOLE: "a whole number", Shape.NUMBER: "a number"}.get(self.shape, self.shape.value)


@dataclass(frozen=True, slots=True)
class Section:
    """One block of the file: its dotted name ("" for the top), what it is about, and its own keys."""

    name: str
    about: str
    keys: tuple[Key, ...]


_PLAIN_SHAPES: Final[Mapping[Any, Shape]] = {str: Shape.TEXT, int: Shape.WHOLE, float: Shape.NUMBER, bool: Shape.SWITCH}


def _key_of(spec: dataclasses.Field[Any], hint: object, path: tuple[str, ...], names: tuple[str, ...]) -> Key:
    rule: Rule = spec.metadata[RULE]
    arms = typing.get_args(hint)
    optional = type(None) in arms
    choices = arms if typing.get_origin(hint) is typing.Literal else ()
    shape = rule.shape or (Shape.CHOICE if choices else _PLAIN_SHAPES.get(hint, Shape.LIST))
    return Key(
        name=".".join((*names, rule.name or spec.name)),
        attributes=(*path, spec.name),
        shape=shape,
        default=typing.cast(Value, spec.default),
        about=rule.about,
        low=rule.low,
        high=rule.high,
        choices=choices,
        hot=rule.hot,
        secret=rule.secret,
        env=rule.env,
        optional=optional,
    )


def _sections_of(owner: type, path: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> list[Section]:
    hints = typing.get_type_hints(owner)
    keys: list[Key] = []
    below: list[Section] = []
    for spec in dataclasses.fields(owner):
        hint = hints[spec.name]
        if dataclasses.is_dataclass(hint):
            below += _sections_of(typing.cast(type, hint), (*path, spec.name), (*names, spec.name))
        else:
            keys.append(_key_of(spec, hint, path, names))
    own = Section(".".join(names), (owner.__doc__ or "").strip(), tuple(keys))
    return [own, *below]


SECTIONS: Final[tuple[Section, ...]] = tuple(_sections_of(Settings))
KEYS: Final[Mapping[str, Key]] = {key.name: key for section in SECTIONS for key in section.keys}


def value_of(settings: Settings, key: Key) -> Value:
    """The value that `settings` holds for `key`."""
    found: Any = settings
    for attribute in key.attributes:
        found = getattr(found, attribute)
    return typing.cast(Value, found)


def with_values(settings: Settings, values: Mapping[str, Value]) -> Settings:
    """Settings with some keys changed; the values must already have their Python types. Raises KeyError."""
    for name, value in values.items():
        settings = _replaced(settings, KEYS[name].attributes, value)
    return settings


def _replaced(owner: T, attributes: tuple[str, ...], value: Value) -> T:
    first, *rest = attributes
    inner: Any = _replaced(getattr(owner, first), tuple(rest), value) if rest else value
    return typing.cast(T, dataclasses.replace(typing.cast(Any, owner), **{first: inner}))
