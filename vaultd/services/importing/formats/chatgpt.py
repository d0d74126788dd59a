"""ChatGPT's data export: `conversations.json` (large ones `conversations-000.json` …), each conversation a tree.

`mapping` holds nodes with `parent` and `message`; `current_node` is the leaf of the thread that is shown. Messages of
system and tools, what the model writes to its tools, hidden messages and its thinking are no turns.
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

_SPEAKERS: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}
_THINKING: Final = frozenset(("thoughts", "reasoning_recap"))
_CONTEXT: Final = frozenset(("user_editable_context", "model_editable_context"))
_OF_TOOLS: Final = frozenset(
    (
        "execution_output",
        "tether_browsing_display",
        "tether_quote",
        "sonic_webpage",
        "system_error",
        "app_pairing_content",
    )
)
_HIDDEN_FLAGS: Final = ("is_visually_hidden_from_conversation", "is_user_system_message", "is_hidden", "hidden")
_POINTERS: Final = {"image_asset_pointer": "image", "video_container_asset_pointer": "video"}


def message(raw: Foreign, at: Neighbour, zone: tzinfo, findings: Findings) -> Message:
    """One node of the tree; the one at its root says nothing."""
    message = object_of(raw.get("message"))
    node_id = id_of(raw.get("id")) or at.key
    return Message(at.key or node_id, id_of(raw.get("parent")) or None, _turn(message, zone, findings))


def closing(fields: Foreign, zone: tzinfo) -> Closing:
    """A conversation's own fields."""
    started = moment_of(fields.get("create_time"), zone) or moment_of(fields.get("update_time"), zone)
    return Closing(
        id_of(fields.get("conversation_id")) or id_of(fields.get("id")),
        one_line(fields.get("title")),
        started,
        id_of(fields.get("current_node")) or None,
    )


def _turn(message: Mapping[str, Any], zone: tzinfo, findings: Findings) -> Turn | None:
    if not message:
        return None
    content = object_of(message.get("content"))
    why = _no_speech(message, content)
    if why is not None:
        findings.leave_out(why)
        return None
    attachments: list[str] = []
    said = _said(content, attachments)
    for attachment in objects_of(object_of(message.get("metadata")).get("attachments")):
        attachments.append(one_line(attachment.get("name")) or "file")
    text, private = speech(said)
    findings.leave_out(LeftOut.PRIVATE, int(private))
    names = tuple(dict.fromkeys(_without_doubles(attachments)))
    findings.attachments += len(names)
    if not text and not names:
        findings.leave_out(LeftOut.EMPTY)
        return None
    return Turn(_SPEAKERS[_role(message)], text, moment_of(message.get("create_time"), zone), names)


def _role(message: Mapping[str, Any]) -> str:
    return text_of(object_of(message.get("author")).get("role") or message.get("role"))


def _no_speech(message: Mapping[str, Any], content: Mapping[str, Any]) -> LeftOut | None:
    """Why nobody speaks in a message; None where somebody does."""
    role = _role(message)
    metadata = object_of(message.get("metadata"))
    kind = text_of(content.get("content_type"))
    recipient = text_of(message.get("recipient")) or "all"
    if role == "tool" or kind in _OF_TOOLS or (role == "assistant" and recipient not in ("all", "assistant")):
        return LeftOut.TOOL
    if role not in _SPEAKERS:
        return LeftOut.SYSTEM
    if kind in _CONTEXT or any(metadata.get(flag) is True for flag in _HIDDEN_FLAGS):
        return LeftOut.HIDDEN
    if kind in _THINKING or text_of(message.get("channel") or metadata.get("channel")) in ("analysis", "commentary"):
        return LeftOut.THINKING
    return None


def _said(content: Mapping[str, Any], attachments: list[str]) -> str:
    texts: list[str] = []
    for part in list_of(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
            continue
        piece = object_of(part)
        kind = text_of(piece.get("content_type"))
        if "text" in piece:  # the words of a voice chat, and older shapes
            texts.append(text_of(piece.get("text")))
        elif kind in _POINTERS:
            attachments.append(_POINTERS[kind])
        elif "audio" in kind:
            attachments.append("audio")
    if not texts and "text" in content:
        code = text_of(content.get("text"))
        language = text_of(content.get("language")).replace("unknown", "")
        texts.append(f"```{language}\n{code}\n```" if content.get("content_type") == "code" and code else code)
    return "\n\n".join(text for text in texts if text.strip())


def _without_doubles(attachments: list[str]) -> list[str]:
    """An uploaded image comes twice: as a part of the message, and by its name."""
    named = [name for name in attachments if name not in _POINTERS.values()]
    return named or attachments


SHAPE: Final = Shape("mapping", message, closing)
"""The shape of ChatGPT's export."""
