"""What a person decides on the results of an import."""

from __future__ import annotations

from tests.services.importing.desk import Desk
from vaultd.services.importing.jobs import ImportOptions
from vaultd.services.importing.review import Verdict


async def test_review_carries_out_decisions_in_bulk_and_says_what_it_could_not(desk: Desk):
    job = await desk.upload()
    await desk.run(job)

    reviewed = await desk.importer.review(
        job,
        {
            "id0": Verdict.IMPORTANT,
            "id1": Verdict.NOISE,
            "id2": Verdict.NOISE,
            "id3": Verdict.PIN,
            "elsewhere": Verdict.KEEP,
        },
    )

    assert dict(reviewed.done) == {"id0": Verdict.IMPORTANT, "id2": Verdict.NOISE}
    assert set(reviewed.failed) == {"id1", "id3", "elsewhere"}
    assert (desk.important, desk.discarded) == (["id0"], ["id2"])
    verdicts = [result.verdict for result in await desk.importer.results(job)]
    assert verdicts == [Verdict.IMPORTANT, None, Verdict.NOISE, None]


async def test_a_memory_that_was_there_before_is_never_noise(desk: Desk):
    await desk.run(await desk.upload())
    job = await desk.upload()
    await desk.run(job, ImportOptions(again=True))

    reviewed = await desk.importer.review(job, {"id0": Verdict.NOISE})

    assert "was there before the import" in reviewed.failed["id0"]
    assert desk.discarded == []
