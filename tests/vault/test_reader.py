"""What lies in the vault: every note once, nothing outside, everything skipped named."""

from __future__ import annotations

import os
import time
import unicodedata

import pytest

from vaultd.core.errors import OutsideVault, VaultUnavailable
from vaultd.vault.layout import Layout
from vaultd.vault.reader import MAX_NOTE_BYTES, VaultReader


def a_vault(root, *paths):
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"text of {path}\n", encoding="utf-8")
    return VaultReader(Layout(root))


def reasons(scan):
    return {skipped.path: skipped.reason for skipped in scan.skipped}


def test_scan_finds_notes_at_every_depth_and_nothing_else(tmp_path):
    reader = a_vault(
        tmp_path,
        "a.md",
        "x/y/b.MD",
        ".obsidian/app.md",
        ".trash/c.md",
        "x/.hidden.md",
        "x/picture.png",
        "x/Test.tmp",
        "x/.Test.md.swp",
        "x/4913",
        "x/Test.md~",
    )

    scan = reader.scan()

    assert set(scan.stamps) == {"a.md", "x/y/b.MD"}
    assert scan.skipped == ()
    assert scan.directories == 3  # the root, x, x/y


def test_stamp_of_a_scan_is_the_stamp_of_a_read(tmp_path):
    reader = a_vault(tmp_path, "a.md")

    stamp = reader.scan().stamps["a.md"]

    assert reader.read("a.md").stamp == stamp == reader.stamp("a.md")


def test_missing_root_is_no_empty_vault(tmp_path):
    reader = VaultReader(Layout(tmp_path / "unmounted"))

    with pytest.raises(VaultUnavailable, match="is its disk there"):
        reader.scan()


def test_links_are_reported_once_and_nothing_outside_is_read(tmp_path):
    reader = a_vault(tmp_path / "vault", "a.md", "real/b.md")
    a_vault(tmp_path / "outside", *(f"secret {number}.md" for number in range(10)))
    vault = tmp_path / "vault"
    (vault / "self").symlink_to("self")
    (vault / "up").symlink_to("..")
    (vault / "whole").symlink_to(".")
    (vault / "out").symlink_to(tmp_path / "outside")
    (vault / "dangling.md").symlink_to("nowhere.md")
    (vault / "alias.md").symlink_to("a.md")
    (vault / "out.md").symlink_to(tmp_path / "outside" / "secret 1.md")
    (vault / "picture").symlink_to(tmp_path / "outside" / "missing.png")

    started = time.process_time()
    scan = reader.scan()

    assert time.process_time() - started < 1
    assert set(scan.stamps) == {"a.md", "real/b.md"}
    assert reasons(scan) == {
        "self": "a link that leads to itself",
        "up": "a link that leads out of the vault: not read",
        "whole": "a link inside the vault: read where it leads",
        "out": "a link that leads out of the vault: not read",
        "dangling.md": "a link that leads nowhere",
        "alias.md": "a link inside the vault: read where it leads",
        "out.md": "a link that leads out of the vault: not read",
        "picture": "a link that leads nowhere",
    }
    assert len(scan.skipped) == 8


def test_a_link_out_of_the_vault_is_not_read_by_its_path_either(tmp_path):
    reader = a_vault(tmp_path / "vault", "a.md")
    a_vault(tmp_path / "outside", "secret.md")
    (tmp_path / "vault" / "out.md").symlink_to(tmp_path / "outside" / "secret.md")

    assert reader.read("out.md") is None
    assert reader.stamp("out.md") is None
    with pytest.raises(OutsideVault):
        reader.read_bytes("out.md")


def test_vault_that_is_itself_behind_a_link_is_read(tmp_path):
    a_vault(tmp_path / "real", "a.md")
    (tmp_path / "alias").symlink_to("real")

    assert set(VaultReader(Layout(tmp_path / "alias")).scan().stamps) == {"a.md"}


def test_conflict_copies_are_skipped_and_name_their_original(tmp_path):
    reader = a_vault(tmp_path, "x/a.md", "x/a.sync-conflict-20260131-093000-ABCD123.md")

    scan = reader.scan()

    assert set(scan.stamps) == {"x/a.md"}
    assert [skipped.reason for skipped in scan.skipped] == ["a sync tool's conflict copy of x/a.md"]


def test_evicted_note_is_still_there(tmp_path):
    reader = a_vault(tmp_path, "x/a.md")
    (tmp_path / "x" / "a.md").rename(tmp_path / "x" / ".a.md.icloud")

    scan = reader.scan()

    assert scan.hides("x/a.md")
    assert not scan.hides("x/b.md")
    assert scan.stamps == {}


def test_evicted_picture_is_nobodys_business(tmp_path):
    reader = a_vault(tmp_path, "a.md")
    (tmp_path / ".a.png.icloud").touch()

    assert reader.scan().skipped == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every folder")
def test_notes_in_a_folder_that_may_not_be_read_are_still_there(tmp_path):
    reader = a_vault(tmp_path, "a.md", "locked/b.md")
    (tmp_path / "locked").chmod(0o000)

    scan = reader.scan()
    (tmp_path / "locked").chmod(0o700)

    assert scan.hides("locked/b.md")
    assert set(scan.stamps) == {"a.md"}


def test_nfc_and_nfd_spelling_of_one_name_are_one_note(tmp_path):
    name = "Iółka.md"
    nfc, nfd = unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)
    reader = a_vault(tmp_path, nfc, nfd)

    scan = reader.scan()

    assert len(scan.stamps) == 1
    assert "spelled with other code points" in scan.skipped[0].reason


def test_name_that_is_not_utf8_is_named_and_skipped(tmp_path):
    reader = a_vault(tmp_path, "a.md")
    with open(os.path.join(os.fsencode(tmp_path), b"latin1-\xff.md"), "wb") as file:  # noqa: PTH118, PTH123 – bytes
        file.write(b"x")

    scan = reader.scan()

    assert set(scan.stamps) == {"a.md"}
    assert reasons(scan) == {"latin1-\\udcff.md": "the file name is not UTF-8"}


def test_huge_note_is_skipped_and_named(tmp_path):
    reader = a_vault(tmp_path, "a.md")
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(MAX_NOTE_BYTES + 1)

    scan = reader.scan()
    note = reader.read("huge.md")

    assert reasons(scan) == {"huge.md": "larger than 10 MiB: skipped"}
    assert note.problem.reason == "larger than 10 MiB: skipped"
    assert note.checksum == ""


def test_note_of_ten_mebibytes_is_read(tmp_path):
    reader = a_vault(tmp_path, "a.md")
    (tmp_path / "large.md").write_bytes(b"a" * MAX_NOTE_BYTES)

    assert "large.md" in reader.scan().stamps
    assert len(reader.read("large.md").body) == MAX_NOTE_BYTES


def test_pipe_and_folder_named_like_a_note_are_no_notes(tmp_path):
    reader = a_vault(tmp_path, "folder.md/inside.md")
    os.mkfifo(tmp_path / "pipe.md")

    scan = reader.scan()

    assert set(scan.stamps) == {"folder.md/inside.md"}
    assert reasons(scan) == {"pipe.md": "not a regular file"}
    assert reader.read("pipe.md") is None
    assert reader.read("folder.md") is None
    assert reader.read_bytes("folder.md") is None


def test_note_that_is_gone_reads_as_none(tmp_path):
    reader = a_vault(tmp_path, "a.md")

    assert reader.read("b.md") is None
    assert reader.read("a.md/b.md") is None
    assert reader.read("x" * 300 + ".md") is None
    assert reader.read_bytes("b.md") is None
    assert reader.stamp("b.md") is None


@pytest.mark.slow
def test_scan_of_ten_thousand_notes_is_quick(tmp_path):
    for folder in range(100):
        (tmp_path / f"folder {folder}").mkdir()
        for number in range(100):
            (tmp_path / f"folder {folder}" / f"笔记 {number}.md").touch()
    reader = VaultReader(Layout(tmp_path))

    seconds = []
    for _ in range(5):
        started = time.process_time()
        scan = reader.scan()
        seconds.append(time.process_time() - started)

    assert len(scan.stamps) == 10_000
    assert min(seconds) < 0.3


@pytest.mark.parametrize(
    "raw",
    [
        b"---\nid: 'a'\n---\nA body.\n",
        b"\xef\xbb\xbf---\r\nid: 'a'\r\n---\r\nOne line.\r\nAnother.\r\n",
        b"No properties at all.\n",
        "---\nname: 茶\n---\n\n早上喝茶。\n".encode(),
    ],
)
def test_the_body_of_a_note_known_to_be_readable_is_the_body_that_a_read_gives(tmp_path, raw):
    (tmp_path / "a.md").write_bytes(raw)
    reader = VaultReader(Layout(tmp_path))
    note = reader.read("a.md")

    assert reader.body("a.md", note.checksum) == reader.body("a.md") == note.body


def test_a_note_edited_since_it_was_known_to_be_readable_is_read_in_full(tmp_path):
    place = tmp_path / "a.md"
    place.write_text("---\nid: 'a'\n---\nA body.\n", encoding="utf-8")
    reader = VaultReader(Layout(tmp_path))
    known = reader.read("a.md").checksum

    place.write_text("---\nid: [\n---\nA body.\n", encoding="utf-8")
    assert reader.body("a.md", known) == reader.read("a.md").body == "---\nid: [\n---\nA body.\n"
    place.unlink()
    assert reader.body("a.md", known) is None
