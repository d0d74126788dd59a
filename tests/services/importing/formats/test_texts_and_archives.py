"""Markdown, plain text, Ombre buckets, and what comes in a ZIP."""

from __future__ import annotations

import io
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.services.importing.helpers import BUCKET, PRIVATE_BUCKET, SAMPLES, a_zip, read_all, said, sample
from vaultd.core.errors import BadInput
from vaultd.services.importing.formats import archive
from vaultd.services.importing.packing import pack_folder
from vaultd.services.importing.turns import Format, LeftOut


def test_markdown_chat_is_read_by_its_labels_outside_listings(tmp_path: Path):
    found = read_all(tmp_path, sample("chat.md"), "2024-01-01 notes.md")

    chat = found.conversations[0]
    assert found.format is Format.MARKDOWN
    assert chat.title == "Bread that rises"
    assert chat.started == datetime(2025, 8, 14, tzinfo=UTC)
    assert [turn.role.value for turn in chat.turns] == ["user", "user", "assistant", "user"]
    assert "is no label" in chat.turns[1].text
    assert said(chat)[2:] == [
        ("assistant", "Too cold, most likely. Let it stand for two hours."),
        ("user", "**It worked!**"),
    ]
    assert chat.turns[1].when == datetime(2025, 8, 14, 18, 20, tzinfo=UTC)
    assert found.findings.left_out[LeftOut.SYSTEM] == 1
    assert found.findings.left_out[LeftOut.PRIVATE] == 1


def test_markdown_without_labels_is_one_turn_dated_by_its_name(tmp_path: Path):
    found = read_all(tmp_path, sample("diary.md"), "2025-03-09 river.md")

    assert said(found.conversations[0]) == [("user", sample("diary.md").decode().strip())]
    assert found.conversations[0].title == "2025-03-09 river"
    assert found.conversations[0].started == datetime(2025, 3, 9, tzinfo=UTC)


def test_plain_text_in_gb18030_is_read(tmp_path: Path):
    found = read_all(tmp_path, sample("gb18030.txt"), "gb18030.txt")

    assert said(found.conversations[0]) == [("user", "今天好累"), ("assistant", "早点睡"), ("user", "好")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_plain_text_in_other_encodings_is_read(tmp_path: Path, encoding: str):
    found = read_all(tmp_path, "Le café était fermé.".encode(encoding), "a.txt")

    assert said(found.conversations[0]) == [("user", "Le café était fermé.")]


def test_a_private_part_over_the_cut_of_a_long_text_is_not_kept(tmp_path: Path):
    lines = ["some words that fill a line " * 4] * 12_000
    lines[9_000] += " <private>"
    lines[9_600] += " </private>"
    lines[9_300] = "the secret"

    found = read_all(tmp_path, "\n".join(lines).encode(), "long.txt")

    texts = [text for _, text in said(found.conversations[0])]
    assert len(texts) > 1
    assert not any("the secret" in text for text in texts)
    assert sum(text.count("some words") for text in texts) == 4 * (12_000 - 600)


def test_a_private_part_over_several_turns_of_a_text_is_not_kept(tmp_path: Path):
    text = "User: one <private>two\nAssistant: three\nSystem: four\nUser: five</private> six\nAssistant: seven"

    found = read_all(tmp_path, text.encode(), "chat.txt")

    assert said(found.conversations[0]) == [("user", "one"), ("user", "six"), ("assistant", "seven")]


def test_ombre_buckets_are_kept_byte_for_byte_with_properties_of_later_versions(tmp_path: Path):
    raw = BUCKET.encode()
    upload = a_zip({"buckets/dynamic/日常/搬家_76237984fa5d.md": raw, "buckets/.obsidian/app.json": "{}"})

    found = read_all(tmp_path, upload, "buckets.zip")

    assert found.format is Format.OMBRE
    assert found.notes[0].raw == raw
    assert found.notes[0].path == "dynamic/日常/搬家_76237984fa5d.md"
    assert found.notes[0].created == datetime.fromisoformat("2026-04-17T10:00:00+08:00")


def test_ombre_buckets_lose_private_parts_and_nothing_else(tmp_path: Path):
    found = read_all(tmp_path, PRIVATE_BUCKET.encode(), "bucket.md")

    assert found.notes[0].raw == BUCKET.encode()


def test_ombre_notes_that_carry_no_memory_are_named(tmp_path: Path):
    upload = a_zip({"feel/a.md": BUCKET, "feel/plain.md": "only text"})

    found = read_all(tmp_path, upload, "buckets.zip")

    assert len(found.notes) == 1
    assert found.findings.left_out[LeftOut.NOT_A_NOTE] == 1
    assert "plain.md" in found.findings.warnings[0]


def test_zip_exports_are_found_in_subfolders_without_junk(tmp_path: Path):
    upload = a_zip(
        {
            "data-2026/conversations.json": sample("claude.json"),
            "data-2026/users.json": "[]",
            "data-2026/projects.json": '[{"uuid": "p", "docs": []}]',
            "__MACOSX/data-2026/._conversations.json": "junk",
        }
    )

    found = read_all(tmp_path, upload, "data.zip")

    assert found.format is Format.CLAUDE
    assert len(found.conversations) == 2


def test_plain_texts_beside_markdown_are_read_too(tmp_path: Path):
    upload = a_zip({"notes/a.md": "# Tea\n\ngreen", "notes/b.txt": "Tomatoes on the balcony.", "notes/c.json": "{}"})

    found = read_all(tmp_path, upload, "notes")

    assert found.format is Format.MARKDOWN
    assert [one.title for one in found.conversations] == ["Tea", "b"]


def test_numbered_conversation_files_are_one_export(tmp_path: Path):
    first, second = b'[{"title":"A","current_node":"a","mapping":{"a":%s}}]', b'[{"title":"B","mapping":{"a":%s}}]'
    node = b'{"parent":null,"message":{"author":{"role":"user"},"create_time":5,"content":{"parts":["hi"]}}}'
    upload = a_zip({"conversations-000.json": first % node, "conversations-001.json": second % node, "chat.html": "x"})

    found = read_all(tmp_path, upload, "export.zip")

    assert [talk.title for talk in found.conversations] == ["A", "B"]


def test_a_zip_in_a_zip_is_refused_with_what_to_do(tmp_path: Path):
    upload = a_zip({"inner/conversations-000.zip": a_zip({"conversations.json": sample("claude.json")})})

    with pytest.raises(BadInput, match=r"holds another ZIP \(inner/conversations-000.zip\); unpack it once"):
        read_all(tmp_path, upload, "outer.zip")


def test_a_zip_that_would_unpack_to_hundreds_of_times_its_size_is_refused(tmp_path: Path):
    upload = a_zip({"conversations.json": b"[" + b" " * (40 << 20) + b"]"})

    with pytest.raises(BadInput, match=r"conversations.json would unpack to 250 times its size"):
        read_all(tmp_path, upload, "bomb.zip")


def test_a_zip_that_claims_more_than_anybody_exports_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "MOST_UNPACKED_BYTES", 1 << 20)
    upload = a_zip({"a.json": b"x" * (2 << 20)})

    with pytest.raises(BadInput, match="would unpack to"):
        read_all(tmp_path, upload, "big.zip")


def test_a_truncated_zip_says_to_download_it_again(tmp_path: Path):
    upload = a_zip({"conversations.json": sample("claude.json")})[:-30]

    with pytest.raises(BadInput, match=r"the ZIP is broken .* download it again"):
        read_all(tmp_path, upload, "export.zip")


def test_a_damaged_file_in_a_zip_is_named(tmp_path: Path):
    upload = bytearray(a_zip({"conversations.json": sample("claude.json")}))
    upload[200:260] = bytes(60)

    with pytest.raises(BadInput, match=r"conversations\.json in the ZIP is broken"):
        read_all(tmp_path, bytes(upload), "export.zip")


def test_a_zip_with_a_password_says_so(tmp_path: Path):
    upload = bytearray(a_zip({"conversations.json": sample("claude.json")}))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = upload.index(magic) + place
        upload[at : at + 2] = struct.pack("<H", struct.unpack("<H", upload[at : at + 2])[0] | 1)

    with pytest.raises(BadInput, match="has a password"):
        read_all(tmp_path, bytes(upload), "export.zip")


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8"])
def test_names_in_a_zip_that_are_not_marked_as_utf8_are_readable(tmp_path: Path, encoding: str):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        info = zipfile.ZipInfo("placeholder")
        packed.writestr(info, "今天很好")
    name = "旅行/大理.md".encode(encoding)
    raw = out.getvalue().replace(b"placeholder", name[:11].ljust(11, b"_")) if len(name) <= 11 else _named(name)

    found = read_all(tmp_path, raw, "notes.zip")

    assert found.conversations[0].title == "大理"


def test_a_folder_becomes_an_upload_of_its_notes(tmp_path: Path):
    folder = tmp_path / "notes"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "trip").mkdir()
    (folder / ".obsidian" / "hidden.md").write_text("settings", "utf-8")
    (folder / "trip" / "day.md").write_text("# A day\n\nWe walked.", "utf-8")
    (folder / "trip" / "photo.png").write_bytes(b"\x89PNG")
    (folder / "elsewhere.md").symlink_to(SAMPLES / "diary.md")

    pack_folder(folder, tmp_path / "upload", 1 << 20)

    (tmp_path / "read").mkdir()
    found = read_all(tmp_path / "read", (tmp_path / "upload").read_bytes(), "notes")
    assert [talk.title for talk in found.conversations] == ["A day"]


def _named(name: bytes) -> bytes:
    """A ZIP whose one file has a name of other bytes than ASCII, without the mark for UTF-8."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("x" * len(name), "今天很好")
    return out.getvalue().replace(b"x" * len(name), name)


def test_what_is_called_a_zip_and_is_none_is_not_taken_for_text(tmp_path):
    with pytest.raises(BadInput, match=r"export\.zip: is called a ZIP and is none; download it again"):
        read_all(tmp_path, b"<html>Sign in to download</html>", "export.zip")
