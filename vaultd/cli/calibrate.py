"""`vaultd calibrate`: what another embedding model's cosines mean, fitted on labelled pairs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vaultd.cli.options import json_option, load_settings, state_of, vault_options
from vaultd.cli.output import note, print_json, say
from vaultd.config.paths import calibration_file
from vaultd.core.errors import BadInput

if TYPE_CHECKING:
    from vaultd.llm.calibration import Calibration, LabelledPair
    from vaultd.llm.embedder import Embedder


@click.command()
@vault_options
@json_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def calibrate(config: Path | None, vault: Path | None, as_json: bool, yes: bool) -> None:
    """Fit the similarities of another embedding model.

    Thresholds such as 0.5 speak of how likely two texts are related. What a cosine is worth differs from
    model to model; this asks the model that is set about pairs of sentences whose relation is known, and
    keeps the curve for this vault. The built-in model brings its own. Takes effect when the daemon is
    started again.

    \b
    Examples:
      vaultd config set embedding.provider openai
      vaultd calibrate
    """
    settings = load_settings(config, vault).settings
    state = state_of(settings)
    if settings.embedding.provider == "local":
        say("The built-in model brings its own calibration; there is nothing to do.")
        return
    if settings.embedding.provider == "none":
        raise BadInput("embedding.provider is none: there is no model to calibrate")

    from vaultd.embedding import budget_of, embedding_model

    model = embedding_model(settings, budget_of(settings, state), state)
    if model.embedder is None:
        raise BadInput(model.why)
    try:
        fitted, quality = _fitted(model.embedder, calibration_file(state), yes=yes)
    finally:
        model.embedder.close()
    if as_json:
        print_json({"model": fitted.model, "file": str(calibration_file(state)), **quality})
        return
    say(f"{fitted.model} is calibrated; the daemon takes it up when it is started again")
    say(
        f"  of related pairs {quality['related_found']:.0%} reach 0.5, of unrelated ones {quality['unrelated_found']:.0%}"
    )


def _fitted(embedder: Embedder, path: Path, *, yes: bool) -> tuple[Calibration, dict[str, Any]]:
    from vaultd.llm.calibration import fit_calibration, labelled_pairs, save_calibration

    pairs = labelled_pairs()
    count = len({text for pair in pairs for text in (pair.a, pair.b)})
    note(f"{embedder.name} is asked about {count} short texts, one by one and in batches, and some notes")
    if not yes:
        click.confirm("Go on?", default=True, abort=True, err=True)
    fitted = fit_calibration(embedder, [pair for pair in pairs if pair.split == "fit"], _notes())
    save_calibration(path, fitted)
    return fitted, _checked(embedder, fitted, [pair for pair in pairs if pair.split == "test"])


def _notes() -> list[str]:
    from vaultd.core.note import FileStamp, NotePath
    from vaultd.index.passages import passages_of
    from vaultd.vault.codec import decode

    vault = Path(str(files("vaultd"))) / "data" / "sample_vault"
    texts = []
    for path in sorted(vault.rglob("*.md")):
        body = decode(NotePath(path.name), path.read_bytes(), FileStamp(0, 0, 0)).body
        texts += [passage.text for passage in passages_of(body)]
    return texts


def _checked(embedder: Embedder, fitted: Calibration, pairs: list[LabelledPair]) -> dict[str, Any]:
    """How the curve does on pairs that it was not fitted to: shares of them at 0.5 and above."""
    from vaultd.llm.calibration import BETA_MIXED, TextVectors

    sides = [TextVectors.of(embedder, texts) for texts in ([pair.a for pair in pairs], [pair.b for pair in pairs])]
    left, right = (fitted.centre.centre(side.vectors, side.shares, BETA_MIXED) for side in sides)
    alike = fitted.similarity(BETA_MIXED)((left * right).sum(axis=1)) >= 0.5
    shares = {}
    for label in ("related", "unrelated"):
        chosen = [bool(hit) for hit, pair in zip(alike, pairs, strict=True) if pair.label == label]
        shares[f"{label}_found"] = round(sum(chosen) / max(1, len(chosen)), 3)
    return {"pairs": len(pairs), **shares}
