import pytest

from tests.fakes import FakeAnalyst
from tests.running import running
from vaultd.core.errors import BadInput, ModelTimedOut, ModelUnavailable
from vaultd.llm.analyst import Annotation, Piece
from vaultd.services.newmemory import NewMemory
from vaultd.services.remember import Outcome

DIARY = "今天去医院体检，结果还好；晚上和朋友吃饭聊了很多；最近有点焦虑，睡得不好。"
PIECES = (
    Piece("体检", "去医院体检，结果还好。", ("健康",), 0.6, 0.3, ("体检",), 5),
    Piece("聚餐", "晚上和朋友吃饭聊了很多。", ("日常",), 0.8, 0.5, ("朋友",), 5),
    Piece("焦虑", "最近有点焦虑，睡得不好。", ("情感",), 0.3, 0.6, ("焦虑",), 6),
)
ANNOTATION = Annotation("", (), 0.5, 0.3, ())


async def test_a_diary_is_split_and_each_piece_is_kept(tmp_path):
    analyst = FakeAnalyst(split=PIECES, annotate=ANNOTATION)
    async with running(tmp_path, analyst=analyst) as r:
        grown = await r.core.services.diary(DIARY)

        assert [kept.name for kept in grown.kept] == ["体检", "聚餐", "焦虑"]
        assert grown.new == 3
        assert {row.domain for row in r.core.mirror.rows()} == {("健康",), ("日常",), ("情感",)}


async def test_a_short_text_is_one_memory(tmp_path):
    async with running(tmp_path) as r:
        grown = await r.core.services.diary("买牛奶")

        assert [kept.outcome for kept in grown.kept] == [Outcome.NEW]


async def test_without_a_model_the_text_waits_in_the_inbox_where_a_person_can_read_it(tmp_path):
    async with running(tmp_path) as r:
        grown = await r.core.services.diary(DIARY)

        assert grown.waits_at.startswith("inbox/")
        assert DIARY in r.read(grown.waits_at)
        assert r.core.services.health.counts().waiting == 1


async def test_a_failing_piece_does_not_stop_the_others(tmp_path):
    async with running(tmp_path) as r:
        items = [NewMemory("first"), NewMemory("  ", name="broken"), NewMemory("third")]

        grown = await r.core.services.diary("", items)

        assert len(grown.kept) == 2
        assert [(failed.name, "is empty" in failed.reason) for failed in grown.failed] == [("broken", True)]


async def test_a_diary_that_failed_is_split_later_by_itself_and_nothing_twice(tmp_path):
    # the endpoint answers 500, then recovers
    analyst = FakeAnalyst(split=[ModelUnavailable("500"), ModelTimedOut("slow"), PIECES], annotate=ANNOTATION)
    async with running(tmp_path, analyst=analyst) as r:
        waiting, diary = r.core.services.waiting, r.core.services.diary
        grown = await diary(DIARY)
        assert "500" in grown.reason

        assert await waiting.retry(diary.split) == 0  # not due yet
        r.clock.advance(minutes=2)
        assert await waiting.retry(diary.split) == 0  # slow
        assert "slow" in r.read(grown.waits_at)
        r.clock.advance(hours=1)
        assert await waiting.retry(diary.split) == 1
        r.clock.advance(hours=1)
        assert await waiting.retry(diary.split) == 0

        assert sorted(row.name for row in r.core.mirror.rows()) == ["体检", "焦虑", "聚餐"]
        assert not (r.vault / grown.waits_at).exists()


async def test_nothing_to_grow_is_said(tmp_path):
    async with running(tmp_path) as r:
        with pytest.raises(BadInput, match="items: is empty"):
            await r.core.services.diary("", [])
