"""Every number of the formulas, once, with unit and source; the frozen weights that carry them.

Sources: INTERNALS (§3 table of values, §4 table of settings), BEHAVIOUR (behaviour by scene; B-nn is a decided fault),
CARDS (memory cards, by chapter), ours (decided here; the comment says why).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SECONDS_PER_HOUR: Final = 3_600.0  # s
SECONDS_PER_DAY: Final = 86_400.0  # s
HOURS_PER_DAY: Final = 24.0  # h
SCORE_GRAIN: Final = (
    1e-9  # relative to a scale of 1: what rounding may take from a score that just reaches a threshold; ours
)

# How alive a bucket is
DECAY_RATE_PER_DAY: Final = 0.05  # 1/day; INTERNALS §4 decay.lambda
FRESHNESS_TIME_CONSTANT_HOURS: Final = 36.0  # h; INTERNALS §3.2 (called a half-life there): 1 + e^(−t/36)
CONSOLIDATION_EXPONENT: Final = 0.3  # power of the activation count; INTERNALS §3.2
SHORT_TERM_DAYS: Final = 3.0  # days, inclusive; INTERNALS §3.2
LEADING_SHARE: Final = 0.7  # share of time up to day 3, of emotion after it; INTERNALS §3.2
EMOTION_BASE: Final = 1.0  # INTERNALS §4 decay.emotion_weights.base
AROUSAL_BOOST: Final = 0.8  # per unit of arousal; INTERNALS §4 decay.emotion_weights.arousal_boost
URGENT_AROUSAL: Final = 0.7  # arousal, exclusive; INTERNALS §3.2
URGENCY_FACTOR: Final = 1.5  # INTERNALS §3.1
RESOLVED_FACTOR: Final = 0.05  # INTERNALS §3.1
DIGESTED_FACTOR: Final = 0.02  # resolved and digested; INTERNALS §3.1
CORE_SCORE: Final = 999.0  # decay score of what never fades; INTERNALS §3.1
FEEL_SCORE: Final = 50.0  # decay score of a feel; INTERNALS §3.1
LEAST_ACTIVATION: Final = 1.0  # a bucket never recalled decays like one recalled once; BEHAVIOUR B-03

# Forgetting
ARCHIVE_BELOW: Final = 0.3  # decay score, exclusive; INTERNALS §4 decay.threshold
AUTO_RESOLVE_IMPORTANCE: Final = 4  # importance, inclusive; INTERNALS §3.2
AUTO_RESOLVE_DAYS: Final = 30.0  # days since last active, exclusive; INTERNALS §3.2
CYCLE_INTERVAL_HOURS: Final = 24.0  # h; INTERNALS §4 decay.check_interval_hours
FORECAST_DAYS: Final = (7.0, 30.0)  # days; ours: a week to react, a month to see it coming

# Ripple
RIPPLE_WINDOW_HOURS: Final = 48.0  # h before or after, inclusive; INTERNALS §3.5
RIPPLE_LIMIT: Final = 5  # buckets a recall; BEHAVIOUR scene 5
RIPPLE_ACTIVATION: Final = 0.3  # added to the activation count; BEHAVIOUR scene 5
RECALL_ACTIVATION: Final = 1.0  # added to the activation count; BEHAVIOUR scene 5

# Fit of a bucket to a query
NAME_WEIGHT: Final = 3.0  # INTERNALS §3.3
DOMAIN_WEIGHT: Final = 2.5  # INTERNALS §3.3
TAGS_WEIGHT: Final = 2.0  # INTERNALS §3.3
BODY_WEIGHT: Final = 1.0  # BEHAVIOUR B-07, scoring_weights.content_weight
BODY_CHARACTERS: Final = 1_000  # characters of the body that count; INTERNALS §3.3
TOPIC_WEIGHT: Final = 4.0  # INTERNALS §4 scoring_weights.topic_relevance
EMOTION_WEIGHT: Final = 2.0  # INTERNALS §4 scoring_weights.emotion_resonance
TIME_WEIGHT: Final = 1.5  # BEHAVIOUR B-06, scoring_weights.time_proximity
IMPORTANCE_WEIGHT: Final = 1.0  # INTERNALS §4 scoring_weights.importance
MATCH_RATE_PER_DAY: Final = 0.02  # 1/day; BEHAVIOUR B-05: age helps to order, it does not sort out
NEUTRAL_EMOTION: Final = 0.5  # emotion part where the query has no mood; BEHAVIOUR scene 5
TOP_IMPORTANCE: Final = 10.0  # upper end of the scale of importance; INTERNALS §0
MATCH_SCALE: Final = 100.0  # points of a perfect match; INTERNALS §0
MATCH_THRESHOLD: Final = 50.0  # match score, inclusive; INTERNALS §4 matching.fuzzy_threshold
TWIN_THRESHOLD: Final = 75.0  # match score, exclusive; INTERNALS §4 merge_threshold
RESOLVED_RANK_FACTOR: Final = 0.3  # for the rank only, after the threshold; BEHAVIOUR scene 5
SEMANTIC_SIMILARITY: Final = 0.5  # similarity, exclusive: found by meaning alone; INTERNALS §3.3
OTHERS_IN_RANK: Final = 0.15  # of the points of mood, time and importance, beside the topic's 100; ours: at most 7
TINT_FACTOR: Final = 0.2  # shift of the shown valence per unit of mood, so at most 0.1; INTERNALS §3.7
FUZZY_CUTOFF: Final = (
    0.6  # fuzzy similarity below which a name is no candidate; ours: below it short names match by chance
)

# What surfaces by itself
COLD_START_IMPORTANCE: Final = 8  # importance, inclusive; BEHAVIOUR scene 1
COLD_START_BELOW: Final = 1.0  # activation count, exclusive: ripples alone are not a recall; BEHAVIOUR B-04
COLD_START_LIMIT: Final = 2  # buckets; BEHAVIOUR scene 1
SHUFFLED_TO_RANK: Final = 20  # ranks 2 to 20 are shuffled; BEHAVIOUR scene 1
DRIFT_BELOW_HITS: Final = 3  # hits, exclusive; INTERNALS §3.6
DRIFT_PROBABILITY: Final = 0.4  # INTERNALS §3.6
DRIFT_BELOW_SCORE: Final = 2.0  # decay score, exclusive; INTERNALS §3.6
DRIFT_LIMIT: Final = 3  # one to three buckets; INTERNALS §3.6

# Looking back
CONNECTION_SIMILARITY: Final = 0.5  # similarity, exclusive; BEHAVIOUR scene 9
CRYSTAL_SIMILARITY: Final = 0.7  # similarity, exclusive; INTERNALS §3.3
CRYSTAL_FELLOWS: Final = 2  # other feels that agree; BEHAVIOUR scene 9
NETWORK_SIMILARITY: Final = 0.5  # similarity, exclusive: an edge; INTERNALS §0

# Worth of a card in a prompt
RELEVANCE_SHARE: Final = 0.50  # CARDS 3 FinalScore
TYPE_FIT_SHARE: Final = 0.20  # CARDS 3 FinalScore
IMPORTANCE_SHARE: Final = 0.15  # CARDS 3 FinalScore
RECENCY_SHARE: Final = 0.15  # CARDS 3 FinalScore
SIMILARITY_SHARE: Final = 0.70  # of the relevance; CARDS 3 Relevance
KEYWORD_SHARE: Final = 0.30  # of the relevance; CARDS 3 Relevance
CONTENT_SHARE: Final = 0.90  # of the keyword score; CARDS 3 KeywordScore
CARD_TAGS_SHARE: Final = 0.10  # of the keyword score; CARDS 3 KeywordScore
FINAL_THRESHOLD: Final = 0.50  # final score, inclusive; CARDS 3
RELEVANCE_FLOOR: Final = 0.20  # relevance, inclusive; ours: fit, importance and age alone must not inject a card
RECENT_DAYS: Final = 30.0  # days, inclusive; CARDS 3 Recency
RECENCY_TIME_CONSTANT_DAYS: Final = 30.0  # days; CARDS 3 Recency
LEAST_RECENCY: Final = 0.2  # CARDS 3 Recency
LASTING_IMPORTANCE: Final = 9  # importance, inclusive: never ages; CARDS 3 Recency
MMR_LAMBDA: Final = 0.75  # CARDS 3 MMR
LASTING_MMR_LAMBDA: Final = 0.85  # for lessons; CARDS 3 MMR
INJECTED_DEFAULT: Final = 3  # cards; CARDS 3
INJECTED_LIMIT: Final = 10  # cards; CARDS 3
CARD_CANDIDATES: Final = 50  # by meaning, and as many by words; ours
CARD_TWIN_SIMILARITY: Final = 0.9  # similarity, inclusive; ours: tell of a card that says the same
USED_SIMILARITY: Final = 0.35  # similarity of reply and card, inclusive; CARDS 4 REF_COSINE_THRESHOLD
INTENT_CHARACTERS: Final = 600  # characters of a message that are read for its intent; ours
INTENT_LEAST: Final = 1.0  # points of cues below which words alone do not decide; ours
INTENT_POINTS: Final = (-2.0, 5.0)  # points of words are held between these before prototypes are added; ours
INTENT_PROTOTYPE_POINTS: Final = (
    1.5  # points a standard deviation of the five cosines; ours, fitted on our own examples
)
INTENT_LEAD: Final = 0.1  # points of lead below which nothing is clear; ours
INTENT_MARGIN: Final = 0.002  # lead in cosine of the nearest prototype; ours, the five differ by 0.03 on average

TopicMode = Literal["best", "fuzzy"]
RecencyMode = Literal["step", "smooth"]


@dataclass(frozen=True, slots=True)
class DecayWeights:
    """What the decay score and the forgetting cycle are made of. `protect_importance_floor` None: no floor."""

    rate_per_day: float = DECAY_RATE_PER_DAY
    archive_below: float = ARCHIVE_BELOW
    emotion_base: float = EMOTION_BASE
    arousal_boost: float = AROUSAL_BOOST
    check_interval_hours: float = CYCLE_INTERVAL_HOURS
    protect_importance_floor: int | None = None


@dataclass(frozen=True, slots=True)
class MatchWeights:
    """What the match score is made of."""

    topic: float = TOPIC_WEIGHT
    emotion: float = EMOTION_WEIGHT
    time: float = TIME_WEIGHT
    importance: float = IMPORTANCE_WEIGHT
    name: float = NAME_WEIGHT
    domain: float = DOMAIN_WEIGHT
    tags: float = TAGS_WEIGHT
    body: float = BODY_WEIGHT
    threshold: float = MATCH_THRESHOLD
    topic_mode: TopicMode = "best"

    @property
    def total(self) -> float:
        """Sum of the four parts' weights: what a perfect match weighs."""
        return self.topic + self.emotion + self.time + self.importance

    @property
    def fuzzy_total(self) -> float:
        """Sum of the weights of name, domain, tags and body."""
        return self.name + self.domain + self.tags + self.body


@dataclass(frozen=True, slots=True)
class RippleRules:
    """Whom a recall stirs, and by how much."""

    window_hours: float = RIPPLE_WINDOW_HOURS
    limit: int = RIPPLE_LIMIT
    activation: float = RIPPLE_ACTIVATION


@dataclass(frozen=True, slots=True)
class SurfaceRules:
    """What surfaces by itself, and in which order."""

    cold_start_importance: int = COLD_START_IMPORTANCE
    cold_start_limit: int = COLD_START_LIMIT
    shuffled_to_rank: int = SHUFFLED_TO_RANK


@dataclass(frozen=True, slots=True)
class DriftRules:
    """When old buckets drift in beside few hits."""

    below_hits: int = DRIFT_BELOW_HITS
    probability: float = DRIFT_PROBABILITY
    below_score: float = DRIFT_BELOW_SCORE
    limit: int = DRIFT_LIMIT


@dataclass(frozen=True, slots=True)
class FinalWeights:
    """What the final score of a card is made of. `relevance_floor` 0: no floor."""

    relevance: float = RELEVANCE_SHARE
    type_fit: float = TYPE_FIT_SHARE
    importance: float = IMPORTANCE_SHARE
    recency: float = RECENCY_SHARE
    similarity: float = SIMILARITY_SHARE
    keyword: float = KEYWORD_SHARE
    threshold: float = FINAL_THRESHOLD
    relevance_floor: float = RELEVANCE_FLOOR
    recency_mode: RecencyMode = "step"
