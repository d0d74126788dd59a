"""The embedding model in force: which one the settings ask for, how its vectors are centred and its cosines read."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vaultd.config.paths import calibration_file
from vaultd.core.errors import BadInput, ModelUnavailable
from vaultd.index.vectors import Centre, Floats, as_they_are
from vaultd.llm.budget import RequestBudget
from vaultd.llm.calibration import (
    BETA_MIXED,
    BETA_ONE_LANGUAGE,
    Calibration,
    LanguageCentre,
    Similarity,
    builtin_calibration,
    saved_calibration,
)
from vaultd.llm.embedder import Embedder
from vaultd.llm.local import LocalEmbedder
from vaultd.llm.remote import RemoteEmbedder
from vaultd.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model in force. `embedder` is None where there is none; `why` says so in one line, unless
    a person wants none.

    `fit` makes the centring for a vault out of its vectors; None leaves them as `centre` makes them.
    """

    embedder: Embedder | None
    centre: Centre
    similarity: Similarity
    why: str = ""
    fit: Callable[[Floats, Floats], Centre] | None = None

    @property
    def name(self) -> str:
        """The model's id, "" where there is none."""
        return self.embedder.name if self.embedder else ""


def local_zone(name: str) -> tzinfo:
    """The configured zone, or this machine's."""
    if name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            log.warning("timezone %r is not known; the machine's zone is used", name)
    return datetime.now(UTC).astimezone().tzinfo or UTC


def _own_mean(vectors: Floats, shares: Floats) -> Centre:
    """For a model that was not calibrated: nothing but the vault's own mean is taken away."""
    return LanguageCentre.none(vectors.shape[1]).fitted_to(vectors, shares, BETA_ONE_LANGUAGE)


def _centred(embedder: Embedder, calibration: Calibration) -> Model:
    """A model whose cosines are known."""
    languages = calibration.centre
    return Model(
        embedder,
        languages.at(BETA_MIXED),
        calibration.similarity(BETA_MIXED),
        fit=lambda vectors, shares: languages.fitted_to(vectors, shares, BETA_MIXED),
    )


def _calibrated(state: Path | None, model: str) -> Calibration | None:
    try:
        return None if state is None else saved_calibration(calibration_file(state), model)
    except BadInput as exc:
        log.warning("%s", exc)
        return None


def budget_of(settings: Settings, state: Path) -> RequestBudget:
    """The requests of today to remote models, of a vault that no daemon serves."""
    zone = local_zone(settings.timezone)
    return RequestBudget(
        state / "requests.json", settings.llm.daily_request_cap, today=lambda: datetime.now(zone).date()
    )


def embedding_model(settings: Settings, budget: RequestBudget, state: Path | None = None) -> Model:
    """The embedding model that the settings ask for; words alone where it cannot be had.

    `state`: the state folder of the vault, where a calibration may be kept.
    """
    if settings.embedding.provider == "local":
        return builtin_model()
    similarity = builtin_calibration().similarity(BETA_MIXED)
    try:
        if settings.embedding.provider == "openai":
            remote = RemoteEmbedder(settings.embedding, budget=budget, rng=random.Random())
            known = _calibrated(state, remote.name)
            return Model(remote, as_they_are, similarity, fit=_own_mean) if known is None else _centred(remote, known)
    except ModelUnavailable as exc:
        return _words_alone(exc)
    return Model(None, as_they_are, similarity)


def builtin_model() -> Model:
    """The model that ships with the package; words alone on platforms that have none."""
    try:
        return _centred(LocalEmbedder(), builtin_calibration())
    except ModelUnavailable as exc:
        return _words_alone(exc)


def begin_loading(model: Model) -> None:
    """Have a model read in a thread of its own; what is wrong with it is told at the first text."""
    embedder = model.embedder
    if embedder is None:
        return

    def load() -> None:
        with contextlib.suppress(ModelUnavailable):
            embedder.load()

    threading.Thread(target=load, name="model", daemon=True).start()


def _words_alone(why: ModelUnavailable) -> Model:
    log.warning("%s", why)
    return Model(None, as_they_are, builtin_calibration().similarity(BETA_MIXED), str(why))
