"""Change a memory: what is given, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from vaultd.core import properties as keys
from vaultd.core.bucket import Kind, Role
from vaultd.core.errors import BadInput, NoSuchMemory
from vaultd.core.note import NotePath
from vaultd.core.text import clean_text
from vaultd.index.mirror import Mirror
from vaultd.index.rows import CORE_IMPORTANCE, NAME_CHARACTERS, Row
from vaultd.services.scribe import Changes, Scribe
from vaultd.services.texts import Texts
from vaultd.services.wording import checked_text, one_line
from vaultd.settings import Settings
from vaultd.vault import codec
from vaultd.vault.layout import Layout


@dataclass(frozen=True, slots=True)
class Revision:
    """What to change; None is "leave it". `old_text` and `new_text` patch a fragment that stands once in the text."""

    name: str | None = None
    domain: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    valence: float | None = None
    arousal: float | None = None
    importance: int | None = None
    resolved: bool | None = None
    pinned: bool | None = None
    protected: bool | None = None
    digested: bool | None = None
    content: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    restore: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be changed."""
        return self == Revision()


@dataclass(frozen=True, slots=True)
class Revised:
    """What was changed, as (what, value) in order."""

    id: str
    path: NotePath
    changes: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Whole:
    """A memory with its whole text."""

    row: Row
    text: str
    activation_count: float
    last_active: float


class Revise:
    """Changes, reads and deletes one memory."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        mirror: Mirror,
        texts: Texts,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._mirror = mirror
        self._texts = texts
        self._settings = settings
        self._clock = clock

    def row(self, note_id: str) -> Row:
        """The row of a memory. Raises NoSuchMemory."""
        row = self._mirror.get(note_id.strip())
        if row is None or row.role is not Role.BUCKET:
            raise NoSuchMemory(note_id)
        return row

    async def read(self, note_id: str) -> Whole:
        """The whole text. Raises NoSuchMemory."""
        row = self.row(note_id)
        (text,) = await self._texts.bodies([row.path])
        if text is None:
            raise NoSuchMemory(note_id)
        return Whole(row, text, self._mirror.activation_count(row.id), self._mirror.last_active(row.id))

    async def delete(self, note_id: str) -> Row:
        """Out of the vault, into its trash unless set otherwise. Raises NoSuchMemory, VaultError."""
        row = self.row(note_id)
        permanent = self._settings().vault.delete == "permanent"
        await self._scribe.delete(row.path, permanent=permanent, why="delete")
        return row

    async def __call__(self, note_id: str, revision: Revision) -> Revised:
        """Change what is given. Raises NoSuchMemory, BadInput, VaultError; then nothing has changed."""
        row = self.row(note_id)
        changes, kind = self._changes(row, revision)
        belongs_elsewhere = kind is not row.kind or revision.domain is not None
        with self._scribe.together("trace"):
            await self._write(row, revision, changes)
            row = self.row(row.id)
            target = self._target(row, kind)
            if belongs_elsewhere and target != row.path:
                await self._scribe.move(row.path, target, why="trace")
        return Revised(row.id, self.row(row.id).path, _told(changes, revision))

    async def _write(self, row: Row, revision: Revision, changes: Changes) -> None:
        body = await self._new_body(row, revision)

        def edit(raw: bytes) -> bytes:
            if body is not None:
                raw = codec.replace_body(row.path, raw, body(codec.decode(row.path, raw, row.stamp).body))
            return codec.set_properties(row.path, raw, changes) if changes else raw

        await self._scribe.change(row.path, edit, why="trace")

    async def _new_body(self, row: Row, revision: Revision) -> Callable[[str], str] | None:
        if revision.content is not None:
            text = checked_text(revision.content)
            return lambda body: _between_the_same_blanks(body, text)
        if revision.old_text is None and revision.new_text is None:
            return None
        old, new = clean_text(revision.old_text or ""), clean_text(revision.new_text or "")
        if not old:
            raise BadInput("old_text: say which text to replace")
        (body,) = await self._texts.bodies([row.path])
        count = (body or "").count(old)
        if count != 1:
            found = "does not stand in the memory" if not count else f"stands {count} times in the memory"
            raise BadInput(f"old_text: {found}; give a fragment that stands there exactly once")
        return lambda text: _patched(row.path, text, old, new)

    def _changes(self, row: Row, revision: Revision) -> tuple[Changes, Kind]:
        """Properties to set, and the kind the memory is to have."""
        changes = _given(revision)
        kind = row.kind or Kind.DYNAMIC
        if revision.restore and kind is Kind.ARCHIVED:
            kind = Kind.DYNAMIC
            changes[keys.LAST_ACTIVE] = self._clock()
        pinned = row.pinned if revision.pinned is None else revision.pinned
        protected = row.protected if revision.protected is None else revision.protected
        if revision.pinned is not None or revision.restore:
            kind = _kind_when_pinned(kind, pinned=pinned)
        becomes_core = (pinned and not row.pinned) or (protected and not row.protected) or revision.restore
        if (pinned or protected) and (becomes_core or revision.importance is not None):
            changes[keys.IMPORTANCE] = CORE_IMPORTANCE
        if kind is not row.kind:
            changes[keys.TYPE] = kind.value
        return changes, kind  # type: ignore[return-value]

    def _target(self, row: Row, kind: Kind) -> NotePath:
        """Where the note belongs; its file keeps its name."""
        domain = row.domain[0] if row.domain else ""
        planned = self._layout.bucket_path(kind=kind, domain=domain, name=row.name, note_id=row.id)
        return NotePath(f"{planned.rpartition('/')[0]}/{row.path.rpartition('/')[2]}")


def _given(revision: Revision) -> dict[str, object]:
    """The properties that the caller named, as they are to stand in the note."""
    name = None if revision.name is None else one_line(revision.name)[:NAME_CHARACTERS]
    given: dict[str, object] = {
        keys.NAME: name,
        keys.DOMAIN: None if revision.domain is None else list(map(one_line, revision.domain)),
        keys.TAGS: None if revision.tags is None else list(map(one_line, revision.tags)),
        keys.VALENCE: revision.valence,
        keys.AROUSAL: revision.arousal,
        keys.IMPORTANCE: revision.importance,
        keys.RESOLVED: revision.resolved,
        keys.PINNED: revision.pinned,
        keys.PROTECTED: revision.protected,
        keys.DIGESTED: revision.digested,
    }
    return {key: value for key, value in given.items() if value is not None}


def _kind_when_pinned(kind: Kind, *, pinned: bool) -> Kind:
    if pinned:
        return kind if kind is Kind.FEEL else Kind.PERMANENT
    return Kind.DYNAMIC if kind is Kind.PERMANENT else kind


def _between_the_same_blanks(body: str, text: str) -> str:
    """A new text in the place of the old one; blank lines before and after it stay as the person has them."""
    if not body.strip():
        return f"{text}\n"
    before = body[: len(body) - len(body.lstrip("\r\n"))]
    after = body[len(body.rstrip()) :]
    return f"{before}{text}{after}"


def _patched(path: str, body: str, old: str, new: str) -> str:
    if body.count(old) != 1:
        raise BadInput(f"old_text: {path} was changed meanwhile; read it again and repeat the change")
    return body.replace(old, new)


def _told(changes: Changes, revision: Revision) -> tuple[tuple[str, str], ...]:
    hidden = {keys.TYPE, keys.LAST_ACTIVE}
    told = [(key, _shown(value)) for key, value in changes.items() if key not in hidden]
    if revision.content is not None:
        told.append(("content", f"{len(revision.content)} chars"))
    if revision.old_text is not None:
        told.append(("old_text", "1"))
    if revision.restore:
        told.append(("restore", "True"))
    return tuple(told)


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
