import dataclasses

from tests.running import running
from vaultd.core.bucket import Kind
from vaultd.core.query import Query
from vaultd.services.revise import Revision
from vaultd.settings import DecaySettings, Settings


def note(note_id, *, importance, active, body="x", **properties):
    more = "".join(f"{key}: {value}\n" for key, value in properties.items())
    return (
        f"---\nid: {note_id}\nname: n{note_id[-1]}\ntype: dynamic\ndomain:\n  - 日常\nimportance: {importance}\n{more}"
        f"created: {active}\nlast_active: {active}\n---\n{body}\n"
    )


A, B, C = (f"{c * 12}" for c in "abc")
LONG_AGO = "2026-08-01T12:00:00+00:00"  # 121 days before the clock's now
MONTH_AGO = "2026-10-25T12:00:00+00:00"  # 36 days
RECENT = "2026-11-29T12:00:00+00:00"


async def test_a_cycle_resolves_and_archives_and_says_so(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO))
        await r.write(f"dynamic/日常/b_{B}.md", note(B, importance=4, active=MONTH_AGO))
        await r.write(f"dynamic/日常/c_{C}.md", note(C, importance=5, active=RECENT))

        dry = await r.core.services.forget(dry_run=True)
        result = await r.core.services.forget()

        # A: 5·e^(−0.05·121)·… = 0.015 → archived.  B: 4·e^(−0.05·36)·(0.3+0.868)·0.05 = 0.039 → resolved, then archived
        assert (dry.checked, dry.archived, dry.auto_resolved, dry.failed) == (3, 2, 1, 0)
        assert (result.checked, result.archived, result.auto_resolved, result.failed) == (3, 2, 1, 0)
        assert r.core.mirror.get(A).path == f"archive/日常/a_{A}.md"
        assert "type: archived\n" in r.read(f"archive/日常/a_{A}.md")
        assert r.core.mirror.get(B).resolved
        assert r.core.mirror.get(C).kind is Kind.DYNAMIC


async def test_a_dry_run_touches_nothing(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO))
        before = {p: p.read_bytes() for p in r.vault.rglob("*") if p.is_file()}

        await r.core.services.forget(dry_run=True)

        assert {p: p.read_bytes() for p in r.vault.rglob("*") if p.is_file()} == before


async def test_a_note_that_fails_is_skipped_and_counted(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO))
        await r.write(f"dynamic/日常/b_{B}.md", note(B, importance=5, active=LONG_AGO))
        (r.vault / f"dynamic/日常/a_{A}.md").unlink()  # gone, and the index does not know yet

        result = await r.core.services.forget()

        assert (result.archived, result.failed) == (1, 1)
        assert r.core.mirror.get(B).kind is Kind.ARCHIVED


async def test_the_archive_is_never_written_over_a_namesake(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"archive/日常/a_{A}.md", "somebody else's text\n")
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO))

        await r.core.services.forget()

        assert r.read(f"archive/日常/a_{A}.md") == "somebody else's text\n"
        assert r.core.mirror.get(A) is not None
        assert "type: archived" in r.read(r.core.mirror.get(A).path)


async def test_what_is_archived_is_found_no_more_but_can_be_read(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO, body="the tandem in the cellar"))
        await r.core.services.forget()

        answer = await r.core.services.answer(Query.parse("tandem"))
        whole = await r.core.services.revise.read(A)

        assert not answer.hits
        assert whole.text == "the tandem in the cellar"


async def test_the_importance_floor_holds_and_the_forecast_says_so(tmp_path):
    # importance 9, silent for 79 days
    settings = dataclasses.replace(Settings(), decay=DecaySettings(protect_importance_floor=8))
    silent = "2026-09-12T12:00:00+00:00"
    async with running(tmp_path, settings=settings) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=9, active=silent))
        before = await r.core.services.answer(Query.parse())

        result = await r.core.services.forget()
        (fading,) = r.core.services.forget.forecast()

        assert result.archived == 0
        assert r.core.mirror.get(A).kind is Kind.DYNAMIC
        assert fading.held
        assert [hit.decay_score for hit in before.hits] == [fading.score] or abs(
            before.hits[0].decay_score - fading.score
        ) < 0.001


async def test_the_forecast_names_what_goes_and_a_use_keeps_it(tmp_path):
    async with running(tmp_path) as r:
        # 5·e^(−0.05·d)·(0.3·~1+0.7·1.24) < 0.3 from day 60 on; silent for 57 days
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active="2026-10-04T12:00:00+00:00"))

        (fading,) = r.core.services.forget.forecast(7)
        await r.core.services.answer(Query.parse(A))

        assert fading.id == A
        assert 0 < fading.days <= 7
        assert r.core.services.forget.forecast(7) == []


async def test_pinned_and_protected_and_feels_never_fade(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"permanent/a_{A}.md", note(A, importance=10, active=LONG_AGO, pinned="true"))
        await r.write(f"dynamic/日常/b_{B}.md", note(B, importance=1, active=LONG_AGO, protected="true"))
        await r.write(f"feel/c_{C}.md", note(C, importance=1, active=LONG_AGO))

        result = await r.core.services.forget()

        assert (result.checked, result.archived) == (0, 0)
        assert result.lowest_score is None


async def test_a_wake_up_by_hand_out_of_the_archive_survives_the_cycle(tmp_path):
    async with running(tmp_path) as r:
        await r.write(f"dynamic/日常/a_{A}.md", note(A, importance=5, active=LONG_AGO))
        await r.core.services.forget()

        await r.core.services.revise(A, Revision(restore=True))
        await r.core.services.forget()

        assert r.core.mirror.get(A).kind is Kind.DYNAMIC
