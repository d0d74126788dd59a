from __future__ import annotations

import random
from pathlib import Path

import frontmatter as python_frontmatter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import torture
from vaultd.core.note import FileStamp, Note, NotePath
from vaultd.vault.codec import MAX_NOTE_BYTES, checksum, decode, has_conflict_markers
from vaultd.vault.frontmatter import ObsidianHandler

STAMP = FileStamp(size=0, mtime_ns=0, inode=0)


def read(raw: bytes | str) -> Note:
    return decode(NotePath("x.md"), raw if isinstance(raw, bytes) else raw.encode(), STAMP)


def test_properties_and_body_are_read():
    note = read("---\nid: 1f2e\ntags: [a, 面试]\n---\n\n  body\n")

    assert note.properties == {"id": "1f2e", "tags": ["a", "面试"]}
    assert note.body == "\n  body\n"
    assert note.problem is None


def test_the_checksum_is_of_the_bytes():
    raw = b"---\r\nid: 1\r\n---\r\nx"

    assert read(raw).checksum == checksum(raw) != checksum(raw.replace(b"\r\n", b"\n"))
    assert len(checksum(raw)) == 32


def test_values_are_read_as_obsidian_reads_them():
    note = read("---\ncreated: 2026-08-11\nt: 12:30\nok: yes\nn: 0123\nx:\n---\n")

    assert note.properties == {"created": "2026-08-11", "t": "12:30", "ok": "yes", "n": 123, "x": None}


def test_a_bom_hides_nothing():
    note = read(b"\xef\xbb\xbf---\nid: 1\ntags: [a]\n---\nx")

    assert note.properties["tags"] == ["a"]
    assert note.body == "x"


def test_a_crlf_checkout_reads_as_the_same_body_and_properties():
    text = "---\nid: a\nquote: |\n  two\n  lines\n---\none\n\ntwo\n"
    one, other = read(text), read(text.replace("\n", "\r\n"))

    assert (one.body, one.properties) == (other.body, other.properties)


@pytest.mark.parametrize("opening", ["--- ", "---\t"])
def test_blanks_behind_a_fence_do_not_matter(opening):
    assert read(f"{opening}\nid: a\n{opening}\nx").properties == {"id": "a"}


@pytest.mark.parametrize(
    "text", ["----\nid: a\n----\nx", " ---\nid: a\n---\nx", "\n---\nid: a\n---\nx", "x\n---\nid: a\n---\n"]
)
def test_what_is_not_on_top_is_body(text):
    note = read(text)

    assert note.properties == {}
    assert note.body == text
    assert note.problem is None


def test_a_rule_inside_a_block_scalar_does_not_close_the_block():
    note = read("---\nquote: |\n  ---\n  x\nid: a\n---\nbody")

    assert note.properties == {"quote": "---\nx\n", "id": "a"}


@pytest.mark.parametrize("text", ["---\n---\nx", "---\n\n# only a comment\n---\nx"])
def test_an_empty_block_is_no_problem(text):
    note = read(text)

    assert note.properties == {}
    assert note.body == "x"
    assert note.problem is None


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("---\ntitle: Fix: the thing\nby: @bob\n---\nbody kiwi", 2, "not YAML"),
        ("---\na: 1\nb: 2\na: 3\n---\nkiwi", 4, "'a' stands twice"),
        ("---\na: 1\nkiwi\n", 1, "never closed"),
        ("---\nsome prose\n---\nkiwi", 2, "no properties"),
        ("---\n- a\n---\nkiwi", 2, "no properties"),
        ("---\na: 1\n---\n<<<<<<< HEAD\nkiwi\n=======\nb\n>>>>>>> x\n", 4, "conflict markers"),
        ("---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n---\nkiwi", 2, "conflict markers"),
    ],
)
def test_a_note_that_cannot_be_read_whole_says_line_and_reason_and_keeps_its_text(text, line, reason):
    note = read(text)

    assert note.problem is not None
    assert note.problem.line == line
    assert reason in note.problem.reason
    assert not note.problem.writable
    assert "kiwi" in note.body


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"---\nid: a\n---\ncaf\xff kiwi", "byte 0xFF at offset 17"),
        ("kiwi".encode("utf-16"), "UTF-16"),
        (b"ki\x00wi", "NUL byte stands at offset 2"),
        (b"ki\x00wi"[:2] + b"wi\x00", "NUL byte stands at offset 4"),
    ],
)
def test_bytes_that_are_not_utf8_are_named_with_their_offset(raw, reason):
    note = read(raw)

    assert note.problem is not None
    assert reason in note.problem.reason
    assert not note.problem.writable
    assert "kiwi" in note.body


def test_a_wrong_byte_in_the_body_leaves_the_properties_readable():
    assert read(b"---\nid: a\n---\n\xff").properties == {"id": "a"}


def test_a_picture_gives_no_text():
    note = read(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")

    assert note.problem is not None
    assert note.body == ""


def test_a_note_over_ten_mebibytes_is_named_and_not_read():
    note = read(b"x" * (MAX_NOTE_BYTES + 1))

    assert note.problem is not None
    assert "10,485,761 bytes" in note.problem.reason
    assert note.body == ""


def test_conflict_markers_count_outside_code_fences_only():
    markers = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"

    assert has_conflict_markers(markers)
    assert read("\ufeff" + markers).problem is not None
    assert has_conflict_markers(markers.replace("\n", "\r\n"))
    assert has_conflict_markers(f"```\ncode\n```\n{markers}")
    assert not has_conflict_markers(f"```\n{markers}```\n")
    assert not has_conflict_markers(f"~~~~ text\n~~~\n{markers}~~~~\n")


def test_a_conflict_between_two_fences_counts():
    assert has_conflict_markers("<<<<<<< a\n```python\n=======\n```js\n>>>>>>> b\ncode\n```\n")


@pytest.mark.parametrize(
    "text",
    [
        "Heading\n=======\n",
        "<<<<<<< a\n",
        "> > > > > > >\n",
        "<<<<<<< a\n>>>>>>> b\n",
        ">>>>>>> b\n=======\n<<<<<<< a\n",
    ],
)
def test_a_lone_marker_is_no_conflict(text):
    assert not has_conflict_markers(text)


def test_python_frontmatter_reads_through_our_handler_what_we_read():
    text = "---\nid: a\ntags: [x, 'yes']\nok: yes\n---\nbody"

    post = python_frontmatter.loads(text, handler=ObsidianHandler())

    assert post.metadata == read(text).properties == {"id": "a", "tags": ["x", "yes"], "ok": "yes"}
    assert post.content == "body"


@pytest.mark.parametrize("hazard", [hazard for hazard, _ in torture.hazards(1)], ids=lambda hazard: hazard.why)
def test_each_hazard_is_listed_or_not_as_it_should(hazard):
    raw = {found.path: raw for found, raw in torture.hazards(1)}[hazard.path]

    assert (read(raw).problem is not None) == hazard.listed


@given(
    st.binary()
    | st.text().map(lambda text: text.encode("utf-8", "replace"))
    | st.binary().map(lambda raw: b"---\n" + raw + b"\n---\n")
)
def test_reading_never_raises(raw):
    note = read(raw)

    assert note.checksum == checksum(raw)


@given(st.randoms(use_true_random=False))
def test_a_torture_note_is_read_without_loss_of_text(rng):
    raw = torture.random_note(rng)
    note = read(raw)

    if note.problem is None:
        assert raw.decode().replace("\r\n", "\n").replace("\r", "\n").endswith(note.body)


def test_the_torture_vault_is_the_same_for_the_same_seed():
    assert list(torture.hazards(7)) == list(torture.hazards(7))
    assert torture.random_note(random.Random(3)) == torture.random_note(random.Random(3))


def test_the_torture_vault_is_written_with_its_links_and_long_names(tmp_path):
    made = torture.build(tmp_path / "vault", 1)

    assert all((tmp_path / "vault" / hazard.path).read_bytes() == raw for hazard, raw in torture.hazards(1))
    assert max(len(Path(hazard.path).name.encode()) for hazard in made) == 255
    assert (tmp_path / "vault" / "dangling.md").is_symlink()


@pytest.mark.parametrize("written", ["12e345678901", "123456e78901", "012345678901", "123456789012", "1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("comment", ["", "   # mine", " "])
def test_an_id_that_yaml_takes_for_a_number_is_what_stands_there(written, newline, comment):
    note = read(newline.join(["---", "n: 0123", f"id: {written}{comment}", "---", "body", ""]))

    assert note.properties == {"n": 123, "id": written}


@pytest.mark.parametrize("block", ["id: [1]", "id: yes", "id: -1", "{id: 1}", "id: true", "id:"])
def test_any_other_id_is_read_as_obsidian_does(block):
    note = read(f"---\n{block}\n---\nbody\n")

    assert note.properties["id"] in ([1], "yes", -1, 1, True, None)
