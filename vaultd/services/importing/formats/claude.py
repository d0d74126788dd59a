"""Claude's data export: `conversations.json`, a list of conversations with `chat_messages`.

Each message has `sender` (human, assistant), `content` blocks and an older `text`. Since `text` also holds the model's
thinking and stand-ins for blocks that an export leaves out, the blocks win where there are any. Messages name their
parent, so edited and repeated ones are branches; an export does not say which is current, the newest is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from vaultd.services.importing.cleaning import one_line, speech
from vaultd.services.importing.formats.fields import id_of, list_of, object_of, objects_of, text_of
from vaultd.services.importing.formats.tree import Foreign, Neighbour, Shape
from vaultd.services.importing.times import moment_of
from vaultd.services.importing.turns import Closing, Findings, LeftOut, Message, Speaker, Turn

_SPEAKERS: Final = {
    "human": Speaker.USER,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "claude": Speaker.ASSISTANT,
}
_SPOKEN: Final = frozenset(("text", "voice_note"))
_MEDIA: Final = frozenset(("image", "document", "file", "audio"))
_TOOLS: Final = ("tool_use", "tool_result")


def message(raw: Foreign, at: Neighbour, zone: tzinfo, findings: Findings) -> Message:
    """One message."""
    message_id = id_of(raw.get("uuid")) or f"#{at.key}"
    parent = id_of(raw.get("parent_message_uuid")) or at.before
    return Message(message_id, parent, _turn(raw, zone, findings))


def closing(fields: Foreign, zone: tzinfo) -> Closing:
    """A conversation's own fields."""
    started = moment_of(fields.get("created_at"), zone) or moment_of(fields.get("updated_at"), zone)
    return Closing(
        id_of(fields.get("uuid")) or id_of(fields.get("id")),
        one_line(fields.get("name")) or one_line(fields.get("title")),
        started,
        id_of(fields.get("current_leaf_message_uuid")) or None,
    )


def _turn(raw: Mapping[str, Any], zone: tzinfo, findings: Findings) -> Turn | None:
    speaker = _SPEAKERS.get(text_of(raw.get("sender") or raw.get("role")).lower())
    if speaker is None:
        findings.leave_out(LeftOut.SYSTEM)
        return None
    media: list[str] = []
    said = _said(raw, media, findings)
    pasted, named = _attachments(raw)
    text, private = speech("\n\n".join(part for part in (said, *pasted) if part.strip()))
    findings.leave_out(LeftOut.PRIVATE, int(private))
    attachments = tuple(dict.fromkeys((*named, *media)))
    findings.attachments += len(attachments)
    if not text and not attachments:
        findings.leave_out(LeftOut.EMPTY)
        return None
    return Turn(speaker, text, moment_of(raw.get("created_at"), zone), attachments)


def _said(raw: Mapping[str, Any], media: list[str], findings: Findings) -> str:
    content = raw.get("content")
    if isinstance(content, str):
        return content
    blocks = objects_of(content)
    if not blocks:
        return text_of(raw.get("text"))
    texts: list[str] = []
    for block in blocks:
        kind = text_of(block.get("type"))
        if kind in _SPOKEN:
            texts.append(text_of(block.get("text")))
        elif kind in _TOOLS:
            findings.leave_out(LeftOut.TOOL)
        elif kind in _MEDIA:
            media.append(one_line(block.get("file_name")) or kind)
        elif "thinking" in kind:
            findings.leave_out(LeftOut.THINKING)
    return "\n\n".join(text for text in texts if text.strip())


def _attachments(raw: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Texts that were pasted, and the names of files. A long paste is an attachment without a name."""
    pasted: list[str] = []
    named: list[str] = []
    for attachment in objects_of(raw.get("attachments")):
        name = one_line(attachment.get("file_name"))
        content = text_of(attachment.get("extracted_content"))
        if name:
            named.append(name)
        elif content:
            pasted.append(content)
    for key in ("files", "files_v2"):
        for entry in list_of(raw.get(key)):
            name = one_line(entry if isinstance(entry, str) else object_of(entry).get("file_name"))
            named.append(name or "file")
    return pasted, named


SHAPE: Final = Shape("chat_messages", message, closing)
"""The shape of Claude's export."""
