"""Keep a text as a memory: the file first, then everything that makes it better."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from vaultd.core import properties as keys
from vaultd.core.bucket import UNSORTED_DOMAIN, Kind, Role
from vaultd.core.errors import BadInput, ModelError, VaultError
from vaultd.core.note import NotePath
from vaultd.core.query import Noted, Notice, Query
from vaultd.index.mirror import Mirror
from vaultd.index.rows import CORE_IMPORTANCE, Row, body_key
from vaultd.llm.analyst import Analyst
from vaultd.services.joining import annotated, appended, body_of, merged_properties
from vaultd.services.linking import linked, targets
from vaultd.services.matching import Matching
from vaultd.services.meaning import Meaning
from vaultd.services.newmemory import Care, NewMemory, cleaned
from vaultd.services.ownanswer import ids_of_own_answer
from vaultd.services.scribe import Scribe
from vaultd.services.wording import name_of
from vaultd.settings import Settings
from vaultd.vault import codec
from vaultd.vault.layout import Layout

log = logging.getLogger(__name__)

SAME_WITHIN = timedelta(days=1)
TWIN_CHARACTERS = 2_000  # of a new text that are compared with the memories
TWIN_CANDIDATES = 5
FEEL_IMPORTANCE = 5


class Outcome(StrEnum):
    """What became of a text."""

    NEW = "new"
    MERGED = "merged"
    SAME = "same"
    PINNED = "pinned"
    FEEL = "feel"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a text is kept now. `assumed` names the properties that fell back to their defaults."""

    outcome: Outcome
    id: str
    name: str
    domain: tuple[str, ...]
    path: str
    assumed: tuple[str, ...] = ()
    notices: tuple[Noted, ...] = field(default=())


def new_id() -> str:
    """A fresh bucket id: 12 hex characters."""
    return secrets.token_hex(6)


class Remember:
    """Keeps texts. One at a time looks for its twin, so that the same text told twice at once is one memory."""

    def __init__(
        self,
        layout: Layout,
        scribe: Scribe,
        mirror: Mirror,
        matching: Matching,
        meaning: Meaning,
        analyst: Analyst,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._layout = layout
        self._scribe = scribe
        self._mirror = mirror
        self._matching = matching
        self._meaning = meaning
        self._analyst = analyst
        self._settings = settings
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def foresee(self, memory: NewMemory) -> Kept:
        """What would become of a text; nothing is kept, and no chat model asked. `id` is empty for a new one. Raises BadInput."""
        memory = self._checked(memory)
        same = self._same(memory)
        if same is not None:
            return same
        if not memory.feel and not memory.pinned:
            twin = await self._twin(memory.content, memory.domain, except_id="")
            if twin is not None:
                return Kept(Outcome.MERGED, twin.id, twin.name, twin.domain, twin.path)
        kind = Kind.FEEL if memory.feel else Kind.PERMANENT if memory.pinned else Kind.DYNAMIC
        outcome = Outcome.FEEL if memory.feel else Outcome.PINNED if memory.pinned else Outcome.NEW
        name, domain, path = self._place(memory, kind, "…")
        return Kept(outcome, "", name, domain, path)

    def _checked(self, memory: NewMemory) -> NewMemory:
        memory = cleaned(memory)
        own = ids_of_own_answer(memory.content, lambda note_id: self._mirror.get(note_id) is not None)
        if own:
            raise BadInput(
                f"content: this is vaultd's own answer coming back (memories {', '.join(own)}); nothing was kept"
            )
        return memory

    async def __call__(self, memory: NewMemory) -> Kept:
        """Keep a text. Raises BadInput, VaultError; a model that fails is a notice, never a lost text."""
        memory = self._checked(memory)
        async with self._one_at_a_time:
            same = self._same(memory)
            if same is not None:
                return same
            if memory.feel:
                return await self._feel(memory)
            if memory.pinned:
                return await self._pin(memory)
            if memory.care is Care.JOIN or (memory.care is Care.ALL and not self._analyst.available):
                return await self._join_or_create(memory)
            kept = await self._create(memory)
            if memory.care is Care.NONE:
                return kept
        return await self._improve(kept, memory)

    # -- the ways to keep -----------------------------------------------------------------------------------------

    def _same(self, memory: NewMemory) -> Kept | None:
        bodies = dict.fromkeys((memory.content, self._linked(memory, Kind.DYNAMIC)))
        rows = [self._mirror.with_body(body_key(body_of(body))) for body in bodies]
        row = next((found for found in rows if found is not None), None)
        if row is None or row.role is not Role.BUCKET or row.kind is Kind.ARCHIVED:
            return None
        if memory.feel != (row.kind is Kind.FEEL):
            return None
        age = self._clock().timestamp() - row.created
        if age > SAME_WITHIN.total_seconds():
            return None
        return Kept(Outcome.SAME, row.id, row.name, row.domain, row.path)

    async def _feel(self, memory: NewMemory) -> Kept:
        feel = replace(memory, domain=(), tags=memory.tags, importance=FEEL_IMPORTANCE)
        kept = await self._write(feel, Kind.FEEL, Outcome.FEEL)
        if not memory.source_bucket:
            return kept
        source = self._mirror.get(memory.source_bucket)
        if source is None or source.role is not Role.BUCKET:
            return replace(kept, notices=(Noted(Notice.NO_SUCH_SOURCE, {"id": memory.source_bucket}),))
        changes: dict[str, object] = {keys.DIGESTED: True}
        if memory.valence is not None:
            changes[keys.MODEL_VALENCE] = memory.valence
        try:
            await self._scribe.set_properties(source.path, changes, why="feel")  # type: ignore[arg-type]
        except VaultError as exc:
            log.warning("could not mark %s as digested: %s", source.path, exc)
            return replace(kept, notices=(Noted(Notice.NOT_WRITTEN, {"reason": str(exc)}),))
        return kept

    async def _pin(self, memory: NewMemory) -> Kept:
        kept = await self._write(replace(memory, importance=CORE_IMPORTANCE), Kind.PERMANENT, Outcome.PINNED)
        if not self._analyst.available:
            return kept
        return await self._annotated(kept, memory)

    async def _join_or_create(self, memory: NewMemory) -> Kept:
        twin = await self._twin(memory.content, memory.domain, except_id="")
        if twin is not None:
            try:
                return await self._merge(twin, memory)
            except VaultError as exc:
                log.warning("could not merge into %s: %s; kept as a memory of its own", twin.path, exc)
        kept = await self._create(memory)
        return kept if self._analyst.available else replace(kept, notices=(*kept.notices, Noted(Notice.NO_MODEL)))

    async def _improve(self, kept: Kept, memory: NewMemory) -> Kept:
        """The text is on disk; now annotate it, and join it to its twin if it has one."""
        kept = await self._annotated(kept, memory)
        async with self._one_at_a_time:
            row = self._mirror.get(kept.id)
            twin = await self._twin(memory.content, kept.domain, except_id=kept.id)
            if twin is None or row is None:
                return kept
            told = replace(
                memory,
                tags=row.tags,
                domain=row.domain,
                valence=row.valence if "valence" not in kept.assumed else memory.valence,
                arousal=row.arousal if "arousal" not in kept.assumed else memory.arousal,
            )
            try:
                merged = await self._merge(twin, told)
            except (VaultError, ModelError) as exc:
                log.warning("could not merge into %s: %s; kept as a memory of its own", twin.path, exc)
                return kept
            await self._scribe.delete(row.path, permanent=True, why=f"merged into {twin.id}")
            return replace(merged, notices=(*kept.notices, *merged.notices))

    async def _create(self, memory: NewMemory) -> Kept:
        return await self._write(memory, Kind.DYNAMIC, Outcome.NEW)

    async def _write(self, memory: NewMemory, kind: Kind, outcome: Outcome) -> Kept:
        note_id = new_id()
        name, domain, path = self._place(memory, kind, note_id)
        now = self._clock()
        created = memory.created or now
        record: dict[str, object] = {
            keys.ID: note_id,
            keys.NAME: name,
            keys.TYPE: kind.value,
            keys.DOMAIN: list(domain),
            keys.TAGS: list(memory.tags),
            keys.VALENCE: 0.5 if memory.valence is None else memory.valence,
            keys.AROUSAL: 0.3 if memory.arousal is None else memory.arousal,
            keys.IMPORTANCE: memory.importance,
            keys.ACTIVATION_COUNT: 0,
            keys.RESOLVED: False,
            keys.PINNED: kind is Kind.PERMANENT,
            keys.CREATED: created,
            keys.LAST_ACTIVE: created,
        }
        if memory.source:
            record[keys.SOURCE] = memory.source
        raw = codec.new_note(record, body_of(self._linked(memory, kind)))  # type: ignore[arg-type]
        receipt = await self._scribe.create(path, raw, why="hold")
        said = {"name": memory.name, "domain": memory.domain, "tags": memory.tags}
        assumed = [key for key, value in said.items() if not value]
        assumed += [key for key in ("valence", "arousal") if getattr(memory, key) is None]
        return Kept(outcome, note_id, name, domain, receipt.path, tuple(assumed))

    def _place(self, memory: NewMemory, kind: Kind, note_id: str) -> tuple[str, tuple[str, ...], NotePath]:
        """Name, domain and path of a new memory."""
        name = memory.name or name_of(memory.content)
        domain = memory.domain or (() if kind is Kind.FEEL else (UNSORTED_DOMAIN,))
        path = self._layout.bucket_path(kind=kind, domain=domain[0] if domain else "", name=name, note_id=note_id)
        return name, domain, path

    def _linked(self, memory: NewMemory, kind: Kind) -> str:
        links = self._settings().wikilink
        if not links.enabled or kind is Kind.FEEL:
            return memory.content
        words = targets(links, memory.content, domain=memory.domain, tags=memory.tags, mirror=self._mirror)
        own_name = memory.name or name_of(memory.content)
        return linked(memory.content, [word for word in words if word != own_name])

    # -- twins ----------------------------------------------------------------------------------------------------

    async def _twin(self, content: str, domain: tuple[str, ...], *, except_id: str) -> Row | None:
        """An existing memory that says the same, by the match score."""
        text = content[:TWIN_CHARACTERS]
        query = Query(text=text, limit=TWIN_CANDIDATES, domains=domain)
        vector = await self._meaning.of_passage(content)
        matches = await asyncio.to_thread(self._matching.match, query, vector, self._clock(), likeness=True)
        threshold = self._settings().merge.threshold
        best = sorted(matches.candidates, key=lambda candidate: -candidate.parts.total)
        for candidate in best:
            if candidate.parts.total <= threshold:
                return None
            row = self._mirror.get(candidate.id)
            if row is None or row.id == except_id or row.role is not Role.BUCKET:
                continue
            if row.kind is Kind.DYNAMIC and not row.is_core and row.writable:
                return row
        return None

    async def _merge(self, twin: Row, memory: NewMemory) -> Kept:
        notices: list[Noted] = []
        rewritten: str | None = None
        old = await asyncio.to_thread(self._read_body, twin)
        if self._analyst.available and self._settings().merge.mode == "rewrite":
            try:
                rewritten = await self._analyst.merge(old, memory.content)
            except ModelError as exc:
                notices.append(Noted(Notice.MODEL_FAILED, {"reason": str(exc)}))
        now = self._clock()
        changes = merged_properties(twin, memory, now)

        def edit(raw: bytes) -> bytes:
            body = codec.decode(twin.path, raw, twin.stamp).body
            whole = rewritten if rewritten is not None and body.strip() == old.strip() else None
            text = body_of(whole) if whole is not None else appended(body, memory.content, now)
            return codec.set_properties(twin.path, codec.replace_body(twin.path, raw, text), changes)

        receipt = await self._scribe.change(twin.path, edit, why="merge")
        row = self._mirror.get(twin.id) or twin
        return Kept(Outcome.MERGED, row.id, row.name, row.domain, receipt.path, notices=tuple(notices))

    def _read_body(self, row: Row) -> str:
        body = self._matching.body(row.path)
        return body or ""

    # -- annotation -----------------------------------------------------------------------------------------------

    async def _annotated(self, kept: Kept, memory: NewMemory) -> Kept:
        try:
            annotation = await self._analyst.annotate(memory.content)
        except ModelError as exc:
            return replace(kept, notices=(*kept.notices, Noted(Notice.MODEL_FAILED, {"reason": str(exc)})))
        row = self._mirror.get(kept.id)
        if row is None:
            return kept
        changes = annotated(memory, annotation)
        await self._scribe.set_properties(row.path, changes, why="annotate")
        row = self._mirror.get(kept.id) or row
        target = self._layout.bucket_path(
            kind=row.kind or Kind.DYNAMIC,
            domain=row.domain[0] if row.domain else "",
            name=row.name,
            note_id=row.id,
        )
        path = row.path
        if target != path:
            path = (await self._scribe.move(path, target, why="annotate")).path
        return replace(kept, name=row.name, domain=row.domain, path=path, assumed=())
