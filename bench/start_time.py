"""How long the light commands take to start, in milliseconds of processor time: medians and extremes.

    python bench/start_time.py [--runs 15] [--check]

`--check` fails where a median is above the bar of 300 ms. `vaultd status` is measured without a daemon (it reads settings
and the state folder, and gives up), and against a small server that answers as one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vaultd.config.paths import state_folder
from vaultd.config.runtime import Runtime, write_runtime

BAR_MS = 300.0


class Daemon(BaseHTTPRequestHandler):
    """Answers /health and /api/status."""

    def do_GET(self) -> None:
        """Both are the same small object."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "ok", "pid": os.getpid(), "ready": True, "notes": 10_000}).encode())

    def log_message(self, *args: object) -> None:
        """Nothing."""


def processor_ms(command: list[str], environ: dict[str, str], runs: int, code: int) -> list[float]:
    """Processor time of each run of a command, user and system, children included."""
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environ, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != code:
            raise SystemExit(f"{command} left with {done.returncode}: {done.stderr.decode()}")
        found.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return found


def main() -> int:
    """Measure and print; 1 where --check finds a median above the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), options.runs, options.check)


def measure(folder: Path, runs: int, check: bool) -> int:
    """All commands in a vault and a state folder of their own."""
    vault, alone = folder / "vault", folder / "alone"
    vault.mkdir()
    alone.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Daemon)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    runtime = Runtime(os.getpid(), url, server.server_port, "t", str(vault), "2026-11-30T12:00:00+08:00")
    write_runtime(state_folder(vault, folder / "state"), runtime)
    environ = {**os.environ, "VAULTD_STATE_DIR": str(folder / "state"), "VAULTD_VAULT": str(vault)}
    vaultd = [sys.executable, "-m", "vaultd"]
    commands = [
        ("python alone", [sys.executable, "-c", ""], environ, 0),
        ("vaultd status, no daemon", [*vaultd, "status"], {**environ, "VAULTD_VAULT": str(alone)}, 1),
        ("vaultd status", [*vaultd, "status"], environ, 0),
        ("vaultd --help", [*vaultd, "--help"], environ, 0),
        ("vaultd config get", [*vaultd, "config", "get", "server.port"], environ, 0),
    ]
    worst = 0.0
    for name, command, given, code in commands:
        times = processor_ms(command, given, runs, code)
        worst = max(worst, statistics.median(times))
        print(f"{name:28} {statistics.median(times):6.0f} ms   ({min(times):.0f} … {max(times):.0f}, {runs} runs)")
    server.shutdown()
    thread.join()
    server.server_close()
    return int(check and worst > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
