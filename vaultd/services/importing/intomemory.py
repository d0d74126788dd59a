"""What an import asks of the memory, done by the services that keep, change and delete."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from vaultd.core import properties as keys
from vaultd.core.bucket import Kind, Role
from vaultd.core.errors import BadInput
from vaultd.core.note import NotePath
from vaultd.index.mirror import Mirror
from vaultd.index.rows import body_key
from vaultd.llm.analyst import Piece
from vaultd.services import sources
from vaultd.services.browsing import Browse
from vaultd.services.importing.formats.markdown import NO_STAMP
from vaultd.services.importing.hands import Hands, Kept, KeptAs
from vaultd.services.importing.turns import WholeNote
from vaultd.services.newmemory import Care, of_piece
from vaultd.services.remember import Outcome, Remember
from vaultd.services.revise import Revise, Revision
from vaultd.services.scribe import Scribe
from vaultd.vault import codec
from vaultd.vault.layout import Layout
from vaultd.vault.reader import VaultReader

IMPORTANT = 9  # importance of what a review calls important

_KEPT_AS = {Outcome.MERGED: KeptAs.MERGED, Outcome.SAME: KeptAs.SAME}


@dataclass(frozen=True, slots=True)
class IntoMemory:
    """The hands of an import."""

    remember: Remember
    revise: Revise
    browse: Browse
    mirror: Mirror
    layout: Layout
    scribe: Scribe
    reader: VaultReader

    def hands(self) -> Hands:
        """The calls that an importer needs."""
        return Hands(
            keep=self.keep,
            near=self.near,
            find=self.find,
            adopt=self.adopt,
            important=self.important,
            pin=self.pin,
            discard=self.discard,
        )

    async def keep(self, piece: Piece, *, created: datetime, source: str, whole: bool) -> Kept:
        """Keep a piece as a memory with its own date. The model that cut it out has said of it all there is to say."""
        care = Care.NONE if whole else Care.JOIN
        kept = await self.remember(of_piece(piece, care, source=source, created=created))
        return Kept(kept.id, kept.name, _KEPT_AS.get(kept.outcome, KeptAs.NEW))

    async def near(self, text: str) -> list[tuple[str, float]]:
        """Memories that say much the same."""
        return [(one.item.row.id, one.similarity) for one in await self.browse.similar_to_text(text)]

    async def find(self, source: str) -> Kept | None:
        """The memory that a piece became or was joined to, by its source."""
        for row in self.mirror.rows():
            if row.role is Role.BUCKET and sources.names(row.source, source):
                return Kept(row.id, row.name, KeptAs.NEW if row.source == source else KeptAs.MERGED)
        return None

    async def adopt(self, note: WholeNote) -> Kept:
        """Keep a note as it is, at its path or at a free one beside it. Raises BadInput, VaultError."""
        path = NotePath("/".join(part for part in (self.layout.memory_root, note.path) if part))
        if self.layout.role_of(path) is not Role.BUCKET:
            path = self.layout.bucket_path(kind=Kind.DYNAMIC, domain="", name=note.name, note_id=note.id)
        note_id, raw = note.id, note.raw
        body = body_key(codec.decode(path, raw, NO_STAMP).body)
        if self.mirror.get(note_id) is not None and not self._is_there(note_id, body):
            # another memory has this id; the new one is made of the bytes, so that a second try finds it again
            note_id = hashlib.blake2b(raw, digest_size=6).hexdigest()
            raw = codec.set_properties(path, raw, {keys.ID: note_id})
        if self._is_there(note_id, body):
            return Kept(note_id, note.name, KeptAs.SAME)
        receipt = await self.scribe.create(path, raw, why="import")
        row = self.mirror.by_path(receipt.path)
        if row is None:
            raise BadInput(f"{note.path}: was kept, but cannot be read as a memory")
        return Kept(row.id, row.name, KeptAs.NEW)

    def _is_there(self, note_id: str, body: str) -> bool:
        """Whether a memory has this id and says the same, wherever it was moved and whatever its counters say now."""
        row = self.mirror.get(note_id)
        return row is not None and row.role is Role.BUCKET and row.body_key == body

    async def important(self, note_id: str) -> None:
        """What a review calls important."""
        await self.revise(note_id, Revision(importance=IMPORTANT))

    async def pin(self, note_id: str) -> None:
        """What a review pins."""
        await self.revise(note_id, Revision(pinned=True))

    async def discard(self, note_id: str) -> None:
        """What a review calls noise."""
        await self.revise.delete(note_id)
