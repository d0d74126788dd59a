"""`python -m tests.conformance.serve VAULT STATES`: the real daemon, with the suite's fixtures and /mcp left open.

The suite cannot send a token, so this one path asks for none; everything else stands behind the door as always.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance.fixtures import Events, add_fixtures
from vaultd import daemon
from vaultd.compose import compose
from vaultd.config.paths import state_folder
from vaultd.config.runtime import keep_token
from vaultd.settings import Settings
from vaultd.web.app import WebParts
from vaultd.web.server import listen


class OpenDaemon(daemon.Daemon):
    """A daemon whose MCP endpoint anybody may call."""

    def _parts(self, *arguments) -> WebParts:
        parts = super()._parts(*arguments)
        add_fixtures(self._mcp)
        mcp_app = self._mcp.streamable_http_app(
            transport_security=daemon._no_second_guard(), event_store=Events(), retry_interval=100
        )
        return dataclasses.replace(parts, mcp_app=mcp_app, open_paths=frozenset({"/mcp"}))


def main(vault: Path, states: Path) -> int:
    """Serve until a signal; the address stands in the runtime file under `states`, as ever."""
    bare = Settings()
    settings = dataclasses.replace(
        bare,
        vault=dataclasses.replace(bare.vault, path=vault),
        embedding=dataclasses.replace(bare.embedding, provider="none"),
    )
    state = state_folder(vault, states)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    logging.basicConfig(level="WARNING")
    core = compose(settings, state)
    with ThreadPoolExecutor(1) as aside:
        opened = aside.submit(core.open_index)
        return asyncio.run(OpenDaemon(core, opened, vault, state, keep_token(state), listen("127.0.0.1", 0)).run())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
