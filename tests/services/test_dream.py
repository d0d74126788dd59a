from tests.running import running
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision


async def keep(r, note_id, text):
    """A memory that lies in the vault already, so that no twin is looked for."""
    created = r.clock.now.isoformat()
    head = f"---\nid: '{note_id}'\ntype: dynamic\ncreated: {created}\nlast_active: {created}\n---\n"
    await r.write(f"dynamic/x/{note_id}.md", f"{head}{text}\n")
    r.clock.advance(hours=1)
    return note_id


async def test_the_ten_newest_undigested_memories_come_back(tmp_path):
    async with running(tmp_path) as r:
        ids = [await keep(r, f"{i:012x}", f"word{i} on its own day") for i in range(12)]
        await r.core.services.revise(ids[11], Revision(digested=True))
        await r.core.services.revise(ids[10], Revision(pinned=True))

        reflection = await r.core.services.reflect()

        assert [recent.bucket.id for recent in reflection.recent] == ids[9::-1]


async def test_the_closest_pair_is_named(tmp_path):
    async with running(tmp_path) as r:
        first = await keep(r, "aaaaaaaaaaaa", "the choir sang the requiem in the cold church")
        await keep(r, "bbbbbbbbbbbb", "bought a bicycle lock")
        other = await keep(r, "cccccccccccc", "the choir sang a requiem in a cold hall")
        await r.embedded()

        reflection = await r.core.services.reflect()

        assert {reflection.connection.first.id, reflection.connection.second.id} == {first, other}
        assert reflection.connection.similarity > 0.5


async def test_feels_that_agree_are_a_crystal_and_one_alone_is_not(tmp_path):
    async with running(tmp_path) as r:
        for text in ("care hides in small deeds", "care hides in small deeds again", "care hides in small deeds too"):
            await r.core.services.remember(NewMemory(text, feel=True))
        await r.core.services.remember(NewMemory("numbers on a table", feel=True))
        await r.core.services.remember(NewMemory("an event, so that there is something to digest"))
        await r.embedded()

        reflection = await r.core.services.reflect()

        (crystal,) = reflection.crystals
        assert len(crystal.companions) == 2
        assert "care hides" in crystal.text


async def test_with_nothing_new_there_is_nothing_to_digest(tmp_path):
    async with running(tmp_path) as r:
        assert (await r.core.services.reflect()).recent == ()
