"""Links are found where Obsidian sees them, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.vault.links import Form, find_links, mask, possible_targets


def targets(text):
    return [link.target for link in find_links(text)]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("see [[walk]]", "walk"),
        ("see [[a/b#h^c|alias]]", "a/b"),
        ("see [[a/b#^block]]", "a/b"),
        ("see [[a/b|with ] in it]]", "a/b"),
        ("![[picture.png|300]]", "picture.png"),
        ("| [[a/b\\|shown]] |", "a/b"),
        ("[[ a/b ]]", "a/b"),
        ("[[日记/今天]]", "日记/今天"),
        ("[t](a%20b/c.md#h)", "a b/c.md"),
        ('[t](<a b/c.md> "title")', "a b/c.md"),
        ("[t](a/b(1).md)", "a/b(1).md"),
        ("![t](../img/x.png)", "../img/x.png"),
        ("[a [b] c](x/y.md)", "x/y.md"),
        ("[t](%E6%97%A5%E8%AE%B0/a.md)", "日记/a.md"),
        ("> - [[a/b]]", "a/b"),
        ("- item\n\n    [[a/b]] in the item", "a/b"),
    ],
)
def test_link_is_found(text, target):
    assert targets(text) == [target]


@pytest.mark.parametrize(
    "text",
    [
        "[[#heading]]",
        "[[]]",
        "[[ ]]",
        "[[a\nb]]",
        "\\[[a/b]]",
        "[t](https://example.org/a.md)",
        "[t](obsidian://open?file=a)",
        "[t](mailto:me@example.org)",
        "[t](#heading)",
        "[t](//host/a.md)",
        "`[[a/b]]`",
        "``a ` [[a/b]]``",
        "```\n[[a/b]]\n```",
        "~~~md\n[[a/b]]\n```\n[[c/d]]\n~~~",
        "````\n```\n[[a/b]]\n```\n````",
        "> ```\n> [[a/b]]\n> ```",
        "- ```\n  [[a/b]]\n  ```",
        "```\n[[a/b]] in a fence that never ends",
        "text\n\n    [[a/b]] in indented code\n",
        "\t[[a/b]] in indented code at the start",
        "%% [[a/b]] %%",
        "%%\n[[a/b]]\n\n[[c/d]]\n%%",
        "<!-- [[a/b]]\n -->",
        "---\nk: v # [[a/b]]\n---\n",
    ],
)
def test_no_link_is_found(text):
    assert targets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`code` [[a/b]] `code`",
        "a ` stray backtick [[a/b]]",
        "a ` stray\n\nbacktick [[a/b]] ` over paragraphs",
        "\\`[[a/b]]\\`",
        "```x``` [[a/b]]",
        "```\ncode\n```\n[[a/b]]",
        "> ```\n> code\n\n[[a/b]]",
        "100 %% of [[a/b]]",
        "%%x%% [[a/b]]",
        "<!-- unclosed [[a/b]]",
        "paragraph\n    [[a/b]] goes on",
        "    code\n\ntext [[a/b]]",
        "[[a/b]] \u2028 ``` \n x",
    ],
)
def test_link_beside_code_or_comment_is_found(text):
    assert targets(text) == ["a/b"]


@pytest.mark.parametrize(
    ("block", "target"),
    [
        ('link: "[[a/b]]"', "a/b"),
        ("link: '[[a/b|it''s]]'", "a/b"),
        ("link: '[[it''s/b]]'", "it's/b"),
        ('links:\n  - "[[a/b#h]]"', "a/b"),
        ("up: [[a/b]]", "a/b"),
        ('links: ["[[a/b]]"]', "a/b"),
        ('"key": "see [t](a/b.md)"', "a/b.md"),
        ("note: don't # [[x]]\nlink: '[[a/b]]'", "a/b"),
        ('x: "# no comment [[a/b]]"', "a/b"),
    ],
)
def test_link_in_a_property_is_found(block, target):
    assert targets(f"---\n{block}\n---\nbody\n") == [target]
    assert targets(f"\ufeff---\r\n{block}\r\n---\r\n") == [target]


def test_place_and_way_of_writing_are_told():
    text = "x ![[a/b#h]] y [t](<c d.md>)"

    wiki, markdown = find_links(text)

    assert text[wiki.start : wiki.end] == "a/b"
    assert (wiki.form, wiki.embed, wiki.bare) == (Form.WIKI, True, False)
    assert text[markdown.start : markdown.end] == "c d.md"
    assert (markdown.form, markdown.embed, markdown.bare) == (Form.ANGLE, False, True)


@pytest.mark.parametrize(
    ("text", "target", "spelled"),
    [
        ("[[a/b]]", "c d/e", "c d/e"),
        ("[[ a/b ]]", "c/d", " c/d "),
        ("[[a/b]]", "c#d", None),
        ("[t](a/b.md)", "c d/(e).md", "c%20d/%28e%29.md"),
        ("[t](a/b.md)", "日记/一.md", "日记/一.md"),
        ("[t](%E6%97%A5/b.md)", "日记/一 二.md", "%E6%97%A5%E8%AE%B0/%E4%B8%80%20%E4%BA%8C.md"),
        ("[t](<a/b.md>)", "c d/e.md", "c d/e.md"),
        ("[t](<a/b.md>)", "c>d.md", None),
        ("---\nk: '[[a/b]]'\n---\n", "it's/d", "it''s/d"),
        ('---\nk: "[[a/b]]"\n---\n', 'say "x"/d', None),
        ("---\nk: [[a/b]]\n---\n", "c, d", None),
        ("---\nk: [[a/b]]\n---\n", "c/d", "c/d"),
    ],
)
def test_another_target_in_the_links_own_way(text, target, spelled):
    (link,) = find_links(text)

    assert link.spell(target) == spelled


@pytest.mark.parametrize("text", ["[[a/b#h|x]] `[[c]]` [t](d%20e.md)", "---\nk: '[[it''s/b]]'\n---\n[t](<x y.md>)"])
def test_quick_search_finds_at_least_every_link(text):
    assert possible_targets(text) >= set(targets(text))


@pytest.mark.parametrize("piece", ["[[a|", "[a", "`a``", "<!-- ", "%% a ``` ", "[t](<", "[[a#b", "![[", "- > ```x` "])
def test_a_line_of_a_megabyte_is_searched_in_seconds(piece):
    text = piece * (1_000_000 // len(piece))

    started = time.process_time()
    find_links(text)

    assert time.process_time() - started < 5


@given(st.text(alphabet="ab`~>-[]()|#%!<-\n\\ \t/\"'", max_size=80))
def test_any_text_can_be_searched_and_masking_keeps_every_place(text):
    masked = mask(text)

    assert len(masked) == len(text)
    assert [at for at, character in enumerate(masked) if character == "\n"] == [
        at for at, character in enumerate(text) if character == "\n"
    ]
    for link in find_links(text):
        assert text[link.start : link.end] == link.written
