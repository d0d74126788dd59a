"""Which file a link means, and how it must read after a move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultd.vault.links import Form, find_links
from vaultd.vault.resolving import Resolver, rewrite

FILES = ["a.md", "x/a.md", "x/deep/a.md", "x/deep/b.md", "y/c.md", "y/c.png", "日记/Iółka.md"]


@pytest.mark.parametrize(
    ("target", "source", "meant"),
    [
        ("a", "y/c.md", "a.md"),
        ("a.md", "y/c.md", "a.md"),
        ("A", "y/c.md", "a.md"),
        ("b", "y/c.md", "x/deep/b.md"),
        ("deep/b", "y/c.md", "x/deep/b.md"),
        ("eep/b", "y/c.md", None),
        ("x/deep/a", "y/c.md", "x/deep/a.md"),
        ("deep/a", "x/a.md", "x/deep/a.md"),
        ("/x/a", "y/c.md", "x/a.md"),
        ("/c", "y/c.md", None),
        ("./c", "y/d.md", "y/c.md"),
        ("../x/a", "y/c.md", "x/a.md"),
        ("../../a", "x/a.md", None),
        ("c.png", "a.md", "y/c.png"),
        ("c", "a.md", "y/c.md"),
        ("Io\u0301łka", "a.md", "日记/Iółka.md"),
        ("nothing", "a.md", None),
    ],
)
def test_resolves_as_obsidian_does(target, source, meant):
    assert Resolver(FILES).resolve(target, source) == meant


def test_a_namesake_below_the_sources_folder_comes_first():
    resolver = Resolver(["p/n.md", "q/sub/n.md"])

    assert resolver.resolve("n", "q/x.md") == "q/sub/n.md"
    assert resolver.resolve("n", "x.md") == "p/n.md"


def test_resolver_follows_moves_and_deletions():
    resolver = Resolver(FILES)
    resolver.move("x/deep/b.md", "y/b.md")
    resolver.discard("a.md")
    resolver.add("z/new.md")

    assert resolver.resolve("b", "a.md") == "y/b.md"
    assert resolver.resolve("x/deep/b", "a.md") is None
    assert resolver.resolve("a", "q.md") == "x/a.md"
    assert resolver.resolve("new", "a.md") == "z/new.md"


OLD, NEW = "dynamic/工作/offer_1.md", "archive/工作/offer_1.md"


def rewritten(text, *, source="own/s.md", old=OLD, new=NEW, others=()):
    resolver = Resolver([old, source, *others])
    return rewrite(text.encode(), source=source, old=old, new=new, resolver=resolver).raw.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[dynamic/工作/offer_1]]", "[[archive/工作/offer_1]]"),
        ("[[dynamic/工作/offer_1.md]]", "[[archive/工作/offer_1.md]]"),
        ("![[dynamic/工作/offer_1#h|shown]]", "![[archive/工作/offer_1#h|shown]]"),
        ("[[dynamic/工作/offer_1#^b1]]", "[[archive/工作/offer_1#^b1]]"),
        ("[[/dynamic/工作/offer_1]]", "[[/archive/工作/offer_1]]"),
        ("[[../dynamic/工作/offer_1]]", "[[../archive/工作/offer_1]]"),
        ("[t](dynamic/工作/offer_1.md#h)", "[t](archive/工作/offer_1.md#h)"),
        ("[t](<dynamic/工作/offer_1.md>)", "[t](<archive/工作/offer_1.md>)"),
        ("[t](../dynamic/%E5%B7%A5%E4%BD%9C/offer_1.md)", "[t](../archive/%E5%B7%A5%E4%BD%9C/offer_1.md)"),
        ("| [[dynamic/工作/offer_1\\|x]] |", "| [[archive/工作/offer_1\\|x]] |"),
        ('---\nup: "[[dynamic/工作/offer_1]]"\n---\n', '---\nup: "[[archive/工作/offer_1]]"\n---\n'),
    ],
)
def test_path_link_is_rewritten_in_its_own_form(before, after):
    assert rewritten(f"x\r\n{before} y" if not before.startswith("-") else before) == (
        f"x\r\n{after} y" if not after.startswith("-") else after
    )


@pytest.mark.parametrize(
    "text",
    [
        "[[offer_1]]",
        "![[offer_1#h|shown]]",
        "[[工作/offer_1]]",
        "[t](offer_1.md)",
        "`[[dynamic/工作/offer_1]]`",
        "```\n[[dynamic/工作/offer_1]]\n```",
        "%% [[dynamic/工作/offer_1]] %%",
        "[[dynamic/工作/other]]",
        "[t](https://example.org/dynamic/工作/offer_1.md)",
        "dynamic/工作/offer_1.md",
    ],
)
def test_everything_else_is_left_alone(text):
    assert rewritten(text) == text


def test_bytes_that_are_not_utf8_are_kept():
    raw = b"\xff\xfe [[dynamic/a]] \x00\r\n"
    resolver = Resolver(["dynamic/a.md", "s.md"])

    done = rewrite(raw, source="s.md", old="dynamic/a.md", new="archive/a.md", resolver=resolver)

    assert done.raw == b"\xff\xfe [[archive/a]] \x00\r\n"
    assert done.changed == 1


def test_part_of_a_path_is_kept_as_a_part_where_that_still_is_enough():
    text = "[[工作/offer_1]]"

    assert rewritten(text, new="archive/学习/offer_1.md") == "[[学习/offer_1]]"
    assert rewritten(text, new="archive/学习/offer_1.md", others=["a/学习/offer_1.md"]) == "[[archive/学习/offer_1]]"


def test_bare_link_follows_a_changed_name():
    assert rewritten("[[offer_1]] ![[offer_1#h]]", new="archive/工作/offer_2.md") == "[[offer_2]] ![[offer_2#h]]"


def test_bare_link_takes_the_path_where_the_new_name_is_taken():
    changed = rewritten("[[offer_1]]", new="archive/工作/offer_2.md", others=["offer_2.md"])

    assert changed == "[[archive/工作/offer_2]]"


def test_link_without_dots_that_means_a_neighbour_is_written_from_its_place():
    changed = rewritten("[t](工作/offer_1.md)", source="dynamic/s.md", new="archive/x/offer_1.md")

    assert changed == "[t](../archive/x/offer_1.md)"


def test_markdown_link_to_a_neighbour_in_the_same_folder_is_left_to_its_name():
    assert rewritten("[t](offer_1.md)", source="dynamic/工作/s.md") == "[t](offer_1.md)"


def test_relative_links_in_the_moved_note_itself_stay_alive():
    text = "![[../img/p.png]] [t](./b.md) [[../../own/s]] [[b]] [[dynamic/工作/offer_1#h]]"
    others = ["dynamic/img/p.png", "dynamic/工作/b.md", "own/s.md"]

    changed = rewritten(text, source=OLD, others=others)

    assert changed == (
        "![[../../dynamic/img/p.png]] [t](../../dynamic/工作/b.md) [[../../own/s]] [[b]] [[archive/工作/offer_1#h]]"
    )


def test_link_that_can_not_be_written_in_its_form_is_told():
    resolver = Resolver(["dynamic/a.md", "s.md"])
    raw = b"---\nup: [[dynamic/a]]\n---\n"

    done = rewrite(raw, source="s.md", old="dynamic/a.md", new="archive/b, c/a.md", resolver=resolver)

    assert done.raw == raw
    assert done.failed == ("dynamic/a",)


NAMES = st.sampled_from(["a", "b", "c d", "é", "日"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")


@given(st.lists(PATHS, min_size=3, max_size=7, unique=True), PATHS, st.data())
def test_after_a_move_every_path_link_means_what_it_meant(files, new, data):
    old, source = files[0], data.draw(st.sampled_from(files))
    if new in files:
        return
    before = Resolver(files)
    forms = ["[[{0}]]", "[[{0}#h|x]]", "[t](<{0}.md>)", "[[/{0}]]", "![[{0}.md]]"]
    links = [form.format(path.removesuffix(".md")) for path in files for form in forms]
    tails = [f"[[{path.removesuffix('.md').partition('/')[2]}]]" for path in files if path.count("/") > 1]
    text = "\n".join(links + tails)
    meant = [before.resolve(link.target, source) for link in find_links(text)]

    done = rewrite(text.encode(), source=source, old=old, new=new, resolver=before)

    after = Resolver([new if path == old else path for path in files])
    place = new if source == old else source
    renamed = new.rpartition("/")[2] != old.rpartition("/")[2]
    for link, target in zip(find_links(done.raw.decode()), meant, strict=True):
        left_to_its_name = link.form is Form.WIKI and link.bare and not (target == old and renamed)
        if not left_to_its_name:
            assert after.resolve(link.target, place) == (new if target == old else target)
