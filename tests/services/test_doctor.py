"""Each hazard is found with what, where and how to mend it; `fix` touches only what is vaultd's own."""

from datetime import UTC, datetime

from tests.fakes import FakeClock
from tests.running import running
from tests.torture import build

NOTE = "---\nid: {id}\nname: walk\ntype: dynamic\ndomain: [a]\nimportance: {importance}\ncreated: 2026-05-17\nlast_active: {active}\n---\nriver\n"


def a_note(*, id="a1b2c3d4e5f6", importance="5", active="2026-05-17"):
    return NOTE.format(id=id, importance=importance, active=active)


def named(findings, where):
    return [one for one in findings if one.where == where]


async def test_every_unreadable_hazard_of_the_torture_vault_is_named_once(tmp_path):
    hazards = build(tmp_path / "vault", seed=1)
    async with running(tmp_path) as r:
        findings = await r.core.services.doctor()

        for hazard in hazards:
            found = [one for one in named(findings, hazard.path) if one.level == "error"]
            assert len(found) == (1 if hazard.listed else 0), (hazard, found)
            assert all(one.what and one.mend for one in found)
        for link in ("loop", "parent", "outside", "dangling.md", "linked-file.md"):
            assert len(named(findings, link)) == 1


async def test_wrong_values_are_named_and_never_rewritten(tmp_path):
    text = a_note(importance="many", active="2026-02-30")
    async with running(tmp_path, clock=FakeClock(datetime.now(UTC))) as r:
        await r.write("dynamic/walk.md", text)
        r.clock.advance(hours=1)

        findings = named(await r.core.services.doctor(), "dynamic/walk.md")
        await r.core.services.doctor.fix()

        assert sorted(one.what.split(":")[0] for one in findings) == ["importance", "last_active"]
        assert r.read("dynamic/walk.md") == text


async def test_what_a_tool_of_ours_left_behind_is_mended(tmp_path):
    async with running(tmp_path, clock=FakeClock(datetime.now(UTC))) as r:
        await r.write("dynamic/new.md", "river\n")
        await r.write("dynamic/walk.md", a_note())
        await r.write("dynamic/walk 1.md", a_note())
        await r.write("dynamic/walk.sync-conflict-20260517-120000-ABCDEFG.md", a_note(importance="7"))
        leftover = r.vault / f"dynamic/.vaultd-{'0' * 40}.tmp"
        leftover.write_text("half")
        (r.vault / "dynamic/unseen.md").write_text("nobody told\n")
        r.clock.advance(hours=1)

        before = await r.core.services.doctor()
        done = await r.core.services.doctor.fix()
        await r.core.pipeline.idle()
        after = await r.core.services.doctor()

        assert {one.where for one in before} >= {"dynamic/walk.md", "dynamic/walk 1.md", "index"}
        assert len(done) == 4
        assert not leftover.exists()
        assert "importance: 7" in r.read("dynamic/walk.md")
        assert not [one for one in after if one.level == "error" or one.where == "index"]


async def test_git_without_the_driver_and_a_merge_under_way_are_named(tmp_path):
    (tmp_path / "vault/.git").mkdir(parents=True)
    (tmp_path / "vault/.git/MERGE_HEAD").touch()
    async with running(tmp_path) as r:
        found = named(await r.core.services.doctor(), "git")

        assert any("git install" in one.mend for one in found)
        assert any("merge is under way" in one.what for one in found)
