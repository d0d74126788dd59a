"""A vault for tests of the writing side: layout, reader, log, writer, and a clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vaultd.core.note import NotePath
from vaultd.vault.layout import Layout
from vaultd.vault.log import WriteLog
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
ID = "a1b2c3d4e5f6"
PATH = NotePath(f"dynamic/日常/walk_{ID}.md")
RAW = f"---\nid: {ID}\nimportance: 5 # mine\n---\nA walk by the river.\n".encode()


@dataclass
class Vault:
    """Everything that a test of writing needs."""

    root: Path
    layout: Layout
    reader: VaultReader
    log: WriteLog
    writer: VaultWriter

    def put(self, path: str, raw: bytes = RAW) -> NotePath:
        """A note that was there before us."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw)
        return NotePath(path)

    def files(self) -> dict[str, bytes]:
        """Every file outside the state folder, by path."""
        return {
            place.relative_to(self.root).as_posix(): place.read_bytes()
            for place in sorted(self.root.rglob("*"))
            if place.is_file() and ".vaultd" not in place.parts
        }


def a_vault(root: Path, **options: object) -> Vault:
    """An empty vault in a folder; `options` are the writer's."""
    layout = Layout(root)
    log = WriteLog(layout.state_dir, "0123456789ab")
    writer = VaultWriter(layout, log, clock=lambda: NOW, pause=lambda _seconds: None, **options)  # type: ignore[arg-type]
    return Vault(root, layout, VaultReader(layout), log, writer)
