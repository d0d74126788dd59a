import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultd.index.postings import K1, B, Postings

WORDS = ["tea", "rain", "cat", "很累", "实习", "train", "sea"]


def naive(documents, query):
    """BM25 by the book over {slot: {word: count}}; slot → score."""
    n = len(documents)
    average = sum(sum(d.values()) for d in documents.values()) / n if n else 1
    scores = {}
    for slot, words in documents.items():
        total = 0.0
        for word in query:
            df = sum(1 for d in documents.values() if word in d)
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = words.get(word, 0)
            if tf:
                length = sum(words.values())
                total += idf * (K1 + 1) * tf / (tf + K1 * (1 - B + B * length / (average or 1)))
        scores[slot] = total
    return scores


step = st.tuples(
    st.sampled_from(["put", "put", "put", "remove", "fold", "ask"]),
    st.integers(0, 9),
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4), min_size=1),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(step, max_size=40))
def test_scores_equal_bm25_by_the_book_after_any_changes(steps):
    postings, documents = Postings(), {}

    for action, slot, words in steps:
        if action == "put":
            postings.put(slot, words, sum(words.values()))
            documents[slot] = words
        elif action == "remove":
            postings.remove(slot)
            documents.pop(slot, None)
        elif action == "fold":
            postings = postings.folded()
        else:
            postings.score({"tea": 1.0}, 10)

    found = postings.score(dict.fromkeys(WORDS[:4], 1.0), 10).scores
    expected = naive(documents, WORDS[:4])
    assert found == pytest.approx([expected.get(slot, 0.0) for slot in range(10)], abs=1e-4)


def test_many_documents_at_once_and_one_by_one_score_the_same():
    rng = random.Random(3)
    texts = [{w: rng.randint(1, 3) for w in rng.sample(WORDS, 3)} for _ in range(700)]

    at_once, one_by_one = Postings(), Postings()
    for slot, words in enumerate(texts):
        at_once.put(slot, words, sum(words.values()))
        one_by_one.put(slot, words, sum(words.values()))
        one_by_one.score({"tea": 1.0}, 700)

    query = {"tea": 1.0, "很累": 1.0}
    assert np.allclose(at_once.score(query, 700).scores, one_by_one.score(query, 700).scores, atol=1e-5)
    assert np.allclose(at_once.folded().score(query, 700).scores, at_once.score(query, 700).scores, atol=1e-5)


def test_a_text_of_average_length_with_every_word_once_reaches_the_ideal():
    postings = Postings()
    postings.put(0, {"tea": 1, "rain": 1}, 2)
    postings.put(1, {"cat": 1, "sea": 1}, 2)

    found = postings.score({"tea": 1.0, "rain": 1.0}, 2)

    assert found.scores[0] == pytest.approx(found.ideal, rel=1e-5)
    assert found.scores[1] == 0


def test_what_single_words_add_sums_up_to_the_score():
    postings = Postings()
    for slot, counts in enumerate([{"tea": 1, "lake": 1}, {"lake": 1}, {"tea": 3}, {"rain": 1}]):
        postings.put(slot, counts, sum(counts.values()))
    words = {"tea": 1.0, "lake": 0.5, "nothing": 1.0}

    shares = postings.shares(words, {"tea": 2, "lake": 2, "nothing": 0}, postings.found(words))

    assert sorted(shares.slots.tolist()) == [0, 0, 1, 2]
    scores = shares.summed(4)
    assert scores.tolist() == postings.score(words, 4).scores.tolist()
    assert scores[2] > scores[1] > scores[3] == 0
