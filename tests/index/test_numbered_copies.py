"""Numbered copies that a cloud drive puts beside a note, while the note itself changes."""

from tests.running import running


def note(note_id: str, text: str) -> str:
    return f"---\nid: {note_id}\nname: walk\ntype: dynamic\ncreated: 2026-05-17T12:00:00+00:00\n---\n{text}\n"


async def test_a_copy_has_a_row_once_its_original_carries_another_id(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        await one.write("dynamic/walk.md", note("aaaaaaaaaaaa", "along the river"))
        await one.write("dynamic/walk 2.md", note("aaaaaaaaaaaa", "along the river, and back"))
        assert one.ids() == {"aaaaaaaaaaaa"}

        await one.write("dynamic/walk.md", note("bbbbbbbbbbbb", "along the river"))

        assert {row.id: row.path for row in one.core.mirror.rows()} == {
            "aaaaaaaaaaaa": "dynamic/walk 2.md",
            "bbbbbbbbbbbb": "dynamic/walk.md",
        }
        assert await one.reconcile() == 0


async def test_a_copy_stays_aside_while_its_original_changes(tmp_path):
    async with running(tmp_path, no_model=True) as one:
        await one.write("dynamic/walk.md", note("aaaaaaaaaaaa", "along the river"))
        await one.write("dynamic/walk 2.md", note("aaaaaaaaaaaa", "along the river, and back"))

        await one.write("dynamic/walk.md", note("aaaaaaaaaaaa", "along the river, alone"))

        assert {row.id: row.path for row in one.core.mirror.rows()} == {"aaaaaaaaaaaa": "dynamic/walk.md"}
        assert await one.reconcile() == 0
