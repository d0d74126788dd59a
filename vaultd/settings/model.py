"""All settings as frozen values, section by section, each field with its default and its rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias

from vaultd.scoring.constants import MatchWeights
from vaultd.settings.formulas import CardSettings, DecaySettings, MatchingSettings, MergeSettings, ScoringWeights
from vaultd.settings.rules import Shape, rule

DEFAULT_CHAT_URL: Final = "https://api.deepseek.com/v1"


Language: TypeAlias = Literal["zh", "en"]
LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
Transport: TypeAlias = Literal["streamable-http", "stdio", "sse"]
DeleteMode: TypeAlias = Literal["trash", "permanent"]
WatchMode: TypeAlias = Literal["auto", "events", "polling"]
EmbeddingProvider: TypeAlias = Literal["local", "openai", "none"]


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """The folder of Markdown notes that Obsidian opens."""

    path: Path | None = field(
        default=None, metadata=rule("the vault's folder", shape=Shape.FOLDER, env=("VAULTD_VAULT", "OMBRE_BUCKETS_DIR"))
    )
    exclude: tuple[str, ...] = field(
        default=(), metadata=rule("paths to leave out, as patterns: Private/**, *.draft.md")
    )
    delete: DeleteMode = field(
        default="trash",
        metadata=rule("where deleted memories go: the vault's .trash folder, or nowhere", hot=True),
    )


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Where memories live in the vault."""

    root: str = field(
        default="", metadata=rule("subfolder of the vault that holds the memory folders; empty: the vault's root")
    )
    search_own_notes: bool = field(
        default=True, metadata=rule("recall also finds your own notes, under their own heading", hot=True)
    )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The port that serves MCP, the REST API and the dashboard."""

    host: str = field(
        default="127.0.0.1", metadata=rule("address to listen on; 0.0.0.0 for all interfaces", env=("VAULTD_HOST",))
    )
    port: int = field(
        default=8000, metadata=rule("port to listen on; 0 takes a free one", low=0, high=65535, env=("VAULTD_PORT",))
    )
    public_url: str = field(
        default="", metadata=rule("address seen from outside; switches OAuth on for remote connectors", shape=Shape.URL)
    )
    allowed_hosts: tuple[str, ...] = field(
        default=(), metadata=rule("more host names that browsers and clients may use to reach the server")
    )
    token: str = field(
        default="",
        repr=False,
        metadata=rule("token for clients; made and kept when not given", secret=True, env=("VAULTD_TOKEN",)),
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The derived index; deleting it loses nothing but time."""

    uri: str = field(
        default="",
        metadata=rule("s3://… or db://… for an index that is shared; empty: the state folder of this machine"),
    )


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How changes in the vault are noticed."""

    mode: WatchMode = field(
        default="auto", metadata=rule("file events, or polling for network drives; auto decides by the drive")
    )
    reconcile_minutes: float = field(
        default=10.0, metadata=rule("compare vault and index in full this often", low=0.1, high=1440.0)
    )


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """What finds memories by meaning. Its address and key are never taken from the chat model's."""

    provider: EmbeddingProvider = field(
        default="local",
        metadata=rule(
            "local: the built-in model, nothing leaves the machine; openai: any compatible endpoint; none: words only"
        ),
    )
    model: str = field(
        default="", metadata=rule("the endpoint's model, e.g. gemini-embedding-001; not used by the built-in model")
    )
    base_url: str = field(
        default="", metadata=rule("the endpoint's address", shape=Shape.URL, env=("VAULTD_EMBEDDING_BASE_URL",))
    )
    api_key: str = field(
        default="", repr=False, metadata=rule("the endpoint's key", secret=True, env=("VAULTD_EMBEDDING_API_KEY",))
    )
    dimensions: int = field(
        default=0,
        metadata=rule("length of the vectors to ask the endpoint for; 0: what the model gives", low=0, high=8192),
    )
    timeout_s: float = field(default=30.0, metadata=rule("seconds to wait for an answer", low=1.0, high=600.0))


@dataclass(frozen=True, slots=True)
class ChatModelSettings:
    """The chat model that annotates, merges, splits and condenses: any OpenAI-compatible endpoint."""

    model: str = field(
        default="deepseek-chat",
        metadata=rule("model name; `vaultd config models` lists what the endpoint offers", hot=True),
    )
    base_url: str = field(
        default=DEFAULT_CHAT_URL,
        metadata=rule(
            "the endpoint's address; http://localhost:11434/v1 for Ollama",
            shape=Shape.URL,
            hot=True,
            env=("VAULTD_BASE_URL", "OMBRE_BASE_URL"),
        ),
    )
    api_key: str = field(
        default="",
        repr=False,
        metadata=rule("the endpoint's key", secret=True, hot=True, env=("VAULTD_API_KEY", "OMBRE_API_KEY")),
    )
    max_tokens: int = field(default=1024, metadata=rule("longest answer, in tokens", low=64, high=65536, hot=True))
    temperature: float = field(default=0.1, metadata=rule("0: always the likeliest words", low=0.0, high=2.0, hot=True))
    timeout_s: float = field(
        default=60.0, metadata=rule("seconds to wait for an answer", low=1.0, high=600.0, hot=True)
    )
    daily_request_cap: int = field(
        default=2000,
        metadata=rule(
            "most requests a day to remote models, embeddings included; 0: no cap", low=0, high=10_000_000, hot=True
        ),
    )
    price_input: float = field(
        default=0.0,
        metadata=rule("price of a million tokens that are sent; 0: not known", low=0.0, high=1_000_000.0, hot=True),
    )
    price_output: float = field(
        default=0.0,
        metadata=rule("price of a million tokens that are answered; 0: not known", low=0.0, high=1_000_000.0, hot=True),
    )
    currency: str = field(default="", metadata=rule("what these prices are in, e.g. USD or CNY", hot=True))

    @property
    def configured(self) -> bool:
        """True where somebody chose a chat model: a key, or an endpoint that may do without one."""
        return bool(self.api_key) or self.base_url != DEFAULT_CHAT_URL


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """When recall counts are written into the notes."""

    project_every_s: float | None = field(
        default=None,
        metadata=rule(
            "least time between two such writes to a note: 30min, 24h, 0 = at each recall; auto: 24h with git, else 10min",
            shape=Shape.DURATION,
            low=0.0,
            high=366 * 86400.0,
            hot=True,
            name="project_every",
        ),
    )
    quiet_s: float = field(
        default=120.0, metadata=rule("seconds a note must have been left alone before", low=0.0, high=86400.0, hot=True)
    )


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The OpenAI-compatible gateway that gives any chat client these memories."""

    upstream: str = field(
        default="",
        metadata=rule(
            "address of the endpoint that chats are passed on to; empty: the chat model's", shape=Shape.URL, hot=True
        ),
    )
    api_key: str = field(
        default="",
        repr=False,
        metadata=rule(
            "the upstream's key where it has its own address", secret=True, hot=True, env=("VAULTD_GATEWAY_API_KEY",)
        ),
    )
    model: str = field(
        default="", metadata=rule("model for requests that name none; empty: the chat model's", hot=True)
    )
    save_conversations: bool = field(
        default=True, metadata=rule("keep conversations as notes in conversations/", hot=True)
    )
    max_injected_tokens: int = field(
        default=1500, metadata=rule("most tokens put into a conversation at each turn", low=0, high=20000, hot=True)
    )
    timeout_s: float = field(
        default=600.0, metadata=rule("seconds to wait for the upstream's next words", low=1.0, high=3600.0, hot=True)
    )


@dataclass(frozen=True, slots=True)
class WikilinkSettings:
    """Links between memories, set in the text of new ones."""

    enabled: bool = field(default=False, metadata=rule("set [[links]] in new memories", hot=True))
    use_tags: bool = field(default=False, metadata=rule("tags become links", hot=True))
    use_domain: bool = field(default=True, metadata=rule("domains become links", hot=True))
    use_auto_keywords: bool = field(default=True, metadata=rule("words that stand out become links", hot=True))
    auto_top_k: int = field(default=8, metadata=rule("most words that become links", low=0, high=100, hot=True))
    min_keyword_len: int = field(
        default=2, metadata=rule("shortest word that becomes a link, in characters", low=1, high=50, hot=True)
    )
    exclude_keywords: tuple[str, ...] = field(default=(), metadata=rule("words that never become links", hot=True))


@dataclass(frozen=True, slots=True)
class SurfaceSettings:
    """What comes to mind without a question."""

    seed: int | None = field(
        default=None,
        metadata=rule(
            "fixes the shuffle of what surfaces, for tests and demonstrations; empty: by chance",
            shape=Shape.WHOLE,
            hot=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What `vaultd hook` does at the start of a session."""

    url: str = field(
        default="",
        metadata=rule(
            "daemon to ask; empty: the one of this vault", shape=Shape.URL, env=("VAULTD_HOOK_URL", "OMBRE_HOOK_URL")
        ),
    )
    skip: bool = field(default=False, metadata=rule("do nothing", env=("VAULTD_HOOK_SKIP", "OMBRE_HOOK_SKIP")))


@dataclass(frozen=True)
class Settings:
    """Everything that can be set."""

    language: Language = field(default="zh", metadata=rule("language of the tools' answers", hot=True))
    timezone: str = field(
        default="", metadata=rule("zone for dates in ids and answers, e.g. Asia/Shanghai; empty: this machine's")
    )
    log_level: LogLevel = field(default="INFO", metadata=rule("how much is logged", hot=True))
    transport: Transport = field(
        default="streamable-http",
        metadata=rule("how `vaultd serve` speaks MCP", env=("VAULTD_TRANSPORT", "OMBRE_TRANSPORT")),
    )
    strict_llm: bool = field(
        default=False,
        metadata=rule("a memory that could not be condensed shows an error instead of its own text", hot=True),
    )
    state_dir: Path | None = field(
        default=None,
        metadata=rule(
            "folder for index, logs and token; empty: the platform's", shape=Shape.FOLDER, env=("VAULTD_STATE_DIR",)
        ),
    )
    vault: VaultSettings = field(default_factory=VaultSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    llm: ChatModelSettings = field(default_factory=ChatModelSettings)
    matching: MatchingSettings = field(default_factory=MatchingSettings)
    scoring_weights: ScoringWeights = field(default_factory=ScoringWeights)
    decay: DecaySettings = field(default_factory=DecaySettings)
    merge: MergeSettings = field(default_factory=MergeSettings)
    journal: JournalSettings = field(default_factory=JournalSettings)
    cards: CardSettings = field(default_factory=CardSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    wikilink: WikilinkSettings = field(default_factory=WikilinkSettings)
    surface: SurfaceSettings = field(default_factory=SurfaceSettings)
    hook: HookSettings = field(default_factory=HookSettings)

    @cached_property
    def match_weights(self) -> MatchWeights:
        """What the match score is made of."""
        parts = self.scoring_weights
        return MatchWeights(
            topic=parts.topic_relevance,
            emotion=parts.emotion_resonance,
            time=parts.time_proximity,
            importance=parts.importance,
            name=parts.name_weight,
            domain=parts.domain_weight,
            tags=parts.tags_weight,
            body=parts.content_weight,
            threshold=self.matching.fuzzy_threshold,
            topic_mode=self.matching.topic,
        )
