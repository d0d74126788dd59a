"""The bridge as a process of its own, between standard input and the small daemon.

    python tests/tools/small_bridge.py --state DIR [--kept FILE] [--start-delay S] [--never-start]

It finds the daemon by the runtime file in DIR, and starts it when there is none.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from vaultd.config.runtime import Runtime, find_daemon
from vaultd.tools.bridge import serve
from vaultd.tools.bridging.launch import DaemonDown, Launcher


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--start-delay", type=float, default=0.0)
    parser.add_argument("--never-start", action="store_true")
    options = parser.parse_args()

    def find() -> Runtime | None:
        return find_daemon(options.state, options.state)

    async def no_start() -> Runtime:
        raise DaemonDown("no daemon may be started here")

    daemon = [sys.executable, str(ROOT / "tests" / "web" / "small_daemon.py"), "--state", str(options.state)]
    if options.kept:
        daemon += ["--kept", str(options.kept)]
    launcher = Launcher(
        command=[*daemon, "--start-delay", str(options.start_delay)],
        find=find,
        lock_path=options.state / "start.lock",
        log_path=options.state / "daemon.log",
        environ=os.environ,
        timeout_s=40.0,
    )
    start = no_start if options.never_start else launcher.start
    asyncio.run(serve(find=find, start=start, token=os.environ.get("VAULTD_TOKEN")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
