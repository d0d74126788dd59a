"""Older names of settings, which keep their meaning: those of Ombre's config.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Same value, other name. `vault` alone is the short form for `vault.path`.
ALIASES: Final[Mapping[str, str]] = {
    "vault": "vault.path",
    "merge_threshold": "merge.threshold",
    "dehydration.model": "llm.model",
    "dehydration.base_url": "llm.base_url",
    "dehydration.api_key": "llm.api_key",
    "dehydration.max_tokens": "llm.max_tokens",
    "dehydration.temperature": "llm.temperature",
}

# The vault itself; where a vault is named beside it, the folder in it that holds the memories.
BUCKETS_DIR: Final = "buckets_dir"

# false: no embeddings at all; true says nothing about who makes them.
EMBEDDING_ENABLED: Final = "embedding.enabled"

OLD_NAMES: Final = frozenset({*ALIASES, BUCKETS_DIR, EMBEDDING_ENABLED})


def spellings(name: str) -> tuple[str, ...]:
    """Every name under which the file may hold the setting `name`, the present one first."""
    return (name, *(old for old, new in ALIASES.items() if new == name))
