"""vaultd and its peers, measured in one run by one harness, over MCP.

    python -m bench.peers --harness DIR --base DIR --out DIR [--notes 1000] [--targets null,basic-memory,vaultd] [-- …]

`--harness` holds the comparison's scripts (bench.py, adapters.py, report.py); `--base` the environments and vaults that
its set-up script has made. What follows `--` goes to its bench.py as it is. Each target gets a fresh copy of the vault.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2

TARGETS = "null,markdown-vault-mcp,basic-memory,vaultd"
OVER_HTTP = ("null", "markdown-vault-mcp", "basic-memory", "vaultd")
TOKEN = "a-token-of-this-benchmark-alone"


def add_vaultd() -> None:
    """Tell the harness how vaultd is started and asked."""
    import adapters
    from mcp.client.streamable_http import streamable_http_client

    class Vaultd(adapters.Target):
        name = package = "vaultd"
        transport = "http"
        http_too = True
        note = "words only (embedding.provider none)"

        def prepare(self) -> None:
            Path(self.home, "config.yaml").write_text(
                f"server:\n  token: {TOKEN}\nembedding:\n  provider: none\n", encoding="utf-8"
            )

        def env(self) -> dict[str, str]:
            return super().env() | {"VAULTD_STATE_DIR": str(Path(self.home, "state"))}

        def server(self) -> list[str]:
            options = ["--config", str(Path(self.home, "config.yaml")), "--vault", self.vault, "--port", str(self.port)]
            return [sys.executable, "-m", "vaultd", "serve", *options]

        def url(self):
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=600, trust_env=False)
            return streamable_http_client(super().url(), http_client=http)

        def index_paths(self) -> list[str]:
            return [str(Path(self.home, "state"))]

        async def call(self, client, query: str, limit: int):
            return await client.call_tool("breath", {"query": query, "max_results": limit})

        def hits(self, result) -> list[tuple[str, str]]:
            return [(hit["id"], hit["path"]) for hit in (result.structured_content or {}).get("hits", [])]

    adapters.TARGETS["vaultd"] = Vaultd


def all_alive(base: Path, notes: int, into: Path) -> Path:
    """A base whose notes are all living memories: `breath(query)` leaves out what is archived, felt or pinned."""
    source, target = base / "vaults" / str(notes), into / "vaults" / str(notes)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source / "vault", target / "vault")
    manifest = json.loads((source / "manifest.json").read_text(encoding="utf-8"))
    for note in [*manifest["notes"], *manifest["needles"]]:
        old = note.get("path", "")
        if old.split("/")[0] in ("archive", "feel", "permanent"):
            note["path"] = f"dynamic/{old.replace('/', ' ')}"
            if (target / "vault" / old).exists():
                (target / "vault" / old).rename(target / "vault" / note["path"])
        place = target / "vault" / note["path"] if old else None
        if place is not None and "pinned: true" in (text := place.read_text(encoding="utf-8")):
            place.write_text(text.replace("pinned: true", "pinned: false", 1), encoding="utf-8")
    (target / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False), encoding="utf-8")
    return into


def one(harness: Path, target: str, rest: list[str]) -> None:
    """Measure one target in this process."""
    sys.path.insert(0, str(harness))
    add_vaultd()
    sys.argv = ["bench.py", target, *rest]
    runpy.run_path(str(harness / "bench.py"), run_name="__main__")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--notes", type=int, default=1_000)
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs="*", help="for the harness")
    options = parser.parse_args()
    harness, base, out = options.harness.absolute(), options.base.absolute(), options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    given = [str(options.notes), "--base", str(base), "--out", str(out / "results.jsonl"), *options.rest]
    if options.one:
        over = ["--transport", "http"] if options.one in OVER_HTTP else []
        if options.one == "vaultd":
            given[2] = str(all_alive(base, options.notes, out / "alive"))
        one(harness, options.one, [*given, *over])
        return
    for target in options.targets.split(","):
        print(f"=== {target}, {options.notes} notes", flush=True)
        again = ["--harness", str(harness), "--base", str(base), "--out", str(out), "--notes", str(options.notes)]
        command = [sys.executable, "-m", "bench.peers", *again, "--one", target, "--", *options.rest]
        subprocess.run(command, check=False, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    subprocess.run([sys.executable, str(harness / "report.py"), str(out)], check=False)


if __name__ == "__main__":
    main()
