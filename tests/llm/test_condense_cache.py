"""Condensing is paid for once; the cache may be lost, damaged or unwritable without harm."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from vaultd.llm.condense_cache import CondenseCache, condense_key


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "condensed.sqlite"


def test_a_text_outlives_a_restart(path):
    first = CondenseCache(path)
    first.put("k", "short 文")
    first.close()

    again = CondenseCache(path)

    assert again.get("k") == "short 文"
    assert again.get("other") is None
    again.close()


def test_text_model_and_prompt_each_make_a_key():
    keys = {
        condense_key("a", model="m", prompt_version="1"),
        condense_key("b", model="m", prompt_version="1"),
        condense_key("a", model="n", prompt_version="1"),
        condense_key("a", model="m", prompt_version="2"),
        condense_key("\ud800", model="m", prompt_version="1"),
    }

    assert len(keys) == 5


def test_the_longest_unused_texts_go_first(path):
    cache = CondenseCache(path, most_entries=10)
    for number in range(10):
        cache.put(f"k{number}", str(number))
    cache.get("k0")

    cache.put("new", "n")

    assert cache.get("k0") == "0"
    assert cache.get("new") == "n"
    assert cache.get("k1") is None
    assert cache.get("k2") is None
    assert cache.get("k3") == "3"
    cache.close()


def test_a_damaged_file_is_begun_anew(path):
    path.parent.mkdir()
    path.write_bytes(b"this is no database, " * 200)
    cache = CondenseCache(path)

    assert cache.get("k") is None
    cache.put("k", "kept")

    assert cache.get("k") == "kept"
    cache.close()


def test_a_place_that_cannot_be_written_is_gone_without(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = CondenseCache(tmp_path / "file" / "condensed.sqlite")

    cache.put("k", "text")

    assert cache.get("k") is None
    cache.close()


def test_a_file_with_another_table_does_no_harm(path):
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE condensed (something TEXT)")
    other.commit()
    other.close()
    cache = CondenseCache(path)

    cache.put("k", "text")

    assert cache.get("k") is None
    cache.close()


def test_several_threads_may_use_it(path):
    cache = CondenseCache(path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: cache.put(f"k{number}", str(number)), range(100)))
        found = list(pool.map(lambda number: cache.get(f"k{number}"), range(100)))

    assert found == [str(number) for number in range(100)]
    cache.close()
