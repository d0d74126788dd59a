import dataclasses
from pathlib import Path

import pytest

from vaultd.config.values import as_text, parse
from vaultd.settings import KEYS, SECTIONS, Settings, Shape, value_of, with_values

NUMBERS = (Shape.NUMBER, Shape.WHOLE, Shape.DURATION)


@pytest.mark.parametrize("name", KEYS)
def test_default_is_itself_allowed_and_survives_being_written_and_read(name):
    key = KEYS[name]

    assert value_of(Settings(), key) == key.default
    assert parse(key, as_text(key, key.default), folder=Path.cwd()) == key.default


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key.shape in NUMBERS and not key.optional])
def test_every_number_has_bounds_that_are_kept(name):
    key = KEYS[name]

    assert key.low is not None
    assert key.high is not None
    assert key.low <= float(str(key.default)) <= key.high


def test_every_setting_says_what_it_is_and_what_is_allowed():
    assert all(len(key.about) > 5 and key.allowed for key in KEYS.values())
    assert all(section.about.endswith(".") for section in SECTIONS)


def test_changing_one_value_leaves_the_others():
    changed = with_values(Settings(), {"decay.emotion_weights.base": 2.0, "language": "en"})

    assert changed.decay.emotion_weights.base == 2.0
    assert changed.language == "en"
    back = with_values(changed, {"decay.emotion_weights.base": 1.0, "language": "zh"})
    assert back == Settings()


def test_settings_are_frozen_and_comparable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().server.port = 1  # type: ignore[misc]
    assert hash(Settings()) == hash(Settings())


def test_unknown_key_is_an_error():
    with pytest.raises(KeyError):
        with_values(Settings(), {"nonsense": 1})
