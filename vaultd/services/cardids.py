"""Numbers of cards: `YYYYMMDD-NNN`, each machine from a range of its own. See docs/decisions/0007-card-ids.md."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from vaultd.core.errors import StorageFull
from vaultd.index.mirror import Mirror
from vaultd.vault.layout import CARDS, TRASH, Layout
from vaultd.vault.machine import MACHINE_ID
from vaultd.vault.presence import Presence
from vaultd.wholefile import write_whole

log = logging.getLogger(__name__)

CARD_ID: Final = re.compile(r"(?P<day>\d{8})-(?P<number>\d{3,})")
RANGE: Final = 100  # numbers a day in the range of one machine; the first of a range is never given
RENUMBERED: Final = 9  # the range for cards whose number was taken twice; no machine claims it
OVERFLOW: Final = 100_000  # times (range + 1): where a machine goes on after its 99th card of a day
CLAIM: Final = "card-range"


class CardNumbers:
    """Gives each new card a number that no other machine gives. Synchronous; called under the cards' lock."""

    def __init__(self, layout: Layout, mirror: Mirror, machine: str, presence: Presence) -> None:
        self._layout = layout
        self._mirror = mirror
        self._machine = machine
        self._presence = presence
        self._given: dict[str, int] = {}

    def next(self, now: datetime) -> str:
        """The id of a new card of `now`'s day; a number once given is not given again.

        Raises StorageFull, VaultUnavailable: which numbers are taken, the vault says.
        """
        self._presence.demand()
        day = f"{now:%Y%m%d}"
        claimed = self._claimed()
        taken = self._taken(day)
        last = self._given.get(day, 0)
        for low, high in (
            (claimed * RANGE, claimed * RANGE + RANGE - 1),
            (OVERFLOW * (claimed + 1), OVERFLOW * (claimed + 2)),
        ):
            inside = [number for number in (*taken, last) if low < number <= high]
            number = max(inside, default=low) + 1
            if number <= high:
                break
        self._given = {day: number}
        return f"{day}-{number:03d}"

    def instead(self, card_id: str, created: str, path: str) -> str:
        """Another id for a card whose own belongs to an older card. Every machine finds the same one by itself."""
        day = card_id[:8]
        taken = self._taken(day)
        digest = hashlib.blake2b(f"{created}\0{path}".encode(), digest_size=4).digest()
        offset = int.from_bytes(digest) % RANGE
        for step in range(RANGE):
            number = RENUMBERED * RANGE + (offset + step) % RANGE
            if number not in taken:
                return f"{day}-{number:03d}"
        return f"{day}-{max(taken) + 1:03d}"

    # -- numbers in use -------------------------------------------------------------------------------------------

    def _taken(self, day: str) -> set[int]:
        """Numbers of a day: of notes in the index, of files by their names (in the trash too), of kept versions."""
        names = [*_names(self._layout.root / TRASH), *_names(self._layout.state_dir / "history" / "notes")]
        names += _names(self._cards_folder())
        names += [row.id for row in self._mirror.rows() if row.id.startswith(day)]
        found = (CARD_ID.match(name) for name in names if name.startswith(day))
        return {int(match["number"]) for match in found if match}

    def _cards_folder(self) -> Path:
        return self._layout.state_dir.parent / CARDS

    # -- ranges ---------------------------------------------------------------------------------------------------

    def _claimed(self) -> int:
        """This machine's range; another is claimed where there is none yet, or a machine before it has the same."""
        claims = self._claims()
        own = claims.pop(self._machine, None)
        earlier = {number for machine, number in claims.items() if machine < self._machine}
        if own is not None and own not in earlier:
            return own
        others = set(claims.values())
        number = 0
        while number in others or number == RENUMBERED:
            number += 1
        self._claim(number)
        return number

    def _claims(self) -> dict[str, int]:
        claims: dict[str, int] = {}
        machines = self._layout.state_dir / "machines"
        for name in _names(machines):
            if not MACHINE_ID.fullmatch(name):
                continue
            try:
                text = (machines / name / CLAIM).read_text(encoding="ascii", errors="replace").strip()
            except OSError:
                continue
            if text.isdecimal() and len(text) <= 4:
                claims[name] = int(text)
        return claims

    def _claim(self, number: int) -> None:
        place = self._layout.state_dir / "machines" / self._machine / CLAIM
        try:
            write_whole(place, f"{number}\n".encode("ascii"))
        except OSError as exc:
            raise StorageFull(f"{place} can't be written: {exc.strerror}") from exc
        log.info("cards of this machine are numbered from %03d on", number * RANGE + 1)


def _names(folder: Path) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []
