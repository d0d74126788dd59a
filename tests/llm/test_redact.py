"""Secrets and private parts stay here; what the person wrote comes back whole."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vaultd.llm.redact import Redaction, find_secrets, masks_in, strip_private, without_masks

BASE62 = string.ascii_letters + string.digits
RANDOM_20 = "Zk3vQ9xLmT7bR2wYc8Ns"
RANDOM_40 = RANDOM_20 + "D4hJ6gPfA1uE5oKiXt0V"

SECRETS = {
    "openai": f"sk-proj-{RANDOM_40}",
    "anthropic": f"sk-ant-api03-{RANDOM_40}",
    "deepseek": "sk-" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "stripe": f"sk_live_{RANDOM_20}",
    "github": f"ghp_{RANDOM_40[:36]}",
    "github fine-grained": f"github_pat_11ABCDEFG0_{RANDOM_40}",
    "gitlab": f"glpat-{RANDOM_20}",
    "slack": "xoxb-123456789012-123456789012-" + RANDOM_20,
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "alibaba cloud": "LTAI" + "5tQxJ8mK2nB7vC4x",
    "google": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "hugging face": f"hf_{RANDOM_40[:34]}",
    "telegram": "1234567890:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw-",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "age": "AGE-SECRET-KEY-1" + "QQPQZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "high entropy": RANDOM_40,
    "base64": "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
    "base64url": "pZ8-kT3_vQ9xLm-7bR2wYc8N_sD4hJ6g-PfA1uE5oK",
    "hex": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "card": "4111 1111 1111 1111",
    "card without spaces": "5555555555554444",
    "card with dashes": "3782-822463-10005",
}

FORMS = {
    "Authorization: Bearer {}": "abc123.def456-ghi789",
    "authorization: basic {}": "dXNlcjpwYXNzd29yZA==",
    "postgres://me:{}@db.example.org:5432/x": "s3cr3t!pw",
    "clone https://me:{}@git.example.org/a.git": "p@ss:word",
    "https://example.org/hook?user=me&access_token={}&x=1": "abcdef123456",
    "password: {}": "hunter2",
    "Password is {}": "correct,horse;battery",
    "my **password**: {}": "hunter22",
    'the password is "{}", he said': "two words here",
    "the passphrase: {}": "correct horse battery staple",
    "DB_PASSWORD={}": "letmein",
    "export MY_API_KEY={}": "qwerty-1",
    '{{"api_key": "{}"}}': "abc def",
    "PIN: {}": "4921",
    "邮箱密码是{}，记住": "woaini1314",
    "WiFi 密码：{}": "12345678",
    "口令为{}。": "芝麻开门",
    "助记词：{}": "apple banana cherry dog egg",
    "验证码: {}": "830112",
}

INNOCENT = (
    "I met my sister for lunch at 12:30 on 2026-11-30 and we talked until late.",
    "今天去医院体检，结果还好；晚上和朋友吃饭聊了很多；最近有点焦虑。",
    "https://example.org/blog/2026/11/why-i-like-long-walks-in-the-mountains-around-here",
    "the compass: north, a shopping: list, spin: fast",
    "uuid 550e8400-e29b-41d4-a716-446655440000, bucket 0a1b2c3d4e5f",
    "Donaudampfschifffahrtsgesellschaftskapitaenswitwe",
    "order number 1234567890123456, phone 138 0013 8000",
)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("sentence", ["my key is here: {} ok", "密钥在这里{}，别忘了", "{}", "a\n{}\nb"])
def test_a_key_never_leaves(secret, sentence):
    text = sentence.format(secret)

    redaction = Redaction(text)

    assert secret not in redaction.masked[0]
    assert secret[8:20] not in redaction.masked[0]
    assert redaction.restore(redaction.masked[0]) == text


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_after_a_word_for_a_secret_never_leaves(form):
    secret = FORMS[form]
    text = form.format(secret)

    redaction = Redaction(text)

    assert secret not in redaction.masked[0]
    assert masks_in(redaction.masked[0])
    assert redaction.restore(redaction.masked[0]) == text


@pytest.mark.parametrize("text", INNOCENT)
def test_ordinary_text_is_sent_as_it_is(text):
    assert Redaction(text).masked == (text,)


def test_a_private_key_block_is_masked_whole_even_when_it_is_not_closed():
    closed = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA PRIVATE KEY-----"
    unclosed = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\naC1rZXk"

    one, other = Redaction(f"a {closed} b", f"c {unclosed}").masked

    assert one == "a ⟦secret:1⟧ b"
    assert other == "c ⟦secret:2⟧"


def test_a_number_that_fails_luhn_is_no_card():
    assert find_secrets("4111 1111 1111 1112") == ()
    assert find_secrets("4111 1111 1111 1111, 3 times") == ((0, 19),)


def test_equal_secrets_get_equal_masks():
    redaction = Redaction("password: hunter2", "once more: password: hunter2 and pin: 4921")

    assert redaction.masked == ("password: ⟦secret:1⟧", "once more: password: ⟦secret:1⟧ and pin: ⟦secret:2⟧")


def test_a_mask_that_the_person_typed_stays_what_it_is():
    text = "⟦secret:1⟧ is how a mask looks; [secret:2] too; password: hunter2"

    redaction = Redaction(text)

    assert redaction.masked[0].endswith("password: ⟦secret:3⟧")
    assert redaction.restore(redaction.masked[0]) == text
    assert redaction.restore("⟦secret:1⟧ [secret:2] ⟦secret:3⟧") == "⟦secret:1⟧ [secret:2] hunter2"


@pytest.mark.parametrize("mangled", ["⟦secret:1⟧", "[secret:1]", "[[secret:1]]", "【secret：1】", "⟦ Secret: 1 ⟧"])
def test_a_mask_with_other_brackets_is_still_put_back(mangled):
    redaction = Redaction("password: hunter2")

    assert redaction.restore(f"({mangled})") == "(hunter2)"


def test_masks_are_counted_whatever_their_brackets():
    assert masks_in("⟦secret:1⟧ and [private:2], not [secret:x]") == {("secret", 1), ("private", 2)}


def test_private_parts_are_masked_whole_and_put_back_only_on_request():
    text = "seen <Private>my sister's illness, password: hunter2</PRIVATE> today"

    redaction = Redaction(text)

    assert redaction.masked == ("seen ⟦private:1⟧ today",)
    assert redaction.restore(redaction.masked[0]) == text
    assert redaction.restore(redaction.masked[0], private=False) == "seen  today"


def test_a_secret_around_a_private_part_is_masked_on_both_sides():
    masked = Redaction("password: abcd<private>x</private>efgh").masked[0]

    assert "abcd" not in masked
    assert "efgh" not in masked


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a<PRIVATE>b</Private>c", "ac"),
        ("a ＜private＞b＜/private＞ c", "a  c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>to the end", "a "),
        ("a <private>b</private> c <private>d", "a  c "),
        ("no tag </private> here", "no tag </private> here"),
        ("a <privateer> b", "a <privateer> b"),
        ("<private>all</private>", ""),
        ("今天<private>去看了医生</private>，晚上散步", "今天，晚上散步"),
        ("<pri<private>x</private>vate>leak", ""),
    ],
)
def test_private_parts_are_taken_out(text, kept):
    assert strip_private(text) == kept


def test_names_and_tags_lose_their_masks():
    assert without_masks("login ⟦secret:1⟧ page [private:2]") == "login  page "


bits = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["<private>", "</private>", "<PRIVATE >", "＜private＞", "<pri", "vate>", "⟦secret:1⟧", "[secret:2]"]
    ),
    st.sampled_from(["[", "]", "⟦", "⟧", "password: ", "密码是", "\n", " ", "1", "sk-", ":", "secret", "private"]),
    st.sampled_from(list(SECRETS.values())),
    st.text(alphabet=BASE62, min_size=20, max_size=40),
)
texts = st.lists(bits, max_size=8).map("".join)


@given(texts, texts)
@example("[sk-0a1b2c3d4e5f60718293a4b5c6d7e8f9]", "")
@example("⟦secret:0001⟧", "password: hunter2")
def test_masking_loses_nothing(one, other):
    redaction = Redaction(one, other)

    assert tuple(redaction.restore(masked) for masked in redaction.masked) == (one, other)


@given(texts, st.sampled_from(list(SECRETS.values())), texts)
def test_a_secret_is_masked_whatever_stands_around_it(before, secret, after):
    assume(secret not in before and secret not in after)  # stuck to further digits it is another number
    masked = Redaction(f"{before} {secret} {after}").masked[0]

    assert secret not in masked


@given(texts)
def test_no_private_part_is_left_in_masked_text(text):
    masked = Redaction(text).masked[0]

    assert strip_private(masked) == masked


@given(texts)
def test_what_is_stored_has_no_private_part(text):
    once = strip_private(text)

    assert strip_private(once) == once
    assert len(once) <= len(text)


@given(st.text(alphabet=st.characters(exclude_characters="<＜"), max_size=80))
def test_text_without_tags_is_stored_as_it_is(text):
    assert strip_private(text) == text


@given(
    st.text(alphabet="abc你好 \n", max_size=20),
    st.text(alphabet="xyz<>/ ", max_size=30),
    st.text(alphabet="abc你好 \n"),
)
def test_nothing_between_the_tags_is_stored(before, secret, after):
    assert strip_private(f"{before}<private>{secret}</private>{after}") == before + after


def test_long_and_hostile_text_is_masked_without_backtracking():
    small, large = "a1B2 4111 " * 100, "a1B2 4111 " * 30_000
    hostile = "<private>" * 9_000 + "x:" * 20_000 + "1 " * 20_000 + "://a:" * 9_000

    assert Redaction(small).masked == (small,)
    assert Redaction(large).masked == (large,)
    assert strip_private(hostile) == ""
    assert Redaction(hostile).masked == ("⟦private:1⟧",)
