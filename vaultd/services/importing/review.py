"""A person goes through what an import brought in: keep, important, pin, noise, for many memories at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vaultd.core.errors import BadInput, VaultdError
from vaultd.services.importing.hands import Hands, KeptAs

MOST_DECISIONS: Final = 10_000


class Verdict(StrEnum):
    """What a person says of a memory. `noise` puts it into the trash."""

    KEEP = "keep"
    IMPORTANT = "important"
    PIN = "pin"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was carried out, and what was not, with the reason in one line."""

    done: Mapping[str, Verdict]
    failed: Mapping[str, str]


def decisions_of(raw: Mapping[str, str]) -> dict[str, Verdict]:
    """Decisions from a request, by memory id. Raises BadInput, which names what is allowed."""
    if len(raw) > MOST_DECISIONS:
        raise BadInput(f"{len(raw)} decisions are too many at once; {MOST_DECISIONS} is the most")
    try:
        return {str(note_id): Verdict(verdict) for note_id, verdict in raw.items()}
    except ValueError as exc:
        raise BadInput(f"{exc}; allowed are keep, important, pin, noise") from exc


async def carry_out(
    decisions: Mapping[str, Verdict],
    outcomes: Mapping[str, KeptAs],
    hands: Hands,
    *,
    decided: Callable[[str, Verdict], Awaitable[None]],
) -> Reviewed:
    """Do what the decisions say, one after the other; one that fails does not stop the others.

    `outcomes` tells what became of each memory of the import. Only what the import made itself can be noise: a memory
    that was there before keeps what it was, though the import added to it.
    """
    done: dict[str, Verdict] = {}
    failed: dict[str, str] = {}
    for note_id, verdict in decisions.items():
        refusal = _refusal(verdict, outcomes.get(note_id), hands)
        if refusal:
            failed[note_id] = refusal
            continue
        act = _act(verdict, hands)
        try:
            if act is not None:
                await act(note_id)
        except VaultdError as exc:
            failed[note_id] = str(exc)
            continue
        await decided(note_id, verdict)
        done[note_id] = verdict
    return Reviewed(done, failed)


def _act(verdict: Verdict, hands: Hands) -> Callable[[str], Awaitable[None]] | None:
    return {
        Verdict.KEEP: None,
        Verdict.IMPORTANT: hands.important,
        Verdict.PIN: hands.pin,
        Verdict.NOISE: hands.discard,
    }[verdict]


def _refusal(verdict: Verdict, outcome: KeptAs | None, hands: Hands) -> str:
    if outcome is None:
        return "this import made no such memory"
    if verdict is Verdict.NOISE and outcome is not KeptAs.NEW:
        return "the memory was there before the import; take it back through its history instead"
    if verdict is not Verdict.KEEP and _act(verdict, hands) is None:
        return f"{verdict.value} is not offered here"
    return ""
