"""How an import stands, in one value for faces."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vaultd.services.importing.hands import KeptAs
from vaultd.services.importing.jobs import Job, JobState
from vaultd.services.importing.preflight import Prices
from vaultd.services.importing.progress import Progress
from vaultd.services.importing.runner import Ending, Run


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """One import as faces show it; `written` makes plain values of it."""

    job: Job
    chunks: int
    done: int
    failed: Mapping[int, str]
    kept: Mapping[str, int]
    near: int
    refused: int
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str
    last_error: str
    pausing: bool

    def written(self) -> dict[str, Any]:
        """As plain values."""
        raw = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "job"}
        raw["failed"] = {str(number): reason for number, reason in self.failed.items()}
        raw["kept"] = dict(self.kept)
        return {**self.job.written(), **raw}


def status_of(job: Job, progress: Progress, prices: Prices, *, pausing: bool) -> ImportStatus:
    """An import's status, from its log; of one whose log is gone, from its own file."""
    counts = job.counts or {}
    tokens_in = progress.tokens_in or counts.get("tokens_in", 0)
    tokens_out = progress.tokens_out or counts.get("tokens_out", 0)
    return ImportStatus(
        job=job,
        chunks=job.chunks,
        done=len(progress.done) or counts.get("done", 0),
        failed=progress.failed,
        kept=progress.kept or {kind.value: counts[kind.value] for kind in KeptAs if kind.value in counts},
        near=progress.near or counts.get("near", 0),
        refused=progress.refused or counts.get("refused", 0),
        requests=progress.requests or counts.get("requests", 0),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=prices.cost(tokens_in, tokens_out),
        currency=prices.currency,
        last_error=progress.last_error,
        pausing=pausing,
    )


def ended_job(job: Job, run: Run, progress: Progress) -> Job:
    """The job after a run. Chunks that were given up leave it incomplete, never done."""
    counts = {
        **progress.kept,
        "done": len(progress.done),
        "near": progress.near,
        "refused": progress.refused,
        "requests": progress.requests,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
    }
    if run.ending is Ending.FINISHED:
        state = JobState.DONE if len(progress.done) >= job.chunks else JobState.INCOMPLETE
        missing = job.chunks - len(progress.done)
        reason = (
            "" if state is JobState.DONE else f"{missing} of {job.chunks} chunks failed ({progress.last_error}); resume"
        )
        return replace(job, state=state, reason=reason, counts=counts)
    return replace(job, state=JobState.PAUSED, reason=run.reason, counts=counts)
