import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultd.config import load
from vaultd.config.example import example
from vaultd.config.saving import edited, save
from vaultd.core.errors import SettingsError
from vaultd.settings import KEYS, Settings, Shape, Value, with_values

PERSONS = """\
# my settings
language: en            # the answers
dehydration:            # the old name
    model: "m1"   # quoted
    temperature: 0.1


matching: {topic: best, max_results: 7}   # short form
vault:
  exclude:
  # what I keep to myself
  - Private/**
  - "*.draft.md"   # drafts
  path: &home /notes
journal:
# the end
"""


def change(changes: dict[str, Value], text: str = PERSONS) -> str:
    return edited(text, changes, Path("config.yaml"))


def differing_lines(before: str, after: str) -> list[tuple[str, str]]:
    old, new = before.splitlines(), after.splitlines()
    return [(line, changed) for line, changed in zip(old, new, strict=True) if line != changed]


def test_only_the_changed_line_differs_and_its_comment_stays():
    after = change({"language": "zh"})

    assert differing_lines(PERSONS, after) == [
        ("language: en            # the answers", "language: zh            # the answers")
    ]


def test_setting_is_changed_where_the_person_wrote_it_under_its_old_name():
    after = change({"llm.model": "m 2: new"})

    assert differing_lines(PERSONS, after) == [('    model: "m1"   # quoted', '    model: "m 2: new"   # quoted')]


def test_short_form_keeps_its_form():
    after = change({"matching.topic": "fuzzy", "matching.fuzzy_threshold": 60.0})

    assert "matching: {topic: fuzzy, max_results: 7, fuzzy_threshold: 60}   # short form" in after


def test_list_by_lines_stays_one():
    after = change({"vault.exclude": ("A/**", "b: c", "# d")})

    assert '  # what I keep to myself\n  - "A/**"\n  - "b: c"\n  - "# d"   # drafts\n  path' in after


def test_list_by_lines_can_become_empty():
    for indent in ("", "  ", "      "):
        text = f"vault:\n  exclude:\n  {indent}- a\n  {indent}- b\n"
        assert load_text(change({"vault.exclude": ()}, text)).vault.exclude == ()
    assert load_text(change({"vault.exclude": ()}, "wikilink:\n  exclude_keywords: [a]\n")).vault.exclude == ()


def test_new_key_joins_its_section_behind_the_last_line_and_before_the_blank_ones():
    after = change({"vault.delete": "permanent"})

    assert "  path: &home /notes\n  delete: permanent\njournal:" in after


def test_new_key_fills_an_empty_section():
    assert "journal:\n  project_every: 30min\n# the end\n" in change({"journal.project_every": 1800.0})


def test_new_section_comes_last():
    assert change({"decay.emotion_weights.base": 1.5}).endswith(
        "# the end\ndecay:\n  emotion_weights:\n    base: 1.5\n"
    )


def test_key_gets_the_indent_of_its_neighbours():
    text = "decay:\n      lambda: 0.1\n      emotion_weights:\n         base: 1\n"

    after = change({"decay.threshold": 0.4, "decay.emotion_weights.arousal_boost": 0.9}, text)

    assert after == (
        "decay:\n      lambda: 0.1\n      emotion_weights:\n         base: 1\n"
        "         arousal_boost: 0.9\n      threshold: 0.4\n"
    )


def test_newlines_and_a_missing_last_newline_are_respected():
    assert change({"server.port": 9.0}, "language: en\r\n") == "language: en\r\nserver:\r\n  port: 9\r\n"
    assert change({"timezone": "UTC"}, "language: en") == "language: en\ntimezone: UTC\n"


def test_switching_embeddings_on_turns_the_old_switch_as_well():
    text = "embedding:\n  enabled: false # off\n"

    after = change({"embedding.provider": "local"}, text)

    assert after == "embedding:\n  enabled: true # off\n  provider: local\n"
    assert load_text(after).embedding.provider == "local"


def test_value_behind_an_alias_is_left_to_the_person():
    text = "timezone: &a UTC\nmemory:\n  root: *a\n"

    with pytest.raises(SettingsError, match="YAML alias"):
        change({"memory.root": "x"}, text)
    with pytest.raises(SettingsError, match="cannot be changed safely"):
        change({"timezone": "Asia/Shanghai"}, text)


def test_secret_is_never_written(tmp_path):
    path = tmp_path / "config.yaml"

    with pytest.raises(SettingsError, match=r"llm\.api_key: a secret is not kept .* set VAULTD_API_KEY instead"):
        save(path, {"llm.api_key": "k"})
    assert not path.exists()


def test_new_file_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "deep" / "config.yaml"

    save(path, {"language": "en"})

    assert path.read_text() == "language: en\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_existing_file_keeps_mode_and_link(tmp_path):
    real = tmp_path / "dotfiles.yaml"
    real.write_text("language: zh\n")
    real.chmod(0o644)
    link = tmp_path / "config.yaml"
    link.symlink_to(real)

    save(link, {"language": "en"})

    assert link.is_symlink()
    assert real.read_text() == "language: en\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert sorted(item.name for item in tmp_path.iterdir()) == ["config.yaml", "dotfiles.yaml"]


def test_same_value_leaves_the_file_alone(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(PERSONS)
    before = path.stat()

    save(path, {"language": "en"})

    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def load_text(text: str) -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_bytes(text.encode())
        return load(path, {})


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
OPEN_KEYS = sorted(
    name
    for name, key in KEYS.items()
    if not key.secret and key.shape not in (Shape.FOLDER, Shape.URL) and name not in ("timezone", "index.uri")
)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name in draw(st.lists(st.sampled_from(OPEN_KEYS), min_size=1, max_size=4, unique=True)):
        key = KEYS[name]
        low, high = key.low or 0.0, key.high if key.high is not None else 1e6
        found[name] = draw(
            {
                Shape.SWITCH: st.booleans(),
                Shape.WHOLE: st.integers(int(low), int(high)),
                Shape.NUMBER: st.integers(int(low * 100), int(high * 100)).map(lambda number: number / 100),
                Shape.LIST: st.lists(WORDS.filter(lambda word: "," not in word), max_size=3).map(tuple),
                Shape.DURATION: st.one_of(st.none(), st.integers(0, 366 * 86400).map(float)),
                Shape.TEXT: st.just("127.0.0.1") if name == "server.host" else st.sampled_from(["a", "b c", "中文"]),
                Shape.CHOICE: st.sampled_from(key.choices or ("",)),
            }[key.shape]
        )
    if found.get("embedding.provider") == "openai":
        del found["embedding.provider"]
    return found


@settings(deadline=None, max_examples=60)
@given(changes(), st.sampled_from(["", PERSONS, example(), example().replace("\n", "\r\n")]))
def test_whatever_is_changed_is_read_back_and_every_comment_survives(wanted, text):
    after = change(wanted, text)

    expected = with_values(load_text(text), wanted)
    assert load_text(after) == expected
    assert all(after.count(comment) == text.count(comment) for comment in comments_of(text))


def comments_of(text: str) -> list[str]:
    return [line[line.index("# ") :] for line in text.splitlines() if "# " in line]
