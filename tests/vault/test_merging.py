from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import torture
from tests.vault.test_codec_reading import read
from vaultd.core.note import PropertyValue
from vaultd.vault.agreement import union
from vaultd.vault.codec import has_conflict_markers
from vaultd.vault.merging import Merged, merge_notes

BODY = "first paragraph\n\nsecond paragraph\n\nthird paragraph\n"


def note(*, body: str = BODY, **properties: object) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in properties.items())
    return f"---\n{lines}---\n{body}"


def merge(base: str, ours: str, theirs: str) -> Merged:
    return merge_notes(base.encode(), ours.encode(), theirs.encode())


def merged(base: str, ours: str, theirs: str) -> str:
    """The clean merge, the same from both sides."""
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one == other
    assert not one.conflicts
    return one.raw.decode()


def test_two_clones_that_recalled_tagged_and_wrote_merge_clean():
    base = note(id="a", tags="[x]", activation_count=1, last_active="2026-01-01T10:00:00+00:00", importance=5)
    ours = note(
        id="a",
        tags="[x, walk]",
        activation_count=2,
        last_active="2026-01-05T10:00:00+00:00",
        importance=5,
        body=BODY.replace("first", "our first"),
    )
    theirs = note(
        id="a",
        tags="[x, z]",
        activation_count=3,
        last_active="2026-01-03T10:00:00+00:00",
        importance=5,
        body=BODY.replace("third", "their third"),
    )

    assert merged(base, ours, theirs) == note(
        id="a",
        tags="[x, walk, z]",
        activation_count=3,
        last_active="2026-01-05T10:00:00+00:00",
        importance=5,
        body=BODY.replace("first", "our first").replace("third", "their third"),
    )


def test_a_property_of_the_person_changed_on_both_sides_gets_markers():
    result = merge(note(id="a", mood="calm"), note(id="a", mood="glad"), note(id="a", mood="tired"))

    assert result.conflicts
    assert result.raw.decode() == (
        "---\nid: a\n<<<<<<< ours\nmood: glad\n=======\nmood: tired\n>>>>>>> theirs\n---\n" + BODY
    )
    assert has_conflict_markers(result.raw.decode())


def test_our_properties_merge_even_where_one_of_the_person_clashes():
    result = merge(
        note(id="a", activation_count=1, mood="calm"),
        note(id="a", activation_count=2, mood="glad"),
        note(id="a", activation_count=5, mood="tired"),
    )

    assert b"activation_count: 5\n<<<<<<<" in result.raw


def test_labels_and_size_of_the_markers_are_as_asked():
    result = merge_notes(b"a\n", b"b\n", b"c\n", marker_size=9, labels=("HEAD", "", "branch"))

    assert result == Merged(b"<<<<<<<<< HEAD\nb\n=========\nc\n>>>>>>>>> branch\n", True)


@pytest.mark.parametrize(
    ("key", "base", "one", "other", "outcome"),
    [
        ("activation_count", 1, 2.5, 3, 3),
        ("activation_count", 1, "many", 3, 3),
        ("use_count", 1, 2, 1, 2),
        (
            "last_active",
            "2026-01-01",
            "2026-01-02T00:00:00+00:00",
            "2026-01-01T23:00:00-02:00",
            "2026-01-01T23:00:00-02:00",
        ),
        ("last_active", "2026-01-01", "never", "2026-01-02", "2026-01-02"),
        ("updated_at", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-03"),
        ("created", "2026-01-03", "2026-01-02", "2026-01-01", "2026-01-01"),
        ("resolved", "false", "true", "false", "true"),
        ("resolved", "true", "false", "true", "false"),
        ("pinned", "", "true", "false", "true"),
        ("digested", "false", "true", "true # seen", "true # seen"),
        ("importance", 5, 7, 9, 9),
        ("type", "dynamic", "archived", "permanent", "permanent"),
        ("type", "dynamic", "archived", "dynamic", "archived"),
        ("type", "archived", "dynamic", "permanent", "permanent"),
        ("name", "a", "b", "c", "b"),
        ("tags", "[a]", "[a, b]", "[a, c]", "[a, b, c]"),
        ("tags", "[a, b]", "[a]", "[a, b, c]", "[a, c]"),
        ("tags", "[a, b, c]", "[c, b, a]", "[a, c, d]", "[c, a, d]"),
        ("tags", "a, b", "[a, b, c]", "a, b, d", "[a, b, c, d]"),
        ("domain", "[a]", "[b]", "[c]", "[b, c]"),
        ("aliases", "[a]", "[a, b]", "[a, c]", "[a, b, c]"),
        ("aliases", "[a]", "[a, b]", "[a, b]", "[a, b]"),
    ],
)
def test_each_property_has_its_rule(key, base, one, other, outcome):
    sides = [note(**{"id": "a", key: value}) for value in (base, one, other)]

    assert merged(*sides) == note(**{"id": "a", key: outcome})


def test_the_note_that_was_used_later_wins_where_no_rule_decides():
    base = note(id="a", valence=0.5, last_active="2026-01-01")
    ours = note(id="a", valence=0.9, last_active="2026-01-02")
    theirs = note(id="a", valence=0.1, last_active="2026-01-03")

    assert merged(base, ours, theirs) == theirs


def test_a_pinned_note_keeps_the_importance_of_ten():
    base = note(id="a", importance=5, pinned="false", last_active="2026-01-01")
    ours = note(id="a", importance=10, pinned="true", last_active="2026-01-02")
    theirs = note(id="a", importance=3, pinned="false", last_active="2026-01-03")

    assert merged(base, ours, theirs) == note(id="a", importance=10, pinned="true", last_active="2026-01-03")


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [("importance", "[a]", "7"), ("created", "then", "later"), ("use_count", "x", "y"), ("pinned", "maybe", "so")],
)
def test_values_that_no_rule_can_weigh_are_not_decided(key, one, other):
    assert merge(*(note(**{"id": "a", key: value}) for value in ("1", one, other))).conflicts


def test_a_type_of_the_persons_own_is_not_decided_for_them():
    assert merge(note(type="a"), note(type="b"), note(type="c")).conflicts


def test_a_style_changed_on_one_side_does_not_hide_a_value_changed_on_the_other():
    assert merged(note(mood='"calm"'), note(mood="calm"), note(mood="glad")) == note(mood="glad")


def test_a_comment_that_a_person_added_is_not_lost_to_a_change_on_the_other_side():
    assert merge(note(mood="calm"), note(mood="calm # at last"), note(mood="glad")).conflicts
    assert merge(note(mood="calm"), note(mood="glad # one"), note(mood="glad # two")).conflicts
    assert merged(note(mood="calm"), note(mood="calm # at last"), note(mood='"calm"')) == note(mood="calm # at last")


def test_a_property_taken_out_on_one_side_goes_unless_the_other_changed_it():
    base, without = note(id="a", source="x", mood="calm"), note(id="a")

    assert merged(base, without, note(id="a", source="x", mood="calm", importance=3)) == note(id="a", importance=3)
    changed = note(id="a", source="else", mood="calm")
    assert merged(base, note(id="a", mood="calm"), changed) == changed
    assert merge(base, without, note(id="a", source="x", mood="glad")).conflicts


def test_both_sides_add_properties_at_the_end():
    result = merged(note(id="a"), note(id="a", mood="calm", pinned="true"), note(id="a", weather="rain"))

    assert read(result).properties == {"id": "a", "mood": "calm", "pinned": True, "weather": "rain"}


def test_comments_and_blank_lines_of_both_sides_are_kept():
    base = "---\n# top\nid: a\n\nmood: calm # so\n---\nx\n"
    ours = "---\n# top\n# ours\nid: a\n\nmood: calm # so\n---\nx\n"
    theirs = "---\n# top\nid: a\n\nmood: calm # so\n# theirs\n---\nx\n"

    assert merged(base, ours, theirs) == "---\n# top\n# ours\nid: a\n\nmood: calm # so\n# theirs\n---\nx\n"


def test_two_machines_that_adopt_one_note_agree_on_an_id():
    assert merged("x\n", note(id="b1", body="x\n"), note(id="a1", body="x\n")) == note(id="a1", body="x\n")


def test_a_block_on_one_side_and_a_body_edit_on_the_other_merge():
    assert merged("one\n\ntwo\n", note(id="a", body="one\n\ntwo\n"), "one\n\ntwo!\n") == note(
        id="a", body="one\n\ntwo!\n"
    )


def test_a_block_list_keeps_its_style():
    base = "---\ntags:\n  - a # first\n---\nx"

    assert merged(base, base.replace("---\nx", "  - b\n---\nx"), base.replace("---\nx", "  - c\n---\nx")) == (
        "---\ntags:\n  - a # first\n  - b\n  - c\n---\nx"
    )


def test_a_bom_stays():
    bom = "\ufeff"

    assert merged(
        bom + note(id="a", use_count=1), bom + note(id="a", use_count=2), bom + note(id="a", use_count=3)
    ) == (bom + note(id="a", use_count=3))


def test_newlines_stay_and_a_changed_style_wins():
    def crlf(text: str) -> str:
        return text.replace("\n", "\r\n")

    base, ours, theirs = note(id="a"), note(id="a", pinned="true"), note(id="a", body=BODY + "more\n")
    both = note(id="a", pinned="true", body=BODY + "more\n")

    assert merged(crlf(base), crlf(ours), crlf(theirs)) == crlf(both)
    assert merged(base, crlf(ours), theirs) == crlf(both)
    assert merged(crlf(base), ours, crlf(theirs)) == both


def test_a_block_that_cannot_be_read_is_merged_by_lines():
    base, ours, theirs = (
        "---\na: b: c\nx: {}\ny: {}\nz: 1\n---\nbody{}\n".format(*values) for values in ("11 ", "21 ", "11!")
    )

    assert merged(base, ours, theirs) == "---\na: b: c\nx: 2\ny: 1\nz: 1\n---\nbody!\n"


def test_bytes_that_are_not_utf8_are_merged_by_lines():
    assert merge_notes(b"\xff\n\nb\n", b"\xff!\n\nb\n", b"\xff\n\nc\n") == Merged(b"\xff!\n\nc\n", False)


def test_bytes_that_are_no_text_are_left_as_ours():
    assert merge_notes(b"\x00", b"a\x00", b"b\x00") == Merged(b"a\x00", True)


def test_one_paragraph_changed_twice_clashes_and_loses_nothing():
    result = merge(
        note(id="a"),
        note(id="a", body=BODY.replace("second", "ours")),
        note(id="a", body=BODY.replace("second", "theirs")),
    )

    assert result.conflicts
    assert result.raw.decode() == note(
        id="a",
        body="first paragraph\n\n<<<<<<< ours\nours paragraph\n=======\ntheirs paragraph\n>>>>>>> theirs\n\nthird paragraph\n",
    )


def test_texts_without_a_final_newline_keep_markers_on_their_own_lines():
    assert merge("a", "b", "c").raw == b"<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


# Any three notes

_PARAGRAPHS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5)
_PROPERTIES = st.fixed_dictionaries(
    {"id": st.just("a1")},
    optional={
        "tags": st.lists(st.sampled_from("pqrst"), unique=True, max_size=4).map(lambda tags: f"[{', '.join(tags)}]"),
        "activation_count": st.integers(0, 5),
        "last_active": st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03", "soon"]),
        "created": st.sampled_from(["2025-01-01", "2025-01-02"]),
        "importance": st.integers(1, 10),
        "pinned": st.sampled_from(["true", "false"]),
        "type": st.sampled_from(["dynamic", "permanent", "archived", "litnote"]),
        "name": st.sampled_from(["one", "two", '"three"']),
        "mood": st.sampled_from(["calm", "'calm'", "glad"]),
        "aliases": st.lists(st.sampled_from("uvw"), unique=True, max_size=3).map(lambda names: f"[{', '.join(names)}]"),
    },
)
_NOTE = st.builds(lambda properties, body: note(**properties, body="\n\n".join(body) + "\n"), _PROPERTIES, _PARAGRAPHS)
_ANY = st.randoms(use_true_random=False).map(lambda rng: torture.random_note(rng))


@settings(max_examples=150)
@given(_NOTE, _NOTE, _NOTE)
def test_both_directions_give_the_same_bytes_or_the_same_clash(base, ours, theirs):
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)

    assert one.conflicts == other.conflicts
    if not one.conflicts:
        assert one.raw == other.raw


@given(_ANY, _ANY, _ANY)
def test_any_three_notes_merge_alike_from_both_sides(base, ours, theirs):
    one, other = merge_notes(base, ours, theirs), merge_notes(base, theirs, ours)

    assert one.conflicts == other.conflicts
    if not one.conflicts:
        assert one.raw == other.raw


@given(st.binary(), st.binary(), st.binary())
def test_any_bytes_merge_without_an_error(base, ours, theirs):
    assert isinstance(merge_notes(base, ours, theirs), Merged)


@given(_ANY, _ANY)
def test_a_side_that_did_nothing_gives_way(base, ours):
    assert merge_notes(base, ours, base) == merge_notes(base, base, ours) == Merged(ours, False)
    assert merge_notes(base, ours, ours) == Merged(ours, False)


@settings(max_examples=150)
@given(_NOTE, _NOTE, _NOTE)
def test_no_paragraph_that_a_side_wrote_is_lost(base, ours, theirs):
    result = merge(base, ours, theirs).raw.decode()

    for side in (ours, theirs):
        for line in set(side.split("\n---\n", 1)[1].split("\n")) - set(base.split("\n---\n", 1)[1].split("\n")):
            assert line in result.split("\n")


@settings(max_examples=150)
@given(_NOTE, _NOTE, _NOTE)
def test_a_clean_merge_says_what_the_changed_side_says(base, ours, theirs):
    result = merge(base, ours, theirs)
    if result.conflicts:
        return
    old, one, other, new = (read(text).properties for text in (base, ours, theirs, result.raw))

    for key in {*old, *one, *other}:
        if one.get(key) == old.get(key) and (key in one) == (key in old):
            assert (key in new, new.get(key)) == (key in other, other.get(key))
        elif other.get(key) == old.get(key) and (key in other) == (key in old):
            assert (key in new, new.get(key)) == (key in one, one.get(key))


_ITEMS = st.lists(st.sampled_from("abcdef") | st.integers(0, 3), max_size=5, unique=True)


@given(_ITEMS, _ITEMS, _ITEMS)
def test_a_union_keeps_what_neither_took_out_and_what_either_put_in(base, ours, theirs):
    items: list[PropertyValue] = union(base, ours, theirs)

    assert set(items) == (set(base) & set(ours) & set(theirs)) | ((set(ours) | set(theirs)) - set(base))
    assert len(items) == len(set(items))
    assert items == union(base, theirs, ours)
