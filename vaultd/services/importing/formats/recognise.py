"""Which export an upload is, told by what is in it; names only say where to look first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import islice
from typing import Any, BinaryIO, Final

from vaultd.core.errors import BadInput
from vaultd.services.importing.formats import chat, chatgpt, claude, deepseek, markdown, ombre, plaintext
from vaultd.services.importing.formats.archive import Contents, Member
from vaultd.services.importing.formats.fields import LONGEST_FIELD_BYTES, LONGEST_MESSAGE_BYTES, object_of, text_of
from vaultd.services.importing.formats.lines import encoding_of
from vaultd.services.importing.formats.tree import WRAPPERS, Shape, bare_list, conversations
from vaultd.services.importing.jsonstream import BrokenJson, JsonReader, TooLong
from vaultd.services.importing.turns import FORMAT_NAMES, Event, Findings, Format

KNOWN: Final = (
    "conversations.json of Claude, ChatGPT or DeepSeek (or the ZIP it comes in), Markdown, plain text, Ombre buckets"
)

_CONVERSATIONS: Final = re.compile(r"(?:.*/)?[^/]*conversations?(?:[-_ ]?\d+)?[^/]*\.json", re.IGNORECASE)
_JSON: Final = frozenset((".json", ".jsonl"))
_MARKDOWN: Final = frozenset((".md", ".markdown"))
_TEXT: Final = frozenset((".txt", ".text", ".log"))
_SNIFFED_CONVERSATIONS: Final = 200
_SNIFFED_MESSAGES: Final = 50
_SNIFFED_NOTES: Final = 200
_SHAPES: Final[Mapping[Format, Shape]] = {
    Format.CLAUDE: claude.SHAPE,
    Format.CHATGPT: chatgpt.SHAPE,
    Format.DEEPSEEK: deepseek.SHAPE,
    Format.CHAT: chat.SHAPE,
}


@dataclass(frozen=True, slots=True)
class Recognised:
    """What an upload is, and which of its files hold it. `bare`: a JSON list of messages without a conversation."""

    format: Format
    members: tuple[Member, ...]
    bare: bool = False


def recognise(found: Contents, filename: str) -> Recognised:
    """Which export it is. Raises BadInput, in one line that says what is known and what was found."""
    jsons = [member for member in found.members if member.suffix in _JSON or _is_json(member, found)]
    named = [member for member in jsons if _CONVERSATIONS.fullmatch(member.name)]
    for candidates in (named, [member for member in jsons if member not in named]):
        recognised = _of_json(candidates)
        if recognised is not None:
            return recognised
    notes = tuple(member for member in found.members if member.suffix in _MARKDOWN)
    if notes:
        format_ = _of_notes(notes)
        beside = tuple(member for member in found.members if member.suffix in _TEXT)
        return Recognised(format_, notes if format_ is Format.OMBRE else (*notes, *beside))
    texts = tuple(member for member in found.members if _is_text(member, found))
    if texts:
        return Recognised(Format.TEXT, texts)
    raise BadInput(_unknown(found, filename, jsons))


def events(recognised: Recognised, member: Member, zone: tzinfo, findings: Findings) -> Iterator[Event]:
    """What one file of a recognised export holds. Raises BrokenJson; what came before it is whole."""
    if recognised.format is Format.OMBRE:
        yield from ombre.read(member, zone, findings)
    elif recognised.format is Format.MARKDOWN and member.suffix in _MARKDOWN:
        yield from markdown.read(member, zone, findings)
    elif recognised.format in (Format.MARKDOWN, Format.TEXT):
        yield from plaintext.read(member, zone, findings)
    else:
        shape = _SHAPES[recognised.format]
        with member.open() as stream:
            reader = JsonReader(stream)
            walk = bare_list if recognised.bare else conversations
            yield from walk(reader, shape, zone, findings)


def _is_json(member: Member, found: Contents) -> bool:
    """Whether a lone file without a known ending starts like JSON."""
    if found.is_archive or member.suffix in _MARKDOWN | _TEXT:
        return False
    with member.open() as stream:
        return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _is_text(member: Member, found: Contents) -> bool:
    if member.suffix in _TEXT:
        return True
    html = member.suffix in (".html", ".htm")
    return not found.is_archive and not html and member.suffix not in _JSON and encoding_of(member) is not None


def _of_json(candidates: Sequence[Member]) -> Recognised | None:
    """The export in these files: the format of the first that shows one, and all files that show the same."""
    shown: dict[Member, tuple[Format, bool]] = {}
    broken: BadInput | None = None
    for member in candidates:
        try:
            with member.open() as stream:
                sniffed = _sniff(stream)
        except BrokenJson as exc:
            broken = broken or BadInput(f"{member.name}: {exc}")
            continue
        if sniffed is not None:
            shown[member] = sniffed
    if not shown:
        if broken is not None:
            raise broken
        return None
    first = next(iter(shown.values()))
    return Recognised(first[0], tuple(member for member, sniffed in shown.items() if sniffed == first), bare=first[1])


def _sniff(stream: BinaryIO) -> tuple[Format, bool] | None:
    """The format of a JSON file, and whether it is a bare list of messages; None where it is none of ours."""
    reader = JsonReader(stream)
    kind = reader.kind()
    if kind == "[":
        for item in islice(reader.items(), _SNIFFED_CONVERSATIONS):
            if item == "{" and (sniffed := _sniff_object(reader)) is not None:
                return sniffed
        return None
    if kind == "{":
        sniffed = _sniff_object(reader)
        return None if sniffed is None or sniffed[1] else sniffed
    raise BrokenJson(reader.offset, "neither an object nor a list begins here")


def _sniff_object(reader: JsonReader) -> tuple[Format, bool] | None:
    seen: dict[str, Any] = {}
    for key in reader.members():
        kind = reader.kind()
        if kind == "[":
            sniffed = _sniff_list(reader, key)
        elif kind == "{":
            sniffed = _sniff_mapping(reader, seen) if key == "mapping" else None
        else:
            sniffed = None
            seen[key] = _small(reader)
        if sniffed is not None:
            return sniffed
        seen.setdefault(key, None)
    if "role" in seen and ("content" in seen or "text" in seen):
        return Format.CHAT, True
    return _by_fields(seen)


def _sniff_list(reader: JsonReader, key: str) -> tuple[Format, bool] | None:
    if key == "chat_messages":
        return Format.CLAUDE, False
    if key == "messages":
        return Format.CHAT, False
    if key in WRAPPERS:
        for item in islice(reader.items(), _SNIFFED_CONVERSATIONS):
            if item == "{" and (sniffed := _sniff_object(reader)) is not None:
                return sniffed
    return None


def _by_fields(seen: Mapping[str, Any]) -> tuple[Format, bool] | None:
    if "inserted_at" in seen and "title" in seen:
        return Format.DEEPSEEK, False
    if "current_node" in seen or ("create_time" in seen and "title" in seen):
        return Format.CHATGPT, False
    return None


def _small(reader: JsonReader) -> Any:
    try:
        return reader.value(LONGEST_FIELD_BYTES)
    except TooLong:
        return None


def _sniff_mapping(reader: JsonReader, seen: Mapping[str, Any]) -> tuple[Format, bool] | None:
    known = _by_fields(seen)
    if known is not None:
        return known
    for _ in islice(reader.members(), _SNIFFED_MESSAGES):
        try:
            message = object_of(object_of(reader.value(LONGEST_MESSAGE_BYTES)).get("message"))
        except TooLong:
            continue
        if "author" in message or "create_time" in message:
            return Format.CHATGPT, False
        if "fragments" in message or text_of(message.get("inserted_at")):
            return Format.DEEPSEEK, False
    return None


def _of_notes(notes: Sequence[Member]) -> Format:
    """Ombre buckets where a note carries a bucket's properties, else Markdown."""
    in_folders = [note for note in notes if ombre.path_in_vault(note.name) != note.name.rsplit("/", 1)[-1]]
    for note in islice([*in_folders, *(note for note in notes if note not in in_folders)], _SNIFFED_NOTES):
        properties, _ = markdown.frontmatter_of(note, encoding_of(note) or "utf-8")
        if ombre.is_bucket(properties):
            return Format.OMBRE
    return Format.MARKDOWN


def _unknown(found: Contents, filename: str, jsons: Sequence[Member]) -> str:
    if found.nested:
        return f"{filename}: holds another ZIP ({found.nested[0]}); unpack it once, and upload the inner one"
    if not found.members:
        return f"{filename}: is empty; export again and upload the file that you get"
    if any(member.suffix in (".html", ".htm") for member in found.members) and not jsons:
        return f"{filename}: is a web page; upload conversations.json, or the ZIP that it came in"
    shown = ", ".join(member.name for member in found.members[:5]) + (" …" if len(found.members) > 5 else "")
    what = f"JSON without conversations ({shown})" if jsons else shown
    return f"{filename}: is no known export; known are {KNOWN}; found: {what}"


def name_of(format_: Format) -> str:
    """A format's name for people."""
    return FORMAT_NAMES[format_]
