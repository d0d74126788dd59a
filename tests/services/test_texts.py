"""A body that was read is shown again without a look at the file's content, for as long as the file is the same."""

import os
import time

import pytest

from vaultd.core.note import NotePath
from vaultd.services.texts import KEPT_BODIES, KEPT_CHARACTERS, Texts
from vaultd.vault.layout import Layout
from vaultd.vault.reader import VaultReader

PATH = NotePath("dynamic/walk.md")
AN_HOUR_NS = 3_600 * 10**9


class CountingReader(VaultReader):
    reads = 0

    def is_local(self):
        return True

    def body(self, path, readable=""):
        self.reads += 1
        return super().body(path, readable)


@pytest.fixture
def reader(tmp_path):
    return CountingReader(Layout(tmp_path))


def write(root, text, *, path=PATH, old=True):
    place = root / path
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8")
    if old:
        then = time.time_ns() - AN_HOUR_NS
        os.utime(place, ns=(then, then))


def test_an_unchanged_file_is_read_once(tmp_path, reader):
    write(tmp_path, "---\nid: a\n---\n\nriver\n\n")
    texts = Texts(reader)

    assert [texts.body(PATH) for _ in range(3)] == ["river"] * 3
    assert reader.reads == 1


def test_a_changed_file_is_read_anew_even_where_its_size_and_time_are_the_same(tmp_path, reader):
    write(tmp_path, "river")
    texts = Texts(reader)
    texts.body(PATH)
    before = (tmp_path / PATH).stat()

    (tmp_path / PATH).write_text("shore", encoding="utf-8")
    os.utime(tmp_path / PATH, ns=(before.st_mtime_ns, before.st_mtime_ns))

    assert texts.body(PATH) == "shore"


def test_a_file_that_was_changed_just_now_is_not_kept(tmp_path, reader):
    write(tmp_path, "river", old=False)
    texts = Texts(reader)

    texts.body(PATH)
    texts.body(PATH)

    assert reader.reads == 2


def test_a_file_that_is_gone_or_became_a_link_has_no_text(tmp_path, reader):
    write(tmp_path, "river")
    texts = Texts(reader)
    texts.body(PATH)
    outside = tmp_path.parent / "outside.md"
    outside.write_text("not ours", encoding="utf-8")

    (tmp_path / PATH).unlink()
    gone = texts.body(PATH)
    (tmp_path / PATH).symlink_to(outside)

    assert (gone, texts.body(PATH)) == (None, None)


def test_long_texts_and_more_than_a_thousand_are_not_kept(tmp_path, reader):
    write(tmp_path, "long " * KEPT_CHARACTERS)
    texts = Texts(reader)
    texts.body(PATH)
    texts.body(PATH)
    assert reader.reads == 2

    for number in range(KEPT_BODIES + 10):
        write(tmp_path, "short", path=NotePath(f"dynamic/{number}.md"))
        texts.body(NotePath(f"dynamic/{number}.md"))
    assert len(texts._kept) == KEPT_BODIES


def test_what_was_read_on_a_disk_of_this_machine_is_at_hand(tmp_path, reader):
    write(tmp_path, "river")
    other = NotePath("dynamic/other.md")
    write(tmp_path, "shore", path=other)
    texts = Texts(reader)

    assert texts.at_hand([PATH]) is None, "nothing was read yet"
    texts.body(PATH)
    assert texts.at_hand([PATH]) == ["river"]
    assert texts.at_hand([PATH, other]) is None
    texts.body(other)
    assert texts.at_hand([PATH, other]) == ["river", "shore"]

    write(tmp_path, "shore and more", path=other)
    assert texts.at_hand([PATH, other]) is None, "the file was changed"
    (tmp_path / PATH).unlink()
    assert texts.at_hand([PATH]) is None, "the file is gone"


def test_behind_a_network_no_file_is_looked_at_on_the_loop(tmp_path, reader, monkeypatch):
    write(tmp_path, "river")
    texts = Texts(reader)
    monkeypatch.setattr(reader, "is_local", lambda: False)
    texts.body(PATH)
    looked = []
    monkeypatch.setattr(reader, "identity", looked.append)

    assert texts.at_hand([PATH]) is None
    assert looked == []


def test_a_vault_that_was_mounted_meanwhile_is_judged_anew(tmp_path, reader, monkeypatch):
    monkeypatch.setattr("vaultd.services.texts.LOCAL_FOR_S", 0.0)
    write(tmp_path, "river")
    texts = Texts(reader)

    texts.body(PATH)
    assert texts.at_hand([PATH]) is None


def test_a_vault_that_is_not_local_is_not_judged_with_every_body(tmp_path, reader, monkeypatch):
    write(tmp_path, "river")
    judged = []
    monkeypatch.setattr(reader, "is_local", lambda: bool(judged.append(1)))
    texts = Texts(reader)

    for _ in range(5):
        texts.body(PATH)

    assert len(judged) == 1
