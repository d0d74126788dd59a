"""Russell's circumplex: an emotion is a point of valence and arousal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Emotion:
    """Valence (0 unpleasant … 1 pleasant) and arousal (0 calm … 1 excited)."""

    valence: float = 0.5
    arousal: float = 0.3
