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
