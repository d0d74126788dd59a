"""Answers → text for a model. Notes are fenced as data, with their id, at a cost of a few tokens each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vaultd.core.bucket import Bucket, Kind
from vaultd.core.query import Answer, Hit, Mark, Mode, Noted, Notice, Query
from vaultd.services.diary import Grown
from vaultd.services.forget import CycleResult
from vaultd.services.health import Counts, Listed
from vaultd.services.reflect import Reflection
from vaultd.services.remember import Kept, Outcome
from vaultd.services.revise import Revised, Revision, Whole
from vaultd.services.showing import IndexState
from vaultd.tools.phrases import phrase

OPEN, CLOSE = "⟦", "⟧"
_DISARMED = str.maketrans({OPEN: "[", CLOSE: "]"})
_OUTCOMES = {
    Outcome.NEW: "new",
    Outcome.MERGED: "merged",
    Outcome.SAME: "same",
    Outcome.PINNED: "pinned",
    Outcome.FEEL: "feel",
}


def fenced(text: str) -> str:
    """A note's text between brackets that it cannot itself contain."""
    inner = text.translate(_DISARMED) if OPEN in text or CLOSE in text else text
    return f"{OPEN}{inner}{CLOSE}"


def plain(text: str) -> str:
    """A name on one line, unable to open or close a fence or pose as a line of ours."""
    return " ".join(text.translate(_DISARMED).split()).replace("[bucket_id:", "(bucket_id:")


def notices(noted: tuple[Noted, ...], language: str) -> list[str]:
    """A line for each notice."""
    return [phrase(language, n.notice.value, **n.values) for n in noted if n.notice is not Notice.NO_MODEL]


def answer(result: Answer, query: Query, language: str) -> str:
    """An answer of `breath`, in its four modes."""
    lines = notices(result.notices, language)
    match result.mode:
        case Mode.SURFACE:
            body = _surfacing(result, language)
        case Mode.FEEL:
            body = _feels(result, language)
        case Mode.IMPORTANCE:
            body = _important(result, query, language)
        case Mode.RECALL:
            body = _recall(result, language)
    if not result.is_empty:
        lines.append(phrase(language, "fence"))
    return "\n".join([*lines, body]) if lines else body


def _surfacing(result: Answer, language: str) -> str:
    if result.is_empty:
        return phrase(language, "calm")
    blocks: list[str] = []
    if result.core:
        core = [f"📌 {_id(hit)} {_text(hit, language)}" for hit in result.core]
        blocks.append("\n".join([phrase(language, "core"), *core]))
    if result.hits:
        lines = [
            f"{phrase(language, 'weight', score=h.decay_score)} {_id(h)} {_text(h, language)}" for h in result.hits
        ]
        blocks.append("\n".join([phrase(language, "surfacing"), *lines]))
    return "\n\n".join(blocks)


def _feels(result: Answer, language: str) -> str:
    if result.is_empty:
        return phrase(language, "no_feels")
    lines = [f"[{_when(hit.bucket.created)}] {_id(hit)}\n{_text(hit, language)}" for hit in result.hits]
    return "\n".join([phrase(language, "feels"), *lines])


def _important(result: Answer, query: Query, language: str) -> str:
    if result.is_empty:
        return phrase(language, "nothing_important", importance=query.importance_min)
    lines = [f"[importance:{hit.bucket.importance}] {_id(hit)} {_text(hit, language)}" for hit in result.hits]
    return "\n---\n".join(lines)


def _recall(result: Answer, language: str) -> str:
    lines = [_recalled(hit, language) for hit in result.hits]
    if not lines:
        lines.append(phrase(language, "nothing_found"))
    if result.own:
        lines += ["", phrase(language, "own_notes")]
        lines += [f"{_id(hit)} {plain(hit.bucket.path)} {_text(hit, language)}" for hit in result.own]
    if result.drifted:
        lines += ["", phrase(language, "drifted")]
        lines += [f"[surface_type: random] {_id(hit)} {_text(hit, language)}" for hit in result.drifted]
    return "\n".join(lines)


def _recalled(hit: Hit, language: str) -> str:
    bucket = hit.bucket
    marks = f"{phrase(language, 'semantic')} " if Mark.SEMANTIC in hit.marks else ""
    head = f"{marks}{_id(hit)} {phrase(language, 'importance', importance=bucket.importance)}"
    if bucket.domain:
        head += f" {phrase(language, 'domain', domain=plain(','.join(bucket.domain)))}"
    name = plain(bucket.name)
    text = _text(hit, language)
    if not name or hit.text.startswith(bucket.name):
        return f"{head} {text}"
    return f"{head} {name}{phrase(language, 'joiner')}{text}"


def _id(hit: Hit) -> str:
    return f"[bucket_id:{hit.bucket.id}]"


def _text(hit: Hit, language: str) -> str:
    if Mark.NOT_CONDENSED in hit.marks and not hit.text:
        return phrase(language, "not_condensed", reason="")
    text = fenced(hit.text)
    if Mark.CUT in hit.marks:
        text += " " + phrase(language, "full_text", tokens=hit.full_tokens, id=hit.bucket.id)
    return text


def _when(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


def structured(result: Answer, text: str) -> dict[str, Any]:
    """The answer for clients that read structured content: the same text, and times, ids and numbers."""
    sections = (("core", result.core), ("hits", result.hits), ("own_notes", result.own), ("drifted", result.drifted))
    out: dict[str, Any] = {"answer": text, "mode": result.mode.value}
    for name, hits in sections:
        if hits:
            out[name] = [_numbers(hit) for hit in hits]
    if result.notices:
        out["notices"] = [{"code": n.notice.value, **n.values} for n in result.notices]
    return out


def _numbers(hit: Hit) -> dict[str, Any]:
    bucket = hit.bucket
    numbers: dict[str, Any] = {
        "id": bucket.id,
        "path": bucket.path,
        "name": bucket.name,
        "kind": bucket.kind.value,
        "importance": bucket.importance,
        "created": _when(bucket.created),
        "last_active": _when(bucket.last_active),
        "valence": round(bucket.emotion.valence if hit.shown_valence is None else hit.shown_valence, 3),
        "arousal": round(bucket.emotion.arousal, 3),
        "activation_count": round(bucket.activation_count, 3),
        "decay_score": round(hit.decay_score, 3),
    }
    if hit.parts is not None:
        numbers["score"] = round(hit.parts.total, 2)
    if hit.similarity is not None:
        numbers["similarity"] = round(hit.similarity, 3)
    if hit.marks:
        numbers["marks"] = sorted(mark.value for mark in hit.marks)
    return numbers


# -- writing ----------------------------------------------------------------------------------------------------------


def kept(result: Kept, language: str) -> str:
    """An answer of `hold`."""
    domain = ",".join(result.domain)
    first = phrase(language, _OUTCOMES[result.outcome], id=result.id, name=plain(result.name), domain=domain).rstrip()
    lines = [first]
    if result.outcome is not Outcome.FEEL:
        lines += _assumptions(result, language)
    lines += [
        phrase(language, n.notice.value, **n.values)
        for n in result.notices
        if n.notice not in (Notice.NO_MODEL, Notice.MODEL_FAILED)
    ]
    return "\n".join(lines)


def _assumptions(result: Kept, language: str) -> list[str]:
    assumed = ", ".join(result.assumed)
    for noted in result.notices:
        if noted.notice is Notice.MODEL_FAILED:
            return [phrase(language, "annotate_failed", assumed=assumed or "-", **noted.values)]
        if noted.notice is Notice.NO_MODEL:
            key = "no_model" if assumed else "no_model_full"
            return [phrase(language, key, assumed=assumed)]
    return []


def grown(result: Grown, language: str) -> str:
    """An answer of `grow`."""
    if result.waits_at:
        return phrase(language, "diary_failed", reason=result.reason, path=result.waits_at)
    count = len(result.kept) + len(result.failed)
    lines = [phrase(language, "grown", count=count, new=result.new, merged=result.merged)]
    for one in result.kept:
        icon = "📎" if one.outcome in (Outcome.MERGED, Outcome.SAME) else "📝"
        lines.append(f"{icon}{plain(one.name)}")
    lines += [f"⚠️{plain(failed.name)}" for failed in result.failed]
    return "\n".join(lines)


def revised(result: Revised, revision: Revision, language: str) -> str:
    """An answer of `trace` that changed something."""
    changes = ", ".join(f"{key}={plain(value)}" for key, value in result.changes)
    text = phrase(language, "changed", id=result.id, changes=changes)
    if revision.resolved is True:
        text += phrase(language, "sunk")
    elif revision.resolved is False:
        text += phrase(language, "raised")
    if revision.restore:
        text += phrase(language, "restored", path=result.path)
    return text


def whole(result: Whole, language: str) -> str:
    """A whole memory."""
    row = result.row
    created = datetime.fromtimestamp(row.created, row.zone())
    head = (
        f"[bucket_id:{row.id}] {phrase(language, 'importance', importance=row.importance)} "
        f"{phrase(language, 'domain', domain=plain(','.join(row.domain)))} [{_when(created)}] {plain(row.name)}"
    )
    return f"{phrase(language, 'fence')}\n{head}\n{fenced(result.text)}"


# -- status -----------------------------------------------------------------------------------------------------------


def _icon(bucket: Bucket) -> str:
    if bucket.pinned or bucket.protected:
        return "📌"
    if bucket.kind is Kind.PERMANENT:
        return "📦"
    if bucket.kind is Kind.FEEL:
        return "🫧"
    if bucket.kind is Kind.ARCHIVED:
        return "🗄️"
    return "✅" if bucket.resolved else "💭"


def pulse(
    counts: Counts, state: IndexState, lag_s: float, cycle: CycleResult | None, when: datetime | None, language: str
) -> str:
    """The head of `pulse`."""
    decay = phrase(language, "decay_running")
    if cycle is not None and when is not None:
        decay = phrase(
            language,
            "decay_last",
            when=_when(when),
            checked=cycle.checked,
            archived=cycle.archived,
            resolved=cycle.auto_resolved,
        )
    if state.done < state.total:
        index = phrase(language, "pulse_not_ready", done=state.done, total=state.total)
    else:
        index = phrase(language, "pulse_index", notes=state.done, pending=state.pending, failed=state.failed, lag=lag_s)
    kinds = counts.kinds
    lines = [
        phrase(language, "pulse"),
        phrase(language, "pulse_permanent", count=kinds[Kind.PERMANENT]),
        phrase(language, "pulse_dynamic", count=kinds[Kind.DYNAMIC]),
        phrase(language, "pulse_feel", count=kinds[Kind.FEEL]),
        phrase(language, "pulse_archived", count=kinds[Kind.ARCHIVED]),
        phrase(language, "pulse_cards", count=counts.cards),
        phrase(language, "pulse_own", count=counts.own),
    ]
    if counts.waiting:
        lines.append(phrase(language, "pulse_waiting", count=counts.waiting))
    lines += [
        phrase(language, "pulse_size", size=size_text(counts.size_bytes)),
        phrase(language, "pulse_states", unresolved=counts.unresolved, pinned=counts.pinned, feel=kinds[Kind.FEEL]),
        phrase(language, "pulse_decay", state=decay),
        index,
    ]
    return "\n".join(lines)


def listed(page: list[Listed], left: int, language: str) -> str:
    """The list of `pulse`."""
    lines = [phrase(language, "pulse_list")]
    for one in page:
        bucket = one.bucket
        lines.append(
            phrase(
                language,
                "pulse_line",
                icon=_icon(bucket),
                name=plain(bucket.name),
                id=bucket.id,
                domain=plain(",".join(bucket.domain)),
                valence=bucket.emotion.valence,
                arousal=bucket.emotion.arousal,
                importance=bucket.importance,
                score=one.score,
                tags=plain(",".join(bucket.tags)),
            )
        )
    if left > 0:
        lines.append(phrase(language, "pulse_more", count=left))
    return "\n".join(lines)


def size_text(size: int) -> str:
    """Bytes as KB or MB."""
    return f"{size / 1024:.1f} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MB"


def reflection(result: Reflection, language: str) -> str:
    """An answer of `dream`."""
    if not result.recent:
        return phrase(language, "dream_empty")
    blocks = [phrase(language, "dream_header"), phrase(language, "fence")]
    for recent in result.recent:
        bucket = recent.bucket
        state = phrase(language, "dream_resolved" if bucket.resolved else "dream_open")
        blocks.append(
            f"[{plain(bucket.name)}] [bucket_id:{bucket.id}] {state} "
            f"{phrase(language, 'domain', domain=plain(','.join(bucket.domain)))} "
            f"V{bucket.emotion.valence:.1f}/A{bucket.emotion.arousal:.1f} {_when(bucket.created)}\n{fenced(recent.text)}"
        )
    if result.connection is not None:
        pair = result.connection
        first, second = plain(pair.first.name), plain(pair.second.name)
        blocks.append(phrase(language, "dream_connection", first=first, second=second, similarity=pair.similarity))
    for crystal in result.crystals:
        hint = phrase(language, "dream_crystal", count=len(crystal.companions), id=crystal.feel.id)
        blocks.append(f"{hint}\n{fenced(crystal.text)}")
    return "\n\n".join(blocks)
