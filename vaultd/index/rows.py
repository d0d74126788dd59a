"""What the index knows of one note: its row. Bodies stay in the files; words and passages are kept beside the row."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from vaultd.core import properties as keys
from vaultd.core.bucket import DEFAULT_IMPORTANCE, UNSORTED_DOMAIN, Bucket, Kind, Role
from vaultd.core.card import Card, Category
from vaultd.core.emotion import Emotion
from vaultd.core.note import FileStamp, Note, NotePath, path_key
from vaultd.core.properties import PropertyReader

NAME_CHARACTERS = 80
CORE_IMPORTANCE = 10  # while pinned or protected
_ID_CHARACTERS = 12
_CATEGORIES = frozenset(category.value for category in Category)
_KINDS = frozenset(kind.value for kind in Kind)


def derived_id(path: str, taken: str = "") -> str:
    """The id of a note that carries none: 12 hex characters of its path, and of `taken` for a copy."""
    return hashlib.blake2b(f"{path_key(path)}\0{taken}".encode(), digest_size=_ID_CHARACTERS // 2).hexdigest()


@dataclass(frozen=True, slots=True)
class CardFields:
    """What a card's row holds besides a bucket's. `last_used` is None for a card never used."""

    category: str
    scope: str
    conversation_id: str
    updated: float
    last_used: float | None


@lru_cache(maxsize=64)
def _zone(offset_minutes: int) -> timezone:
    return timezone(timedelta(minutes=offset_minutes))


@dataclass(frozen=True, slots=True)
class Row:
    """One note in the index. Times are seconds since 1970; `count_floor` is the file's own activation count.

    `stale`: the note can't be read as it lies on disk; the row tells of it as it last could. `copied`: its file says
    the id of another note.
    """

    id: str
    path: NotePath
    role: Role
    kind: Kind | None
    name: str
    domain: tuple[str, ...]
    tags: tuple[str, ...]
    valence: float
    arousal: float
    model_valence: float | None
    importance: int
    count_floor: float
    resolved: bool
    digested: bool
    pinned: bool
    protected: bool
    created: float
    last_active: float
    offset_minutes: int
    source: str
    checksum: str
    body_key: str
    stamp: FileStamp
    type_property: str = ""
    has_id: bool = False
    complete: bool = False
    problem: str = ""
    problem_line: int | None = None
    writable: bool = True
    stale: bool = False
    copied: bool = False
    card: CardFields | None = None

    @property
    def is_core(self) -> bool:
        """Pinned, protected or permanent."""
        return self.pinned or self.protected or self.kind is Kind.PERMANENT

    def zone(self) -> tzinfo:
        """The zone in which the note's own times were written."""
        return _zone(self.offset_minutes)

    def bucket(self, activation_count: float | None = None, last_active: float | None = None) -> Bucket:
        """The row as a memory; counters of the journal are given by the caller."""
        zone = self.zone()
        seconds = self.last_active if last_active is None else last_active
        return Bucket(
            id=self.id,
            path=self.path,
            name=self.name,
            kind=self.kind or Kind.DYNAMIC,
            domain=self.domain,
            tags=self.tags,
            emotion=Emotion(self.valence, self.arousal),
            importance=self.importance,
            activation_count=self.count_floor if activation_count is None else activation_count,
            created=datetime.fromtimestamp(self.created, zone),
            last_active=datetime.fromtimestamp(seconds, zone),
            model_valence=self.model_valence,
            resolved=self.resolved,
            digested=self.digested,
            pinned=self.pinned,
            protected=self.protected,
            source=self.source,
        )

    def as_card(self) -> Card:
        """The row as a card. Only for rows of role CARD."""
        fields = self.card or CardFields("", "", "", self.created, None)
        zone = self.zone()
        used = None if fields.last_used is None else datetime.fromtimestamp(fields.last_used, zone)
        return Card(
            id=self.id,
            path=self.path,
            topic=self.domain,
            category=Category(fields.category) if fields.category in _CATEGORIES else Category.REAL_WORLD,
            tags=self.tags,
            importance=self.importance,
            created=datetime.fromtimestamp(self.created, zone),
            updated=datetime.fromtimestamp(fields.updated, zone),
            last_used=used,
            use_count=int(self.count_floor),
            scope=fields.scope,
            conversation_id=fields.conversation_id,
        )

    def with_problem(self, note: Note) -> Row:
        """This last good row, marked with what is wrong with the note as it lies on disk now."""
        problem = note.problem
        return replace(
            self,
            checksum=note.checksum,
            stamp=note.stamp,
            problem=problem.reason if problem else "",
            problem_line=problem.line if problem else None,
            writable=problem.writable if problem else True,
            stale=True,
        )


def body_key(body: str) -> str:
    """Hash of a body, so that a changed property leaves words and passages alone."""
    return hashlib.blake2b(body.encode("utf-8", "replace"), digest_size=16).hexdigest()


def own_name(path: str) -> str:
    """What a note without a name is called: its file name without ending, and without the id we put there."""
    stem = path.rsplit("/", 1)[-1]
    stem = stem[:-3] if stem.lower().endswith(".md") else stem
    head, _, tail = stem.rpartition("_")
    if head and len(tail) == _ID_CHARACTERS and all(c in "0123456789abcdef" for c in tail):
        return head
    return stem


@dataclass(frozen=True, slots=True)
class Place:
    """What a note's folder says of it, found by the vault's layout."""

    role: Role
    kind: Kind | None


def row_of(note: Note, place: Place, note_id: str, previous: Row | None, zone: tzinfo = UTC) -> Row:
    """Read a note's properties into a row. Wrong values are clamped or ignored.

    A changed `type` property wins over the folder; a move, and a first sight, let the folder win.
    """
    if place.role is Role.CARD:
        return _card_row(note, place, note_id, zone)
    reader = PropertyReader(note.properties, zone)
    moment = note.stamp.mtime_ns / 1e9
    created = reader.moment(keys.CREATED)
    active = reader.moment(keys.LAST_ACTIVE)
    is_bucket = place.role is Role.BUCKET
    type_property = reader.text(keys.TYPE)
    kind = _kind(note, place, type_property, previous) if is_bucket else None
    pinned = is_bucket and reader.checkbox(keys.PINNED)
    protected = is_bucket and reader.checkbox(keys.PROTECTED)
    core = pinned or protected
    feel = kind is Kind.FEEL
    created_s = moment if created is None else created.timestamp()
    return Row(
        id=note_id,
        path=note.path,
        role=place.role,
        kind=kind,
        name=reader.text(keys.NAME)[:NAME_CHARACTERS] or own_name(note.path),
        domain=reader.texts(keys.DOMAIN, () if feel or not is_bucket else (UNSORTED_DOMAIN,)),
        tags=reader.texts(keys.TAGS),
        valence=_number(reader, keys.VALENCE, 0.5),
        arousal=_number(reader, keys.AROUSAL, 0.3),
        model_valence=reader.number(keys.MODEL_VALENCE, None),
        importance=CORE_IMPORTANCE if core else reader.whole(keys.IMPORTANCE, DEFAULT_IMPORTANCE),
        count_floor=_number(reader, keys.ACTIVATION_COUNT, 0.0),
        resolved=reader.checkbox(keys.RESOLVED),
        digested=reader.checkbox(keys.DIGESTED),
        pinned=pinned,
        protected=protected,
        created=created_s,
        last_active=created_s if active is None else active.timestamp(),
        offset_minutes=_offset(created or active, zone),
        source=reader.text(keys.SOURCE),
        checksum=note.checksum,
        body_key=body_key(note.body),
        stamp=note.stamp,
        type_property=type_property,
        has_id=bool(reader.text(keys.ID)),
        copied=is_bucket and note_id == derived_id(note.path, reader.text(keys.ID)) and bool(reader.text(keys.ID)),
        complete=_is_complete(note.properties, keys.BUCKET_REQUIRED) if is_bucket else True,
        problem=note.problem.reason if note.problem else "",
        problem_line=note.problem.line if note.problem else None,
        writable=note.problem.writable if note.problem else True,
    )


def _number(reader: PropertyReader, key: str, default: float) -> float:
    value = reader.number(key, default)
    return default if value is None else value


def _offset(moment: datetime | None, zone: tzinfo) -> int:
    offset = (moment or datetime(2026, 1, 1, tzinfo=zone)).utcoffset() or timedelta()
    return math.floor(offset.total_seconds() / 60)


def _is_complete(found: Mapping[str, object], required: tuple[str, ...]) -> bool:
    return all(found.get(key) not in (None, "") for key in required)


def _kind(note: Note, place: Place, type_property: str, previous: Row | None) -> Kind:
    by_folder = place.kind or Kind.DYNAMIC
    if previous is None or previous.path != note.path or previous.kind is None:
        return by_folder
    if previous.type_property == type_property:
        return previous.kind
    return Kind(type_property) if type_property in _KINDS else by_folder


def _card_row(note: Note, place: Place, note_id: str, zone: tzinfo) -> Row:
    reader = PropertyReader(note.properties, zone)
    moment = note.stamp.mtime_ns / 1e9
    created = reader.moment(keys.CREATED_AT)
    updated = reader.moment(keys.UPDATED_AT)
    used = reader.moment(keys.LAST_USED_AT)
    created_s = moment if created is None else created.timestamp()
    topic = reader.texts(keys.TOPIC)
    return Row(
        id=note_id,
        path=note.path,
        role=place.role,
        kind=None,
        name="、".join(topic) or own_name(note.path),
        domain=topic,
        tags=reader.texts(keys.TAGS),
        valence=0.5,
        arousal=0.3,
        model_valence=None,
        importance=reader.whole(keys.IMPORTANCE, DEFAULT_IMPORTANCE),
        count_floor=float(reader.whole(keys.USE_COUNT, 0)),
        resolved=False,
        digested=False,
        pinned=False,
        protected=False,
        created=created_s,
        last_active=created_s if used is None else used.timestamp(),
        offset_minutes=_offset(created, zone),
        source="",
        checksum=note.checksum,
        body_key=body_key(note.body),
        stamp=note.stamp,
        has_id=bool(reader.text(keys.ID)),
        complete=_is_complete(note.properties, keys.CARD_REQUIRED),
        problem=note.problem.reason if note.problem else "",
        problem_line=note.problem.line if note.problem else None,
        writable=note.problem.writable if note.problem else True,
        card=CardFields(
            category=reader.text(keys.TYPE),
            scope=reader.text(keys.AI_SCOPE),
            conversation_id=reader.text(keys.CONVERSATION_ID),
            updated=created_s if updated is None else updated.timestamp(),
            last_used=None if used is None else used.timestamp(),
        ),
    )
