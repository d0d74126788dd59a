"""Settings as a person sees them, masked; and changed: the hot ones at once, the others for the next start."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from vaultd.config.loading import check_together, check_value, variables
from vaultd.config.saving import save
from vaultd.config.values import as_text
from vaultd.core.errors import SettingsError
from vaultd.settings import KEYS, SECTIONS, Key, Settings, Value, value_of, with_values

MASK: Final = "••••••••"


class Live(Protocol):
    """The settings in force, which can be replaced."""

    value: Settings


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as faces show it. A secret's value is masked, or "" where it is not set.

    `waits` is whether another value has been written that holds from the next start, `next_value`. `variable` is the one
    that is set in the environment, and wins over the file; "" where there is none.
    """

    key: Key
    value: object
    default: object
    is_set: bool
    waits: bool = False
    next_value: object = None
    variable: str = ""


@dataclass(frozen=True, slots=True)
class ShownSection:
    """One block of the settings."""

    name: str
    about: str
    settings: tuple[Shown, ...]


class Tuning:
    """Shows settings and changes them; `on_change` is called with the settings then in force."""

    def __init__(
        self,
        live: Live,
        config: Path | None,
        on_change: Callable[[Settings], None],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._live = live
        self._config = config
        self._on_change = on_change
        self._environ = environ
        self._later: dict[str, Value] = {}

    @property
    def config(self) -> Path | None:
        """The file that changes go to; None where there is none."""
        return self._config

    def shown(self) -> tuple[ShownSection, ...]:
        """All settings, section by section."""
        return tuple(
            ShownSection(section.name, section.about, tuple(self._shown(key) for key in section.keys))
            for section in SECTIONS
            if section.keys
        )

    def _shown(self, key: Key) -> Shown:
        value = value_of(self._live.value, key)
        variable = self._variable(key)
        if key.secret:
            return Shown(key, MASK if value else "", "", bool(value), variable=variable)
        default = _plain(key, key.default)
        if key.name not in self._later:
            return Shown(key, _plain(key, value), default, value != key.default, variable=variable)
        coming = self._later[key.name]
        return Shown(key, _plain(key, value), default, coming != key.default, True, _plain(key, coming), variable)

    def _variable(self, key: Key) -> str:
        return next((name for name in variables(key) if self._environ.get(name, "").strip()), "")

    async def change(self, values: Mapping[str, object]) -> tuple[str, ...]:
        """Put hot settings in force and, but for secrets, into the file; write the others for the next start.

        The keys that changed. Raises SettingsError, which names the key; then nothing has changed.
        """
        folder = self._config.parent if self._config else Path.cwd()
        now: dict[str, Value] = {}
        later = dict(self._later)
        for name, raw in values.items():
            if name not in KEYS:
                raise SettingsError(f"{name[:80]}: there is no such setting")
            key, value = KEYS[name], check_value(name, raw, folder)
            if key.hot:
                if value != value_of(self._live.value, key):
                    now[name] = value
                continue
            self._check_later(key)
            if value == value_of(self._live.value, key):
                later.pop(name, None)
            else:
                later[name] = value
        settings = with_values(self._live.value, now)
        check_together(settings)
        check_together(with_values(settings, later))
        changed = [*now, *(name for name in values if later.get(name) != self._later.get(name))]
        kept = {name: value_of(with_values(settings, later), KEYS[name]) for name in changed if not KEYS[name].secret}
        if self._config is not None and kept:
            await asyncio.to_thread(save, self._config, kept)
        self._live.value, self._later = settings, later
        if now:
            self._on_change(settings)
        return tuple(changed)

    def _check_later(self, key: Key) -> None:
        """Raises SettingsError for what can't be written for the next start from here."""
        first = variables(key)[0]
        if key.secret:
            raise SettingsError(f"{key.name}: a secret is not written to the file; start vaultd with {first}")
        if variable := self._variable(key):
            raise SettingsError(f"{key.name}: the variable {variable} is set and wins over the file; change it there")
        if self._config is None:
            raise SettingsError(f"{key.name}: there is no settings file; start vaultd with {first}")


def _plain(key: Key, value: Value) -> object:
    """A value as JSON has it; durations and folders as a person writes them."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path) or key.shape.value == "duration":
        return as_text(key, value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
