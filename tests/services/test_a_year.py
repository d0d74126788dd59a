"""A year of a vault's life in seconds: holds, recalls and forgetting, beside a model of it that shares no code."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from tests.fakes import FakeClock
from tests.running import running
from vaultd.core.bucket import Kind
from vaultd.core.query import Query
from vaultd.services.newmemory import NewMemory
from vaultd.services.revise import Revision

START = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
WORDS = [
    "violin",
    "tomato",
    "bicycle",
    "harbour",
    "lantern",
    "marmalade",
    "telescope",
    "umbrella",
    "walnut",
    "zeppelin",
]


class Model:
    """The rules of SPEC's decay, ripple and forgetting, written down once more in the plainest way."""

    def __init__(self):
        self.notes = {}

    def hold(self, note_id, now, importance, arousal):
        self.notes[note_id] = {
            "created": now,
            "active": now,
            "count": 0.0,
            "importance": importance,
            "arousal": arousal,
            "resolved": False,
            "archived": False,
        }

    def recall(self, note_id, now):
        note = self.notes[note_id]
        near = sorted(
            (abs((other["created"] - note["created"]).total_seconds()), other_id)
            for other_id, other in self.notes.items()
            if other_id != note_id and not other["archived"]
        )
        note["count"] += 1
        note["active"] = now
        for distance, other_id in near[:5]:
            if distance <= 48 * 3600:
                self.notes[other_id]["count"] += 0.3

    def score(self, note, now):
        days = max(0.0, (now - note["active"]).total_seconds() / 86400)
        time = 1 + math.exp(-days * 24 / 36)
        emotion = 1 + note["arousal"] * 0.8
        mix = 0.7 * time + 0.3 * emotion if days <= 3 else 0.3 * time + 0.7 * emotion
        score = note["importance"] * max(1.0, note["count"]) ** 0.3 * math.exp(-0.05 * days) * mix
        if note["resolved"]:
            return score * 0.05
        return score * (1.5 if note["arousal"] > 0.7 else 1.0)

    def cycle(self, now):
        for note in self.notes.values():
            if note["archived"]:
                continue
            idle = (now - note["active"]).total_seconds() / 86400
            if note["importance"] <= 4 and idle > 30 and not note["resolved"]:
                note["resolved"] = True
            if self.score(note, now) < 0.3:
                note["archived"] = True


@pytest.mark.slow
async def test_a_year_ends_as_an_independent_model_says(tmp_path):
    rng = random.Random(11)
    clock, model, word_of = FakeClock(START), Model(), {}
    async with running(tmp_path, clock=clock, no_model=True) as r:
        services = r.core.services
        for day in range(365):
            clock.now = START + timedelta(days=day, minutes=rng.randint(0, 300))
            if day % 9 == 0:
                word = f"{rng.choice(WORDS)}{day}"
                importance, arousal = rng.randint(1, 10), round(rng.random(), 2)
                kept = await services.remember(
                    NewMemory(f"On that day there was {word}.", name=word, importance=importance, arousal=arousal)
                )
                assert kept.id not in model.notes
                model.hold(kept.id, clock.now, importance, arousal)
                word_of[kept.id] = word
            alive = [i for i, note in model.notes.items() if not note["archived"]]
            if alive and rng.random() < 0.3:
                note_id = rng.choice(alive)
                clock.advance(minutes=5)
                answer = await services.answer(Query.parse(note_id))
                assert [hit.bucket.id for hit in answer.hits] == [note_id]
                model.recall(note_id, clock.now)
            if alive and rng.random() < 0.03:
                note_id = rng.choice(alive)
                await services.revise(note_id, Revision(resolved=True))
                model.notes[note_id]["resolved"] = True
            clock.now = START + timedelta(days=day, hours=14)
            await services.forget()
            model.cycle(clock.now)

        for note_id, note in model.notes.items():
            row = r.core.mirror.get(note_id)
            assert (row.kind is Kind.ARCHIVED) == note["archived"], word_of[note_id]
            assert row.resolved == note["resolved"], word_of[note_id]
            assert row.path.startswith("archive/" if note["archived"] else "dynamic/")
            assert r.core.mirror.activation_count(note_id) == pytest.approx(note["count"])
            assert r.core.mirror.last_active(note_id) == pytest.approx(note["active"].timestamp(), abs=1)
        assert 5 < sum(note["archived"] for note in model.notes.values()) < len(model.notes) - 5
