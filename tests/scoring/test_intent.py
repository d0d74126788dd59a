"""What a message wants: by its words, by prototypes, and by both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.card import Intent
from vaultd.llm.local import LocalEmbedder, local_model_file
from vaultd.scoring.intent import intent_by_prototypes, intent_by_words, intent_of, prototypes, similarities_to
from vaultd.scoring.intent_examples import EXAMPLES

LABELLED = [
    (Intent(row["intent"]), row["text"])
    for row in map(json.loads, (Path(__file__).parents[1] / "data" / "intents.jsonl").read_text("utf-8").splitlines())
]
NEAR_CASUAL = {intent: 0.80 for intent in Intent} | {Intent.CASUAL: 0.84}


@pytest.mark.parametrize(
    ("intent", "text"),
    [
        (Intent.SEEKING, "I forgot where I put the spare key, did I mention it?"),
        (Intent.SEEKING, "What's the restaurant we loved last autumn?"),
        (Intent.SEEKING, "How long ago did I start running?"),
        (Intent.SEEKING, "Who recommended that podcast to me?"),
        (Intent.SEEKING, "Have I ever told you about my piano teacher?"),
        (Intent.SEEKING, "What was my mood like the week before the exam?"),
        (Intent.SEEKING, "Which café was it where we planned the trip?"),
        (Intent.SEEKING, "What's my mother's favourite flower again?"),
        (Intent.SEEKING, "Had I already paid the deposit when I wrote to you?"),
        (Intent.SEEKING, "我生日那天收到了什么礼物？"),
        (Intent.SEEKING, "我把备用钥匙放哪儿了，我跟你说过吗"),
        (Intent.SEEKING, "那个教我弹琴的老师姓什么"),
        (Intent.SEEKING, "帮我找找我之前写的那段关于海的话"),
        (Intent.SEEKING, "我是哪年毕业的来着"),
        (Intent.SEEKING, "想不起来那首歌的名字了，你记得吗"),
        (Intent.SEEKING, "那次爬山是跟谁一起去的"),
        (Intent.REFLECTIVE, "Today I cried on the bus for no reason."),
        (Intent.REFLECTIVE, "Why do I always say yes when I mean no?"),
        (Intent.REFLECTIVE, "I'm proud of how I handled that conversation."),
        (Intent.REFLECTIVE, "It took me years to forgive my mother."),
        (Intent.REFLECTIVE, "I don't recognize myself lately."),
        (Intent.REFLECTIVE, "I guess I'm scared of being happy."),
        (Intent.REFLECTIVE, "How do I stop hating myself for this?"),
        (Intent.REFLECTIVE, "我终于敢对她说不了，松了一口气"),
        (Intent.REFLECTIVE, "为什么我总是在关键时刻退缩"),
        (Intent.REFLECTIVE, "想起小时候爸爸背我去医院，鼻子一酸"),
        (Intent.REFLECTIVE, "我还没有原谅当年的自己"),
        (Intent.REFLECTIVE, "累，说不出的累"),
        (Intent.REFLECTIVE, "我发现自己越来越不爱说话了"),
        (Intent.REFLECTIVE, "妈妈今天说为我骄傲，我愣了好久"),
        (Intent.REFLECTIVE, "写日记的时候发现自己又在逃避"),
        (Intent.REFLECTIVE, "搬出来一年了，房间里安静得让人发慌"),
        (Intent.CASUAL, "Tell me a joke"),
        (Intent.CASUAL, "I'm so bored"),
        (Intent.CASUAL, "Good night, talk tomorrow"),
        (Intent.CASUAL, "What are you up to?"),
        (Intent.CASUAL, "Look at this sunset, wow"),
        (Intent.CASUAL, "Friday at last!"),
        (Intent.CASUAL, "Finally had time to bake this weekend, the bread is huge"),
        (Intent.CASUAL, "What's your favourite ice cream?"),
        (Intent.CASUAL, "你在干嘛呢"),
        (Intent.CASUAL, "讲个笑话听听"),
        (Intent.CASUAL, "终于周五啦！"),
        (Intent.CASUAL, "楼下新开了家奶茶店"),
        (Intent.CASUAL, "好无聊哦"),
        (Intent.CASUAL, "外面下雪了！"),
        (Intent.CASUAL, "又是周一"),
        (Intent.CASUAL, "我回来啦，刚淋了一身雨"),
        (Intent.DEEP_DISCUSSION, "I don't believe in free will; convince me otherwise."),
        (Intent.DEEP_DISCUSSION, "Is loneliness the price of freedom?"),
        (Intent.DEEP_DISCUSSION, "What do parents owe their children, and the other way round?"),
        (Intent.DEEP_DISCUSSION, "Can forgiveness exist without an apology?"),
        (Intent.DEEP_DISCUSSION, "Does art need an audience to be art?"),
        (Intent.DEEP_DISCUSSION, "Success seems to be a story other people tell about you."),
        (Intent.DEEP_DISCUSSION, "Suppose you could know the day you die. Would you want to?"),
        (Intent.DEEP_DISCUSSION, "Does having children make a person less selfish or more?"),
        (Intent.DEEP_DISCUSSION, "善良如果没有底线，还算善良吗"),
        (Intent.DEEP_DISCUSSION, "你怎么看待父母对孩子的期待"),
        (Intent.DEEP_DISCUSSION, "孤独是人的本质状态吗？"),
        (Intent.DEEP_DISCUSSION, "为什么人们总是失去了才懂珍惜"),
        (Intent.DEEP_DISCUSSION, "婚姻的意义是什么，你反驳我试试"),
        (Intent.DEEP_DISCUSSION, "科技让人更近了还是更远了"),
        (Intent.DEEP_DISCUSSION, "我想和你讨论一下：忘记算不算一种背叛"),
        (Intent.DEEP_DISCUSSION, "如果所有人都戴着面具，真诚还有意义吗"),
        (Intent.PRACTICAL, "My laptop won't connect to the wifi, what can I do?"),
        (Intent.PRACTICAL, "Remind me to call the dentist tomorrow"),
        (Intent.PRACTICAL, "Which phone is better for photos, under 500 euros?"),
        (Intent.PRACTICAL, "How long do I boil eggs?"),
        (Intent.PRACTICAL, "Where can I renew my passport?"),
        (Intent.PRACTICAL, "I need a recipe with chickpeas and spinach"),
        (Intent.PRACTICAL, "Convert 3 cups to millilitres"),
        (Intent.PRACTICAL, "Need ideas for a cheap birthday dinner for six"),
        (Intent.PRACTICAL, "体检前需要空腹多久"),
        (Intent.PRACTICAL, "明早八点提醒我开会"),
        (Intent.PRACTICAL, "护照过期了去哪里换"),
        (Intent.PRACTICAL, "这个报错是什么意思"),
        (Intent.PRACTICAL, "两千预算买哪款耳机好"),
        (Intent.PRACTICAL, "给我列一个周末大扫除的清单"),
        (Intent.PRACTICAL, "光合作用的过程是什么"),
        (Intent.PRACTICAL, "把会议改到周四下午"),
    ],
)
def test_words_tell_what_is_wanted(intent, text):
    assert intent_by_words(text)[0] is intent


@pytest.mark.parametrize("intent", Intent)
def test_words_tell_the_intent_of_most_examples(intent):
    told = [intent_by_words(text)[0] is intent for text in EXAMPLES[intent]]

    assert sum(told) >= 0.9 * len(told)


def test_words_alone_are_right_about_four_labelled_messages_of_five():
    right = [intent_of(text) is intent for intent, text in LABELLED]

    assert sum(right) / len(right) >= 0.8


def test_no_intent_is_missed_as_a_whole():
    right = Counter(intent for intent, text in LABELLED if intent_of(text) is intent)
    labelled = Counter(intent for intent, _ in LABELLED)

    assert all(right[intent] / labelled[intent] >= 0.6 for intent in Intent)


@pytest.mark.parametrize("text", ["", " ", "。。。", "xyzzy plugh frotz rezrov gnusto", "\0"])
def test_a_message_without_cues_is_undecided_and_taken_as_small_talk(text):
    assert intent_by_words(text)[0] in (None, Intent.CASUAL)
    assert intent_of(text) is Intent.CASUAL


def test_a_clear_message_has_more_confidence_than_a_mixed_one():
    _, clear = intent_by_words("Do you remember what I told you about the lake?")
    _, mixed = intent_by_words("How do I forgive myself for what I said?")

    assert 0.0 <= mixed < clear <= 1.0


@pytest.mark.parametrize(
    ("one", "other"), [("Ｈｅｌｌｏ！", "hello!"), ("What’s up", "what's up"), ("GOOD MORNING", "good morning")]
)
def test_case_width_and_curly_apostrophes_do_not_matter(one, other):
    assert intent_by_words(one) == intent_by_words(other)


@given(st.text(max_size=200))
def test_any_text_has_an_intent_and_a_confidence_in_range(text):
    intent, confidence = intent_by_words(text)

    assert intent is None or intent in Intent
    assert 0.0 <= confidence <= 1.0
    assert intent_of(text, NEAR_CASUAL) in Intent


# Prototypes


def test_nearest_prototype_decides():
    near = {intent: 0.80 for intent in Intent} | {Intent.REFLECTIVE: 0.84}

    assert intent_by_prototypes(near, margin=0.03) is Intent.REFLECTIVE


def test_a_lead_below_the_margin_is_small_talk():
    near = {intent: 0.80 for intent in Intent} | {Intent.REFLECTIVE: 0.84, Intent.SEEKING: 0.83}

    assert intent_by_prototypes(near, margin=0.03) is Intent.CASUAL
    assert intent_by_prototypes(near, margin=0.005) is Intent.REFLECTIVE


def test_no_prototypes_no_decision():
    assert intent_by_prototypes({}) is Intent.CASUAL


def test_clear_words_outweigh_a_prototype():
    assert intent_of("你还记得我上次说的那家面馆叫什么吗", NEAR_CASUAL) is Intent.SEEKING


def test_a_prototype_decides_where_words_say_nothing():
    near = {intent: 0.80 for intent in Intent} | {Intent.DEEP_DISCUSSION: 0.84}

    assert intent_of("xyzzy plugh frotz rezrov gnusto", near) is Intent.DEEP_DISCUSSION


def test_equal_similarities_leave_it_to_the_words():
    even = dict.fromkeys(Intent, 0.8)

    assert intent_of("红烧肉怎么做", even) is Intent.PRACTICAL
    assert intent_of("", even) is Intent.CASUAL


def test_a_prototype_is_the_unit_mean_of_its_examples():
    found = prototypes({Intent.SEEKING: np.array([[3.0, 0.0], [0.0, 3.0]]), Intent.CASUAL: np.array([[0.0, -2.0]])})

    # mean (1.5, 1.5) → (1, 1)/√2;  cosines of (2, 0): 0.707107 and 0
    assert found[Intent.SEEKING] == pytest.approx([0.707107, 0.707107], abs=1e-6)
    near = similarities_to(np.array([2.0, 0.0]), found)
    assert near == {Intent.SEEKING: pytest.approx(0.707107, abs=1e-6), Intent.CASUAL: pytest.approx(0.0)}


def test_every_intent_has_as_many_examples_in_both_languages():
    for texts in EXAMPLES.values():
        chinese = sum(any("\u4e00" <= letter <= "\u9fff" for letter in text) for text in texts)
        assert len(texts) == 2 * chinese == 20
        assert len(set(texts)) == len(texts)


@pytest.fixture(scope="module")
def model() -> LocalEmbedder:
    if local_model_file() is None:
        pytest.skip("this platform has no built-in model")
    return LocalEmbedder()


@pytest.mark.slow
def test_words_and_the_built_in_model_are_right_about_nine_labelled_messages_of_ten(model):
    known: Mapping[Intent, np.ndarray] = prototypes(
        {intent: np.array([model.embed_query(text) for text in texts]) for intent, texts in EXAMPLES.items()}
    )

    right = [intent_of(text, similarities_to(model.embed_query(text), known)) is intent for intent, text in LABELLED]

    assert sum(right) / len(right) >= 0.9
