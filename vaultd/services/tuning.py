"""Settings as a person sees them, masked; and changed while the daemon runs."""

from __future__ import annotations

import asyncio
import math
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
    """One setting as faces show it. A secret's value is masked, or "" where it is not set."""

    key: Key
    value: object
    default: object
    is_set: bool


@dataclass(frozen=True, slots=True)
class ShownSection:
    """One block of the settings."""

    name: str
    about: str
    settings: tuple[Shown, ...]


class Tuning:
    """Shows settings and changes the hot ones; `on_change` is called with the settings then in force."""

    def __init__(self, live: Live, config: Path | None, on_change: Callable[[Settings], None]) -> None:
        self._live = live
        self._config = config
        self._on_change = on_change

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
        if key.secret:
            return Shown(key, MASK if value else "", "", bool(value))
        return Shown(key, _plain(key, value), _plain(key, key.default), value != key.default)

    async def change(self, values: Mapping[str, object]) -> tuple[str, ...]:
        """Put hot settings in force and, but for secrets, into the file; the keys that changed.

        Raises SettingsError, which names the key; then nothing has changed.
        """
        folder = self._config.parent if self._config else Path.cwd()
        parsed: dict[str, Value] = {}
        for name, raw in values.items():
            if name not in KEYS:
                raise SettingsError(f"{name[:80]}: there is no such setting")
            value = check_value(name, raw, folder)
            if not KEYS[name].hot:
                raise SettingsError(
                    f"{name}: takes effect at the next start; set it in the file or as {variables(KEYS[name])[0]}"
                )
            if value != value_of(self._live.value, KEYS[name]):
                parsed[name] = value
        settings = with_values(self._live.value, parsed)
        check_together(settings)
        kept = {name: value for name, value in parsed.items() if not KEYS[name].secret}
        if self._config is not None and kept:
            await asyncio.to_thread(save, self._config, kept)
        self._live.value = settings
        if parsed:
            self._on_change(settings)
        return tuple(parsed)


def _plain(key: Key, value: Value) -> object:
    """A value as JSON has it; durations and folders as a person writes them."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path) or key.shape.value == "duration":
        return as_text(key, value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
