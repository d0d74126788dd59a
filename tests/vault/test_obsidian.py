"""Obsidian's own ignore settings."""

from __future__ import annotations

import json

from vaultd.vault.obsidian import read_ignores


def settings(root, **files):
    for name, value in files.items():
        place = root / ".obsidian" / {"app": "app.json", "templates": "templates.json"}.get(name, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def test_without_settings_nothing_is_ignored(tmp_path):
    ignores = read_ignores(tmp_path)

    assert ignores.empty
    assert not ignores.ignores("a.md")


def test_plain_entry_is_a_prefix_without_regard_to_case(tmp_path):
    settings(tmp_path, app={"userIgnoreFilters": ["Private/", "README"]})

    ignores = read_ignores(tmp_path)

    assert ignores.ignores("private/a.md")
    assert ignores.ignores("readme first.md")
    assert not ignores.ignores("x/private/a.md")
    assert ignores.ignores_folder("Private")
    assert ignores.ignores_folder("private/deep")


def test_entry_between_slashes_is_a_pattern(tmp_path):
    settings(tmp_path, app={"userIgnoreFilters": [r"/\.draft\.md$/", "/(?<year>20\\d\\d)-private/"]})

    ignores = read_ignores(tmp_path)

    assert ignores.ignores("x/a.DRAFT.md")
    assert ignores.ignores("2026-private.md")
    assert not ignores.ignores("a.md")


def test_template_folders_of_obsidian_and_templater_are_ignored(tmp_path):
    settings(tmp_path, templates={"folder": "Meta/Templates/"})
    templater = tmp_path / ".obsidian" / "plugins" / "templater-obsidian"
    templater.mkdir(parents=True)
    (templater / "data.json").write_text('{"templates_folder": "模板"}', encoding="utf-8")

    ignores = read_ignores(tmp_path)

    assert ignores.ignores("meta/templates/daily.md")
    assert ignores.ignores("模板/日记.md")
    assert not ignores.ignores("Meta/Templates.md")


def test_the_root_as_template_folder_hides_nothing(tmp_path):
    settings(tmp_path, templates={"folder": "/"})

    assert read_ignores(tmp_path).empty


def test_broken_settings_are_named_and_the_others_count(tmp_path):
    settings(tmp_path, app='{"userIgnoreFilters": ["a/", "/(/"', templates={"folder": "T"})

    ignores = read_ignores(tmp_path)

    assert ignores.ignores("T/a.md")
    assert [problem.split(":")[0] for problem in ignores.problems] == [".obsidian/app.json"]


def test_a_pattern_that_is_none_is_named(tmp_path):
    settings(tmp_path, app={"userIgnoreFilters": ["/(/", "ok/"]})

    ignores = read_ignores(tmp_path)

    assert ignores.ignores("ok/a.md")
    assert "no valid pattern" in ignores.problems[0]
