"""Where things lie outside the vault: the config file, and the state folder of a vault on this machine."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

APP: Final = "vaultd"
CONFIG_NAME: Final = "config.yaml"
CONFIG_VARIABLE: Final = "VAULTD_CONFIG"


def default_config_path() -> Path:
    """config.yaml in the platform's folder for settings."""
    import platformdirs  # not needed where the places are given, and every command would wait for it

    return Path(platformdirs.user_config_path(APP, appauthor=False)) / CONFIG_NAME


def config_path(given: Path | None, environ: Mapping[str, str]) -> Path:
    """The config file: what was given, else VAULTD_CONFIG, else the platform's. It need not exist."""
    chosen = given or environ.get(CONFIG_VARIABLE, "").strip()
    return Path(chosen).expanduser().absolute() if chosen else default_config_path()


def state_folder(vault: Path, state_dir: Path | None = None) -> Path:
    """The folder for index, runtime file, token and log of one vault; `state_dir` is the folder of all vaults.

    Named after the vault and a hash of its real path, so that two vaults of one name never meet. Not created here.
    """
    base = state_dir or _platform_state()
    real = os.path.normcase(vault.resolve())
    digest = hashlib.blake2b(str(real).encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    name = re.sub(r"[^\w-]+", "_", vault.resolve().name)[:40] or "vault"
    return base / f"{name}-{digest}"


def _platform_state() -> Path:
    import platformdirs

    return Path(platformdirs.user_state_path(APP, appauthor=False))


def runtime_file(folder: Path) -> Path:
    """Who serves this vault now (0600)."""
    return folder / "runtime.json"


def token_file(folder: Path) -> Path:
    """The token that was made for this vault (0600)."""
    return folder / "token"


def log_file(folder: Path) -> Path:
    """What a daemon without a terminal logs."""
    return folder / "vaultd.log"


def calibration_file(folder: Path) -> Path:
    """What `vaultd calibrate` found out about another embedding model."""
    return folder / "calibration.json"


def lock_file(folder: Path) -> Path:
    """Held by the one daemon of this vault."""
    return folder / "daemon.lock"


def holder_file(folder: Path) -> Path:
    """The process number of who holds that lock, or held it and was killed."""
    return folder / "daemon.pid"
