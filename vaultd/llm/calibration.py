"""From a model's cosines to similarities that mean the same for every model.

    vector ─► LanguageCentre, fitted to the vault ─► cosine of two ─► Similarity ─► 0…1

Small multilingual models put a text near every other text of its language and its length. Taking that away leaves
what the text says. What a cosine is worth still differs from model to model, so it is mapped by a curve that was
fitted on pairs whose relation is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import BadInput, StorageFull
from vaultd.core.text import share_of_cjk
from vaultd.llm.embedder import Embedder, Floats, unit
from vaultd.wholefile import write_whole

BETA_ONE_LANGUAGE: Final = 0.0  # share of the language mean that is taken away, in a vault of one language
BETA_MIXED: Final = 0.5  # and in a vault of several; measured, see docs/decisions/0002
VAULT_MEANS_FROM: Final = 25  # passages whose mean counts as much as none; flat from 25 to 50 on public benchmarks
_DATA: Final = files("vaultd.llm") / "data"
_BUILTIN: Final = _DATA / "e5_small_q4.json"
_PAIRS: Final = _DATA / "calibration_pairs.jsonl"
NO_ORDER: Final = "related pairs do not stand out by their cosines: this model cannot be calibrated"
_STEPS: Final = 50  # of Newton's method; it settles in about ten

Label = Literal["related", "same_topic", "unrelated"]
_CURVE: Final = ((0.5, 1 / 2), (0.7, 4 / 5), (0.85, 19 / 20))  # similarity, share of related pairs at that cosine


@dataclass(frozen=True, slots=True)
class Similarity:
    """A rising curve from (centred) cosine to 0…1, straight between its knots.

    0 at the median of unrelated pairs, 0.5 where as many pairs are related as not, 0.7 where four of five are,
    0.85 where 19 of 20 are, 1 at cosine 1.
    """

    cosines: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for line in (self.cosines, self.values) for a, b in pairwise(line))
        if len(self.cosines) != len(self.values) or len(self.cosines) < 2 or not rising:
            raise BadInput("a similarity curve needs two or more knots that rise in both directions")
        if self.values[0] < 0 or self.values[-1] > 1:
            raise BadInput("a similarity curve stays within 0 and 1")

    def __call__(self, cosines: npt.ArrayLike) -> Floats:
        """Similarities, 0…1, of any number of cosines."""
        values: Floats = np.interp(np.asarray(cosines, np.float32), self.cosines, self.values).astype(np.float32)
        return values

    def cosine_at(self, similarity: float) -> float:
        """The cosine from which on the similarity is at least this."""
        return float(np.interp(similarity, self.values, self.cosines))

    def as_json(self) -> list[list[float]]:
        """The knots: [[cosine, similarity], …]."""
        return [[cosine, value] for cosine, value in zip(self.cosines, self.values, strict=True)]

    @classmethod
    def from_json(cls, knots: Sequence[Sequence[float]]) -> Similarity:
        """Of `as_json`'s knots. Raises BadInput."""
        try:
            pairs = [(float(cosine), float(value)) for cosine, value in knots]
        except (TypeError, ValueError) as exc:
            raise BadInput("the knots of a similarity curve are pairs of numbers") from exc
        return cls(tuple(cosine for cosine, _ in pairs), tuple(value for _, value in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class LanguageCentre:
    """What vectors share that says nothing of what their texts are about.

    `zh` and `en` (d,): the mean passage vectors of Chinese and of English texts. `length` (k, d): orthonormal
    directions in which long texts differ from short ones.
    """

    zh: Floats
    en: Floats
    length: Floats

    def centre(self, vectors: Floats, shares: npt.ArrayLike, beta: float) -> Floats:
        """Unit vectors without the common mean, `beta` (0…1) of the language's part, and what only tells the length.

        `vectors` (d,) or (n, d) with each text's share of CJK, 0…1: see `core.text.share_of_cjk`.
        """
        return unit(self._rest(vectors, shares, beta))

    def at(self, beta: float) -> Centring:
        """Centring with this beta, for vaults that are not known yet."""
        return Centring(self, beta, np.zeros_like(self.zh))

    def fitted_to(self, vectors: Floats, shares: npt.ArrayLike, beta: float) -> Centring:
        """Centring for the vault with these passage vectors (n, d): it also takes away what its texts have in common.

        The memories of one vault share a voice; without this, most of them would pass for related. The vault's
        mean is shrunk by n / (n + VAULT_MEANS_FROM), so that a handful of notes does not lose its own subject.
        """
        if not len(vectors):
            return self.at(beta)
        # what is taken away is linear, so the mean of the rest is the rest of the means
        share = np.asarray(shares, np.float64).mean()
        mean = self._rest(vectors.mean(axis=0, dtype=np.float64).astype(np.float32), share, beta)
        return Centring(self, beta, mean * np.float32(len(vectors) / (len(vectors) + VAULT_MEANS_FROM)))

    def _rest(self, vectors: Floats, shares: npt.ArrayLike, beta: float) -> Floats:
        """x ↦ P(x - m - beta · (share · (zh - m) + (1 - share) · (en - m))), m = (zh + en) / 2, P across `length`."""
        middle: Floats = (self.zh + self.en) * np.float32(0.5)
        share: Floats = np.asarray(shares, np.float32)[..., np.newaxis]
        language: Floats = share * (self.zh - middle) + (np.float32(1) - share) * (self.en - middle)
        rest: Floats = vectors - middle - np.float32(beta) * language
        rest -= (rest @ self.length.T) @ self.length
        return rest

    @classmethod
    def none(cls, dimension: int) -> LanguageCentre:
        """For a model that was not calibrated: nothing is known, nothing is taken away but a vault's own mean."""
        zero = np.zeros(dimension, np.float32)
        return cls(zero, zero, np.zeros((0, dimension), np.float32))

    @classmethod
    def of(cls, short: TextVectors, long: TextVectors) -> LanguageCentre:
        """Means over sentences and whole notes, half and half, and the directions between the two.

        A text counts as Chinese if more than half of it is. Raises BadInput unless both have both languages.
        """
        zh = [part.vectors[part.shares > 0.5] for part in (short, long)]
        en = [part.vectors[part.shares <= 0.5] for part in (short, long)]
        if not all(len(group) for group in (*zh, *en)):
            raise BadInput("means need Chinese and English texts, short and long ones")
        means = np.array([[group.mean(axis=0) for group in language] for language in (zh, en)], np.float32)
        directions, _ = np.linalg.qr((means[:, 1] - means[:, 0]).T)
        middle_zh, middle_en = means.mean(axis=1)
        return cls(middle_zh, middle_en, np.ascontiguousarray(directions.T))


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """(vectors, shares of CJK) → unit vectors that can be compared: the same for memories and for queries."""

    centre: LanguageCentre
    beta: float
    offset: Floats

    def __call__(self, vectors: Floats, shares: npt.ArrayLike) -> Floats:
        return unit(self.centre._rest(vectors, shares, self.beta) - self.offset)


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """Passage vectors (n, d) and their texts' shares of CJK (n,)."""

    vectors: Floats
    shares: Floats

    @classmethod
    def of(cls, embedder: Embedder, texts: Sequence[str]) -> TextVectors:
        """Embeds the texts as passages."""
        shares = np.array([share_of_cjk(text) for text in texts], np.float32)
        return cls(embedder.embed_passages(texts), shares)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A text and its vector by the reference engine: other engines must agree with it."""

    text: str
    vector: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """All that makes one model's vectors comparable: means, and a curve for each beta."""

    model: str
    centre: LanguageCentre
    curves: Mapping[float, Similarity]

    def similarity(self, beta: float) -> Similarity:
        """The curve for vectors centred with this beta. Raises BadInput for a beta without one."""
        if beta not in self.curves:
            raise BadInput(f"no similarity curve for beta {beta}; there are {sorted(self.curves)}")
        return self.curves[beta]

    def as_json(self) -> dict[str, Any]:
        """Numbers and text, ready for `json.dumps`."""
        return {
            "model": self.model,
            "mean_zh": rounded(self.centre.zh),
            "mean_en": rounded(self.centre.en),
            "length": [rounded(direction) for direction in self.centre.length],
            "curves": {str(beta): curve.as_json() for beta, curve in self.curves.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        """Of `as_json`'s mapping. Raises BadInput."""
        try:
            zh, en, length = (np.array(data[key], np.float32) for key in ("mean_zh", "mean_en", "length"))
            curves = {float(beta): Similarity.from_json(knots) for beta, knots in data["curves"].items()}
            return cls(str(data["model"]), LanguageCentre(zh, en, length.reshape(-1, len(zh))), curves)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadInput("not a calibration; make it anew with `vaultd calibrate`") from exc


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two texts and how they are related. Pairs of the split `test` are for checking a fit, not for fitting."""

    a: str
    b: str
    lang: str
    label: Label
    split: Literal["fit", "test"]


def rounded(vector: Floats) -> list[float]:
    """Numbers to six decimals, which changes a cosine by less than 1e-5."""
    return [round(float(number), 6) for number in vector]


@cache
def builtin_calibration() -> Calibration:
    """The built-in model's, made by `bench/calibrate_builtin.py`."""
    return Calibration.from_json(json.loads(_BUILTIN.read_text("utf-8")))


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Keep a calibration, whole or not at all. Raises StorageFull."""
    try:
        write_whole(path, f"{json.dumps(calibration.as_json())}\n".encode())
    except OSError as exc:
        raise StorageFull(f"{path}: cannot be written ({exc.strerror})") from exc


def saved_calibration(path: Path, model: str) -> Calibration | None:
    """The calibration kept for this model; None where there is none, or one of another model. Raises BadInput."""
    try:
        raw: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        raise BadInput(f"{path}: is not a calibration ({exc}); make it anew with `vaultd calibrate`") from exc
    calibration = Calibration.from_json(raw)
    return calibration if calibration.model == model else None


@cache
def builtin_probe() -> Probe:
    """The built-in model's, from the same file."""
    probe = json.loads(_BUILTIN.read_text("utf-8"))["probe"]
    return Probe(probe["text"], np.array(probe["vector"], np.float32))


def labelled_pairs() -> tuple[LabelledPair, ...]:
    """The pairs that come with the package."""
    lines = _PAIRS.read_text("utf-8").splitlines()
    return tuple(LabelledPair(**json.loads(line)) for line in lines if line.strip())


def fit_similarity(related: npt.ArrayLike, unrelated: npt.ArrayLike, same_topic: npt.ArrayLike = ()) -> Similarity:
    """The curve for the cosines of labelled pairs.

    The share of related pairs at a cosine is a logistic curve of it: Platt, Probabilistic outputs for support
    vector machines, 1999, with his targets; both sides weigh the same whatever their numbers. `same_topic`
    pairs count as not related, but not for the median of the unrelated. Raises BadInput if there are too few
    pairs, or if related pairs do not have the higher cosines.
    """
    close, far = np.asarray(related, np.float64), np.asarray(unrelated, np.float64)
    other = np.concatenate([far, np.asarray(same_topic, np.float64)])
    if min(len(close), len(far)) < 10:
        raise BadInput("a similarity curve needs at least 10 related and 10 unrelated pairs")
    slope, offset = _logistic(close, other)
    if slope <= 0:
        raise BadInput(NO_ORDER)
    knots = [(float(np.median(far)), 0.0)]
    knots += [((float(np.log(share / (1 - share))) - offset) / slope, value) for value, share in _CURVE]
    cosines = [cosine for cosine, _ in knots]
    if cosines != sorted(cosines) or cosines[-1] >= 1:
        raise BadInput(NO_ORDER)
    return Similarity.from_json([*knots, (1.0, 1.0)])


def fit_calibration(embedder: Embedder, pairs: Iterable[LabelledPair], notes: Sequence[str]) -> Calibration:
    """Means, from the pairs' sentences and from whole notes, and curves for both betas, from the pairs.

    Each pair is taken as two passages and as query and passage, since vectors are compared in both ways. Pairs over
    two languages do not count for the beta of a vault in one language. Raises BadInput as `fit_similarity` does.
    """
    pairs = tuple(pairs)
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
    passages = TextVectors.of(embedder, texts)
    queries = np.stack([embedder.embed_query(text) for text in texts])
    centre = LanguageCentre.of(passages, TextVectors.of(embedder, notes))
    place = {text: number for number, text in enumerate(texts)}
    left, right = [place[pair.a] for pair in pairs], [place[pair.b] for pair in pairs]
    labels = np.array([pair.label for pair in pairs])
    one_language = np.array(["-" not in pair.lang for pair in pairs])
    curves = {}
    for beta in (BETA_ONE_LANGUAGE, BETA_MIXED):
        counts = one_language if beta == BETA_ONE_LANGUAGE else np.ones_like(one_language)
        stored = centre.centre(passages.vectors, passages.shares, beta)
        asked = centre.centre(queries, passages.shares, beta)
        cosines = np.stack([(side[left] * stored[right]).sum(axis=1) for side in (stored, asked)])
        of = {label: cosines[:, counts & (labels == label)].ravel() for label in get_args(Label)}
        curves[beta] = fit_similarity(of["related"], of["unrelated"], of["same_topic"])
    return Calibration(embedder.name, centre, curves)


def _logistic(close: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset of the logistic curve, by Newton's method on the weighted likelihood."""
    x = np.concatenate([close, other])
    scale, shift = float(x.std()) or 1.0, float(x.mean())
    rows = np.stack([(x - shift) / scale, np.ones_like(x)], axis=1)
    targets = np.concatenate(
        [np.full(len(close), (len(close) + 1) / (len(close) + 2)), np.full(len(other), 1 / (len(other) + 2))]
    )
    weights = np.concatenate([np.full(len(close), 0.5 / len(close)), np.full(len(other), 0.5 / len(other))])
    found = np.zeros(2)
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (targets - share))
        curvature = (rows.T * (weights * share * (1 - share))) @ rows + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return float(found[0]) / scale, float(found[1] - found[0] * shift / scale)
