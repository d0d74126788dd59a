"""DeepSeek's data export: `conversations.json`, each conversation a tree of messages in `fragments`.

Nodes are numbered from `root`; a message says who speaks by its fragments: REQUEST is the person, RESPONSE the model.
Nothing marks the current thread, the newest is. Older exports have `content` instead of fragments.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from vaultd.services.importing.cleaning import one_line, speech
from vaultd.services.importing.formats.fields import id_of, object_of, objects_of, text_of
from vaultd.services.importing.formats.tree import Foreign, Neighbour, Shape
from vaultd.services.importing.times import moment_of
from vaultd.services.importing.turns import Closing, Findings, LeftOut, Message, Speaker, Turn

_BUSY: Final = frozenset(
    (
        "服务器繁忙，请稍后再试。",
        "服务器繁忙，请稍后再试",
        "The server is busy. Please try again later.",
        "Server busy, please try again later.",
    )
)
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}


def message(raw: Foreign, at: Neighbour, zone: tzinfo, findings: Findings) -> Message:
    """One node of the tree; `root` says nothing."""
    node_id = at.key or id_of(raw.get("id"))
    turn = _turn(node_id, object_of(raw.get("message")), zone, findings)
    return Message(node_id, id_of(raw.get("parent")) or None, turn)


def closing(fields: Foreign, zone: tzinfo) -> Closing:
    """A conversation's own fields."""
    started = moment_of(fields.get("inserted_at"), zone) or moment_of(fields.get("updated_at"), zone)
    return Closing(id_of(fields.get("id")), one_line(fields.get("title")), started)


def _turn(node_id: str, message: Mapping[str, Any], zone: tzinfo, findings: Findings) -> Turn | None:
    if not message:
        return None
    speaker, said = _said(node_id, message, findings)
    if speaker is Speaker.ASSISTANT and said.strip() in _BUSY:
        findings.leave_out(LeftOut.SERVICE)
        return None
    text, private = speech(said)
    findings.leave_out(LeftOut.PRIVATE, int(private))
    files = [one_line(entry.get("file_name")) or "file" for entry in objects_of(message.get("files"))]
    findings.attachments += len(files)
    if not text and not files:
        findings.leave_out(LeftOut.EMPTY)
        return None
    return Turn(speaker, text, moment_of(message.get("inserted_at"), zone), tuple(dict.fromkeys(files)))


def _said(node_id: str, message: Mapping[str, Any], findings: Findings) -> tuple[Speaker, str]:
    if "fragments" not in message:
        role = _ROLES.get(text_of(message.get("role")).lower())
        if text_of(message.get("reasoning_content")):
            findings.leave_out(LeftOut.THINKING)
        return role or _by_number(node_id), text_of(message.get("content"))
    said: dict[Speaker, list[str]] = {Speaker.USER: [], Speaker.ASSISTANT: []}
    for fragment in objects_of(message.get("fragments")):
        kind = text_of(fragment.get("type")).upper()
        if kind == "REQUEST":
            said[Speaker.USER].append(text_of(fragment.get("content")))
        elif kind == "RESPONSE":
            said[Speaker.ASSISTANT].append(text_of(fragment.get("content")))
        elif kind == "THINK":
            findings.leave_out(LeftOut.THINKING)
        elif kind == "TEMPLATE_RESPONSE":
            findings.leave_out(LeftOut.SERVICE)
        else:
            findings.leave_out(LeftOut.TOOL)
    has_request = any(text_of(part.get("type")).upper() == "REQUEST" for part in objects_of(message.get("fragments")))
    speaker = Speaker.USER if has_request else Speaker.ASSISTANT
    return speaker, "\n\n".join(text for text in said[speaker] if text.strip())


def _by_number(node_id: str) -> Speaker:
    """Person and model take turns in a tree without roles: odd numbers are the person's."""
    return Speaker.USER if node_id.isdigit() and int(node_id) % 2 else Speaker.ASSISTANT


SHAPE: Final = Shape("mapping", message, closing)
"""The shape of DeepSeek's export."""
