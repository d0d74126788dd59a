"""A small daemon as a process of its own: serves the small application until a signal.

    python tests/web/small_daemon.py --state DIR [--port N] [--kept FILE] [--start-delay S]

It holds a lock in DIR (a second one ends with code 3), leaves a runtime file there, and prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.web.small_app import STRONG, Memory, small_app
from vaultd.config.paths import state_folder
from vaultd.config.runtime import Runtime, remove_runtime, write_runtime
from vaultd.web.server import WebServer, base_url, listen


async def serve(options: argparse.Namespace) -> None:
    small = small_app(memory=Memory(kept_in=options.kept), pid=os.getpid())
    listener = listen("127.0.0.1", options.port)
    server = WebServer(small.app, listener=listener, closing=small.closing)
    port = server.port
    folder = state_folder(options.state, options.state)

    async def announce() -> None:
        await server.ready.wait()
        started = datetime.now(UTC).isoformat()
        runtime = Runtime(os.getpid(), base_url("127.0.0.1", port), port, STRONG, str(options.state), started)
        write_runtime(folder, runtime)
        print(port, flush=True)

    announcing = asyncio.create_task(announce())
    await server.serve_until_closed()
    announcing.cancel()
    remove_runtime(folder, os.getpid())
    await asyncio.wait((announcing,))
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        print("left behind:", left, file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--start-delay", type=float, default=0.0)
    options = parser.parse_args()
    options.state.mkdir(parents=True, exist_ok=True)
    lock = os.open(options.state / "daemon.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("another one is here", file=sys.stderr)
        return 3
    time.sleep(options.start_delay)
    asyncio.run(serve(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
