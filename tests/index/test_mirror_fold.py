"""The word indexes are folded while questions go on: nothing is lost, and no question fails."""

from __future__ import annotations

import sys
import threading

from vaultd.index import postings
from vaultd.index.mirror import Mirror

ROUNDS = 400
A_ROUND = 30  # notes: fewer than make a segment, so that each question moves them


def test_questions_during_a_fold_lose_no_word(monkeypatch):
    monkeypatch.setattr(postings, "FOLD_AT_LEAST", A_ROUND - 1)
    monkeypatch.setattr(postings, "FOLD_SHARE", 0.0)
    mirror, over, failed = Mirror(), threading.Event(), []

    def ask() -> None:
        while not over.is_set():
            try:
                with mirror.lock:
                    mirror.body_words.score({"tea": 1.0}, A_ROUND)
            except (RuntimeError, IndexError, ValueError) as exc:
                failed.append(exc)

    asking = threading.Thread(target=ask)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads change between any two lines
    asking.start()
    try:
        for _ in range(ROUNDS):
            with mirror.lock:
                for slot in range(A_ROUND):
                    mirror.body_words.put(slot, {"tea": 1, f"own{slot}": 1}, 2)
            mirror.fold()
            with mirror.lock:
                assert [mirror.body_words.frequency(f"own{slot}") for slot in range(A_ROUND)] == [1] * A_ROUND
    finally:
        over.set()
        asking.join()
        sys.setswitchinterval(usual)

    assert failed == []
