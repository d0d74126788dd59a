"""What the analyst does for a memory when its endpoint answers well, or oddly."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import pytest

from tests.llm.chat_setup import an_analyst, settings_for
from tests.model_server import reply
from vaultd.core.errors import ModelBadAnswer, ModelUnavailable
from vaultd.llm.analyst import Analyst, Annotation, Turn
from vaultd.settings import ChatModelSettings

NOW = datetime(2026, 11, 30, 20, 6, tzinfo=timezone(timedelta(hours=8)))
ANNOTATION = {
    "name": "Offer arrived",
    "domain": ["job hunting", "growth"],
    "valence": 0.85,
    "arousal": 0.7,
    "tags": ["offer", "internship"],
}
DIARY = (
    "今天上午去医院体检，排队排了很久。医生说结果还好，血压有点高。\n\n"
    "晚上和大学同学吃饭，聊了很多以前的事。她下个月要结婚了，请我做伴娘。\n\n"
    "回家路上又开始焦虑，论文还差两章没有写完。导师说月底之前必须交初稿。"
)


async def test_an_annotation_has_what_the_model_said(server, analyst: Analyst):
    server.script(reply.value(ANNOTATION))

    annotation = await analyst.annotate("The internship offer came today.")

    assert annotation == Annotation("Offer arrived", ("job hunting", "growth"), 0.85, 0.7, ("offer", "internship"))


async def test_the_prompt_is_in_the_language_of_the_memory(server, analyst):
    await analyst.annotate("今天收到了实习 offer，很激动")
    await analyst.annotate("The internship offer came today, 太好了 said my mother")

    assert "你为一段记忆打标" in server.asked[0].system
    assert "You label one memory" in server.asked[1].system
    assert "求职" in server.asked[0].system
    assert "job hunting" in server.asked[1].system


async def test_the_request_carries_the_settings(server, tmp_path):
    analyst = an_analyst(settings_for(server, temperature=0.3, max_tokens=2048), tmp_path)

    await analyst.annotate("a walk in the park")
    await analyst.close()

    body = server.asked[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("played-chat", 0.3, 2048)
    assert server.asked[0].key == "sk-played-key"


async def test_values_out_of_range_are_clamped_and_lists_cut(server, analyst):
    server.script(
        reply.value(
            {
                "name": "x" * 200,
                "domain": ["Growth", "love", "film"],
                "valence": 7,
                "arousal": "-0.5",
                "tags": [f"#t{number}" for number in range(30)],
            }
        )
    )

    annotation = await analyst.annotate("a walk in the park")

    assert annotation.domain == ("growth", "love")
    assert (annotation.valence, annotation.arousal) == (1.0, 0.0)
    assert annotation.tags == tuple(f"t{number}" for number in range(15))
    assert len(annotation.name) == 80


async def test_a_listed_domain_comes_in_the_language_of_the_memory(server, analyst):
    server.script(reply.value({**ANNOTATION, "domain": ["Job Hunting", "园艺"]}))

    annotation = await analyst.annotate("今天收到了实习通知")

    assert annotation.domain == ("求职", "园艺")


async def test_a_memory_without_a_name_is_named_by_its_first_words(server, analyst):
    server.script(reply.value({**ANNOTATION, "name": ""}))

    assert (await analyst.annotate("体检结果还好。晚上吃饭")).name == "体检结果还好"


async def test_a_fenced_answer_with_chatter_is_understood(server, analyst):
    server.script(reply.fenced(ANNOTATION))

    assert (await analyst.annotate("The offer came.")).name == "Offer arrived"


async def test_a_thinking_model_is_understood(server, analyst):
    answer = '<think>{"domain": ["wrong"]}</think>{"name": "n", "domain": "love", "valence": 1, "arousal": 0, "tags": "a, b"}'
    server.script(reply.content(answer, reasoning_content="hm"))

    annotation = await analyst.annotate("We met again.")

    assert (annotation.domain, annotation.tags) == (("love",), ("a", "b"))


async def test_a_secret_stays_here_and_comes_back_in_a_merged_text(server, analyst):
    merged = await analyst.merge("The router is in the hall. password: hunter22", "The router was moved to the attic.")

    assert "hunter22" not in server.asked[0].user
    assert merged == "The router is in the hall. password: hunter22\nThe router was moved to the attic."


async def test_a_secret_that_a_rewriting_dropped_is_kept_with_its_sentence(server, analyst):
    server.script(reply.value({"text": "The router stood in the hall and was moved to the attic today."}))

    merged = await analyst.merge(
        "The router is in the hall. Its password: hunter22", "The router was moved to the attic."
    )

    assert merged == "The router stood in the hall and was moved to the attic today.\n\nIts password: hunter22"


async def test_private_parts_of_a_kept_note_survive_a_merge_and_those_of_a_new_text_do_not(server, analyst):
    merged = await analyst.merge(
        "We talked on the phone. <private>about the diagnosis</private>", "We met. <private>nobody may know</private>"
    )

    assert "diagnosis" not in server.asked[0].user
    assert "nobody" not in server.asked[0].user
    assert "<private>about the diagnosis</private>" in merged
    assert "nobody" not in merged


async def test_a_merge_shows_two_thousand_characters_of_each_side_and_keeps_the_rest_unchanged(server, analyst):
    old = "".join(f"Old sentence number {number} of the story.\n" for number in range(100))
    new = "".join(f"新的第{number}句话，说的是后来发生的事。\n" for number in range(200))

    merged = await analyst.merge(old, new)

    shown = server.asked[0].data
    assert max(map(len, shown.values())) <= 2000
    assert min(map(len, shown.values())) > 1800
    for line in (old + new).splitlines():
        assert line in merged


async def test_a_merge_that_leaves_out_a_side_is_asked_again_and_then_refused(server, analyst):
    server.script(*[reply.value({"text": "I cannot help with that request."})] * 2)

    with pytest.raises(ModelBadAnswer, match="leaves out most of a side"):
        await analyst.merge("My sister lives in the mountains.", "My sister moved to the coast.")

    assert server.tasks() == ["merge", "merge"]


async def test_a_merge_with_nothing_asks_nobody(server, analyst):
    assert await analyst.merge("old text", "<private>x</private> ") == "old text"
    assert await analyst.merge(" ", "new text") == "new text"
    assert server.asked == []


async def test_a_split_keeps_the_persons_own_words(server, analyst):
    server.script(
        reply.value(
            {
                "memories": [
                    {**PIECE, "name": "体检", "sentences": "1-2", "importance": 6, "when": "2026-11-30"},
                    {**PIECE, "name": "同学聚餐", "sentences": "3, 4"},
                    {**PIECE, "name": "论文焦虑", "sentences": "5-6", "importance": 77},
                ]
            }
        )
    )

    pieces = await analyst.split(DIARY, NOW)

    assert [piece.content for piece in pieces] == DIARY.split("\n\n")
    assert [piece.importance for piece in pieces] == [6, 5, 10]
    assert [piece.when for piece in pieces] == [datetime(2026, 11, 30, tzinfo=NOW.tzinfo), None, None]


PIECE = {"domain": ["就医"], "valence": 0.6, "arousal": 0.3, "tags": ["体检"], "importance": 5, "when": ""}


async def test_a_split_tells_the_model_what_day_it_is(server, analyst):
    await analyst.split(DIARY, NOW)
    await analyst.split("I slept well. " * 5, NOW)

    assert server.asked[0].user.startswith("现在：2026-11-30 20:06，星期一。")
    assert server.asked[1].user.startswith("The present: 2026-11-30 20:06, a Monday.")


async def test_sentences_that_no_memory_takes_are_kept(server, analyst):
    server.script(reply.value({"memories": [{**PIECE, "name": "体检", "sentences": [1, 2]}]}))

    pieces = await analyst.split(DIARY, NOW)

    assert [piece.name for piece in pieces] == ["体检", "晚上和大学同学吃饭，聊了很多以前的事"]
    assert "".join(piece.content for piece in pieces).replace("\n", "") == DIARY.replace("\n", "")


async def test_a_model_that_writes_texts_instead_of_numbers_is_understood_and_what_it_omits_is_kept(server, analyst):
    server.script(
        reply.value(
            [
                {**PIECE, "name": "体检", "content": "今天上午去医院体检，排队很久，医生说结果还好，血压有点高。"},
                {**PIECE, "name": "聚餐", "content": "晚上和大学同学吃饭，聊以前的事，她下个月要结婚，请我做伴娘。"},
            ]
        )
    )

    pieces = await analyst.split(DIARY, NOW)

    assert [piece.name for piece in pieces[:2]] == ["体检", "聚餐"]
    assert pieces[2].content == DIARY.split("\n\n")[2]
    assert pieces[2].domain == ("未分类",)


async def test_a_long_diary_is_split_in_parts_and_nothing_is_lost(server, analyst):
    rng = random.Random(3)
    paragraphs = [
        "".join(f"第{rng.randrange(10**6)}件小事让我想了很久。" for _ in range(rng.randrange(1, 30))) for _ in range(60)
    ]
    diary = "\n\n".join(paragraphs)

    pieces = await analyst.split(diary, NOW)

    shown = ["".join(line.split("] ", 1)[1] for line in asked.data[""].splitlines()) for asked in server.asked]
    assert len(shown) >= len(diary) / 5000
    assert all(len(text) <= 5000 for text in shown)
    kept = "".join(piece.content for piece in pieces)
    assert kept.replace("\n", "") == diary.replace("\n", "")


async def test_a_split_leaves_private_parts_out_and_puts_secrets_back(server, analyst):
    pieces = await analyst.split(
        "I changed the lock today, pin: 4921. <private>The affair.</private> Then I slept.", NOW
    )

    kept = " ".join(piece.content for piece in pieces)
    assert "4921" not in server.asked[0].user
    assert "4921" in kept
    assert "affair" not in server.asked[0].user + kept


async def test_an_empty_text_is_split_into_nothing(server, analyst):
    assert await analyst.split("<private>all of it</private>", NOW) == ()
    assert server.asked == []


async def test_one_failing_part_fails_the_split(server, analyst):
    server.script(reply.good(), *[reply.content("no")] * 8)

    with pytest.raises(ModelBadAnswer):
        await analyst.split("I slept well and dreamt of the sea.\n" * 300, NOW)


async def test_a_text_is_condensed_once(server, tmp_path):
    text = "今天终于交了论文初稿，导师很满意。" + "之后的整个下午我都在图书馆里睡觉。" * 10
    first, second = (an_analyst(settings_for(server), tmp_path) for _ in range(2))

    condensed = await first.condense(text)
    await first.close()

    assert condensed == "今天终于交了论文初稿，导师很满意。"
    assert await second.condense(text) == condensed
    assert server.tasks() == ["condense"]
    await second.close()


async def test_another_model_condenses_anew(server, tmp_path):
    server.models = (*server.models, "other")
    text = "A long day. " * 50
    first, second = (
        an_analyst(settings_for(server), tmp_path),
        an_analyst(settings_for(server, model="other"), tmp_path),
    )

    await first.condense(text)
    await second.condense(text)

    assert len(server.asked) == 2
    await first.close()
    await second.close()


async def test_secrets_are_not_kept_in_the_cache_but_shown(server, tmp_path, analyst):
    text = "The safe has the pin: 4921. " + "Nothing else happened on that day. " * 10

    assert await analyst.condense(text) == "The safe has the pin: 4921."
    assert await analyst.condense(text) == "The safe has the pin: 4921."

    await analyst.close()
    assert b"4921" not in (tmp_path / "condensed.sqlite").read_bytes()
    assert "4921" not in server.asked[0].user


async def test_a_condensed_text_has_neither_private_parts_nor_brackets_of_links(server, analyst):
    text = "I met [[my sister|her]] at the lake <private>and she cried</private> today. " + "We walked. " * 30

    condensed = await analyst.condense(text)

    assert condensed == "I met her at the lake  today."
    assert "cried" not in server.asked[0].user


async def test_a_very_long_text_is_read_at_both_ends_and_says_so(server, analyst):
    text = "Alpha was first. " + "Filler sentence here. " * 400 + "The end was omega."

    condensed = await analyst.condense(text)

    shown = server.asked[0].data[""]
    assert len(shown) <= 3000
    assert shown.endswith("The end was omega.")
    assert condensed.startswith("Alpha was first. (8835 characters in all; ")


async def test_a_condensed_text_that_is_no_shorter_is_not_used(server, analyst):
    server.script(reply.value({"text": "A short day, he said. " * 3}))

    assert await analyst.condense("A short day, he said.") == "A short day, he said."


async def test_a_plain_answer_is_taken_when_it_speaks_of_the_text(server, analyst):
    server.script(reply.content("Thesis draft handed in, adviser pleased."))

    assert (await analyst.condense("Today the thesis draft was handed in; the adviser was pleased. " * 4)).startswith(
        "Thesis"
    )


async def test_a_refusal_in_plain_words_is_no_condensed_text(server, analyst):
    server.script(*[reply.content("Sorry, as an AI I can't assist with that.")] * 2)

    with pytest.raises(ModelBadAnswer):
        await analyst.condense("Today the thesis draft was handed in; the adviser was pleased. " * 4)


async def test_a_conversation_is_summarised_with_who_said_what(server, analyst):
    turns = [
        Turn("system", "be kind"),
        Turn("user", "my pin: 4921 <private>hush</private>"),
        Turn("assistant", "noted, thank you"),
    ]

    await analyst.summarise(turns)

    assert server.asked[0].data == {"": "user: my pin: ⟦secret:1⟧\n\nassistant: noted, thank you"}


async def test_a_long_conversation_is_summarised_part_by_part(server, analyst):
    turns = [Turn("user", f"Message {number}: " + "words and words " * 20) for number in range(80)]

    summary = await analyst.summarise(turns)

    parts = [asked.data for asked in server.asked]
    assert len(parts) == 4
    assert "before" not in parts[0]
    assert all("before" in part for part in parts[1:])
    assert all(len(part[""]) <= 8000 for part in parts)
    assert "Message 0" in summary
    everything = "".join(part[""] for part in parts)
    assert all(f"Message {number}:" in everything for number in range(80))


async def test_an_empty_conversation_needs_no_model(server, analyst):
    assert await analyst.summarise([Turn("system", "be kind")]) == ""
    assert server.asked == []


async def test_without_a_key_each_call_says_what_to_set(tmp_path):
    analyst = an_analyst(ChatModelSettings(), tmp_path)

    assert not analyst.available
    for call in (
        analyst.annotate("a"),
        analyst.merge("a", "b"),
        analyst.split("a", NOW),
        analyst.condense("a"),
        analyst.summarise([Turn("user", "a")]),
        analyst.models(),
    ):
        with pytest.raises(ModelUnavailable, match="set VAULTD_API_KEY"):
            await call
    await analyst.close()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": " "}, r"set llm\.model"),
        ({"base_url": "api.example.org/v1"}, r"llm\.base_url .* https://host/v1"),
        ({"base_url": "http://[::1/v1"}, r"llm\.base_url .* https://host/v1"),
        ({"base_url": "http://host:port/v1"}, r"llm\.base_url .* https://host/v1"),
        ({"api_key": "sk-“quoted”"}, "copy it again"),
        ({"api_key": "two words"}, "copy it again"),
    ],
)
async def test_settings_that_cannot_work_are_named_before_anything_is_sent(server, tmp_path, changes, says):
    analyst = an_analyst(settings_for(server, **changes), tmp_path)

    assert not analyst.available
    with pytest.raises(ModelUnavailable, match=says):
        await analyst.annotate("a")
    await analyst.close()


async def test_an_endpoint_that_needs_no_key_is_used_without(server, tmp_path):
    analyst = an_analyst(settings_for(server, api_key=""), tmp_path)

    assert analyst.available
    assert (await analyst.annotate("a walk by the sea")).name == "a walk by the s"
    await analyst.close()


async def test_odd_characters_reach_the_model_and_come_back(server, analyst):
    pieces = await analyst.split(
        "🙂🙂 emoji \0 and half a pair \ud83d here.\r\n" + "Plain text follows here. " * 3, NOW
    )

    assert "🙂🙂 emoji  and half a pair ? here." in pieces[0].content
