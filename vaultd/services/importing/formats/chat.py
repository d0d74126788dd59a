"""Chats as other programs save them: `messages` with `role` and `content`, after the chat protocol."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from vaultd.services.importing.cleaning import one_line, speech
from vaultd.services.importing.formats.fields import id_of, objects_of, text_of
from vaultd.services.importing.formats.tree import Foreign, Neighbour, Shape
from vaultd.services.importing.times import moment_of
from vaultd.services.importing.turns import Closing, Findings, LeftOut, Message, Speaker, Turn

_SPEAKERS: Final = {
    "user": Speaker.USER,
    "human": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "ai": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "bot": Speaker.ASSISTANT,
}
_TIMES: Final = ("created_at", "create_time", "timestamp", "time", "date", "inserted_at")


def message(raw: Foreign, at: Neighbour, zone: tzinfo, findings: Findings) -> Message:
    """One message; the one before it is its parent."""
    return Message(id_of(raw.get("id")) or f"#{at.key}", at.before, _turn(raw, zone, findings))


def closing(fields: Foreign, zone: tzinfo) -> Closing:
    """A conversation's own fields."""
    found = next((moment for key in _TIMES if (moment := moment_of(fields.get(key), zone))), None)
    title = next((line for key in ("title", "name") if (line := one_line(fields.get(key)))), "")
    return Closing(id_of(fields.get("id")) or id_of(fields.get("uuid")), title, found)


def _turn(raw: Mapping[str, Any], zone: tzinfo, findings: Findings) -> Turn | None:
    role = text_of(raw.get("role") or raw.get("sender") or raw.get("author")).lower()
    speaker = _SPEAKERS.get(role)
    if speaker is None:
        findings.leave_out(LeftOut.TOOL if role in ("tool", "function") else LeftOut.SYSTEM)
        return None
    content = raw.get("content")
    said = text_of(content) or text_of(raw.get("text"))
    attachments: list[str] = []
    for block in objects_of(content):
        kind = text_of(block.get("type"))
        if kind in ("text", "input_text", "output_text"):
            said = f"{said}\n\n{text_of(block.get('text'))}" if said else text_of(block.get("text"))
        elif "image" in kind or "audio" in kind or "file" in kind:
            attachments.append(kind)
    text, private = speech(said)
    findings.leave_out(LeftOut.PRIVATE, int(private))
    findings.attachments += len(attachments)
    if not text and not attachments:
        findings.leave_out(LeftOut.EMPTY)
        return None
    when = next((moment for key in _TIMES if (moment := moment_of(raw.get(key), zone))), None)
    return Turn(speaker, text, when, tuple(dict.fromkeys(attachments)))


SHAPE: Final = Shape("messages", message, closing)
"""The shape of Chat's export."""
