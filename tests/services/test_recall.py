import threading

from tests.running import running
from vaultd.core.query import Mark, Notice, Query
from vaultd.services.newmemory import NewMemory


def note(note_id, body, *, created="2026-11-20T08:00:00+00:00", kind="dynamic", **properties):
    lines = "".join(f"{key}: {value}\n" for key, value in properties.items())
    return f"---\nid: {note_id}\ntype: {kind}\ncreated: {created}\nlast_active: {created}\n{lines}---\n{body}\n"


async def ask(r, text="", **arguments):
    return await r.core.services.answer(Query.parse(text, **arguments))


async def test_surfacing_shows_the_core_then_cold_starts_then_what_is_alive(tmp_path):
    async with running(tmp_path) as r:
        await r.write(
            "permanent/p_aaaaaaaaaaaa.md", note("aaaaaaaaaaaa", "a principle", kind="permanent", importance=9)
        )
        await r.write("dynamic/x/c_bbbbbbbbbbbb.md", note("bbbbbbbbbbbb", "never recalled", importance=8))
        await r.write(
            "dynamic/x/d_cccccccccccc.md", note("cccccccccccc", "recalled often", importance=9, activation_count=5)
        )
        await r.write("dynamic/x/e_dddddddddddd.md", note("dddddddddddd", "settled", importance=9, resolved="true"))

        answer = await ask(r)

        assert [hit.bucket.id for hit in answer.core] == ["aaaaaaaaaaaa"]
        assert [hit.bucket.id for hit in answer.hits] == ["bbbbbbbbbbbb", "cccccccccccc"]
        assert Mark.COLD_START in answer.hits[0].marks


async def test_surfacing_never_counts_as_a_recall(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("a thought", importance=9))

        await ask(r)

        assert r.core.mirror.activation_count(kept.id) == 0


async def test_a_recall_counts_one_and_ripples_to_neighbours_in_time(tmp_path):
    async with running(tmp_path) as r:
        await r.write("dynamic/x/a_aaaaaaaaaaaa.md", note("aaaaaaaaaaaa", "the violin lesson", activation_count=2))
        near = note("bbbbbbbbbbbb", "rain all day", created="2026-11-21T08:00:00+00:00", activation_count="3.0")
        await r.write("dynamic/x/b_bbbbbbbbbbbb.md", near)
        await r.write(
            "dynamic/x/c_cccccccccccc.md", note("cccccccccccc", "far away", created="2026-10-01T08:00:00+00:00")
        )
        before = {path: path.read_bytes() for path in r.vault.rglob("*.md")}

        await ask(r, "violin lesson")

        mirror = r.core.mirror
        assert mirror.activation_count("aaaaaaaaaaaa") == 3
        assert mirror.last_active("aaaaaaaaaaaa") == r.clock.now.timestamp()
        # a ripple of 0.3 raises 3.0 to 3.3, and does not count as use
        assert mirror.activation_count("bbbbbbbbbbbb") == 3.3
        assert mirror.last_active("bbbbbbbbbbbb") == mirror.get("bbbbbbbbbbbb").last_active
        assert mirror.activation_count("cccccccccccc") == 0
        assert {path: path.read_bytes() for path in r.vault.rglob("*.md")} == before


async def test_a_recall_in_the_moment_in_which_a_note_is_indexed_counts_as_well(tmp_path, monkeypatch):
    async with running(tmp_path) as r:
        await r.write("dynamic/x/a_aaaaaaaaaaaa.md", note("aaaaaaaaaaaa", "the violin lesson"))
        total, recalls = r.core.journal.total, []

        def total_and_then_a_recall(note_id):
            known = total(note_id)
            if not recalls:
                recalls.append(threading.Thread(target=r.core.reinforce, args=(["aaaaaaaaaaaa"],)))
                recalls[0].start()
                recalls[0].join(0.5)  # where it does not have to wait, it is over before the note is put
            return known

        monkeypatch.setattr(r.core.journal, "total", total_and_then_a_recall)
        await r.write("dynamic/x/a_aaaaaaaaaaaa.md", note("aaaaaaaaaaaa", "the violin lesson moved"))
        recalls[0].join()

        assert r.core.mirror.activation_count("aaaaaaaaaaaa") == 1 == total("aaaaaaaaaaaa").activations


async def test_counts_survive_a_restart(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the violin lesson on friday"))
        await ask(r, "violin")
        await ask(r, "lesson")
    async with running(tmp_path) as r:
        assert r.core.mirror.activation_count(kept.id) == 2


async def test_an_id_as_query_returns_that_memory(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the key is under the third pot"))

        answer = await ask(r, kept.id)

        assert [hit.text for hit in answer.hits] == ["the key is under the third pot"]


async def test_a_domain_filter_that_leaves_nothing_is_dropped_and_said(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("violin lesson", domain=("music",)))

        inside = await ask(r, "violin", domain="music")
        dropped = await ask(r, "violin", domain="cooking")

        assert [hit.bucket.id for hit in inside.hits] == [kept.id]
        assert [hit.bucket.id for hit in dropped.hits] == [kept.id]
        assert Notice.DOMAIN_DROPPED in {n.notice for n in dropped.notices}
        assert Notice.DOMAIN_DROPPED not in {n.notice for n in inside.notices}


async def test_tags_and_dates_filter(tmp_path):
    async with running(tmp_path) as r:
        await r.write(
            "dynamic/x/a_aaaaaaaaaaaa.md",
            note("aaaaaaaaaaaa", "violin", created="2026-05-03T08:00:00+00:00", tags="[music]"),
        )
        await r.write(
            "dynamic/x/b_bbbbbbbbbbbb.md", note("bbbbbbbbbbbb", "violin", created="2026-06-03T08:00:00+00:00")
        )

        in_may = await ask(r, "violin", date_from="2026-05", date_to="2026-05")
        tagged = await ask(r, "violin", tags="Music")

        assert [hit.bucket.id for hit in in_may.hits] == ["aaaaaaaaaaaa"]
        assert [hit.bucket.id for hit in tagged.hits] == ["aaaaaaaaaaaa"]


async def test_a_label_that_goes_from_tags_to_domains_is_filtered_where_it_now_stands(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        head = "---\nid: aaaaaaaaaaaa\nname: a\n"
        await r.write("dynamic/a.md", f"{head}domain: [work]\ntags: [life]\n---\ntea\n")
        await r.write("dynamic/a.md", f"{head}domain: [work, life]\ntags: []\n---\ntea\n")
        mirror = r.core.mirror

        assert not mirror.tags.having(["life"], mirror.slots).any()
        assert mirror.domains.having(["life"], mirror.slots).any()


async def test_feels_come_newest_first_and_verbatim(tmp_path):
    async with running(tmp_path) as r:
        await r.write(
            "feel/a_aaaaaaaaaaaa.md",
            note("aaaaaaaaaaaa", "old [[feeling]]", kind="feel", created="2026-05-03T08:00:00+00:00"),
        )
        await r.write("feel/b_bbbbbbbbbbbb.md", note("bbbbbbbbbbbb", "new feeling", kind="feel"))

        answer = await ask(r, domain="feel")

        assert [hit.text for hit in answer.hits] == ["new feeling", "old [[feeling]]"]


async def test_the_important_are_listed_without_a_search(tmp_path):
    async with running(tmp_path) as r:
        for i, importance in enumerate([3, 9, 7, 10]):
            note_id = f"{i:012x}"
            await r.write(f"dynamic/x/n_{note_id}.md", note(note_id, f"note {i}", importance=importance))
        await r.write("feel/f_aaaaaaaaaaaa.md", note("aaaaaaaaaaaa", "a feel", kind="feel", importance=10))

        answer = await ask(r, importance_min=7)

        assert [hit.bucket.importance for hit in answer.hits] == [10, 9, 7]


async def test_a_note_that_does_not_fit_the_budget_is_left_out_whole_and_said(tmp_path):
    async with running(tmp_path) as r:
        await r.core.services.remember(NewMemory("violin " + "long story " * 60, name="violin long", importance=9))
        short = await r.core.services.remember(NewMemory("violin short", name="violin short"))

        answer = await ask(r, "violin", max_tokens=60)

        assert [hit.bucket.id for hit in answer.hits] == [short.id]
        assert [(n.notice, n.values["count"]) for n in answer.notices if n.notice is Notice.LEFT_OUT] == [
            (Notice.LEFT_OUT, 1)
        ]


async def test_the_shown_valence_is_tinted_and_the_stored_one_is_not(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("violin", valence=0.5))

        answer = await ask(r, "violin", valence=1.0)

        # 0.5 + (1.0 − 0.5) · 0.2 = 0.6
        assert answer.hits[0].shown_valence == 0.6
        assert "valence: 0.5\n" in r.read(kept.path)


async def test_without_a_model_words_do_and_it_is_said(tmp_path):
    async with running(tmp_path, no_model=True) as r:
        kept = await r.core.services.remember(NewMemory("最近实习很累，但是学到很多"))

        answer = await ask(r, "很累")

        assert [hit.bucket.id for hit in answer.hits] == [kept.id]
        assert Notice.NO_EMBEDDINGS in {n.notice for n in answer.notices}


async def test_a_note_edited_by_hand_is_recalled_as_it_now_reads(tmp_path):
    async with running(tmp_path) as r:
        kept = await r.core.services.remember(NewMemory("the appointment is on monday"))

        await r.write(kept.path, r.read(kept.path).replace("monday", "thursday"))
        answer = await ask(r, "appointment")

        assert answer.hits[0].text == "the appointment is on thursday"


async def test_the_persons_own_notes_follow_under_their_own_heading(tmp_path):
    async with running(tmp_path) as r:
        await r.write("Projects/boat.md", "# Boat\n\nvarnish the mast in april\n")

        answer = await ask(r, "varnish the mast")

        assert [hit.bucket.path for hit in answer.own] == ["Projects/boat.md"]
        assert not answer.hits
