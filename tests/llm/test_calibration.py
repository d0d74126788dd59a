"""Similarities mean the same for every model: curves, means, and how they are fitted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.errors import BadInput
from vaultd.core.text import share_of_cjk
from vaultd.llm.calibration import (
    BETA_MIXED,
    BETA_ONE_LANGUAGE,
    VAULT_MEANS_FROM,
    Calibration,
    LabelledPair,
    LanguageCentre,
    Similarity,
    TextVectors,
    builtin_calibration,
    fit_calibration,
    fit_similarity,
    labelled_pairs,
)
from vaultd.llm.embedder import Floats, unit
from vaultd.llm.local import LocalEmbedder

CURVE = Similarity((0.0, 0.2, 0.4, 1.0), (0.0, 0.5, 0.8, 1.0))


class SubjectEmbedder:
    """Vectors from the words of a text: what it is about, plus the same bias for each language and each length."""

    name = "subject/1"
    dimension = 64

    def embed_passages(self, texts) -> Floats:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        vector = np.zeros(self.dimension, np.float32)
        for word in text.split():
            vector += np.random.default_rng(sum(word.encode())).normal(size=self.dimension)
        vector /= max(len(text.split()), 1)
        vector[0] += 4 * share_of_cjk(text)
        vector[1] += 4 * (1 - share_of_cjk(text))
        vector[2] += len(text.split()) / 4
        return unit(vector)

    def load(self) -> None:
        """Nothing to read."""

    def close(self) -> None:
        """Nothing to give back."""


def subject_pairs() -> list[LabelledPair]:
    pairs = []
    for number in range(30):
        lang = ("zh", "en", "zh-en")[number % 3]
        word = f"主题{number}" if lang == "zh" else f"subject{number}"
        other = f"旁边{number}" if lang == "zh" else f"beside{number}"
        stranger = f"陌生{number}" if lang != "en" else f"stranger{number}"
        pairs.append(LabelledPair(f"{word} {other}", f"{word}", lang, "related", "fit"))
        pairs.append(LabelledPair(f"{word} {other}", stranger, lang, "unrelated", "fit"))
    return pairs


def test_a_curve_is_straight_between_its_knots_and_flat_outside():
    assert CURVE([-1.0, 0.0, 0.1, 0.2, 0.3, 1.0, 2.0]) == pytest.approx([0, 0, 0.25, 0.5, 0.65, 1, 1])
    assert CURVE(0.3) == pytest.approx(0.65)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_curve_never_falls_and_stays_within_0_and_1(one, other):
    low, high = sorted((one, other))

    assert 0 <= CURVE(low) <= CURVE(high) <= 1


def test_the_cosine_of_a_similarity_is_where_the_curve_reaches_it():
    assert CURVE.cosine_at(0.65) == pytest.approx(0.3)
    assert CURVE(CURVE.cosine_at(0.9)) == pytest.approx(0.9)


def test_a_curve_survives_json():
    assert Similarity.from_json(json.loads(json.dumps(CURVE.as_json()))) == CURVE


@pytest.mark.parametrize(
    "knots",
    [
        [],
        [[0, 0]],
        [[0, 0], [0, 1]],
        [[0, 0], [1, 0]],
        [[0, 1], [1, 0]],
        [[0, 0], [1, 2]],
        [[0, -1], [1, 1]],
        [[0]],
        "x",
        3,
    ],
)
def test_knots_that_do_not_rise_are_refused(knots):
    with pytest.raises(BadInput):
        Similarity.from_json(knots)


def test_the_fitted_curve_has_the_meaning_it_promises():
    # Cosines of related pairs are normal around 0.5, of unrelated ones around 0.1, both with deviation 0.1: the share
    # of related pairs at cosine c is then logistic with slope (0.5 - 0.1) / 0.1² = 40 and one half at 0.3,
    # hence four of five at 0.3 + ln 4 / 40 = 0.335 and 19 of 20 at 0.3 + ln 19 / 40 = 0.374.
    rng = np.random.default_rng(5)

    curve = fit_similarity(rng.normal(0.5, 0.1, 20_000), rng.normal(0.1, 0.1, 20_000))

    assert curve.cosines[0] == pytest.approx(0.1, abs=0.005)
    assert curve([0.1, 0.3, 0.335, 0.374, 1.0]) == pytest.approx([0, 0.5, 0.7, 0.85, 1], abs=0.015)


def test_the_number_of_pairs_of_a_kind_does_not_move_the_curve():
    rng = np.random.default_rng(5)
    related, unrelated = rng.normal(0.5, 0.1, 20_000), rng.normal(0.1, 0.1, 20_000)

    assert fit_similarity(related[:2_000], unrelated).cosine_at(0.5) == pytest.approx(
        fit_similarity(related, unrelated).cosine_at(0.5), abs=0.01
    )


def test_pairs_of_the_same_topic_push_the_curve_up_but_not_its_zero():
    rng = np.random.default_rng(5)
    related, unrelated, same = rng.normal(0.5, 0.1, 500), rng.normal(0.1, 0.1, 500), rng.normal(0.3, 0.1, 500)

    plain, pushed = fit_similarity(related, unrelated), fit_similarity(related, unrelated, same)

    assert pushed.cosine_at(0.5) > plain.cosine_at(0.5) + 0.02
    assert pushed.cosines[0] == plain.cosines[0]


def test_pairs_that_are_told_apart_perfectly_still_give_a_curve():
    curve = fit_similarity(np.linspace(0.6, 0.9, 10), np.linspace(0.0, 0.2, 10))

    assert 0.2 < curve.cosine_at(0.5) < 0.6


@pytest.mark.parametrize(
    ("related", "unrelated"),
    [([0.5] * 9, [0.1] * 20), ([0.5] * 20, []), ([0.1] * 20, [0.5] * 20), ([0.3] * 20, [0.3] * 20)],
)
def test_pairs_that_tell_nothing_are_refused(related, unrelated):
    with pytest.raises(BadInput):
        fit_similarity(related, unrelated)


def test_centring_takes_away_the_mean_half_the_language_and_the_length():
    centre = LanguageCentre(
        zh=np.array([2, 0, 1, 0], np.float32),
        en=np.array([0, 2, 1, 0], np.float32),
        length=np.eye(4, dtype=np.float32)[3:],
    )

    centred = centre.centre(np.array([[3, 0, 1, 9]], np.float32), [1.0], 0.5)

    # m = (1, 1, 1, 0); zh - m = (1, -1, 0, 0), half of it (½, -½, 0, 0)
    # (3, 0, 1, 9) - m - (½, -½, 0, 0) = (1.5, -0.5, 0, 9), without the fourth: (1.5, -0.5, 0, 0) / √2.5
    assert centred == pytest.approx(np.array([[1.5, -0.5, 0, 0]]) / 2.5**0.5, abs=1e-6)


def test_one_vector_is_centred_like_a_row_of_many():
    centre = builtin_calibration().centre
    vectors = unit(np.random.default_rng(1).normal(size=(5, 384)).astype(np.float32))

    rows = centre.centre(vectors, [0.0, 0.2, 0.5, 0.8, 1.0], BETA_MIXED)

    assert centre.centre(vectors[3], 0.8, BETA_MIXED) == pytest.approx(rows[3], abs=1e-6)
    assert rows.dtype == np.float32


def test_a_model_that_is_not_calibrated_keeps_its_cosines():
    vectors = unit(np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32))

    assert LanguageCentre.none(8).at(BETA_MIXED)(vectors, [1.0, 0.0, 0.5]) == pytest.approx(vectors, abs=1e-6)


def test_what_all_notes_of_a_vault_share_is_taken_away():
    rng = np.random.default_rng(2)
    voice = unit(rng.normal(size=8).astype(np.float32))
    vectors = unit(rng.normal(size=(500, 8)).astype(np.float32) * 0.3 + voice)
    centre = LanguageCentre.none(8)

    before, after = (
        centre.at(0.5)(vectors, [0.0] * 500),
        centre.fitted_to(vectors, [0.0] * 500, 0.5)(vectors, [0.0] * 500),
    )

    assert np.median(before @ before.T) > 0.4
    assert abs(np.median(after @ after.T)) < 0.1


def test_a_handful_of_notes_does_not_lose_its_own_subject():
    vectors = np.array([[3.0, 4.0]] * VAULT_MEANS_FROM, np.float32) / 5

    centring = LanguageCentre.none(2).fitted_to(vectors, [0.0] * VAULT_MEANS_FROM, 0.5)

    assert centring.offset == pytest.approx([0.3, 0.4])  # half of the mean: n / (n + n)
    assert not LanguageCentre.none(2).fitted_to(vectors[:0], [], 0.5).offset.any()


def test_a_calibration_survives_json():
    builtin = builtin_calibration()

    again = Calibration.from_json(json.loads(json.dumps(builtin.as_json())))

    assert again.model == builtin.model
    assert again.curves == builtin.curves
    assert again.centre.zh == pytest.approx(builtin.centre.zh)
    assert again.centre.length == pytest.approx(builtin.centre.length)


@pytest.mark.parametrize("damage", [{}, {"model": "m"}, {"mean_zh": "x"}, {"curves": {"x": []}}, {"curves": [1]}])
def test_a_damaged_calibration_is_refused(damage):
    data = {"model": "m"} if damage in ({}, {"model": "m"}) else builtin_calibration().as_json() | damage

    with pytest.raises(BadInput):
        Calibration.from_json(data)


def test_a_beta_without_a_curve_is_named():
    with pytest.raises(BadInput, match=r"beta 0\.3"):
        builtin_calibration().similarity(0.3)


def test_any_model_can_be_calibrated():
    long_notes = [f"memory{number} " * 30 for number in range(5)] + [f"记忆{number} " * 30 for number in range(5)]

    calibration = fit_calibration(SubjectEmbedder(), subject_pairs(), long_notes)

    assert calibration.model == "subject/1"
    assert set(calibration.curves) == {BETA_ONE_LANGUAGE, BETA_MIXED}
    assert calibration.centre.length.shape == (2, 64)


def test_means_need_both_languages_and_both_lengths():
    only_english = TextVectors.of(SubjectEmbedder(), ["one", "two"])
    both = TextVectors.of(SubjectEmbedder(), ["one", "二"])

    with pytest.raises(BadInput):
        LanguageCentre.of(short=both, long=only_english)


def test_the_directions_of_length_are_orthonormal():
    length = builtin_calibration().centre.length

    assert length @ length.T == pytest.approx(np.eye(len(length)), abs=1e-5)


@pytest.mark.slow
def test_the_shipped_curve_holds_on_pairs_it_was_not_fitted_to():
    pairs = [pair for pair in labelled_pairs() if pair.split == "test"]
    embedder, calibration = LocalEmbedder(), builtin_calibration()
    sides = []
    for texts in ([pair.a for pair in pairs], [pair.b for pair in pairs]):
        shares = [share_of_cjk(text) for text in texts]
        sides.append(calibration.centre.centre(embedder.embed_passages(texts), shares, BETA_MIXED))
    similarities = calibration.similarity(BETA_MIXED)((sides[0] * sides[1]).sum(axis=1))
    related = np.array([pair.label == "related" for pair in pairs])
    unrelated = np.array([pair.label == "unrelated" for pair in pairs])

    found = similarities > 0.5
    assert found[related].mean() >= 0.8  # recall
    assert related[found].mean() >= 0.8  # precision, pairs of the same topic included
    assert found[unrelated].mean() <= 0.1
    assert related[similarities > 0.85].mean() >= 0.9
    assert similarities[unrelated].mean() <= 0.25
