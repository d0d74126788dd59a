"""A vault's life in random steps: a person's file operations and the tools', over one core; and what must hold after it."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

from tests.running import Running, running, snapshot
from vaultd.core.errors import BadInput, LostRace, NoSuchMemory, UnwritableNote
from vaultd.core.note import NotePath
from vaultd.core.query import Query
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision
from vaultd.vault.reader import Scan

FOLDERS = ("dynamic/日常", "dynamic/work", "dynamic", "permanent", "feel", "archive/日常", "Own", "")
WORDS = ("harbour", "violin", "面试", "lantern", "marmalade", "很累", "walnut", "offer", "bicycle", "河边")
MOST_NOTES = 40  # below what counts as a mass deletion
BROKEN = b"broken: [\n"
REFUSALS = (UnwritableNote, LostRace, BadInput, NoSuchMemory)


class World:
    """Steps by name; `Chance` decides the rest. Every step leaves the index to be found out by events or a reconcile."""

    STEPS = (
        "write_new",
        "write_new",
        "edit_body",
        "edit_body",
        "edit_property",
        "edit_property",
        "rename",
        "rename",
        "rename_folder",
        "remove",
        "remove_and_return",
        "copy",
        "numbered_copy",
        "break_note",
        "mend_note",
        "hold",
        "hold",
        "recall",
        "trace",
        "trace",
        "restore",
        "delete",
        "forget",
        "keep_house",
        "undo",
        "unseen",
    )

    def __init__(self, r: Running, seed: int) -> None:
        self.r = r
        self.chance = random.Random(seed)
        (r.vault / ".obsidian").mkdir(exist_ok=True)  # a vault without anything counts as one that is not there
        self.done: dict[str, int] = {}

    async def step(self, name: str | None = None) -> None:
        """One step; a refusal that a person would be told is a right outcome."""
        name = name or self.chance.choice(self.STEPS)
        self.done[name] = self.done.get(name, 0) + 1
        try:
            await getattr(self, name)()
        except REFUSALS:
            self.done["refused"] = self.done.get("refused", 0) + 1
        self.r.clock.advance(seconds=self.chance.choice((1, 10, 90, 600)))

    # -- a person's ---------------------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        root = self.r.vault
        return sorted(
            place.relative_to(root).as_posix()
            for place in root.rglob("*.md")
            if not any(part.startswith(".") for part in place.relative_to(root).parts)
        )

    def _some(self) -> str | None:
        notes = self._notes()
        return self.chance.choice(notes) if notes else None

    def _text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randrange(1, 30))) + "\n"

    def _free(self, folder: str) -> str:
        name = f"{self.chance.choice(WORDS)} {self.chance.randrange(1000)}"
        return f"{folder}/{name}.md" if folder else f"{name}.md"

    async def write_new(self) -> None:
        """A note by hand, with or without our properties."""
        if len(self._notes()) >= MOST_NOTES:
            return await self.remove()
        path = self._free(self.chance.choice(FOLDERS))
        head = self.chance.choice(("", "---\nmine: 1 # why\n---\n", "---\nimportance: 7\ntags: [a, b]\n---\n", "ours"))
        if head == "ours":
            kind = self.chance.choice(("dynamic", "permanent", "feel", "archived", "litnote"))
            head = (
                f"---\nid: {self.chance.getrandbits(40):011x}a\nname: {self.chance.choice(WORDS)}\ntype: {kind}\n"
                f"domain: [日常]\nimportance: {self.chance.randrange(1, 11)}\npinned: {self.chance.choice(('true', 'false'))}\n"
                "created: 2026-05-17T12:00:00+00:00\nlast_active: 2026-11-01T12:00:00+00:00\n---\n"
            )
        await self.r.write(path, head + self._text())
        return None

    async def edit_body(self) -> None:
        """More text at the end."""
        if path := self._some():
            await self.r.write(path, (self.r.vault / path).read_bytes() + self._text().encode())

    async def edit_property(self) -> None:
        """A property typed by hand."""
        path = self._some()
        if path is None:
            return
        lines = (self.r.vault / path).read_text().split("\n")
        if lines[0] != "---":
            return
        key, value = self.chance.choice(
            (
                ("pinned", "true"),
                ("pinned", "false"),
                ("type", "archived"),
                ("type", "dynamic"),
                ("importance", "9"),
                ("importance", "many"),
                ("resolved", "true"),
                ("tags", "[x, y]"),
                ("mine", "other"),
            )
        )
        kept = [line for line in lines if not line.startswith(f"{key}:")]
        kept.insert(1, f"{key}: {value}")
        await self.r.write(path, "\n".join(kept))

    async def rename(self) -> None:
        """A note to another place."""
        path = self._some()
        if path is None:
            return
        target = self._free(self.chance.choice(FOLDERS))
        (self.r.vault / target).parent.mkdir(parents=True, exist_ok=True)
        (self.r.vault / path).rename(self.r.vault / target)
        both = [path, target]
        self.chance.shuffle(both)
        if self.chance.random() < 0.5:
            await self.r.look(*both)
        else:
            for one in both:
                await self.r.look(one)

    async def rename_folder(self) -> None:
        """A folder of a person, or one in ours, to another name."""
        for source, target in (("dynamic/work", "dynamic/job"), ("dynamic/job", "dynamic/work"), ("Own", "Mine")):
            if (self.r.vault / source).is_dir() and not (self.r.vault / target).exists():
                below = [path for path in self._notes() if path.startswith(source + "/")]
                (self.r.vault / source).rename(self.r.vault / target)
                await self.r.look(*below, *(target + path[len(source) :] for path in below))
                return

    async def remove(self) -> None:
        """A note away."""
        if path := self._some():
            (self.r.vault / path).unlink()
            await self.r.look(path)

    async def remove_and_return(self) -> None:
        """As a checkout there and back."""
        if path := self._some():
            raw = (self.r.vault / path).read_bytes()
            (self.r.vault / path).unlink()
            await self.r.look(path)
            await self.r.write(path, raw)

    async def copy(self) -> None:
        """A duplicate, as Obsidian names it."""
        path = self._some()
        if path and len(self._notes()) < MOST_NOTES:
            await self.r.write(path[:-3] + " 1.md", (self.r.vault / path).read_bytes())

    async def numbered_copy(self) -> None:
        """A duplicate, as a cloud drive names it."""
        path = self._some()
        if path and len(self._notes()) < MOST_NOTES:
            await self.r.write(path[:-3] + " 2.md", (self.r.vault / path).read_bytes())

    async def break_note(self) -> None:
        """A block that can't be parsed."""
        path = self._some()
        if path:
            raw = (self.r.vault / path).read_bytes()
            if raw.startswith(b"---\n"):
                await self.r.write(path, b"---\n" + BROKEN + raw[4:])

    async def mend_note(self) -> None:
        """Broken blocks made whole."""
        for path in self._notes():
            raw = (self.r.vault / path).read_bytes()
            if BROKEN in raw:  # not always the first property any more
                await self.r.write(path, raw.replace(BROKEN, b""))

    async def unseen(self) -> None:
        """Changes that no event told of; a reconcile finds them."""
        for path in self._notes()[:3]:
            place = self.r.vault / path
            place.write_bytes(place.read_bytes() + self._text().encode())
        await self.r.reconcile()

    # -- the tools' ---------------------------------------------------------------------------------------------

    async def hold(self) -> None:
        """A text to keep."""
        if len(self._notes()) >= MOST_NOTES:
            return await self.remove()
        feel = self.chance.random() < 0.2
        memory = NewMemory(self._text(), domain=("日常",), feel=feel, pinned=not feel and self.chance.random() < 0.2)
        await self.r.core.services.remember(memory)
        return None

    async def recall(self) -> None:
        """A question."""
        await self.r.core.services.answer(Query.parse(" ".join(self.chance.choices(WORDS, k=2))))

    def _id(self) -> str:
        ids = sorted(self.r.ids())
        return self.chance.choice(ids) if ids else "none"

    async def trace(self) -> None:
        """A change of one memory."""
        change = self.chance.choice(
            (
                Revision(pinned=True),
                Revision(pinned=False),
                Revision(resolved=True),
                Revision(importance=3),
                Revision(domain=("work",)),
                Revision(content=self._text()),
            )
        )
        await self.r.core.services.revise(self._id(), change)

    async def restore(self) -> None:
        """Out of the archive."""
        await self.r.core.services.revise(self._id(), Revision(restore=True))

    async def delete(self) -> None:
        """Into the trash."""
        await self.r.core.services.revise.delete(self._id())

    async def forget(self) -> None:
        """A cycle, some days later."""
        self.r.clock.advance(days=self.chance.randrange(1, 20))
        await self.r.core.services.forget()

    async def keep_house(self) -> None:
        """A round, when all is quiet."""
        self.r.clock.advance(minutes=self.chance.choice((3, 30)))
        await self.r.core.services.housekeeping()

    async def undo(self) -> None:
        """The last write taken back."""
        entries = self.r.core.writer.log.entries(limit=3)
        if entries:
            await self.r.core.scribe.undo(self.chance.choice(entries).group)

    # -- what must hold -----------------------------------------------------------------------------------------

    async def settle(self) -> int:
        """Quiet, then rounds of housekeeping until nothing is left to do; how many rounds."""
        await self.r.reconcile()
        if self.r.core.pipeline.confirm_deletions():  # many small steps within seconds look like a mass deletion
            await self.r.core.pipeline.idle()
        for rounds in range(1, 8):
            self.r.clock.advance(days=2)
            done = await self.r.core.services.housekeeping()
            await self.r.core.pipeline.idle()
            if not (done.projected or done.adopted or done.moved):
                assert not done.waiting, self._left()
                return rounds
        raise AssertionError("housekeeping comes to no end")

    def _left(self) -> list[tuple]:
        keeper = self.r.core.services.housekeeping
        return [
            (task.row, keeper._is_quiet(task.row), keeper._is_disputed(task.row.path), self.r.read(task.row.path)[:300])
            for task in keeper._todo()
        ]

    async def check(self, scratch: Path) -> None:
        """The index equals one made anew from the vault, and the vault holds nothing that is not whole."""
        await self.mend_note()
        await self.settle()
        r = self.r
        left = await asyncio.to_thread(r.core.compare)
        assert not left, left
        await r.embedded()
        await asyncio.to_thread(r.core.journal.flush)
        scratch.mkdir(parents=True)
        (scratch / "vault").symlink_to(r.vault)
        try:
            async with running(scratch, clock=r.clock, embedder=r.embedder) as anew:
                await anew.embedded()
                here, there = _comparable(snapshot(r.core)), _comparable(snapshot(anew.core))
        finally:
            shutil.rmtree(scratch)
        assert here.keys() == there.keys(), [
            both[i][0] for both in (here, there) for i in (here.keys() ^ there.keys()) & both.keys()
        ]
        for note_id, row in here.items():
            assert row == there[note_id], _told(row, there[note_id])
        _check_files(r, await asyncio.to_thread(r.core.reader.scan))


def _comparable(found: dict[str, tuple]) -> dict[str, tuple]:
    """Without notes that can't be read: they keep their last good row, which a new index can't know."""
    return {note_id: row for note_id, row in found.items() if not row[0].problem}


def _check_files(r: Running, scan: Scan) -> None:
    ids: dict[str, str] = {}
    for path in scan.stamps:
        note = r.core.reader.read(NotePath(path))
        assert note is not None
        assert not list((r.vault / path).parent.glob(".vaultd-*"))
        note_id = note.properties.get("id")
        ours = note.problem is None and r.core.layout.folder_kind(path) is not None
        if ours and isinstance(note_id, str) and path not in r.core.indexer.aside:
            assert note_id not in ids, (path, ids[note_id])
            ids[note_id] = path


def _told(one: tuple, other: tuple) -> list[tuple]:
    """The parts in which two entries differ, in few words."""
    return [
        (number, str(a)[:900], str(b)[:900]) for number, (a, b) in enumerate(zip(one, other, strict=True)) if a != b
    ]
