"""What a question finds, in which order, and which texts are the same memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.running import running
from vaultd.core.query import Query
from vaultd.services.likeness import OTHER_NUMBERS, likenesses
from vaultd.services.matching import Fate
from vaultd.settings import MatchingSettings, Settings

OLD = "2023-05-02T08:00:00+00:00"
FRESH = "2026-11-20T08:00:00+00:00"


def note(note_id, body, *, created=OLD, **properties):
    lines = "".join(f"{key}: {value}\n" for key, value in properties.items())
    return f"---\nid: {note_id}\ncreated: {created}\nlast_active: {created}\n{lines}---\n{body}\n"


async def found(r, text, **arguments):
    matches = r.core.services.matching.match(Query.parse(text, **arguments), None, r.clock.now)
    return [one.id for one in matches.with_fate(Fate.KEPT)]


async def test_an_old_memory_that_fits_comes_before_a_fresh_one_that_hardly_does(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "the violin lesson with the broken string"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "the string quartet", created=FRESH, importance=10))
        await r.write("dynamic/c.md", note("cccccccccccc", "rain all day", created=FRESH))

        assert (await found(r, "broken violin string"))[0] == "aaaaaaaaaaaa"


async def test_a_memory_is_not_lost_for_want_of_freshness(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write(
            "dynamic/a.md", note("aaaaaaaaaaaa", "the boiler code is 4711", created="2001-01-01", importance=1)
        )
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "rain all day", created=FRESH))

        assert await found(r, "boiler code") == ["aaaaaaaaaaaa"]


async def test_of_two_that_fit_alike_the_fresher_comes_first(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "soup with leeks"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "soup with leeks", created=FRESH))

        assert await found(r, "leeks soup") == ["bbbbbbbbbbbb", "aaaaaaaaaaaa"]


async def test_a_question_about_nothing_in_the_vault_finds_nothing(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        for number in range(30):
            await r.write(f"dynamic/{number}.md", note(f"{number:012x}", f"what I did on day {number}", created=FRESH))

        assert await found(r, "which bicycle chain should I buy?") == []


async def test_a_note_that_says_the_very_word_comes_first_however_far_a_model_thinks_it(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "the locker is qx4711", importance=1))
        for number in range(12):
            await r.write(
                f"dynamic/{number}.md", note(f"{number:012x}", f"rain {number}", created=FRESH, importance=10)
            )
        await r.embedded()
        near_the_rain = np.mean([r.embedder.embed_query(f"rain {number}") for number in range(12)], axis=0)
        asked = near_the_rain - r.embedder.embed_query("the locker is qx4711")

        matches = r.core.services.matching.match(
            Query.parse("qx4711"), (asked / np.linalg.norm(asked)).astype(np.float32), r.clock.now
        )

    assert matches.with_fate(Fate.KEPT)[0].id == "aaaaaaaaaaaa"


async def test_a_permanent_memory_is_found_unless_it_is_pinned_or_protected(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("permanent/a.md", note("aaaaaaaaaaaa", "the boiler code is 4711"))
        await r.write("permanent/b.md", note("bbbbbbbbbbbb", "the boiler code is 4712", pinned="true"))

        assert await found(r, "boiler code") == ["aaaaaaaaaaaa"]


async def test_a_misspelt_word_finds_what_was_meant(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "Caroline paints landscapes"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "rain all day"))

        assert await found(r, "carolnie") == ["aaaaaaaaaaaa"]


async def test_a_month_in_the_question_lifts_the_memories_of_that_month(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "去爬山了", created="2026-03-01T08:00:00+08:00"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "去爬山了", created="2026-05-11T08:00:00+08:00"))

        assert (await found(r, "五月爬山"))[0] == "bbbbbbbbbbbb"


async def test_a_question_that_is_a_name_finds_the_memory_of_that_name_first(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        for number in range(12):
            talk = f"咖啡过敏, 又是咖啡过敏 {number}。咖啡过敏的人很多。"
            await r.write(
                f"dynamic/{number}.md", note(f"aaaaaaaaaa{number:02}", talk, name=f"第{number}天", importance=9)
            )
        await r.write("dynamic/n.md", note("bbbbbbbbbbbb", "那天手上起了红点。", name="咖啡过敏", importance=1))
        await r.write("dynamic/e.md", note("cccccccccccc", "Rinse it twice.", name="Cleaning the Gate", importance=1))
        await r.write("dynamic/f.md", note("dddddddddddd", "cleaning the gate, the gate, the gate", importance=9))

        assert (await found(r, "咖啡过敏"))[0] == "bbbbbbbbbbbb"
        assert len(await found(r, "咖啡过敏")) > 5
        assert (await found(r, " cleaning the gate "))[0] == "cccccccccccc"


async def test_a_resolved_memory_is_found_and_sinks(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "repair the garden gate", resolved="true"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "repair the garden gate again"))

        assert await found(r, "repair garden gate") == ["bbbbbbbbbbbb", "aaaaaaaaaaaa"]


async def test_the_letters_of_a_core_memory_are_told_however_well_its_words_fit(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write(
            "dynamic/v.md", note("aaaaaaaaaaaa", "rosin and strings", name="violin", tags="[violin]", pinned="true")
        )
        await r.write("dynamic/o.md", note("bbbbbbbbbbbb", "rosin and strings", name="violin", tags="[violin]"))

        told = await r.core.services.explain(Query.parse("violin teacher"))

        letters = {one.item.row.id: one.candidate.parts.fuzzy for one in told.candidates}
        assert letters["aaaaaaaaaaaa"] > 0.5
        assert letters["bbbbbbbbbbbb"] is None, "its words say more"


async def test_pure_fuzzy_topic_is_the_seeds_formula(tmp_path):
    settings = replace(Settings(), matching=replace(MatchingSettings(), topic="fuzzy"))
    async with running(tmp_path, no_model=True, settings=settings) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "rain", name="walk", domain="[walk]", tags="[walk]"))

        matches = r.core.services.matching.match(Query.parse("walk"), None, r.clock.now)

        # (3 + 2.5 + 2 + 1 · ratio(walk, rain)) / 8.5, the last one between 0 and 1
        parts = matches.candidates[0].parts
        assert 7.5 / 8.5 <= parts.fuzzy < 1
        assert parts.topic == pytest.approx(parts.fuzzy * 400 / 8.5)
        assert parts.rank == pytest.approx(parts.total)


async def test_filters_by_tag_and_domain_know_no_case(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write("dynamic/a.md", note("aaaaaaaaaaaa", "a walk", tags="[Dogs]", domain="[Home]"))
        await r.write("dynamic/b.md", note("bbbbbbbbbbbb", "a walk", tags="[cats]", domain="[work]"))

        assert await found(r, "walk", tags="dogs") == ["aaaaaaaaaaaa"]
        assert await found(r, "walk", domain="WORK") == ["bbbbbbbbbbbb"]


async def test_a_text_is_no_twin_of_one_about_the_same_thing_but_of_one_that_says_the_same(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        await r.write(
            "dynamic/a.md", note("aaaaaaaaaaaa", "Ran five kilometres along the river before work.", created=FRESH)
        )

        def score(text):
            matches = r.core.services.matching.match(Query(text=text), None, r.clock.now, likeness=True)
            return max((one.parts.total for one in matches.candidates), default=0.0)

        assert score("Ran along the river before work, five kilometres!") > 75
        assert score("My knee hurts when I run along the canal.") < 75
        assert score("What did I do before work along the river?") < 75


def test_texts_with_other_numbers_are_not_the_same():
    bodies = ["ran 6 km by the lake", "ran 5 km by the lake"]

    alike = likenesses("ran 5 km by the lake", bodies, np.array([1.0, 1.0]))

    assert alike.tolist() == [OTHER_NUMBERS, 1.0]
