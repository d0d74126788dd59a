"""Small pieces put together: without a word in the log, and with what a killed run left cleared away."""

from pathlib import Path

import numpy as np

from vaultd.index.store import Store

DIMENSION = 8


def test_a_compaction_clears_what_a_killed_one_left(tmp_path):
    store = Store(str(tmp_path))
    store.open("fake/1")
    for number in range(6):
        key = bytes([number]) * 16
        store.add_embeddings([key], np.eye(1, DIMENSION, dtype=np.float32), np.zeros(1, np.float32))
    (folder,) = {
        place.parent for place in tmp_path.rglob("*.lance") if place.parent.name == "data" and "emb" in str(place)
    }
    left = Path(folder, "0110100000000000000000000aaaaaaaa.lance")
    left.write_bytes(b"half of a compaction")

    store.compact()

    assert not left.exists()
    assert sum(len(keys) for keys, _, _ in store.embeddings()) == 6
    assert store.commits == 0
    store.close()
