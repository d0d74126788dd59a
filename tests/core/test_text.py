import re

from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.text import count_scripts, counted_cut, cut_at_sentence, estimate_tokens

TEXTS = st.text(alphabet='aZ09 .。！？\n!…”")é中文かカ가𠀀,，-_🙂\u3000\x1c', max_size=80)
CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff]")
WORD = re.compile(r"[A-Za-z0-9À-ɏЀ-ӿ]+")


@given(TEXTS)
def test_characters_and_words_are_counted_one_by_one(text):
    assert count_scripts(text) == (len(CJK.findall(text)), len(WORD.findall(text)))


def test_plain_english_has_words_only():
    assert count_scripts("It's 3 o'clock, tea_time.") == (0, 7)


@given(TEXTS, st.integers(0, 40))
def test_a_cut_text_comes_with_its_own_estimate(text, most):
    cut, tokens = counted_cut(text, most)

    assert tokens == estimate_tokens(cut) <= max(most, 0)
    assert text.startswith(cut)


@given(TEXTS)
def test_a_text_that_fits_is_given_as_it_is(text):
    assert cut_at_sentence(text, estimate_tokens(text)) == text


def test_a_text_is_cut_after_the_last_sentence_that_fits():
    assert cut_at_sentence("One two. Three four. Five six.", 6) == "One two. Three four."
    assert cut_at_sentence("今天很好。明天也好。后天再说", 15) == "今天很好。明天也好。"
