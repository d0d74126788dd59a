"""What a memory's file lacks to say the same as its place and the person's edits ask for. Pure.

A property wins over the folder where the person changed the property, the folder wins where the file was moved. Which
of the two it was stands in the row: its `kind` was decided when the change was seen. What is left to find out here is
what to write, so that the file tells the whole story alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.bucket import UNSORTED_DOMAIN, Kind
from vaultd.core.note import PropertyValue
from vaultd.index.rows import CORE_IMPORTANCE, Row

_KINDS: Final = frozenset(kind.value for kind in Kind)
_FADING: Final = frozenset((Kind.DYNAMIC, Kind.ARCHIVED))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Properties to set in a note, and the kind whose folder it belongs into."""

    kind: Kind
    changes: Mapping[str, PropertyValue | datetime] = field(default_factory=dict)
    moves: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the file says it all."""
        return not self.changes and not self.moves


def may_want(row: Row, folder: Kind) -> bool:
    """Whether a row alone tells that its file may lack something; the file is read only then."""
    return (
        not row.complete
        or row.copied
        or row.kind is not folder
        or row.pinned
        or row.protected
        or (row.type_property in _KINDS and row.type_property != folder.value)
    )


def is_being_revived(row: Row) -> bool:
    """Whether a person took it out of the archive, and the file doesn't say so yet."""
    return row.kind is not Kind.ARCHIVED and row.type_property == Kind.ARCHIVED.value


def wanted(row: Row, folder: Kind, properties: Mapping[str, PropertyValue], now: datetime) -> Wanted:
    """What is to be written into a bucket's file, and whether it is to be moved. `folder` is the kind its folder says."""
    kind = row.kind or folder
    said = row.type_property
    dragged = kind is folder and said in _KINDS and said != kind.value
    pinned = row.pinned
    if pinned and kind in _FADING:
        if dragged or kind is not folder:
            pinned = False  # the later word of the person: out of permanent/
        else:
            kind = Kind.PERMANENT
    changes = _missing(row, kind, properties)
    if said != kind.value and (said in _KINDS or keys.TYPE not in properties):
        changes[keys.TYPE] = kind.value
    if pinned != row.pinned:
        changes[keys.PINNED] = pinned
    if (pinned or row.protected) and _importance(properties) != CORE_IMPORTANCE:
        changes[keys.IMPORTANCE] = CORE_IMPORTANCE
    if kind is not Kind.ARCHIVED and (Kind.ARCHIVED in (folder, row.kind) or said == Kind.ARCHIVED.value):
        changes[keys.LAST_ACTIVE] = now
    return Wanted(kind, changes, moves=kind is not folder)


def _missing(row: Row, kind: Kind, properties: Mapping[str, PropertyValue]) -> dict[str, PropertyValue | datetime]:
    """What every memory has and this one lacks, in the order of the table; a copy gets its own id."""
    zone = row.zone()
    created = datetime.fromtimestamp(int(row.created), UTC).astimezone(zone)
    active = datetime.fromtimestamp(int(row.last_active), UTC).astimezone(zone)
    domain = [] if kind is Kind.FEEL else list(row.domain) or [UNSORTED_DOMAIN]
    defaults: dict[str, PropertyValue | datetime] = {
        keys.ID: row.id,
        keys.NAME: row.name,
        keys.TYPE: kind.value,
        keys.DOMAIN: list[PropertyValue](domain),
        keys.IMPORTANCE: row.importance,
        keys.CREATED: created,
        keys.LAST_ACTIVE: active,
    }
    lacking = {key: value for key, value in defaults.items() if properties.get(key) in (None, "")}
    if row.copied:
        lacking[keys.ID] = row.id
    return lacking


def _importance(properties: Mapping[str, PropertyValue]) -> object:
    value = properties.get(keys.IMPORTANCE)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
