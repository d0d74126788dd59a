"""The three services' exports: who spoke, when, on which branch, and what is no speech."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.services.importing.helpers import a_zip, read_all, said, sample
from vaultd.core.errors import BadInput
from vaultd.services.importing.turns import Format, LeftOut


def test_claude_turns_come_from_text_blocks_on_the_newest_branch(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    move = found.conversations[0]
    assert found.format is Format.CLAUDE
    assert move.title == "Moving to the fifth floor"
    assert said(move) == [
        ("user", "We move next week and the lift is broken."),
        ("assistant", "Ask the neighbours early."),
        ("user", "What do movers cost for three rooms without a lift?"),
        ("assistant", "About 1,400, and they ask for a fee for each floor."),
        ("user", "Offer of the movers: 1,250 flat, Saturday, two people and a van."),
        ("assistant", "Take it."),
    ]


def test_claude_edited_questions_are_a_branch_of_their_own(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    assert [said(branch) for branch in found.branches] == [
        [("user", "What do movers cost?"), ("assistant", "About 800 for two rooms.")]
    ]


def test_claude_attachments_are_noted_once_and_not_read(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    assert found.conversations[0].turns[0].attachments == ("floor plan.pdf", "stairs.jpg")
    assert found.findings.attachments == 2


def test_claude_thinking_and_tools_are_counted_and_left_out(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    assert found.findings.left_out[LeftOut.THINKING] == 1
    assert found.findings.left_out[LeftOut.TOOL] == 2
    assert not any("calendar" in text for talk in found.conversations for _, text in said(talk))


def test_claude_header_behind_the_messages_is_read_and_private_parts_go(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    phone = found.conversations[1]
    assert phone.title == "旧手机给妈妈"
    assert said(phone)[0] == ("user", "记一下：我把旧手机给妈妈了。她终于能看到照片了。")
    assert found.findings.left_out[LeftOut.PRIVATE] == 1
    assert b"1234" not in (tmp_path / "turns").read_bytes()


def test_empty_conversations_are_counted_and_left_out(tmp_path: Path):
    found = read_all(tmp_path, sample("claude.json"), "conversations.json")

    assert len(found.conversations) == 2
    assert found.findings.left_out[LeftOut.NO_CONVERSATION] == 1


def test_claude_text_is_used_where_there_are_no_blocks_and_loses_its_stand_ins(tmp_path: Path):
    text = "Here it is.\n```\nThis block is not supported on your current device yet.\n```\n\nDone."
    raw = json.dumps([{"uuid": "c", "chat_messages": [{"uuid": "a", "sender": "assistant", "text": text}]}])

    found = read_all(tmp_path, raw.encode(), "conversations.json")

    assert said(found.conversations[0]) == [("assistant", "Here it is.\n\nDone.")]


def test_chatgpt_shows_the_current_branch_without_system_tools_and_thinking(tmp_path: Path):
    found = read_all(tmp_path, sample("chatgpt.json"), "conversations.json")

    assert found.format is Format.CHATGPT
    assert said(found.conversations[0]) == [
        ("user", "How do I start with the piano, as an adult?"),
        ("assistant", "Ten minutes a day\n\n, hands apart at first."),
        ("user", "It works & I like it."),
        ("assistant", "```python\nprint('C E G')\n```"),
    ]


def test_chatgpt_other_branches_add_only_their_own_turns(tmp_path: Path):
    found = read_all(tmp_path, sample("chatgpt.json"), "conversations.json")

    assert [said(branch) for branch in found.branches] == [
        [("user", "How do I start with the guitar?"), ("assistant", "With three chords.")]
    ]


def test_chatgpt_uploads_are_named_and_not_counted_twice(tmp_path: Path):
    found = read_all(tmp_path, sample("chatgpt.json"), "conversations.json")

    assert found.conversations[0].turns[0].attachments == ("keyboard.png",)


def test_chatgpt_seconds_are_moments_in_the_zone_given(tmp_path: Path):
    zone = ZoneInfo("Asia/Shanghai")

    found = read_all(tmp_path, sample("chatgpt.json"), "conversations.json", zone)

    started = found.conversations[0].started
    assert started == datetime(2024, 5, 1, 0, 0, 0, 500_000, tzinfo=UTC)
    assert started is not None
    assert started.utcoffset() == timedelta(hours=8)


def test_chatgpt_without_a_usable_leaf_lone_surrogates_and_typed_entities(tmp_path: Path):
    found = read_all(tmp_path, sample("chatgpt.json"), "conversations.json")

    odd = found.conversations[1]
    assert odd.title == "Broken emoji ?"
    assert said(odd) == [
        ("user", "Is ? a character?"),
        ("assistant", "Half of one. In HTML write &lt;br&gt;, not <br>."),
    ]
    assert [turn.when for turn in odd.turns] == [None, None]


def test_deepseek_takes_requests_and_responses_and_follows_the_newest_leaf(tmp_path: Path):
    found = read_all(tmp_path, sample("deepseek.json"), "conversations.json")

    assert found.format is Format.DEEPSEEK
    assert said(found.conversations[0]) == [
        ("user", "昨天跑完十公里，右膝外侧疼，要停跑吗？"),
        ("assistant", "停三天，外侧疼多半是髂胫束。"),
        ("user", "好，那周五再试五公里。"),
    ]
    assert found.findings.left_out[LeftOut.SERVICE] == 1
    assert found.findings.left_out[LeftOut.THINKING] == 3
    assert found.conversations[0].turns[0].attachments == ("膝盖.jpg",)


def test_deepseek_times_keep_their_own_offset(tmp_path: Path):
    found = read_all(tmp_path, sample("deepseek.json"), "conversations.json")

    when = found.conversations[0].turns[-1].when
    assert when is not None
    assert when.isoformat() == "2026-03-31T00:10:00+08:00"


def test_deepseek_older_messages_without_fragments_take_turns_by_number(tmp_path: Path):
    found = read_all(tmp_path, sample("deepseek.json"), "conversations.json")

    assert said(found.conversations[1]) == [("user", "Name one tree."), ("assistant", "Ginkgo.")]


def test_chat_protocol_files_are_read_as_conversations_and_as_a_bare_list(tmp_path: Path):
    messages = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": "Hi."},
        {"role": "tool", "content": "42"},
    ]

    wrapped = read_all(tmp_path, json.dumps({"title": "T", "messages": messages}).encode(), "chat.json")
    bare = read_all(tmp_path, json.dumps(messages).encode(), "chat.json")

    assert said(wrapped.conversations[0]) == said(bare.conversations[0]) == [("user", "Hello"), ("assistant", "Hi.")]
    assert wrapped.conversations[0].title == "T"


def test_conversations_inside_an_object_are_found(tmp_path: Path):
    raw = b'{"account": {"email": "me@example.org"}, "conversations": ' + sample("claude.json") + b"}"

    found = read_all(tmp_path, raw, "claude_export.json")

    assert [talk.title for talk in found.conversations] == ["Moving to the fifth floor", "旧手机给妈妈"]


def test_conversations_line_by_line_are_read(tmp_path: Path):
    lines = [json.dumps(talk) for talk in json.loads(sample("deepseek.json"))]

    found = read_all(tmp_path, "\n".join(lines).encode(), "all.jsonl")

    assert [talk.title for talk in found.conversations] == ["跑步膝盖疼", "An older export"]


def test_the_same_conversation_twice_is_one(tmp_path: Path):
    raw = a_zip({"a/conversations.json": sample("claude.json"), "b/conversations.json": sample("claude.json")})

    found = read_all(tmp_path, raw, "export.zip")

    assert len(found.conversations) == 2
    assert found.findings.repeated == 2


def test_of_two_states_of_one_conversation_the_longer_counts(tmp_path: Path):
    older = json.loads(sample("claude.json"))[2:]
    newer = json.loads(sample("claude.json"))[2:]
    newer[0]["chat_messages"].append({"uuid": "p3", "sender": "human", "content": [{"type": "text", "text": "对。"}]})
    raw = a_zip({"conversations-000.json": json.dumps(newer), "conversations-001.json": json.dumps(older)})

    found = read_all(tmp_path, raw, "export.zip")

    assert [len(talk.turns) for talk in found.conversations] == [3]


def test_a_message_longer_than_the_limit_is_left_out_and_its_thread_goes_on(tmp_path: Path):
    mapping = {
        "a": {"id": "a", "parent": None, "message": _chatgpt_message("user", "first")},
        "b": {"id": "b", "parent": "a", "message": _chatgpt_message("assistant", "x" * (9 << 20))},
        "c": {"id": "c", "parent": "b", "message": _chatgpt_message("user", "last")},
    }
    raw = json.dumps([{"title": "T", "current_node": "c", "mapping": mapping}]).encode()

    found = read_all(tmp_path, raw, "conversations.json")

    assert said(found.conversations[0]) == [("user", "first"), ("user", "last")]
    assert found.findings.left_out[LeftOut.TOO_LONG] == 1
    assert "8 MiB" in found.findings.warnings[0]


@pytest.mark.parametrize(
    "mapping",
    [
        {"a": {"id": "a", "parent": "b", "message": None}, "b": {"id": "b", "parent": "a", "message": None}},
        {"a": None, "b": 3, "c": {"message": "text"}},
    ],
)
def test_trees_that_are_none_end_without_turns(tmp_path: Path, mapping: object):
    raw = json.dumps([{"title": "T", "create_time": 1, "mapping": mapping}]).encode()

    found = read_all(tmp_path, raw, "conversations.json")

    assert found.conversations == []


def test_a_circle_in_the_tree_is_cut(tmp_path: Path):
    mapping = {
        "a": {"id": "a", "parent": "b", "message": _chatgpt_message("user", "one")},
        "b": {"id": "b", "parent": "a", "message": _chatgpt_message("assistant", "two")},
    }
    raw = json.dumps([{"title": "T", "create_time": 1, "current_node": "b", "mapping": mapping}]).encode()

    found = read_all(tmp_path, raw, "conversations.json")

    assert said(found.conversations[0]) == [("user", "one"), ("assistant", "two")]


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("conversations.json", b'[{"uuid": "a" "name"', "conversations.json: broken JSON at byte 14"),
        ("x.json", b'{"a": 1}', "JSON without conversations"),
        ("x.json", b"[]", "JSON without conversations"),
        ("empty.json", b" \n", "is empty"),
        ("page.html", b"<html></html>", "is a web page"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\0", "is a 7z archive"),
        ("x.bin", bytes(range(256)), "is no known export"),
        ("a.json", b"\xff\xfe[\x00]\x00", "UTF-16"),
    ],
)
def test_what_is_no_export_is_refused_in_one_line(tmp_path: Path, name: str, raw: bytes, words: str):
    with pytest.raises(BadInput, match=words) as refused:
        read_all(tmp_path, raw, name)

    assert "\n" not in str(refused.value)
    assert name in str(refused.value)


def _chatgpt_message(role: str, text: str) -> dict[str, object]:
    return {"author": {"role": role}, "create_time": 1.0, "content": {"content_type": "text", "parts": [text]}}
