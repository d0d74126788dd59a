"""Begin to serve a vault: the lock, the port, the index; the daemon takes over from here.

What takes longest at a start are imports. The built-in model is read in a thread beside them, and so is the index.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from vaultd.config.paths import lock_file, log_file, state_folder
from vaultd.config.runtime import keep_token, named_as_holder, read_runtime
from vaultd.core.errors import AlreadyServed, SettingsError, VaultUnavailable
from vaultd.frugal import few_heaps
from vaultd.settings import Settings

if TYPE_CHECKING:
    from vaultd.daemon import Bar
    from vaultd.embedding import Model


def run(
    settings: Settings, config: Path | None = None, *, any_port: bool = False, progress_bar: Bar | None = None
) -> int:
    """Serve a vault until a signal; the exit code. Settings that are changed meanwhile go to `config`.

    `any_port`: take a free one where the wanted one is in use. `progress_bar`: for a first index that takes its time.
    Raises SettingsError, VaultUnavailable, AlreadyServed.
    """
    vault = settings.vault.path
    if vault is None or not vault.is_dir():
        raise VaultUnavailable(f"the vault {vault} is not a folder; name one with --vault DIR")
    state = state_folder(vault, settings.state_dir)
    lock = FileLock(lock_file(state))
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=0)
    except Timeout:
        if settings.transport == "stdio":
            from vaultd.tools import bridge

            return bridge.run(settings, config=config)
        there = read_runtime(state)
        where = f" at {there.url} (pid {there.pid})" if there else ""
        raise AlreadyServed(
            f"vaultd already serves this vault{where}; `vaultd token --link` opens its dashboard, `vaultd stop` ends it"
        ) from None
    except OSError as exc:
        raise SettingsError(
            f"cannot write the state folder {state}: {exc.strerror}; make it this user's, or name another by "
            "state_dir or VAULTD_STATE_DIR"
        ) from exc
    with lock, named_as_holder(state):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until the server takes its signals itself
        _configure_logging(settings, state)
        token = settings.server.token or keep_token(state)
        few_heaps()
        listener = _listen(settings, token, any_port=any_port or settings.transport == "stdio")
        gc.disable()  # until the index is open: nearly all that is made by then stays
        model = _begin_model(settings)
        from vaultd.compose import compose

        core = compose(settings, state, config=config, model=model)
        opened = core.begin_opening()
        from vaultd.daemon import Daemon

        sys.setswitchinterval(0.002)  # the indexer's thread must not keep answers waiting
        atexit.register(gc.freeze)  # the last collection of all costs seconds and gives nothing back
        return asyncio.run(Daemon(core, opened, vault, state, token, listener, progress_bar).run())


def _begin_model(settings: Settings) -> Model | None:
    """The built-in model, being read already; None where the settings ask for another one or for none."""
    if settings.embedding.provider != "local":
        return None
    from vaultd.embedding import begin_loading, builtin_model

    model = builtin_model()
    begin_loading(model)
    return model


def _listen(settings: Settings, token: str, *, any_port: bool) -> socket.socket:
    from vaultd.web.guards import check_exposure
    from vaultd.web.server import listen

    check_exposure(settings.server, [token])
    server = settings.server
    try:
        return listen(server.host, server.port)
    except SettingsError:
        if not any_port:
            raise
        return listen(server.host, 0)


def _configure_logging(settings: Settings, state: Path) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    handlers[0].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    if not sys.stderr.isatty() and os.environ.get("VAULTD_LOG_TO_FILE"):
        handlers = [logging.FileHandler(log_file(state), encoding="utf-8")]
    logging.basicConfig(level=settings.log_level, handlers=handlers, force=True)
    for noisy in ("apscheduler", "mcp", "httpx2", "openai", "watchdog", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
