"""What tests of imports share: samples, ZIPs made on the spot, conversations read in one go, fakes at the rims."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vaultd.core.errors import ModelError
from vaultd.llm.analyst import Piece
from vaultd.services.importing.formats.archive import contents
from vaultd.services.importing.formats.recognise import events, recognise
from vaultd.services.importing.hands import Kept, KeptAs
from vaultd.services.importing.spool import TURNS_FILE, SpoolWriter, conversation_of, talks_in
from vaultd.services.importing.turns import Closing, Conversation, Findings, Format, Message, WholeNote

SAMPLES = Path(__file__).parent / "samples"
NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
PRIVATE_BUCKET = """---
id: 76237984fa5d
name: 搬家
domain: [日常]
importance: 7
valence: 0.4
arousal: 0.6
activation_count: 3.3
type: dynamic
created: 2026-04-17T10:00:00+08:00
last_active: 2026-04-17T14:00:00+08:00
why_remembered: a property of a later version
media: [{path: a.png, note: "#1"}]
---

下周搬家。<private>门禁码</private>电梯坏了。
"""
BUCKET = PRIVATE_BUCKET.replace("<private>门禁码</private>", "")


def sample(name: str) -> bytes:
    """The bytes of a sample export."""
    return (SAMPLES / name).read_bytes()


def a_zip(files: Mapping[str, bytes | str]) -> bytes:
    """A ZIP of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@dataclass
class Read:
    """All that is in an upload, in memory; for small samples."""

    format: Format
    conversations: list[Conversation]
    notes: list[WholeNote]
    findings: Findings
    branches: list[Conversation] = field(default_factory=list)


def read_all(tmp_path: Path, raw: bytes, filename: str, zone=UTC) -> Read:
    """Read an upload through the real road: contents, format, events, spool."""
    upload = tmp_path / "given"
    upload.write_bytes(raw)
    recognised = recognise(contents(upload, filename, zone=zone), filename)
    findings = Findings()
    spool = SpoolWriter(tmp_path, recognised.format, findings)
    notes: list[WholeNote] = []
    with closing(spool):
        for member in recognised.members:
            for event in events(recognised, member, zone, findings):
                if isinstance(event, Message):
                    spool.message(event)
                elif isinstance(event, Closing):
                    spool.closing(event, member.name, member.when)
                else:
                    notes.append(event)
    found = Read(recognised.format, [], notes, findings)
    with (tmp_path / TURNS_FILE).open("rb") as file:
        for talk in talks_in(tmp_path):
            for branch in range(len(talk.threads)):
                conversation = conversation_of(talk, branch, file, recognised.format)
                loaded = Conversation(
                    conversation.id,
                    conversation.title,
                    conversation.started,
                    tuple(conversation.turns),
                    branch,
                    recognised.format,
                )
                (found.branches if branch else found.conversations).append(loaded)
    return found


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Who said what."""
    return [(turn.role.value, turn.text) for turn in conversation.turns]


def a_claude_export(conversations: Iterable[tuple[str, Sequence[str]]]) -> bytes:
    """A Claude export: ids with texts, person and model in turns, a minute apart."""
    made = []
    for number, (talk_id, texts) in enumerate(conversations):
        start = NOW - timedelta(days=30 - number)
        messages = [
            {
                "uuid": f"{talk_id}-{at}",
                "sender": "assistant" if at % 2 else "human",
                "created_at": (start + timedelta(minutes=at)).isoformat(),
                "content": [{"type": "text", "text": text}],
            }
            for at, text in enumerate(texts)
        ]
        made.append(
            {"uuid": talk_id, "name": f"Talk {talk_id}", "created_at": start.isoformat(), "chat_messages": messages}
        )
    return json.dumps(made, ensure_ascii=False).encode()


async def blocks(raw: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    """Bytes as an upload brings them."""
    for at in range(0, len(raw), size):
        yield raw[at : at + size]


class FakeAnalyst:
    """Splits a text into its lines; fails as often as it is told to."""

    def __init__(self, *, available: bool = True, failures: Sequence[ModelError] = ()) -> None:
        self.available = available
        self.failures = list(failures)
        self.asked: list[tuple[str, datetime]] = []

    async def split(self, text: str, now: datetime) -> tuple[Piece, ...]:
        self.asked.append((text, now))
        if self.failures:
            raise self.failures.pop(0)
        lines = [line for line in text.split("\n") if line.strip()]
        return tuple(Piece(line[:20], line, ("日常",), 0.5, 0.3, ("tag",), 5) for line in lines)


@dataclass
class FakeMemory:
    """Keeps pieces in a list; ids are their places."""

    pieces: list[tuple[Piece, datetime, str]] = field(default_factory=list)
    adopted: list[WholeNote] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    similar: Sequence[tuple[str, float]] = ()

    async def keep(self, piece: Piece, *, created: datetime, source: str, whole: bool) -> Kept:
        if self.failures:
            raise self.failures.pop(0)
        for at, (known, _, _) in enumerate(self.pieces):
            if known.content == piece.content:
                return Kept(f"id{at}", known.name, KeptAs.SAME)
        self.pieces.append((piece, created, source))
        return Kept(f"id{len(self.pieces) - 1}", piece.name, KeptAs.NEW)

    async def find(self, source: str) -> Kept | None:
        for at, (known, _, kept_source) in enumerate(self.pieces):
            if kept_source == source:
                return Kept(f"id{at}", known.name, KeptAs.NEW)
        return None

    async def adopt(self, note: WholeNote) -> Kept:
        self.adopted.append(note)
        return Kept(note.id, note.name, KeptAs.NEW)

    async def near(self, text: str) -> Sequence[tuple[str, float]]:
        return self.similar

    @property
    def texts(self) -> list[str]:
        return [piece.content for piece, _, _ in self.pieces]
