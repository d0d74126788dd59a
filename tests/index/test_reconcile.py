"""What a comparison of vault and index says."""

from __future__ import annotations

from vaultd.core.note import NotePath
from vaultd.index.reconcile import Difference


def paths(*names):
    return tuple(map(NotePath, names))


def test_a_note_that_is_edited_at_this_moment_was_not_missed():
    earlier = Difference(paths("new.md"), paths("missed.md", "typed-before.md"), paths())
    later = Difference(paths("new.md"), paths("missed.md", "typed-now.md"), paths("gone-now.md"))

    assert later.lasting_since(earlier) == Difference(paths("new.md"), paths("missed.md"), paths())
