"""The sections whose numbers go into formulas: what is found, what fades, what is one memory, which cards are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from vaultd.scoring import constants
from vaultd.scoring.constants import DecayWeights, FinalWeights, RecencyMode, TopicMode
from vaultd.settings.rules import rule

MergeMode: TypeAlias = Literal["rewrite", "append"]


@dataclass(frozen=True, slots=True)
class MatchingSettings:
    """When a memory counts as found."""

    topic: TopicMode = field(
        default="best",
        metadata=rule("best: words, meaning or fuzzy names, whichever fits best; fuzzy: fuzzy names alone", hot=True),
    )
    fuzzy_threshold: float = field(
        default=constants.MATCH_THRESHOLD,
        metadata=rule("match score that a memory needs to be found", low=0.0, high=100.0, hot=True),
    )
    max_results: int = field(
        default=5, metadata=rule("memories that `vaultd search` shows without --limit", low=1, high=50, hot=True)
    )


@dataclass(frozen=True, slots=True)
class ScoringWeights:
    """The parts of the match score."""

    topic_relevance: float = field(
        default=constants.TOPIC_WEIGHT, metadata=rule("weight of the topic", low=0.0, high=100.0, hot=True)
    )
    emotion_resonance: float = field(
        default=constants.EMOTION_WEIGHT, metadata=rule("weight of the mood", low=0.0, high=100.0, hot=True)
    )
    time_proximity: float = field(
        default=constants.TIME_WEIGHT,
        metadata=rule("weight of the time since the last use", low=0.0, high=100.0, hot=True),
    )
    importance: float = field(
        default=constants.IMPORTANCE_WEIGHT, metadata=rule("weight of the importance", low=0.0, high=100.0, hot=True)
    )
    name_weight: float = field(
        default=constants.NAME_WEIGHT,
        metadata=rule("within fuzzy matching: weight of the name", low=0.0, high=100.0, hot=True),
    )
    domain_weight: float = field(
        default=constants.DOMAIN_WEIGHT,
        metadata=rule("within fuzzy matching: weight of the domain", low=0.0, high=100.0, hot=True),
    )
    tags_weight: float = field(
        default=constants.TAGS_WEIGHT,
        metadata=rule("within fuzzy matching: weight of the tags", low=0.0, high=100.0, hot=True),
    )
    content_weight: float = field(
        default=constants.BODY_WEIGHT,
        metadata=rule("within fuzzy matching: weight of the text", low=0.0, high=100.0, hot=True),
    )


@dataclass(frozen=True, slots=True)
class EmotionWeights:
    """How feeling keeps a memory alive."""

    base: float = field(
        default=constants.EMOTION_BASE, metadata=rule("weight of a calm memory", low=0.0, high=10.0, hot=True)
    )
    arousal_boost: float = field(
        default=constants.AROUSAL_BOOST, metadata=rule("what full arousal adds to it", low=0.0, high=10.0, hot=True)
    )


@dataclass(frozen=True)
class DecaySettings:
    """How memories fade."""

    rate_per_day: float = field(
        default=constants.DECAY_RATE_PER_DAY,
        metadata=rule(
            "share of its score that a memory loses a day, as λ in e^(-λ·days)",
            low=0.0,
            high=10.0,
            hot=True,
            name="lambda",
        ),
    )
    threshold: float = field(
        default=constants.ARCHIVE_BELOW,
        metadata=rule("below this score a memory is archived", low=0.0, high=1000.0, hot=True),
    )
    check_interval_hours: float = field(
        default=constants.CYCLE_INTERVAL_HOURS,
        metadata=rule("hours from one round of forgetting to the next", low=0.1, high=8760.0, hot=True),
    )
    protect_importance_floor: int = field(
        default=0,
        metadata=rule("memories of this importance or more are never archived; 0: off", low=0, high=10, hot=True),
    )
    emotion_weights: EmotionWeights = field(default_factory=EmotionWeights)

    @cached_property
    def weights(self) -> DecayWeights:
        """What the decay score and the forgetting cycle are made of."""
        return DecayWeights(
            rate_per_day=self.rate_per_day,
            archive_below=self.threshold,
            emotion_base=self.emotion_weights.base,
            arousal_boost=self.emotion_weights.arousal_boost,
            check_interval_hours=self.check_interval_hours,
            protect_importance_floor=self.protect_importance_floor or None,
        )


@dataclass(frozen=True, slots=True)
class MergeSettings:
    """How a new text joins a memory that says the same."""

    threshold: float = field(
        default=constants.TWIN_THRESHOLD,
        metadata=rule("match score above which two texts are one memory", low=0.0, high=100.0, hot=True),
    )
    mode: MergeMode = field(
        default="rewrite",
        metadata=rule("rewrite: the chat model writes one text of both; append: the new text below the old", hot=True),
    )


@dataclass(frozen=True, slots=True)
class CardSettings:
    """Memory cards and their way into a conversation."""

    history: int = field(default=2, metadata=rule("older versions kept of each card", low=0, high=100, hot=True))
    max_injected: int = field(
        default=constants.INJECTED_DEFAULT,
        metadata=rule(
            "most cards put into a conversation at each turn; 0: none", low=0, high=constants.INJECTED_LIMIT, hot=True
        ),
    )
    threshold: float = field(
        default=constants.FINAL_THRESHOLD, metadata=rule("final score that a card needs", low=0.0, high=1.0, hot=True)
    )
    relevance_floor: float = field(
        default=constants.RELEVANCE_FLOOR,
        metadata=rule("relevance that a card needs besides; 0: none", low=0.0, high=1.0, hot=True),
    )
    recency: RecencyMode = field(
        default="step",
        metadata=rule("step: full for 30 days, then falling; smooth: the same without the drop at day 30", hot=True),
    )
    used_similarity: float = field(
        default=constants.USED_SIMILARITY,
        metadata=rule("similarity of reply and card from which the card counts as used", low=0.0, high=1.0, hot=True),
    )

    @property
    def weights(self) -> FinalWeights:
        """What the final score of a card is made of."""
        return FinalWeights(threshold=self.threshold, relevance_floor=self.relevance_floor, recency_mode=self.recency)
