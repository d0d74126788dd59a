"""Who follows the mirror hears of every note that is there, comes, goes or is counted, once."""

from tests.running import running

NOTE = "---\nid: {}\n---\nA walk by the river.\n"
ONE, TWO = "a1b2c3d4e5f6", "b1b2c3d4e5f6"


async def test_a_follower_hears_of_what_was_there_and_of_every_change_once(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/one.md", NOTE.format(ONE))
        changed = r.core.mirror.follow()
        at_first, nothing = changed.take(), changed.take()

        await r.write("dynamic/two.md", NOTE.format(TWO))
        came = changed.take()
        r.core.reinforce.count(ONE, 1.0)
        counted = changed.take()
        (r.vault / "dynamic/two.md").unlink()
        await r.look("dynamic/two.md")
        went = changed.take()

        assert (at_first, nothing) == ({ONE}, set())
        assert (came, counted, went) == ({TWO}, {ONE}, {TWO})


async def test_a_follower_from_before_the_start_hears_of_all_that_was_loaded(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/one.md", NOTE.format(ONE))

    async with running(tmp_path) as r:
        assert r.ids() == {ONE}
        assert ONE in r.core.services.housekeeping._changed.take()
