"""All settings as frozen values (`Settings`), and the same as data (`KEYS`).

From the data come `config.example.yaml`, the settings page and every error message about a setting. Reading and writing
the file is the business of `vaultd.config`.
"""

from vaultd.scoring.constants import RecencyMode, TopicMode
from vaultd.settings.formulas import (
    CardSettings,
    DecaySettings,
    EmotionWeights,
    MatchingSettings,
    MergeMode,
    MergeSettings,
    ScoringWeights,
)
from vaultd.settings.keys import KEYS, SECTIONS, Key, Section, Value, value_of, with_values
from vaultd.settings.model import (
    ChatModelSettings,
    DeleteMode,
    EmbeddingProvider,
    EmbeddingSettings,
    GatewaySettings,
    HookSettings,
    IndexSettings,
    JournalSettings,
    Language,
    LogLevel,
    MemorySettings,
    ServerSettings,
    Settings,
    SurfaceSettings,
    Transport,
    VaultSettings,
    WatchMode,
    WatchSettings,
    WikilinkSettings,
)
from vaultd.settings.rules import Shape

__all__ = [
    "KEYS",
    "SECTIONS",
    "CardSettings",
    "ChatModelSettings",
    "DecaySettings",
    "DeleteMode",
    "EmbeddingProvider",
    "EmbeddingSettings",
    "EmotionWeights",
    "GatewaySettings",
    "HookSettings",
    "IndexSettings",
    "JournalSettings",
    "Key",
    "Language",
    "LogLevel",
    "MatchingSettings",
    "MemorySettings",
    "MergeMode",
    "MergeSettings",
    "RecencyMode",
    "ScoringWeights",
    "Section",
    "ServerSettings",
    "Settings",
    "Shape",
    "SurfaceSettings",
    "TopicMode",
    "Transport",
    "Value",
    "VaultSettings",
    "WatchMode",
    "WatchSettings",
    "WikilinkSettings",
    "value_of",
    "with_values",
]
