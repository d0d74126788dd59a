import pytest

from tests.fakes import FakeAnalyst
from tests.running import running
from vaultd.core.errors import BadInput, ModelUnavailable
from vaultd.llm.analyst import Annotation


def note(note_id: str, name: str, domain: str = "未分类", kind: str = "dynamic") -> str:
    return f"---\nid: {note_id}\nname: {name}\ntype: {kind}\ndomain:\n  - {domain}\n---\n"


INTERVIEW = note("aaaaaaaaaaaa", "二面反馈") + "面试官问了项目，简历上的实习他看得很细，录用要等下周。\n"
RUNNING = note("bbbbbbbbbbbb", "Morning run") + "Running along the river, then stretching.\n"
NOTHING = note("cccccccccccc", "x") + "Blue.\n"
SORTED = note("dddddddddddd", "kept", "工作") + "面试 简历\n"


async def test_unsorted_memories_get_the_area_of_their_words_and_its_folder(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/未分类/二面反馈_aaaaaaaaaaaa.md", INTERVIEW)
        await one.write("dynamic/未分类/run_bbbbbbbbbbbb.md", RUNNING)
        await one.write("dynamic/未分类/x_cccccccccccc.md", NOTHING)
        await one.write("dynamic/工作/kept_dddddddddddd.md", SORTED)

        done = await one.core.services.sorting.reclassify()

        assert {step.id: step.after[0] for step in done.steps} == {"aaaaaaaaaaaa": "求职", "bbbbbbbbbbbb": "exercise"}
        assert (done.checked, done.left, done.failed) == (3, 1, {})
        assert "- 求职" in one.read("dynamic/求职/二面反馈_aaaaaaaaaaaa.md")
        assert one.read("dynamic/未分类/x_cccccccccccc.md") == NOTHING
        assert one.read("dynamic/工作/kept_dddddddddddd.md") == SORTED


async def test_one_undo_takes_the_whole_sorting_back_byte_for_byte(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/未分类/二面反馈_aaaaaaaaaaaa.md", INTERVIEW)
        await one.write("dynamic/未分类/run_bbbbbbbbbbbb.md", RUNNING)
        done = await one.core.services.sorting.reclassify()

        await one.core.services.versions.undo(done.undo)

        assert one.read("dynamic/未分类/二面反馈_aaaaaaaaaaaa.md") == INTERVIEW
        assert one.read("dynamic/未分类/run_bbbbbbbbbbbb.md") == RUNNING
        assert one.core.mirror.get("aaaaaaaaaaaa").domain == ("未分类",)


async def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/未分类/run_bbbbbbbbbbbb.md", RUNNING)

        planned = await one.core.services.sorting.reclassify(dry_run=True)

        assert planned.steps[0].target == "dynamic/exercise/run_bbbbbbbbbbbb.md"
        assert planned.undo == ""
        assert one.read("dynamic/未分类/run_bbbbbbbbbbbb.md") == RUNNING


async def test_without_a_chat_model_asking_it_is_refused(tmp_path):
    async with running(tmp_path) as one:
        with pytest.raises(BadInput, match="no chat model"):
            await one.core.services.sorting.reclassify(by_model=True)


async def test_the_chat_model_sorts_where_it_is_asked_for_and_changes_nothing_else(tmp_path):
    analyst = FakeAnalyst(annotate=Annotation("Blue", ("art",), 0.9, 0.9, ("tag",)))
    async with running(tmp_path, analyst=analyst) as one:
        await one.write("dynamic/未分类/x_cccccccccccc.md", NOTHING)

        await one.core.services.sorting.reclassify(by_model=True)

        assert one.read("dynamic/art/x_cccccccccccc.md") == NOTHING.replace("未分类", "art")


async def test_what_the_chat_model_fails_at_is_told(tmp_path):
    async with running(tmp_path, analyst=FakeAnalyst(annotate=ModelUnavailable("gone"))) as one:
        await one.write("dynamic/未分类/x_cccccccccccc.md", NOTHING)

        assert (await one.core.services.sorting.reclassify(by_model=True)).failed == {"cccccccccccc": "gone"}


async def test_a_flat_folder_becomes_folders_of_topic_areas_and_links_stay_alive(tmp_path):
    async with running(tmp_path) as one:
        await one.write("dynamic/kept_dddddddddddd.md", SORTED)
        await one.write("archive/old_eeeeeeeeeeee.md", note("eeeeeeeeeeee", "old", "健康", "archived") + "x\n")
        await one.write("Diary.md", "see [[dynamic/kept_dddddddddddd|that]]\n")

        done = await one.core.services.sorting.migrate()

        assert sorted(step.target for step in done.steps) == [
            "archive/健康/old_eeeeeeeeeeee.md",
            "dynamic/工作/kept_dddddddddddd.md",
        ]
        assert one.read("dynamic/工作/kept_dddddddddddd.md") == SORTED
        assert "工作/kept_dddddddddddd" in one.read("Diary.md")
        assert (await one.core.services.sorting.migrate()).steps == ()

        await one.core.services.versions.undo(done.undo)
        assert one.read("dynamic/kept_dddddddddddd.md") == SORTED
        assert one.read("Diary.md") == "see [[dynamic/kept_dddddddddddd|that]]\n"


async def test_pinned_memories_and_feelings_are_not_moved(tmp_path):
    async with running(tmp_path) as one:
        await one.write("permanent/p_ffffffffffff.md", note("ffffffffffff", "p", "工作", "permanent") + "x\n")
        await one.write("feel/f_abababababab.md", note("abababababab", "f", "工作", "feel") + "x\n")

        assert (await one.core.services.sorting.migrate(dry_run=True)).steps == ()
