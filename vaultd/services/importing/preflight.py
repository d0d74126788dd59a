"""A look into an upload before anything is kept: what it is, how much of it, what it is going to cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final

from vaultd.core.errors import BadInput
from vaultd.services.importing.formats.archive import Member, contents
from vaultd.services.importing.formats.recognise import Recognised, events, recognise
from vaultd.services.importing.jobs import UPLOAD_FILE, ImportOptions
from vaultd.services.importing.jsonstream import BrokenJson
from vaultd.services.importing.ledger import Ledger
from vaultd.services.importing.plan import write_plan
from vaultd.services.importing.spool import SpoolWriter, Talk, talks_in
from vaultd.services.importing.turns import FORMAT_NAMES, Closing, Findings, Format, Message, WholeNote
from vaultd.settings import ChatModelSettings

SAMPLE_TITLES: Final = 8


@dataclass(frozen=True, slots=True)
class Prices:
    """What a chat model costs, a million tokens; 0 where that is not known."""

    input_per_million: float = 0.0
    output_per_million: float = 0.0
    currency: str = ""

    @classmethod
    def of(cls, settings: ChatModelSettings) -> Prices:
        """The prices that are set."""
        return cls(settings.price_input, settings.price_output, settings.currency)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What so many tokens cost; None where no price is known."""
        if not self.input_per_million and not self.output_per_million:
            return None
        return round((tokens_in * self.input_per_million + tokens_out * self.output_per_million) / 1e6, 4)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What an import is going to be. Requests, tokens and cost are estimates; nothing has been kept."""

    format: Format
    format_name: str
    conversations: int
    turns: int
    branches: int
    branch_turns: int
    notes: int
    chunks: int
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str
    first: datetime | None
    last: datetime | None
    known_conversations: int
    known_turns: int
    known_notes: int
    repeated: int
    attachments: int
    without_time: int
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]
    broken: str
    titles: tuple[str, ...]
    needs_model: bool
    model_available: bool

    def written(self) -> dict[str, Any]:
        """As plain values."""
        raw = dataclasses.asdict(self)
        raw["format"] = self.format.value
        raw["left_out"] = dict(self.left_out)
        for key in ("first", "last"):
            raw[key] = None if raw[key] is None else raw[key].isoformat()
        return raw


@dataclass(slots=True)
class _Shown:
    """What is told of the conversations of a spool."""

    conversations: int = 0
    turns: int = 0
    branches: int = 0
    branch_turns: int = 0
    first: datetime | None = None
    last: datetime | None = None
    titles: list[str] = field(default_factory=list)

    def add(self, talk: Talk) -> None:
        self.conversations += 1
        self.turns += len(talk.current)
        self.branches += len(talk.threads) - 1
        self.branch_turns += sum(len(run) for run in talk.threads[1:])
        for when in (talk.started, talk.current.earliest, talk.current.latest):
            if when is not None:
                self.first = when if self.first is None else min(self.first, when)
                self.last = when if self.last is None else max(self.last, when)
        if talk.title and len(self.titles) < SAMPLE_TITLES:
            self.titles.append(talk.title)


def read_upload(folder: Path, filename: str, *, zone: tzinfo, now: datetime) -> tuple[Format, Findings]:
    """Spool a stored upload. Takes about as long as reading it. Raises BadInput in one line."""
    found = contents(folder / UPLOAD_FILE, filename, zone=zone)
    recognised = recognise(found, filename)
    findings = Findings()
    for name in found.nested:
        findings.warn(f"{name} is a ZIP inside the ZIP and is not opened")
    spool = SpoolWriter(folder, recognised.format, findings)
    try:
        for member in recognised.members:
            _read_member(recognised, member, spool, findings, zone)
    finally:
        spool.close()
    if not spool.talks and not spool.notes:
        raise BadInput(
            f"{filename}: holds no conversation in which anything is said ({FORMAT_NAMES[recognised.format]})"
        )
    return recognised.format, findings


def _read_member(recognised: Recognised, member: Member, spool: SpoolWriter, findings: Findings, zone: tzinfo) -> None:
    try:
        for event in events(recognised, member, zone, findings):
            match event:
                case Message():
                    spool.message(event)
                case Closing():
                    spool.closing(event, member.name, member.when)
                case WholeNote():
                    spool.note(event)
    except (BrokenJson, BadInput) as exc:
        spool.drop_open()
        sentence = f"{member.name}: {exc}" if isinstance(exc, BrokenJson) else str(exc)
        if not spool.talks and not spool.notes:
            raise BadInput(sentence) from exc
        findings.broken = f"{sentence}; the {spool.talks} conversations before it are whole"


def look(
    folder: Path,
    format_: Format,
    findings: Findings,
    options: ImportOptions,
    *,
    ledger: Ledger,
    prices: Prices,
    model_available: bool,
    now: datetime,
) -> Preflight:
    """Plan a spooled upload and tell what the plan comes to."""
    plan = write_plan(folder, format_, options, ledger=ledger, fallback=now)
    shown = _Shown()
    for talk in talks_in(folder):
        shown.add(talk)
    return Preflight(
        format=format_,
        format_name=FORMAT_NAMES[format_],
        conversations=shown.conversations,
        turns=shown.turns,
        branches=shown.branches,
        branch_turns=shown.branch_turns,
        notes=plan.notes + plan.known_notes,
        chunks=plan.chunks,
        requests=plan.requests,
        tokens_in=plan.tokens_in,
        tokens_out=plan.tokens_out,
        cost=prices.cost(plan.tokens_in, plan.tokens_out),
        currency=prices.currency,
        first=shown.first,
        last=shown.last,
        known_conversations=plan.known_conversations,
        known_turns=plan.known_turns,
        known_notes=plan.known_notes,
        repeated=findings.repeated,
        attachments=findings.attachments,
        without_time=findings.without_time,
        left_out={why.value: count for why, count in sorted(findings.left_out.items())},
        warnings=tuple(findings.warnings),
        broken=findings.broken,
        titles=tuple(shown.titles),
        needs_model=plan.requests > 0,
        model_available=model_available,
    )
