"""`Memories.base`: the memories as tables in Obsidian's own Bases.

Written by the syntax that Obsidian's help publishes ("Bases syntax", "Functions"). Its formulas know no exponents, so
heat is the decay score (`vaultd.scoring.decay`) by other means: e^x as the eighth power of a short series, a^0.3 as
straight lines between points. It stays within a few parts of a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from vaultd.settings import Settings

NAME: Final = "Memories.base"
FADING_BELOW: Final = 1.0  # heat; the archive begins at decay.threshold, 0.3 unless set otherwise

_ZH: Final[Mapping[str, str]] = {
    "all": "全部", "fading": "正在淡去", "unresolved": "未解决", "by_domain": "按主题", "core": "核心", "feel": "feel",
    "archive": "已归档", "cards": "卡片", "heat": "热度", "days": "天前", "name": "名称", "domain": "主题", "tags": "标签",
    "importance": "重要度", "activation_count": "想起次数", "last_active": "上次想起", "created": "写下", "resolved": "已解决",
    "topic": "话题", "type": "类型",
}  # fmt: skip
_EN: Final[Mapping[str, str]] = {
    "all": "All", "fading": "Fading", "unresolved": "Unresolved", "by_domain": "By topic area", "core": "Core",
    "feel": "Feelings", "archive": "Archive", "cards": "Cards", "heat": "Heat", "days": "Days ago", "name": "Name",
    "domain": "Topic area", "tags": "Tags", "importance": "Importance", "activation_count": "Recalls",
    "last_active": "Last recalled", "created": "Created", "resolved": "Resolved", "topic": "Topic", "type": "Type",
}  # fmt: skip


def base_text(settings: Settings) -> str:
    """The file for these settings: their folder of memories, their language, their rate of decay."""
    words = _ZH if settings.language == "zh" else _EN
    base = {
        "filters": {"or": [_inside(settings, name) for name in ("dynamic", "permanent", "feel", "archive", "cards")]},
        "formulas": formulas(settings),
        "properties": {
            **{name: {"displayName": words[name]} for name in _SHOWN},
            **{f"formula.{name}": {"displayName": words[name]} for name in ("heat", "days")},
        },
        "views": _views(settings, words),
    }
    return yaml.safe_dump(base, allow_unicode=True, sort_keys=False, width=1_000)


_SHOWN: Final = (
    "name", "domain", "tags", "importance", "activation_count", "last_active", "created", "resolved", "topic", "type"
)  # fmt: skip


def formulas(settings: Settings) -> dict[str, str]:
    """What the tables compute, by name; later ones use earlier ones."""
    weights = settings.decay.weights
    arousal = "if(arousal == 0, 0, if(arousal, arousal, 0.3))"  # 0 is as good as nothing to `if`
    return {
        "last": 'if(last_active, if(last_active.isType("date"), last_active, '
        "date(last_active.toString().slice(0, 10))), file.mtime)",
        "exact_days": "max(0, (number(now()) - number(formula.last)) / 86400000)",
        "days": "formula.exact_days.floor()",
        "step": _series(f"(formula.exact_days * {weights.rate_per_day:g} / 8)"),
        "fade": "1 / (" + " * ".join(["formula.step"] * 8) + ")",
        "recalls": "max(1, if(activation_count, activation_count, 0))",
        "growth": "if(formula.recalls < 2, 1 + (formula.recalls - 1) * 0.231, "
        "if(formula.recalls < 5, 1.231 + (formula.recalls - 2) * 0.13, "
        "if(formula.recalls < 10, 1.621 + (formula.recalls - 5) * 0.0748, "
        "if(formula.recalls < 20, 1.995 + (formula.recalls - 10) * 0.0461, "
        "2.456 + (formula.recalls - 20) * 0.0259))))",
        "emotion": f"{weights.emotion_base:g} + {weights.arousal_boost:g} * {arousal}",
        "fresh": f"1 + 1 / ({_series('(formula.exact_days * 24 / 36)')})",
        "mix": "if(formula.exact_days <= 3, 0.7 * formula.fresh + 0.3 * formula.emotion, "
        "0.3 * formula.fresh + 0.7 * formula.emotion)",
        "settled": "if(resolved, if(digested, 0.02, 0.05), if(arousal > 0.7, 1.5, 1))",
        "exact_heat": "if(importance, importance, 5) * formula.growth * formula.fade * formula.mix * formula.settled",
        "heat": "if(pinned || protected, 999, formula.exact_heat.round(2))",
    }


def _series(x: str) -> str:
    """e^x to its third power; `x` is written in parentheses."""
    return f"1 + {x} + {x} * {x} / 2 + {x} * {x} * {x} / 6"


def _inside(settings: Settings, folder: str) -> str:
    root = settings.memory.root.strip("/")
    return f'file.inFolder("{root + "/" if root else ""}{folder}")'


def _views(settings: Settings, words: Mapping[str, str]) -> list[dict[str, Any]]:
    columns = ["file.name", "domain", "formula.heat", "formula.days", "importance", "activation_count", "tags"]
    hottest = [{"property": "formula.heat", "direction": "DESC"}]
    live = _inside(settings, "dynamic")

    def view(name: str, filters: list[str], *, order: list[str] = columns, **more: object) -> dict[str, Any]:
        return {"type": "table", "name": words[name], "filters": {"and": filters}, "order": order, **more}

    return [
        view("all", [live], sort=hottest),
        view(
            "fading",
            [live, f"formula.heat < {FADING_BELOW:g}"],
            sort=[{"property": "formula.heat", "direction": "ASC"}],
        ),
        view("unresolved", [live, "!resolved"], sort=hottest),
        view("by_domain", [live], groupBy={"property": "note.domain", "direction": "ASC"}, sort=hottest),
        view("core", [_inside(settings, "permanent")], order=["file.name", "domain", "tags", "created"]),
        view(
            "feel",
            [_inside(settings, "feel")],
            order=["file.name", "created"],
            sort=[{"property": "note.created", "direction": "DESC"}],
        ),
        view(
            "archive",
            [_inside(settings, "archive")],
            order=["file.name", "domain", "last_active", "importance", "tags"],
            sort=[{"property": "note.last_active", "direction": "DESC"}],
        ),
        view("cards", [_inside(settings, "cards")], order=["file.name", "topic", "type", "importance", "tags"]),
    ]
