"""What is wrong, where, and how to mend it. `fix` touches only what is vaultd's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

from vaultd.core.bucket import Role
from vaultd.core.findings import Finding, Level
from vaultd.core.note import NotePath
from vaultd.core.properties import BUCKET_SPECS, CARD_SPECS, PropertyReader, Shape
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.services.conflicts import Conflicts
from vaultd.services.health import Health
from vaultd.services.housekeeping import Housekeeping
from vaultd.services.surroundings import Surroundings
from vaultd.vault import gitsetup, sync
from vaultd.vault.atomic import Leftover, remove_leftovers
from vaultd.vault.layout import Layout
from vaultd.vault.lifecycle import Lifecycle
from vaultd.vault.moving import DeadLink
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter


class Doctor:
    """Looks at everything once."""

    def __init__(
        self,
        layout: Layout,
        reader: VaultReader,
        writer: VaultWriter,
        mirror: Mirror,
        conflicts: Conflicts,
        housekeeping: Housekeeping,
        health: Health,
        lifecycle: Lifecycle,
        surroundings: Surroundings,
        dead_links: Callable[[], list[DeadLink]],
        drift: Callable[[], Sequence[NotePath]],
        look: Callable[[Iterable[NotePath]], None],
    ) -> None:
        self._layout = layout
        self._reader = reader
        self._writer = writer
        self._mirror = mirror
        self._conflicts = conflicts
        self._housekeeping = housekeeping
        self._health = health
        self._lifecycle = lifecycle
        self._surroundings = surroundings
        self._links_left = dead_links
        self._drift = drift
        self._look = look

    async def __call__(self) -> list[Finding]:
        """All findings, errors first. Raises VaultUnavailable."""
        found = [*await self._disputes(), *await asyncio.to_thread(lambda: list(self._findings()))]
        order = {"error": 0, "warning": 1, "hint": 2}
        return sorted(found, key=lambda finding: (order[finding.level], finding.where, finding.line or 0))

    async def fix(self) -> list[str]:
        """Mend what is vaultd's own: leftovers, our journal, conflicts in our keys, adoption, drift. What was done,
        in lines.
        """
        done = [f"removed {left.place}" for left in await asyncio.to_thread(self._clear_leftovers)]
        done += [f"wrote {place} anew" for place in await asyncio.to_thread(self._surroundings.mend_journal)]
        for conflict in await self._conflicts.all():
            if conflict.solvable:
                await self._conflicts.solve(conflict.path)
                done.append(f"merged the copies of {conflict.path}")
        kept = await self._housekeeping()
        if kept.adopted or kept.moved:
            done.append(f"completed {kept.adopted} notes, moved {kept.moved}")
        differing = await asyncio.to_thread(self._drift)
        if differing:
            self._look(differing)
            done.append(f"had {len(differing)} notes looked at again")
        return done

    def _clear_leftovers(self) -> tuple[Leftover, ...]:
        with self._writer.exclusively():
            return remove_leftovers(self._layout.root, displaced=self._writer.keep_displaced)

    async def _disputes(self) -> list[Finding]:
        out: list[Finding] = []
        for conflict in await self._conflicts.all():
            what = "conflict markers of a merge that was not finished"
            if conflict.line is None:
                what = f"conflict copies beside it: {', '.join(conflict.copies)}"
            out.append(
                Finding("error", what, conflict.path, conflict.how, conflict.line, conflict.solvable, "conflict")
            )
        return out

    def _findings(self) -> Iterator[Finding]:
        yield from self._notes()
        yield from self._skipped()
        yield from self._index()
        yield from self._git()
        yield from self._surroundings()
        yield from self._dead_links()
        for problem in self._layout.problems:
            yield Finding("warning", problem, "settings", "change Obsidian's excluded files or vault.exclude")

    def _dead_links(self) -> Iterator[Finding]:
        for link in self._links_left():
            what = f"the link {link.written} leads nowhere since its note was moved to {link.now}"
            yield Finding("warning", what, link.path, f"let it say {link.now}", link.line, about="note")

    def _notes(self) -> Iterator[Finding]:
        for row in self._mirror.rows():
            if row.problem and not row.problem.startswith("conflict markers"):
                mend = "mend the line in Obsidian's source view; until then the note is searchable and never written"
                yield Finding("error", row.problem, row.path, mend, row.problem_line, about="note")
            elif row.copied:
                mend = "it gets an id of its own when it is quiet; nothing to do"
                yield Finding("hint", "carries the id of another note", row.path, mend, fixable=True, about="note")
            elif row.role in (Role.BUCKET, Role.CARD):
                yield from self._values(row)

    def _values(self, row: Row) -> Iterator[Finding]:
        note = self._reader.read(row.path)
        if note is None:
            return
        reader = PropertyReader(note.properties)
        for spec in CARD_SPECS if row.role is Role.CARD else BUCKET_SPECS:
            _ask(reader, spec.key, spec.shape)
        for wrong in reader.findings:
            what = f"{wrong.key}: {wrong.value} {wrong.reason}"
            mend = "correct the value; until then the nearest valid one counts"
            yield Finding("warning", what, row.path, mend, about="note")

    def _skipped(self) -> Iterator[Finding]:
        for skipped in self._reader.scan().skipped:
            if sync.conflict_original(skipped.path) is not None:
                continue
            level: Level = "warning" if skipped.still_there else "hint"
            mend = "download it" if "cloud" in skipped.reason or "iCloud" in skipped.reason else "nothing, if meant so"
            yield Finding(level, skipped.reason, skipped.path, mend, about="note")

    def _index(self) -> Iterator[Finding]:
        status = self._health.status()
        drift = self._drift()
        if drift:
            what = f"{len(drift)} notes differ from the vault"
            yield Finding("warning", what, "index", "wait for the next comparison, or `vaultd reindex`", fixable=True)
        if status["held_deletions"]:
            what = f"{status['held_deletions']} notes vanished at once; they are kept in the index"
            yield Finding("error", what, "vault", "bring the folder back, or `vaultd confirm-deletions`")
        if status["index_problem"]:
            yield Finding("warning", str(status["index_problem"]), "index", "see the daemon's log")
        if status["missed"]:
            what = f"{status['missed']} changes were found by comparing: no event had told of them"
            yield Finding("hint", what, "watcher", "nothing; where it grows, set watch.mode to polling")
        if status["failed"]:
            yield Finding("warning", f"{status['failed']} passages have no embedding", "index", "`vaultd reindex`")

    def _git(self) -> Iterator[Finding]:
        state = gitsetup.status(self._layout.root)
        if state.in_git and not state.complete:
            missing = "the merge driver is not set up in this clone"
            if state.driver and not state.driver_works:
                missing = "the merge driver's command is gone"
            elif state.driver and state.attributes:
                missing = "git add may stumble over files that are just being written"
            yield Finding("warning", missing, "git", "`vaultd git install`, once in each clone")
        merging = sync.merge_under_way(self._layout.root)
        if merging is not None:
            yield Finding("warning", f"a git {merging} is under way: nothing is written", "git", "finish or abort it")
        claim = self._lifecycle.claim()
        if claim is not None and not self._lifecycle.is_ours(claim):
            what = f"{claim.name or claim.machine} owns the life cycle: this machine forgets and moves nothing"
            yield Finding("hint", what, "lifecycle", "`vaultd lifecycle claim` takes it over")


def _ask(reader: PropertyReader, key: str, shape: Shape) -> None:
    """Read a property as its type, so that the reader notes what is wrong with it."""
    match shape:
        case Shape.TEXT:
            reader.text(key)
        case Shape.LIST:
            reader.texts(key)
        case Shape.NUMBER | Shape.WHOLE:
            reader.number(key, None)
        case Shape.CHECKBOX:
            reader.checkbox(key)
        case Shape.MOMENT:
            reader.moment(key)
