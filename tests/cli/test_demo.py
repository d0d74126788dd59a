from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from vaultd.cli.demo import SAMPLE_TODAY, prepare, shifted
from vaultd.core.errors import BadInput

SAMPLE = Path(str(files("vaultd").joinpath("data", "sample_vault")))
NOTE = """\
---
id: "20261128-001"
created: 2026-11-28T20:15:00+08:00
last_active: "2026-11-29"
dates:
  - 2026-02-28
  - 2026-99-99
name: on 2026-11-28 we met
version: 2026-11-281
---
It was 2026-11-28.
created: 2026-11-28
"""


def test_dates_in_the_frontmatter_move_by_whole_days_and_nothing_else_does():
    moved = shifted(NOTE, 2)

    assert moved == (
        NOTE.replace("created: 2026-11-28T20:15:00+08:00", "created: 2026-11-30T20:15:00+08:00")
        .replace('"2026-11-29"', '"2026-12-01"')
        .replace("- 2026-02-28", "- 2026-03-02")
    )


def test_note_without_frontmatter_stays():
    assert shifted("created: 2026-11-28\n", 1) == "created: 2026-11-28\n"


def test_on_its_own_day_the_sample_is_copied_byte_by_byte(tmp_path):
    prepare(tmp_path / "demo", today=SAMPLE_TODAY)

    vault = tmp_path / "demo" / "vault"
    copied = {path.relative_to(vault): path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    assert copied == {path.relative_to(SAMPLE): path.read_bytes() for path in SAMPLE.rglob("*") if path.is_file()}
    assert len(copied) >= 60


def test_a_year_later_every_dated_note_is_a_year_younger(tmp_path):
    prepare(tmp_path / "demo", today=date(2027, 11, 30))

    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "demo" / "vault").rglob("*.md")]
    created = [line for text in texts for line in text.splitlines() if line.startswith("created: ")]
    assert len(created) > 50
    assert min(created) > "created: 2026-11"
    assert max(created) < "created: 2027-12"


def test_second_time_the_folder_is_kept_as_it_is(tmp_path):
    folder = tmp_path / "demo"
    prepare(folder, today=SAMPLE_TODAY)
    (folder / "vault" / "mine.md").write_text("mine")
    (folder / "config.yaml").write_text("language: en\n")

    prepare(folder, today=date(2027, 1, 1))

    assert (folder / "vault" / "mine.md").read_text() == "mine"
    assert (folder / "config.yaml").read_text() == "language: en\n"


def test_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.md").write_text("mine")

    with pytest.raises(BadInput, match="holds other things"):
        prepare(tmp_path, today=SAMPLE_TODAY)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.md"]


def test_demonstration_has_settings_of_its_own(run, home):
    result = run("demo", "--copy-only")

    assert result.exit_code == 0
    config = home / "vaultd-demo" / "config.yaml"
    assert f"vaultd serve --config {config}" in result.stdout
    assert run("config", "get", "--config", str(config), "vault.path").stdout == f"{config.parent / 'vault'}\n"
    assert run("config", "get", "--config", str(config), "state_dir").stdout == f"{config.parent / 'state'}\n"
