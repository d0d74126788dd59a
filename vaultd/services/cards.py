"""Memory cards: write, change, count, delete, and go back. Each call sees what its credential's scope may see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from vaultd.core import properties as keys
from vaultd.core.bucket import DEFAULT_IMPORTANCE, Role
from vaultd.core.card import Card, Category
from vaultd.core.errors import BadInput, LostRace, NoSuchMemory
from vaultd.core.note import NotePath
from vaultd.core.text import clean_text
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.llm.redact import strip_private
from vaultd.services.cardhistory import CardHistory
from vaultd.services.cardids import CardNumbers
from vaultd.services.cardtwins import CardTwins, Twin
from vaultd.services.meaning import Meaning
from vaultd.services.reinforce import Reinforce
from vaultd.services.scribe import Scribe
from vaultd.services.texts import Texts
from vaultd.services.wording import checked_text, one_line
from vaultd.settings import Settings
from vaultd.vault import codec
from vaultd.vault.layout import Layout

TOPIC_CHARACTERS: Final = 80
USE: Final = 1.0


def sees(sight: str | None, scope: str) -> bool:
    """Whether a credential that carries `sight` (None: all) may see a card of this scope ("" is shared by all)."""
    return sight is None or scope in ("", sight)


@dataclass(frozen=True, slots=True)
class NewCard:
    """A card to write."""

    content: str
    category: str
    topic: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: int = DEFAULT_IMPORTANCE
    scope: str = ""
    conversation_id: str = ""


@dataclass(frozen=True, slots=True)
class CardChange:
    """What to change in a card; None is "leave it"."""

    content: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    category: str | None = None
    topic: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    importance: int | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class CardView:
    """A card as it is now, its text where it was asked for."""

    card: Card
    row: Row
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A card that was written, and those that it nearly repeats."""

    view: CardView
    twins: tuple[Twin, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class CardChanged:
    """What a change did: which properties, and the text's length in characters before and after."""

    id: str
    changed: tuple[str, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Used:
    """Counters of a card after it was used."""

    id: str
    use_count: int
    last_used: datetime | None


@dataclass(frozen=True, slots=True)
class CardVersion:
    """A version of a card. `diff` goes from it to the card as it is now."""

    id: str
    at: datetime
    size: int
    properties: dict[str, object] = field(default_factory=dict)
    text: str = ""
    diff: str = ""


class Cards:
    """The cards of a vault. `sight` is the scope that the caller's credential carries, None where it carries none.

    Raises BadInput, NoSuchMemory (also for a card of another scope) and VaultError; then nothing has changed.
    """

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        mirror: Mirror,
        texts: Texts,
        meaning: Meaning,
        reinforce: Reinforce,
        numbers: CardNumbers,
        history: CardHistory,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._mirror = mirror
        self._texts = texts
        self._twins = CardTwins(mirror, texts, meaning)
        self._reinforce = reinforce
        self._numbers = numbers
        self._history = history
        self._settings = settings
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    # -- reading --------------------------------------------------------------------------------------------------

    def row(self, card_id: str, sight: str | None) -> Row:
        """The row of a card. Raises NoSuchMemory."""
        row = self._mirror.get(card_id.strip())
        if row is None or row.role is not Role.CARD or not sees(sight, row.card.scope if row.card else ""):
            raise NoSuchMemory(card_id)
        return row

    def rows(self, sight: str | None) -> list[Row]:
        """The rows of all cards that may be seen."""
        cards = self._mirror.having(Role.CARD)
        return [row for row in cards if sees(sight, row.card.scope if row.card else "")]

    def view(self, row: Row, text: str | None = None) -> CardView:
        """A row as a card, with the counters of all machines."""
        card = row.as_card()
        use = self._reinforce.use_of(row.id)
        last = max(filter(None, (row.card.last_used if row.card else None, use.last)), default=None)
        moment = None if last is None else datetime.fromtimestamp(int(last), row.zone())
        count = int(max(row.count_floor, use.activations))
        fields = {name: getattr(card, name) for name in card.__dataclass_fields__}
        return CardView(Card(**(fields | {"use_count": count, "last_used": moment})), row, text)

    async def get(self, card_id: str, sight: str | None) -> CardView:
        """A card with its text."""
        row = self.row(card_id, sight)
        (text,) = await self._texts.bodies([row.path])
        if text is None:
            raise NoSuchMemory(card_id)
        return self.view(row, text)

    # -- writing --------------------------------------------------------------------------------------------------

    async def remember(self, new: NewCard, sight: str | None = None) -> Written:
        """Write a card, in the credential's scope where it carries one."""
        text = checked_text(new.content)
        category = category_of(new.category)
        topic = _topics(new.topic)
        if sight is not None and new.scope not in ("", sight):
            raise BadInput(f"ai_scope: this token may write cards of the scope {sight!r} only")
        scope = sight if sight is not None else one_line(new.scope)
        async with self._one_at_a_time:
            twins = await self._twins(text, self.rows(sight if sight is not None else (scope or None)))
            now = self._clock()
            card_id = await asyncio.to_thread(self._numbers.next, now)
            record: dict[str, object] = {
                keys.ID: card_id,
                keys.TOPIC: list(topic),
                keys.TYPE: category.value,
                keys.TAGS: list(_words("tags", new.tags)),
                keys.IMPORTANCE: _importance(new.importance),
                keys.AI_SCOPE: scope,
                keys.CONVERSATION_ID: one_line(new.conversation_id),
                keys.ENTITIES: [],
                keys.CREATED_AT: now,
                keys.UPDATED_AT: now,
                keys.LAST_USED_AT: None,
                keys.USE_COUNT: 0,
            }
            raw = codec.new_note(record, text + "\n")  # type: ignore[arg-type]
            await self._scribe.create(self._layout.card_path(card_id, topic[0]), raw, why="remember")
        return Written(self.view(self.row(card_id, None), text), twins)

    async def update(
        self, card_id: str, change: CardChange, sight: str | None = None, *, expected: str | None = None
    ) -> CardChanged:
        """Change what is given. With `expected`, raises LostRace where the card's checksum is another."""
        row = self.row(card_id, sight)
        if change == CardChange():
            raise BadInput("nothing to change: give content, old_text and new_text, type, topic, tags or importance")
        changes = self._changes(row, change, sight)
        new_text = _new_text(change)
        sizes: list[int] = []

        def edit(raw: bytes) -> bytes:
            if expected is not None and codec.checksum(raw) != expected:
                raise LostRace(row.path)
            note = codec.decode(row.path, raw, row.stamp)
            sizes[:] = [len(note.body.strip())] * 2
            if new_text is not None:
                text = new_text(note.body.strip())
                sizes[1] = len(text)
                raw = codec.replace_body(row.path, raw, text + "\n")
            changed = codec.set_properties(row.path, raw, changes)  # type: ignore[arg-type]
            return codec.set_properties(row.path, changed, {keys.UPDATED_AT: self._clock()})

        target = self._target(row, change)
        limit = self._history.limit
        with self._scribe.together("update"):
            await self._scribe.change(row.path, edit, why="update", keep=True, versions=limit)
            if target != row.path:
                await self._scribe.move(row.path, target, why="update")
        names = tuple(changes) if new_text is None else ("content", *changes)
        return CardChanged(row.id, names, *sizes)

    async def delete(self, card_id: str, sight: str | None = None) -> Row:
        """Out of the vault, into its trash unless set otherwise."""
        row = self.row(card_id, sight)
        permanent = self._settings().vault.delete == "permanent"
        await self._scribe.delete(row.path, permanent=permanent, why="delete")
        return row

    def used(self, card_ids: Iterable[str], sight: str | None = None) -> tuple[list[Used], list[str]]:
        """Count one use of each card in this machine's journal; the new counters, and the ids that no card has."""
        counted: list[Used] = []
        unknown: list[str] = []
        for card_id in dict.fromkeys(one.strip() for one in card_ids):
            try:
                row = self.row(card_id, sight)
            except NoSuchMemory:
                unknown.append(card_id)
                continue
            self._reinforce.count(row.id, USE)
            card = self.view(row).card
            counted.append(Used(row.id, card.use_count, card.last_used))
        return counted, unknown

    # -- versions -------------------------------------------------------------------------------------------------

    async def versions(self, card_id: str, sight: str | None = None) -> tuple[CardVersion, ...]:
        """The kept versions of a card, newest first."""
        row = self.row(card_id, sight)
        found = await asyncio.to_thread(self._history.versions, row.id, row.path)
        return tuple(CardVersion(version.id, version.at, version.size) for version in found)

    async def version(self, card_id: str, version_id: str, sight: str | None = None) -> CardVersion:
        """One version with its text, properties, and what changed since."""
        row = self.row(card_id, sight)
        return await asyncio.to_thread(self._version, row, version_id, sight)

    def _version(self, row: Row, version_id: str, sight: str | None) -> CardVersion:
        found = next((one for one in self._history.versions(row.id, row.path) if one.id == version_id), None)
        if found is None:
            raise BadInput(f"version: card {row.id} has no version {version_id!r}")
        raw = self._history.read(found)
        note = codec.decode(row.path, raw, row.stamp)
        if not sees(sight, str(note.properties.get(keys.AI_SCOPE) or "")):
            raise BadInput(f"version: card {row.id} has no version {version_id!r}")
        now = self._texts.raw(row.path) or b""
        diff = self._history.diff(found, now)
        return CardVersion(found.id, found.at, found.size, dict(note.properties), note.body.strip(), diff)

    async def revert(self, card_id: str, version_id: str, sight: str | None = None) -> CardView:
        """Put a version's text and properties back; what stands there now becomes a version. Counters stay."""
        row = self.row(card_id, sight)
        version = await asyncio.to_thread(self._version, row, version_id, sight)
        reverted = (keys.TOPIC, keys.TYPE, keys.TAGS, keys.IMPORTANCE, keys.AI_SCOPE)
        changes = {key: version.properties[key] for key in reverted if key in version.properties}

        def edit(raw: bytes) -> bytes:
            raw = codec.replace_body(row.path, raw, version.text + "\n")
            raw = codec.set_properties(row.path, raw, changes)  # type: ignore[arg-type]
            return codec.set_properties(row.path, raw, {keys.UPDATED_AT: self._clock()})

        await self._scribe.change(row.path, edit, why="revert", keep=True, versions=self._history.limit)
        return await self.get(row.id, sight)

    # -- parts ----------------------------------------------------------------------------------------------------

    def _changes(self, row: Row, change: CardChange, sight: str | None) -> dict[str, object]:
        changes: dict[str, object] = {}
        if change.topic is not None:
            changes[keys.TOPIC] = list(_topics(change.topic))
        if change.category is not None:
            changes[keys.TYPE] = category_of(change.category).value
        if change.tags is not None:
            changes[keys.TAGS] = list(_words("tags", change.tags))
        if change.importance is not None:
            changes[keys.IMPORTANCE] = _importance(change.importance)
        if change.scope is not None and change.scope != (row.card.scope if row.card else ""):
            if sight is not None:
                raise BadInput("ai_scope: a token that carries a scope can't move cards between scopes")
            changes[keys.AI_SCOPE] = one_line(change.scope)
        return changes

    def _target(self, row: Row, change: CardChange) -> NotePath:
        """Where the note belongs after the change; a name that a person gave it stays."""
        if not change.topic or not row.domain or row.path != self._layout.card_path(row.id, row.domain[0]):
            return row.path
        return self._layout.card_path(row.id, _topics(change.topic)[0])


def category_of(name: str) -> Category:
    """The category of this name. Raises BadInput with the eight."""
    try:
        return Category(name.strip().lower())
    except ValueError:
        raise BadInput(f"type: {name!r} is not one of {', '.join(Category)}") from None


def _importance(value: int) -> int:
    return min(max(int(value), 1), 10)


def _words(name: str, given: Iterable[str]) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(filter(None, (one_line(word)[:TOPIC_CHARACTERS] for word in given))))
    if len(words) > 50:
        raise BadInput(f"{name}: {len(words)} are too many; give at most 50")
    return words


def _topics(given: Iterable[str]) -> tuple[str, ...]:
    topics = _words("topic", given)
    if not topics:
        raise BadInput("topic: is empty; say in a few words what the card is about")
    return topics


def _new_text(change: CardChange) -> Callable[[str], str] | None:
    """The text after the change, made of the text before it."""
    if change.content is not None:
        whole = checked_text(change.content)
        return lambda _: whole
    if change.old_text is None and change.new_text is None:
        return None
    old, new = clean_text(change.old_text or ""), strip_private(clean_text(change.new_text or ""))
    if not old:
        raise BadInput("old_text: say which text to replace")

    def patched(text: str) -> str:
        count = text.count(old)
        if count != 1:
            found = "does not stand in the card" if not count else f"stands {count} times in the card"
            raise BadInput(f"old_text: {found}; give a fragment that stands there exactly once")
        result = text.replace(old, new).strip()
        if not result:
            raise BadInput("new_text: would leave an empty card; delete it instead")
        return result

    return patched
