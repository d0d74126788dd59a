"""The texts that ship with vaultd and its tests: complete, well-formed, and alive when the sample vault is copied."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from vaultd.core import properties as keys
from vaultd.core.bucket import Bucket, Kind
from vaultd.core.card import Category, Intent
from vaultd.core.emotion import Emotion
from vaultd.core.properties import PropertyReader
from vaultd.scoring.constants import ARCHIVE_BELOW, DecayWeights
from vaultd.scoring.decay import decay_score
from vaultd.vault.layout import Layout

ROOT = Path(__file__).parents[1]
TEXTS = Path(__file__).parent / "data"
PAIRS = ROOT / "vaultd" / "llm" / "data" / "calibration_pairs.jsonl"
VAULT = ROOT / "vaultd" / "data" / "sample_vault"
TODAY = datetime.fromisoformat("2026-11-30T12:00:00+08:00")  # the day the sample vault is written for
BUCKET_FOLDERS = {"permanent", "dynamic", "feel", "archive"}
HAN = re.compile(r"[\u4e00-\u9fff]")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plain(text: str) -> str:
    """A text without what two spellings of it may differ in."""
    return re.sub(r"\W+", "", unicodedata.normalize("NFKC", text).casefold())


def shares(counts: Counter[str]) -> dict[str, float]:
    return {key: count / counts.total() for key, count in counts.items()}


class SampleNote(NamedTuple):
    path: str
    values: PropertyReader
    order: list[str]
    body: str

    @property
    def folder(self) -> str:
        return self.path.split("/", 1)[0]


def texts_stay_text(typed: dict[str, Any]) -> bool:
    """Whether ids, names and list items need no reader that knows our table: YAML itself says they are text."""
    return all(
        isinstance(value, str) if key in (keys.ID, keys.NAME) else all(isinstance(item, str) for item in value)
        for key, value in typed.items()
        if key in (keys.ID, keys.NAME) or isinstance(value, list)
    )


@cache
def sample_notes() -> tuple[SampleNote, ...]:
    """Every note of the sample vault."""
    notes = []
    for file in sorted(VAULT.rglob("*.md")):
        text = file.read_bytes().decode("utf-8")
        values: Any = {}
        body = text
        if text.startswith("---\n"):
            block, body = text[4:].split("\n---\n", 1)
            values = yaml.load(block, yaml.BaseLoader)
            assert texts_stay_text(yaml.safe_load(block)), file
        notes.append(SampleNote(file.relative_to(VAULT).as_posix(), PropertyReader(values), list(values), body))
    return tuple(notes)


def in_folders(*folders: str) -> list[SampleNote]:
    return [note for note in sample_notes() if note.folder in folders]


def bucket_of(note: SampleNote) -> Bucket:
    values = note.values
    created, last_active = values.moment(keys.CREATED), values.moment(keys.LAST_ACTIVE)
    assert created is not None and last_active is not None, note.path
    return Bucket(
        id=values.text(keys.ID),
        path=note.path,
        name=values.text(keys.NAME),
        kind=Kind(values.text(keys.TYPE)),
        domain=values.texts(keys.DOMAIN),
        tags=values.texts(keys.TAGS),
        emotion=Emotion(values.number(keys.VALENCE, None) or 0.0, values.number(keys.AROUSAL, None) or 0.0),
        importance=values.whole(keys.IMPORTANCE, 0),
        activation_count=values.number(keys.ACTIVATION_COUNT, None) or 0.0,
        created=created,
        last_active=last_active,
        model_valence=values.number(keys.MODEL_VALENCE, None),
        resolved=values.checkbox(keys.RESOLVED),
        digested=values.checkbox(keys.DIGESTED),
        pinned=values.checkbox(keys.PINNED),
    )


@cache
def buckets() -> tuple[Bucket, ...]:
    return tuple(bucket_of(note) for note in in_folders(*BUCKET_FOLDERS))


def dynamic() -> list[Bucket]:
    return [bucket for bucket in buckets() if bucket.kind is Kind.DYNAMIC]


# the labelled pairs


def test_pairs_are_enough_and_balanced_over_languages_labels_and_parts():
    pairs = lines_of(PAIRS)

    assert len(pairs) >= 330
    assert all(set(pair) == {"a", "b", "lang", "label", "split"} for pair in pairs)
    assert shares(Counter(pair["lang"] for pair in pairs)) == pytest.approx(
        {"zh": 1 / 3, "en": 1 / 3, "zh-en": 1 / 3}, abs=0.02
    )
    for lang in ("zh", "en", "zh-en"):
        of_lang = [pair for pair in pairs if pair["lang"] == lang]
        assert shares(Counter(pair["label"] for pair in of_lang)) == pytest.approx(
            {"related": 0.45, "same_topic": 0.25, "unrelated": 0.30}, abs=0.02
        )
        for label in ("related", "same_topic", "unrelated"):
            parts = Counter(pair["split"] for pair in of_lang if pair["label"] == label)
            assert shares(parts) == pytest.approx({"fit": 0.6, "test": 0.4}, abs=0.04)


def test_no_text_of_a_pair_occurs_twice():
    texts = Counter(plain(pair[side]) for pair in lines_of(PAIRS) for side in "ab")

    assert [text for text, count in texts.items() if count > 1] == []


def test_pairs_are_in_the_language_they_say():
    for pair in lines_of(PAIRS):
        chinese = sorted(bool(HAN.search(pair[side])) for side in "ab")
        assert chinese == {"zh": [True, True], "en": [False, False], "zh-en": [False, True]}[pair["lang"]], pair


def test_texts_of_pairs_are_as_long_as_memories_and_questions():
    for pair in lines_of(PAIRS):
        for text in (pair["a"], pair["b"]):
            assert 10 <= len(text) <= 100 if HAN.search(text) else 5 <= len(text.split()) <= 60, text


# messages and cards


def test_messages_cover_five_intents_in_two_languages_alike():
    messages = lines_of(TEXTS / "intents.jsonl")

    assert len(messages) >= 140
    assert len({plain(message["text"]) for message in messages}) == len(messages)
    groups = Counter((Intent(message["intent"]), message["lang"]) for message in messages)
    assert set(groups) == {(intent, lang) for intent in Intent for lang in ("zh", "en")}
    assert max(groups.values()) - min(groups.values()) <= 2


def test_cards_cover_the_eight_categories():
    cards = lines_of(TEXTS / "cards.jsonl")

    assert len(cards) == 200
    assert len({plain(card["content"]) for card in cards}) == 200
    per_category = Counter(Category(card["type"]) for card in cards)
    assert set(per_category) == set(Category)
    assert min(per_category.values()) >= 20
    for card in cards:
        assert 1 <= card["importance"] <= 10
        assert card["topic"] and all(card["topic"])
        assert card["tags"] and all(card["tags"])
    assert 80 <= sum(bool(HAN.search(card["content"])) for card in cards) <= 120


def test_messages_for_injection_name_cards_that_exist_or_none():
    messages = lines_of(TEXTS / "injections.jsonl")
    cards = lines_of(TEXTS / "cards.jsonl")

    assert len(messages) >= 120
    assert len({plain(message["text"]) for message in messages}) == len(messages)
    assert sum(not message["expect"] for message in messages) >= 55
    for message in messages:
        assert len(message["expect"]) == len(set(message["expect"])) <= 2
        assert all(0 <= number < len(cards) for number in message["expect"])
    across = [
        message
        for message in messages
        for number in message["expect"]
        if (message["lang"] == "zh") != bool(HAN.search(cards[number]["content"]))
    ]
    assert len(across) >= 15


# the sample vault


def test_sample_vault_has_every_kind_of_note():
    kinds = Counter(note.folder for note in sample_notes())

    assert sum(kinds[folder] for folder in (*BUCKET_FOLDERS, "cards")) >= 64
    assert 3 <= kinds["permanent"] <= 4
    assert kinds["dynamic"] >= 45
    assert kinds["feel"] == 5
    assert kinds["archive"] == 6
    assert kinds["cards"] == 8
    assert 4 <= sum(count for folder, count in kinds.items() if folder not in {*BUCKET_FOLDERS, "cards"}) <= 5
    assert 8 <= len({bucket.domain[0] for bucket in dynamic()}) <= 10


def test_sample_vault_is_half_chinese():
    memories = in_folders(*BUCKET_FOLDERS, "cards")
    chinese = sum(len(HAN.findall(note.body)) > 0.3 * len(note.body) for note in memories)

    assert 0.4 <= chinese / len(memories) <= 0.6


def test_sample_memories_have_exactly_our_properties_in_our_order():
    written = [key for key in keys.BUCKET_KEYS if key not in (keys.MODEL_VALENCE, keys.PROTECTED, keys.SOURCE)]
    for note in in_folders(*BUCKET_FOLDERS):
        assert [key for key in note.order if key != keys.MODEL_VALENCE] == written, note.path
    for note in in_folders("cards"):
        assert note.order == list(keys.CARD_KEYS), note.path


def test_sample_properties_are_in_range_and_dates_carry_an_offset():
    assert len(buckets()) > 0
    for note in in_folders(*BUCKET_FOLDERS, "cards"):
        moments = [key for key in note.order if key in ("created", "last_active") or key.endswith("_at")]
        for key in moments:
            moment = note.values.moment(key)
            assert moment is not None and moment.utcoffset() == timedelta(hours=8), (note.path, key)
            assert TODAY - timedelta(days=366) <= moment <= TODAY, (note.path, key)
    for note in in_folders("cards"):
        Category(note.values.text(keys.TYPE))
        assert 1 <= note.values.whole(keys.IMPORTANCE, 0) <= 10
    for bucket in buckets():
        assert bucket.created <= bucket.last_active
        assert 1 <= bucket.importance <= 10
    assert [note.path for note in sample_notes() if note.values.findings] == []


def test_sample_ids_are_unique_and_files_lie_where_vaultd_would_put_them():
    layout = Layout(VAULT)

    assert len({bucket.id for bucket in buckets()}) == len(buckets())
    for bucket in buckets():
        assert re.fullmatch(r"[0-9a-f]{12}", bucket.id)
        domain = bucket.domain[0] if bucket.domain else ""
        expected = layout.bucket_path(kind=bucket.kind, domain=domain, name=bucket.name, note_id=bucket.id)
        assert bucket.path == expected
        assert bucket.pinned == (bucket.kind is Kind.PERMANENT)
        assert bucket.importance == 10 if bucket.pinned else bucket.importance < 10
        assert (bucket.kind is Kind.FEEL) == (not bucket.domain)
    card_ids = set()
    for note in in_folders("cards"):
        card_id = note.values.text(keys.ID)
        created = note.values.moment(keys.CREATED_AT)
        assert created is not None and re.fullmatch(created.strftime("%Y%m%d") + r"-\d{3}", card_id)
        assert note.path == layout.card_path(card_id, note.values.texts(keys.TOPIC)[0])
        card_ids.add(card_id)
    assert len(card_ids) == 8
    assert {note.values.text(keys.TYPE) for note in in_folders("cards")} == set(Category)


def test_some_sample_memories_are_about_to_be_forgotten_and_most_are_not():
    scores = {bucket.id: decay_score(bucket, TODAY, DecayWeights()) for bucket in dynamic()}
    fading = [
        bucket
        for bucket in dynamic()
        if 40 <= (TODAY - bucket.last_active).days <= 110 and bucket.importance <= 5 and scores[bucket.id] < 0.5
    ]

    assert 7 <= len(fading) <= 11
    assert 3 <= sum(scores[bucket.id] < ARCHIVE_BELOW for bucket in fading) <= 7
    assert sum(score > 1.0 for score in scores.values()) >= 25


def test_sample_vault_has_something_for_every_rule_of_surfacing():
    assert sum(bucket.resolved for bucket in dynamic()) >= 4
    assert sum(bucket.digested and bucket.model_valence is not None for bucket in dynamic()) >= 3
    assert sum(bucket.emotion.arousal > 0.7 and not bucket.resolved for bucket in dynamic()) == 2
    assert sum(bucket.importance >= 8 and bucket.activation_count < 1 for bucket in dynamic()) == 2


def test_a_sample_feel_names_a_digested_memory_or_none():
    by_id = {bucket.id: bucket for bucket in buckets()}
    named = 0
    for note in in_folders("feel"):
        sources = re.findall(r"\b[0-9a-f]{12}\b", note.body, re.ASCII)
        assert len(sources) <= 1
        for source in sources:
            named += 1
            assert by_id[source].digested
            assert by_id[source].model_valence == note.values.number(keys.VALENCE, None)
    assert named >= 3
    assert sum(bucket.digested for bucket in buckets()) == named


def test_bodies_of_sample_memories_have_a_readable_length():
    for note in in_folders(*BUCKET_FOLDERS, "cards"):
        words = len(re.findall(r"[A-Za-z0-9'’]+", note.body)) + len(HAN.findall(note.body)) / 1.5
        assert 20 <= words <= 200, (note.path, words)


def test_wikilinks_of_the_sample_vault_resolve():
    stems = {Path(note.path).stem for note in sample_notes()} | {note.path[:-3] for note in sample_notes()}
    links = [
        (note.path, target)
        for note in sample_notes()
        for target in re.findall(r"\[\[([^\]|#]+)(?:[|#][^\]]*)?\]\]", note.body)
    ]

    assert len(links) >= 12
    assert [link for link in links if link[1] not in stems] == []


def test_own_notes_of_the_sample_vault_have_none_of_our_properties():
    for note in sample_notes():
        if note.folder not in {*BUCKET_FOLDERS, "cards"}:
            assert set(note.order).isdisjoint({*keys.BUCKET_KEYS, *keys.CARD_KEYS} - {keys.TAGS}), note.path


def test_paraphrases_ask_for_memories_of_the_sample_vault():
    questions = lines_of(TEXTS / "paraphrases.jsonl")
    bodies = {note.values.text(keys.ID): note.body for note in in_folders(*BUCKET_FOLDERS, "cards")}

    assert len(questions) >= 40
    assert len({plain(question["query"]) for question in questions}) == len(questions)
    across = 0
    for question in questions:
        body = bodies[question["memory_id"]]
        assert question["why"]
        across += (question["lang"] == "zh") != (len(HAN.findall(body)) > 0.3 * len(body))
    assert across >= 30
