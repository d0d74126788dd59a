"""`Memories.base`, read as Obsidian reads it: its formulas are evaluated by a small reader of their language."""

import dataclasses
import re
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from vaultd.cli.basefile import base_text, formulas
from vaultd.core.bucket import Bucket, Kind
from vaultd.core.emotion import Emotion
from vaultd.scoring.decay import decay_score
from vaultd.settings import Settings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TOP_KEYS = {"filters", "formulas", "properties", "views"}  # of the published schema, as far as we use it
VIEW_KEYS = {"type", "name", "filters", "order", "sort", "groupBy"}


class Number(float):
    """A number with the functions that formulas call on numbers."""

    def floor(self) -> "Number":
        return Number(self // 1)

    def round(self, digits: int = 0) -> "Number":
        return Number(round(float(self), digits))


def evaluated(name: str, note: dict[str, object]) -> float:
    """The value of a formula for a note; `last` is given, since only Obsidian knows its dates."""
    table = formulas(Settings())

    class Formulas:
        def __getattr__(self, other: str) -> object:
            return Number(note["last_ms"]) if other == "last" else evaluated(other, note)

    names = {
        "if_": lambda condition, yes, no=None: yes if condition else no,
        "number": lambda value: Number(value),
        "now": lambda: NOW.timestamp() * 1000,
        "max": max,
        "formula": Formulas(),
        **dict.fromkeys(("arousal", "resolved", "digested", "pinned", "protected", "importance", "activation_count")),
        **note,
    }
    code = re.sub(r"\bif\(", "if_(", table[name]).replace("||", " or ").replace("&&", " and ")
    if name == "settled":  # both branches are evaluated here, and nothing is not greater than a number
        names["arousal"] = names["arousal"] or 0
    value = eval(code, {"__builtins__": {}}, names)
    return Number(value)


@pytest.mark.parametrize("days", [0, 0.5, 2, 4, 20, 60, 120])
@pytest.mark.parametrize(("count", "arousal", "resolved"), [(0, 0.3, False), (3, 0.9, False), (25, 0.0, True)])
def test_heat_is_the_decay_score_within_a_few_parts_of_a_hundred(days, count, arousal, resolved):
    last = NOW - timedelta(days=days)
    bucket = Bucket(
        id="0123456789ab",
        path="dynamic/x.md",
        name="",
        kind=Kind.DYNAMIC,
        domain=(),
        tags=(),
        emotion=Emotion(0.5, arousal),
        importance=6,
        activation_count=count,
        resolved=resolved,
        created=last,
        last_active=last,
    )
    note = {"arousal": arousal, "resolved": resolved, "importance": 6, "activation_count": count}

    heat = evaluated("heat", {**note, "last_ms": last.timestamp() * 1000})

    assert heat == pytest.approx(decay_score(bucket, NOW, Settings().decay.weights), rel=0.08, abs=0.01)


def test_a_note_without_properties_has_a_heat_too():
    assert evaluated("heat", {"last_ms": NOW.timestamp() * 1000}) > 5


def test_pinned_memories_stand_above_all():
    assert evaluated("heat", {"last_ms": 0.0, "pinned": True}) == 999


def test_the_file_keeps_to_the_published_schema():
    base = yaml.safe_load(base_text(Settings()))

    assert set(base) <= TOP_KEYS
    assert all(isinstance(text, str) for text in base["formulas"].values())
    for view in base["views"]:
        assert set(view) <= VIEW_KEYS, view["name"]
        for column in view["order"]:
            if column.startswith("formula."):
                assert column.removeprefix("formula.") in base["formulas"]
    assert len({view["name"] for view in base["views"]}) == len(base["views"])


def test_a_subfolder_of_memories_and_english_are_respected():
    settings = Settings()
    settings = dataclasses.replace(
        settings, language="en", memory=dataclasses.replace(settings.memory, root="AI/Memories")
    )
    base = yaml.safe_load(base_text(settings))

    assert 'file.inFolder("AI/Memories/dynamic")' in base["filters"]["or"]
    assert [view["name"] for view in base["views"]][:3] == ["All", "Fading", "Unresolved"]
