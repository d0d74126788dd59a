"""Imports as a person sees them: upload, look, start, pause, go on, results, patterns, review."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import random
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final

from vaultd.core.errors import BadInput, VaultError
from vaultd.llm.analyst import Analyst
from vaultd.services.importing.hands import Hands, KeptAs
from vaultd.services.importing.jobs import (
    LOG_FILE,
    UPLOAD_FILE,
    ImportOptions,
    Job,
    JobState,
    JobStore,
    Mode,
    StepLog,
    UploadFile,
    keep_text,
)
from vaultd.services.importing.ledger import Ledger
from vaultd.services.importing.limits import MOST_UPLOAD_BYTES
from vaultd.services.importing.patterns import Patterns, patterns_in, patterns_read
from vaultd.services.importing.plan import CHUNKS_FILE
from vaultd.services.importing.preflight import Preflight, Prices, look, read_upload
from vaultd.services.importing.progress import Progress
from vaultd.services.importing.results import Result, outcomes_of, remembered, results_of
from vaultd.services.importing.review import Reviewed, Verdict, carry_out
from vaultd.services.importing.runner import Runner
from vaultd.services.importing.spool import NOTES_FILE, TALKS_FILE, TURNS_FILE
from vaultd.services.importing.status import ImportStatus, ended_job, status_of
from vaultd.services.importing.turns import Findings, Format
from vaultd.vault.atomic import disk_errors

log = logging.getLogger(__name__)

READING_FILE: Final = "reading.json"
RESULTS_FILE: Final = "results.jsonl"
PATTERNS_FILE: Final = "patterns.json"
VERDICTS_FILE: Final = "verdicts.jsonl"

_BEFORE_BEGINNING: Final = (JobState.UPLOADED, JobState.READ)
_NEEDED_FOR_RUNNING: Final = (UPLOAD_FILE, TURNS_FILE, TALKS_FILE, NOTES_FILE, CHUNKS_FILE, READING_FILE, LOG_FILE)


class Importer:
    """Keeps imports below `state_folder`, runs one at a time, and picks up what a crash or a restart left.

    `on_progress` is called at every step, with the import's status. `threads` is how blocking work is run.
    """

    def __init__(
        self,
        state_folder: Path,
        *,
        analyst: Analyst,
        hands: Hands,
        clock: Callable[[], datetime],
        rng: random.Random,
        zone: tzinfo = UTC,
        prices: Callable[[], Prices] = Prices,
        on_progress: Callable[[ImportStatus], None] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        most_upload_bytes: int = MOST_UPLOAD_BYTES,
    ) -> None:
        self._store = JobStore(state_folder)
        self._analyst = analyst
        self._hands = hands
        self._clock = clock
        self._rng = rng
        self._zone = zone
        self._prices = prices
        self._on_progress = on_progress
        self._sleep = sleep
        self._most_bytes = most_upload_bytes
        self._progress: dict[str, Progress] = {}
        self._runner: Runner | None = None
        self._running: str = ""
        self._task: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    # -- uploads --------------------------------------------------------------------------------------------------

    async def upload(self, stream: AsyncIterable[bytes], filename: str) -> ImportStatus:
        """Store an upload. Raises BadInput where it is too big or empty, VaultError where the disk does not take it."""
        job, folder = self._store.create(filename, now=self._clock(), rng=self._rng)
        target = UploadFile(folder / UPLOAD_FILE, self._most_bytes)
        complete = False
        try:
            async for block in stream:
                await asyncio.to_thread(target.write, block)
            await asyncio.to_thread(target.finish)
            if not target.size:
                raise BadInput(f"{job.filename}: is empty; export again and upload the file that you get")
            complete = True
        finally:
            if not complete:
                target.abandon()
                await asyncio.to_thread(self._store.drop, folder)
        return await self._uploaded(replace(job, size=target.size))

    async def _uploaded(self, job: Job) -> ImportStatus:
        await asyncio.to_thread(self._store.save, job)
        return self._status(job, Progress())

    # -- looking --------------------------------------------------------------------------------------------------

    async def preflight(self, job_id: str, options: ImportOptions | None = None) -> Preflight:
        """What an upload holds and what importing it is going to cost; nothing is kept. Raises BadInput in one line."""
        async with self._reading:
            job = self._store.load(job_id)
            if job.state not in _BEFORE_BEGINNING:
                raise BadInput("the import has begun, its options stand; resume it, or remove it and upload again")
            return await self._look(job, options or job.options)

    async def _look(self, job: Job, options: ImportOptions) -> Preflight:
        found = await asyncio.to_thread(self._plan, job, options)
        chosen = replace(job, state=JobState.READ, reason="", options=options, preflight=found.written())
        await asyncio.to_thread(self._store.save, replace(chosen, chunks=found.chunks))
        return found

    def _plan(self, job: Job, options: ImportOptions) -> Preflight:
        folder = self._store.folder(job.id)
        with disk_errors(str(folder)):
            return self._planned(job, folder, options)

    def _planned(self, job: Job, folder: Path, options: ImportOptions) -> Preflight:
        reading = folder / READING_FILE
        if reading.exists():
            raw = json.loads(reading.read_text("utf-8"))
            format_, findings = Format(raw["format"]), Findings.read(raw)
        else:
            format_, findings = read_upload(folder, job.filename, zone=self._zone, now=job.created)
            keep_text(reading, json.dumps({"format": format_.value, **findings.written()}, ensure_ascii=False))
        return look(
            folder,
            format_,
            findings,
            options,
            ledger=Ledger(self._store.ledger_file),
            prices=self._prices(),
            model_available=self._analyst.available,
            now=job.created,
        )

    # -- running --------------------------------------------------------------------------------------------------

    async def start(self, job_id: str, options: ImportOptions | None = None) -> ImportStatus:
        """Begin an import. Raises BadInput: another one runs, no chat model is there, the upload is broken."""
        async with self._reading:
            job = self._resting(job_id)
            if job.state not in _BEFORE_BEGINNING:
                raise BadInput("the import has begun already; resume it")
            # planned anew in any case: another import may have brought in some of it since the preflight
            await self._look(job, options or job.options)
            job = self._store.load(job_id)
            self._refuse(job, job.options)
            return await self._go(job)

    def _refuse(self, job: Job, options: ImportOptions) -> None:
        found = job.preflight or {}
        if found.get("broken") and not options.partial:
            raise BadInput(f"{found['broken']}; import those all the same with partial, or export again")
        if found.get("notes") and self._hands.adopt is None:
            raise BadInput("Ombre buckets cannot be taken over here")
        self._refuse_without_model(job, options)

    def _refuse_without_model(self, job: Job, options: ImportOptions) -> None:
        needs_model = bool((job.preflight or {}).get("needs_model"))
        if options.mode is Mode.MEMORIES and needs_model and not self._analyst.available:
            raise BadInput(
                "no chat model is configured, so conversations cannot be split into memories: "
                "set llm.api_key, or import one note per conversation (mode notes)"
            )

    async def resume(self, job_id: str) -> ImportStatus:
        """Go on where the import stopped: chunks that failed are tried again. Raises BadInput."""
        async with self._reading:
            job = self._resting(job_id)
            if job.state not in (JobState.PAUSED, JobState.INCOMPLETE, JobState.RUNNING):
                raise BadInput("there is nothing to resume; start the import")
            self._refuse_without_model(job, job.options)
            return await self._go(job)

    async def pause(self, job_id: str) -> ImportStatus:
        """Stop after the step at hand; what is done stays done. Raises BadInput where the import does not run."""
        self._store.folder(job_id)
        if self._runner is None or self._running != job_id:
            raise BadInput("the import does not run")
        self._runner.pause()
        return await self.status(job_id)

    async def recover(self) -> tuple[str, ...]:
        """At start: go on with the import that ran when vaultd ended, and clear away cut-off uploads. The ids.

        Where somebody has begun another one by then, the one that was left is paused.
        """
        await asyncio.to_thread(self._store.sweep)
        async with self._reading:
            left: list[str] = []
            for job in reversed(await asyncio.to_thread(self._store.all)):
                if job.state is JobState.DONE:
                    await asyncio.to_thread(self._forget, job.id)
                elif job.state is JobState.RUNNING and job.id != self._running and not left:
                    left.append(job.id)
            for job_id in left:
                job = self._store.load(job_id)
                try:
                    self._resting(job_id)
                    self._refuse_without_model(job, job.options)
                except BadInput as exc:
                    await asyncio.to_thread(self._store.save, replace(job, state=JobState.PAUSED, reason=str(exc)))
                    return ()
                await self._go(job)
            return tuple(left)

    async def wait(self) -> None:
        """Until the import that runs, if one does, has ended."""
        while self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def close(self) -> None:
        """Stop at once; `recover` goes on from the last step that is in the log."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait((task,))

    async def _go(self, job: Job) -> ImportStatus:
        folder = self._store.folder(job.id)
        progress = await self._progress_of(job.id)
        job = replace(job, state=JobState.RUNNING, reason="")
        await asyncio.to_thread(self._store.save, job)
        self._running = job.id
        self._runner = Runner(
            folder,
            job.options.mode,
            steps=StepLog(folder / LOG_FILE),
            progress=progress,
            ledger_file=self._store.ledger_file,
            analyst=self._analyst,
            hands=self._hands,
            rng=self._rng,
            sleep=self._sleep,
            moved=lambda: self._tell(job, progress),
        )
        self._task = asyncio.create_task(self._work(job, self._runner, progress), name=f"import {job.id}")
        self._task.add_done_callback(lambda task: self._ended(job, task))
        return self._status(job, progress)

    async def _work(self, job: Job, runner: Runner, progress: Progress) -> None:
        run = await runner.run()
        ended = ended_job(job, run, progress)
        if ended.state in (JobState.DONE, JobState.INCOMPLETE):
            ended = replace(ended, finished=self._clock())
        if ended.state is JobState.DONE:
            try:
                await asyncio.to_thread(self._store_results, job.id)
            except VaultError as exc:  # everything is kept; the disk has no room for the list of it
                ended = replace(ended, state=JobState.PAUSED, reason=str(exc), finished=None)
        await asyncio.to_thread(self._store.save, ended)
        if ended.state is JobState.DONE:
            await asyncio.to_thread(self._forget, job.id)
        self._tell(ended, progress)

    def _ended(self, job: Job, task: asyncio.Task[None]) -> None:
        if self._running == job.id:
            self._runner, self._running = None, ""
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("the import %s ended by an error of vaultd's own", job.id, exc_info=error)
            self._store.save(replace(job, state=JobState.PAUSED, reason=f"internal error ({error}); see the log"))

    def _resting(self, job_id: str) -> Job:
        job = self._store.load(job_id)
        if self._task is not None and not self._task.done():
            which = "this import" if self._running == job_id else f"another import ({self._running})"
            raise BadInput(f"{which} is running; pause it first")
        return job

    # -- telling --------------------------------------------------------------------------------------------------

    async def status(self, job_id: str) -> ImportStatus:
        """How far an import is. Raises BadInput."""
        job = await asyncio.to_thread(self._store.load, job_id)
        return self._status(job, await self._progress_of(job_id))

    async def jobs(self) -> tuple[Job, ...]:
        """All imports, newest first."""
        return tuple(await asyncio.to_thread(self._store.all))

    async def results(self, job_id: str) -> tuple[Result, ...]:
        """What an import has brought in so far, in order, with the verdicts of its review. Raises BadInput."""
        folder = self._store.folder(job_id)
        return await asyncio.to_thread(lambda: tuple(self._results(folder)))

    async def patterns(self, job_id: str) -> Patterns:
        """What comes up again and again in what an import brought in. Raises BadInput."""
        folder = self._store.folder(job_id)
        return await asyncio.to_thread(self._patterns, folder)

    async def review(self, job_id: str, decisions: Mapping[str, Verdict]) -> Reviewed:
        """Carry out what a person says of the memories of an import, by their ids. Raises BadInput."""
        folder = self._store.folder(job_id)
        outcomes: Mapping[str, KeptAs] = await asyncio.to_thread(lambda: outcomes_of(self._results(folder)))
        verdicts = StepLog(folder / VERDICTS_FILE)

        async def decided(note_id: str, verdict: Verdict) -> None:
            await asyncio.to_thread(verdicts.append, {"id": note_id, "verdict": verdict.value})

        try:
            return await carry_out(decisions, outcomes, self._hands, decided=decided)
        finally:
            verdicts.close()

    async def remove(self, job_id: str) -> None:
        """Delete what is stored of an import; the memories stay. Raises BadInput while it runs."""
        self._store.folder(job_id)
        if self._running == job_id and self._task is not None and not self._task.done():
            raise BadInput("the import is running; pause it first")
        await asyncio.to_thread(self._store.remove, job_id)
        self._progress.pop(job_id, None)

    def _tell(self, job: Job, progress: Progress) -> None:
        if self._on_progress is not None:
            self._on_progress(self._status(job, progress))

    def _status(self, job: Job, progress: Progress) -> ImportStatus:
        pausing = self._running == job.id and self._runner is not None and self._runner.pausing
        return status_of(job, progress, self._prices(), pausing=pausing)

    async def _progress_of(self, job_id: str) -> Progress:
        if job_id not in self._progress:
            lines = StepLog(self._store.folder(job_id) / LOG_FILE).lines()
            self._progress[job_id] = await asyncio.to_thread(Progress.of, lines)
        return self._progress[job_id]

    # -- what stays of an import ----------------------------------------------------------------------------------

    def _results(self, folder: Path) -> Iterator[Result]:
        stored = folder / RESULTS_FILE
        verdicts = {line["id"]: Verdict(line["verdict"]) for line in StepLog(folder / VERDICTS_FILE).lines()}
        return results_of(StepLog(stored if stored.exists() else folder / LOG_FILE).lines(), verdicts)

    def _patterns(self, folder: Path) -> Patterns:
        stored = folder / PATTERNS_FILE
        if stored.exists():
            return patterns_read(json.loads(stored.read_text("utf-8")))
        return patterns_in(remembered(StepLog(folder / LOG_FILE).lines()))

    def _store_results(self, job_id: str) -> None:
        folder = self._store.folder(job_id)
        steps = StepLog(folder / LOG_FILE)
        patterns = patterns_in(remembered(steps.lines()))
        kept = [json.dumps(line, ensure_ascii=False) for line in steps.lines() if line["t"] == "kept"]
        keep_text(folder / RESULTS_FILE, "".join(f"{line}\n" for line in kept))
        keep_text(folder / PATTERNS_FILE, json.dumps(dataclasses.asdict(patterns), ensure_ascii=False))

    def _forget(self, job_id: str) -> None:
        """Delete the upload and every copy of its texts: they are in the memory now, and nowhere else."""
        folder = self._store.folder(job_id)
        for name in _NEEDED_FOR_RUNNING:
            (folder / name).unlink(missing_ok=True)
