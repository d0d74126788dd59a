import dataclasses

from tests.running import running
from vaultd.services.linking import linked
from vaultd.services.newmemory import NewMemory
from vaultd.services.remember import Outcome
from vaultd.settings import Settings, WikilinkSettings

ON = dataclasses.replace(Settings(), wikilink=WikilinkSettings(enabled=True))


async def test_a_text_is_kept_as_it_was_told_unless_links_are_asked_for(tmp_path):
    async with running(tmp_path) as r:
        await r.write("Projects/Lisbon.md", "# Lisbon\n")
        kept = await r.core.services.remember(NewMemory("the flat in Lisbon", domain=("flat",)))

        assert r.read(kept.path).endswith("the flat in Lisbon\n")


async def test_domains_and_names_of_notes_become_links_once(tmp_path):
    async with running(tmp_path, settings=ON) as r:
        await r.write("Projects/Lisbon.md", "# Lisbon\n")
        kept = await r.core.services.remember(NewMemory("旅行去 Lisbon，还想再去 Lisbon", domain=("旅行",)))

        assert r.read(kept.path).endswith("[[旅行]]去 [[Lisbon]]，还想再去 Lisbon\n")


async def test_the_same_text_twice_is_one_memory_with_links_too(tmp_path):
    async with running(tmp_path, settings=ON) as r:
        first = await r.core.services.remember(NewMemory("去旅行", domain=("旅行",)))
        second = await r.core.services.remember(NewMemory("去旅行", domain=("旅行",)))

        assert second.outcome is Outcome.SAME
        assert second.id == first.id


def test_links_code_addresses_and_parts_of_words_are_left_alone():
    text = "a party with [[art]] and `art` at https://x.org/art"

    assert linked(text, ["art"]) == text
    assert linked("art for art", ["art"]) == "[[art]] for art"
