"""Which path is a note, its role, and where our own notes live."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.core.bucket import Kind, Role
from vaultd.core.errors import OutsideVault, SettingsError
from vaultd.vault.layout import Layout

ID = "a1b2c3d4e5f6"


@pytest.mark.parametrize(
    ("path", "role", "kind"),
    [
        ("permanent/a.md", Role.BUCKET, Kind.PERMANENT),
        ("dynamic/工作/a.md", Role.BUCKET, Kind.DYNAMIC),
        ("feel/a.md", Role.BUCKET, Kind.FEEL),
        ("archive/x/y/a.md", Role.BUCKET, Kind.ARCHIVED),
        ("cards/a.md", Role.CARD, None),
        ("inbox/a.md", Role.WAITING, None),
        ("conversations/2026-05/a.md", Role.CONVERSATION, None),
        ("a.md", Role.OWN, None),
        ("dynamic.md", Role.OWN, None),
        ("journal/dynamic/a.md", Role.OWN, None),
    ],
)
def test_folder_gives_role_and_kind(tmp_path, path, role, kind):
    layout = Layout(tmp_path)

    assert (layout.role_of(path), layout.folder_kind(path)) == (role, kind)


def test_memory_root_moves_our_folders_below_it(tmp_path):
    layout = Layout(tmp_path, memory_root="buckets/")

    assert layout.role_of("buckets/dynamic/a.md") is Role.BUCKET
    assert layout.role_of("dynamic/a.md") is Role.OWN
    assert layout.state_dir == tmp_path / "buckets" / ".vaultd"
    assert layout.card_path("20260517-001", "rivers") == "buckets/cards/20260517-001 rivers.md"


@pytest.mark.parametrize("memory_root", ["../x", "a/../../x", ".hidden", "a/.b"])
def test_memory_root_stays_inside_and_visible(tmp_path, memory_root):
    with pytest.raises(SettingsError, match=r"memory\.root"):
        Layout(tmp_path, memory_root=memory_root)


@pytest.mark.parametrize(
    ("path", "is_note"),
    [
        ("a.md", True),
        ("A.MD", True),
        ("x/~ideas.md", True),
        (".trash/a.md", False),
        (".obsidian/a.md", False),
        ("x/.hidden/a.md", False),
        ("x/.a.md", False),
        ("a.txt", False),
        ("a.md.tmp", False),
        ("a.md~", False),
        ("4913", False),
        ("~$a.md", False),
        ("a.sync-conflict-20260131-093000-ABCD123.md", False),
        ("a (Conflicted copy phone 202601311205).md", False),
    ],
)
def test_is_note_by_name(tmp_path, path, is_note):
    assert Layout(tmp_path).is_note(path) is is_note


def test_settings_leave_out_files_and_folders(tmp_path):
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["Attic/"]}))
    layout = Layout(tmp_path, exclude=["*.draft.md", "/logs/"])

    assert [layout.is_note(path) for path in ("Attic/a.md", "x/a.draft.md", "logs/a.md", "x/logs/a.md")] == [
        False,
        False,
        False,
        True,
    ]


def test_refresh_sees_changed_settings_of_obsidian(tmp_path):
    layout = Layout(tmp_path)
    assert layout.is_note("Attic/a.md")
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["Attic/"]}))

    assert layout.refresh()
    assert not layout.is_note("Attic/a.md")
    assert not layout.refresh()


def test_excluding_our_own_folder_is_named_as_a_problem(tmp_path):
    layout = Layout(tmp_path, exclude=["archive/"])

    assert "archive/ is among" in layout.problems[0]


@pytest.mark.parametrize("path", ["", "../a.md", "a/../../b.md", "/etc/passwd", "a//b.md", "./a.md", "a\0.md"])
def test_a_path_that_leaves_the_vault_is_refused(tmp_path, path):
    with pytest.raises(OutsideVault):
        Layout(tmp_path).absolute(path)


def test_a_link_that_leaves_the_vault_is_refused(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "vault" / "way out").symlink_to(tmp_path / "outside")
    layout = Layout(tmp_path / "vault")

    with pytest.raises(OutsideVault, match="leads out of the vault"):
        layout.absolute("way out/a.md")


def test_relative_is_the_other_way_round(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    layout = Layout(tmp_path / "alias")

    assert layout.relative(layout.absolute("x/a.md")) == "x/a.md"
    assert layout.relative(tmp_path / "alias" / "x" / "a.md") == "x/a.md"
    with pytest.raises(OutsideVault):
        layout.relative(tmp_path / "other" / "a.md")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (Kind.DYNAMIC, f"dynamic/工作/offer 获得_{ID}.md"),
        (Kind.ARCHIVED, f"archive/工作/offer 获得_{ID}.md"),
        (Kind.PERMANENT, f"permanent/offer 获得_{ID}.md"),
        (Kind.FEEL, f"feel/offer 获得_{ID}.md"),
    ],
)
def test_bucket_path(tmp_path, kind, path):
    layout = Layout(tmp_path)

    assert layout.bucket_path(kind=kind, domain="工作", name="offer: 获得", note_id=ID) == path


def test_bucket_without_domain_lies_in_the_unsorted_folder(tmp_path):
    path = Layout(tmp_path).bucket_path(kind=Kind.DYNAMIC, domain="", name="x", note_id=ID)

    assert path == f"dynamic/未分类/x_{ID}.md"


def test_conversation_and_waiting_paths(tmp_path):
    layout = Layout(tmp_path)

    assert layout.conversation_path("c-1", datetime(2026, 5, 17, tzinfo=UTC)) == "conversations/2026-05/c-1.md"
    assert layout.waiting_path("20260517 a long diary") == "inbox/20260517 a long diary.md"


@given(st.sampled_from(Kind), st.text(max_size=150), st.text(max_size=150))
def test_every_bucket_path_is_a_note_of_its_kind_and_short_enough(tmp_path_factory, kind, domain, name):
    layout = Layout(tmp_path_factory.getbasetemp())

    path = layout.bucket_path(kind=kind, domain=domain, name=name, note_id=ID)

    assert layout.is_note(path)
    assert layout.folder_kind(path) is kind
    assert layout.absolute(path).is_relative_to(layout.root)
    assert all(len(part.encode()) <= 120 for part in path.split("/"))
    assert path.endswith(f"_{ID}.md")


@given(st.text(max_size=150))
def test_every_card_path_is_a_note(tmp_path_factory, topic):
    layout = Layout(tmp_path_factory.getbasetemp())

    path = layout.card_path("20260517-001", topic)

    assert layout.is_note(path)
    assert layout.role_of(path) is Role.CARD
    assert len(path.split("/")[-1].encode()) <= 120


def test_a_topic_that_reads_like_a_conflict_copy_still_is_a_note(tmp_path):
    layout = Layout(tmp_path)

    path = layout.card_path("20260517-001", "files (conflicted copy)")

    assert path == "cards/20260517-001 files (conflicted copy)_.md"
    assert layout.is_note(path)


def test_free_path_steps_aside_for_every_spelling_of_a_name(tmp_path):
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "Cafe\u0301.md").touch()
    layout = Layout(tmp_path)

    assert layout.free_path("archive/café.md") == "archive/café-2.md"
    assert layout.free_path("archive/tea.md") == "archive/tea.md"
    assert layout.free_path("nowhere/café.md") == "nowhere/café.md"
