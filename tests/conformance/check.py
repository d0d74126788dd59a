"""`python -m tests.conformance.check`: what other people's programs say of our MCP server; ends with 1 on a failure.

Three things: the official conformance suite (the daemon with the suite's fixtures and an open /mcp), the inspector
(the daemon as it is, over HTTP with its token and over stdio), and real agent programs whose model follows a script.
With `--write` the results go into docs/mcp-conformance.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import npm
from tests.conformance.scripted_model import ScriptedModel
from tests.e2e.daemon import Daemon, serving
from tests.e2e.daemon import environment as vaultd_environment

HERE = Path(__file__).parent
REPORT = HERE.parents[1] / "docs" / "mcp-conformance.md"
FEWEST = {"2025-11-25": 84, "2026-07-28": 150}
"""Checks that must have passed for each revision: a run that checks nothing is no success."""

MEMORY = "The gasket of the espresso machine is in the second drawer"
ASKED = {"query": "gasket drawer"}


@dataclass(frozen=True)
class Line:
    """One result."""

    what: str
    ok: bool
    detail: str = ""


# -- the suite --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_daemon(folder: Path) -> Iterator[str]:
    """The daemon with the fixtures of the suite; its address."""
    vault, states = folder / "vault", folder / "states"
    vault.mkdir(parents=True)
    log = folder / "log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "tests.conformance.serve", str(vault), str(states)]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while not (found := list(states.glob("*/runtime.json"))):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield json.loads(found[0].read_text())["url"]
    finally:
        process.terminate()
        process.wait(20)


def suite(folder: Path) -> Iterator[Line]:
    """All scenarios of both revisions."""
    program = npm.installed("conformance") / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    baseline = str(HERE / "baseline.yml")
    with open_daemon(folder / "open") as url:
        for revision, fewest in FEWEST.items():
            choice = ["--requirements", revision]
            if revision == "2026-07-28":
                choice = ["--spec-version", revision, "--suite", "all", "--expected-failures", baseline]
            ended = subprocess.run(
                [npm.node(), program, "server", "--url", f"{url}/mcp", *choice, "-o", folder / revision],
                check=False,
                env=npm.environment(folder / "home"),
                capture_output=True,
                text=True,
                timeout=300,
            )
            yield from _scenarios(revision, fewest, ended)


def _scenarios(revision: str, fewest: int, ended: subprocess.CompletedProcess) -> Iterator[Line]:
    known = set(re.findall(r"^  - (\S+)$", (HERE / "baseline.yml").read_text(encoding="utf-8"), re.MULTILINE))
    found = re.findall(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", ended.stdout, re.MULTILINE)
    passed = 0
    for name, good, bad in found:
        if int(good) + int(bad) == 0:
            continue  # it looked at nothing
        passed += int(good) if name not in known else 0
        detail = f"{good} checks" + (f", {bad} failed" if int(bad) else "") + (" (known)" if name in known else "")
        yield Line(f"{revision} {name}", int(bad) == 0 or name in known, detail)
    ok = ended.returncode == 0 and passed >= fewest
    yield Line(f"{revision} in all", ok, f"{passed} checks passed; the suite ended with {ended.returncode}")
    if not ok:
        print(ended.stdout[-3000:], ended.stderr[-3000:], file=sys.stderr)


def authorization(folder: Path) -> Iterator[Line]:
    """What the suite says of the authorization server for remote connectors."""
    program = npm.installed("conformance") / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    public = {"VAULTD_SERVER__PUBLIC_URL": url}
    with serving(folder / "remote", folder / "remote-state", "--port", str(port), **public) as daemon:
        daemon.wait(lambda status: status["ready"])
        ended = _run([npm.node(), program, "authorization", "--url", url], npm.environment(folder / "home"))
    yield from _scenarios("OAuth", 2, ended)


# -- the inspector ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """One call of the inspector, with what its output must hold. Exit code 5: the tool said no."""

    what: str
    options: Sequence[str]
    holds: str
    code: int = 0


def _call(tool: str, **arguments: object) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


PROBES = (
    Probe("tools/list --strict", ["--method", "tools/list", "--strict"], '"breath"'),
    Probe("tools/call breath", _call("breath", **ASKED), "second drawer"),
    Probe("tools/call with a wrong argument", _call("breath", nonsense=1), "has no argument", 5),
    Probe("resources/list", ["--method", "resources/list"], "memory://status"),
    Probe("resources/templates/list", ["--method", "resources/templates/list"], "memory://bucket/{id}"),
    Probe("resources/read", ["--method", "resources/read", "--uri", "memory://status"], "vault_available"),
    Probe("prompts/list", ["--method", "prompts/list"], "start_conversation"),
    Probe("prompts/get", ["--method", "prompts/get", "--prompt-name", "start_conversation"], "breath()"),
)


def _stdio(daemon: Daemon) -> list[str]:
    return [sys.executable, "-m", "vaultd", "mcp", "--vault", str(daemon.vault)]


def inspector(daemon: Daemon, state: Path, folder: Path) -> Iterator[Line]:
    """The probes over HTTP in both eras of the protocol, and over stdio."""
    program = npm.installed("tools") / ".bin" / "mcp-inspector"
    http = [f"{daemon.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {daemon.token}"]
    variables = vaultd_environment(state)
    passed = [f"{key}={variables[key]}" for key in ("VAULTD_STATE_DIR", "VAULTD_CONFIG")]
    ways = {
        "HTTP": http,
        "HTTP, 2026-07-28": [*http, "--protocol-era", "modern"],
        # of the environment the inspector passes on only what it is told to
        "stdio": [*_stdio(daemon), *(word for pair in passed for word in ("-e", pair))],
    }
    for way, target in ways.items():
        for probe in PROBES:
            ended = subprocess.run(
                [npm.node(), program, "--cli", *target, *probe.options, "--format", "json", "-q"],
                check=False,
                env=npm.environment(folder / "home"),
                capture_output=True,
                text=True,
                timeout=60,
            )
            ok = ended.returncode == probe.code and probe.holds in ended.stdout
            yield Line(f"{way}: {probe.what}", ok, f"ends with {ended.returncode}")
            if not ok:
                print(ended.stdout[-2000:], ended.stderr[-2000:], file=sys.stderr)


# -- agents -----------------------------------------------------------------------------------------------------------


def claude_code(daemon: Daemon, state: Path, folder: Path) -> Iterator[Line]:
    """Claude Code over HTTP and over stdio."""
    headers = {"Authorization": f"Bearer {daemon.token}"}
    name, *arguments = _stdio(daemon)
    own = {key: vaultd_environment(state)[key] for key in ("VAULTD_STATE_DIR", "VAULTD_CONFIG")}
    ways = {
        "HTTP": {"type": "http", "url": f"{daemon.url}/mcp", "headers": headers},
        "stdio": {"command": name, "args": arguments, "env": own},
    }
    program = npm.installed("agent") / ".bin" / "claude"
    for way, server in ways.items():
        config = folder / f"claude-{way}.json"
        config.write_text(json.dumps({"mcpServers": {"vaultd": server}}))
        allowed = ["--strict-mcp-config", "--allowedTools", "mcp__vaultd__breath"]
        with ScriptedModel("__breath", ASKED) as model:
            settings = {
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "none-needed",
                "ENABLE_TOOL_SEARCH": "false",
                "MCP_CONNECTION_NONBLOCKING": "0",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            }
            command = [program, "-p", "Where is the gasket?", "--mcp-config", config, *allowed]
            yield _agent_line(f"Claude Code, {way}", command, model, npm.environment(folder / "home", **settings))


def codex(daemon: Daemon, state: Path, folder: Path) -> Iterator[Line]:
    """Codex over HTTP."""
    del state
    home = folder / "home"
    place = home / ".codex"
    place.mkdir(parents=True, exist_ok=True)
    program = npm.installed("codex") / ".bin" / "codex"
    with ScriptedModel("breath", ASKED) as model:
        (place / "config.toml").write_text(
            'model = "scripted"\nmodel_provider = "scripted"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
            f'[mcp_servers.vaultd]\nurl = "{daemon.url}/mcp"\nbearer_token_env_var = "MEMORY_TOKEN"\n'
        )
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-C", folder]
        command = [program, "exec", *options, "Where is the gasket?"]
        yield _agent_line("Codex, HTTP", command, model, npm.environment(home, MEMORY_TOKEN=daemon.token))


def _agent_line(what: str, command: list, model: ScriptedModel, variables: dict[str, str]) -> Line:
    ended = subprocess.run(
        command, check=False, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    fed_back = any("second drawer" in result for result in model.results)
    ok = ended.returncode == 0 and fed_back and "second drawer" in ended.stdout
    if not ok:
        print(ended.stdout[-2000:], ended.stderr[-2000:], sorted(model.offered)[:40], file=sys.stderr)
    ours = sum(name.startswith(("mcp__vaultd", "vaultd")) for name in model.offered)
    return Line(what, ok, f"{ours} tools offered, breath called, its answer read back" if ok else "no answer came back")


# -- views ------------------------------------------------------------------------------------------------------------


def apps(daemon: Daemon, state: Path, folder: Path) -> Iterator[Line]:
    """The views of MCP Apps, as the inspector and the official host library find them."""
    del state
    http = [f"{daemon.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {daemon.token}"]
    variables = npm.environment(folder / "home")
    for tool, uri in (("show_network", "ui://vaultd/network.html"), ("show_memory", "ui://vaultd/memory.html")):
        wanted = ["--method", "tools/call", "--tool-name", tool, "--app-info"]
        program = npm.installed("tools") / ".bin" / "mcp-inspector"
        ended = _run([npm.node(), program, "--cli", *http, *wanted, "-q"], variables)
        yield Line(f"inspector --app-info {tool}", ended.returncode == 0 and uri in ended.stdout, uri)
    daemon.get("/api/buckets", method="POST", body={"text": "A violin lesson on Tuesday", "name": "violin"})
    modules = npm.installed("apps")
    host = modules.parent / "view_host.mjs"  # where its imports are found
    shutil.copyfile(HERE / "view_host.mjs", host)
    ended = _run([npm.node(), host, daemon.url, daemon.token], variables)
    ok = ended.returncode == 0 and "both views drawn" in ended.stdout
    if not ok:
        print(ended.stdout[-2000:], ended.stderr[-3000:], file=sys.stderr)
    yield Line("views under the bridge of ext-apps", ok, "drawn; a click calls a tool; markup in a memory stays text")


def _run(command: list, variables: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, check=False, env=variables, capture_output=True, text=True, timeout=60)


# -- all of it --------------------------------------------------------------------------------------------------------

PARTS = {"inspector": inspector, "apps": apps, "claude-code": claude_code, "codex": codex}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the results into docs/mcp-conformance.md")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of: suite, authorization, {', '.join(PARTS)}; default: all"
    )
    asked = parser.parse_args()
    parts = asked.parts or ["suite", "authorization", *PARTS]
    results: dict[str, list[Line]] = {}
    with tempfile.TemporaryDirectory(prefix="vaultd-mcp-check-") as place:
        folder = Path(place)
        if "suite" in parts:
            results["suite"] = _told(suite(folder))
        if "authorization" in parts:
            results["authorization"] = _told(authorization(folder))
        if others := [part for part in PARTS if part in parts]:
            state = folder / "state"
            with serving(folder / "vault", state) as daemon:
                daemon.wait(lambda status: status["ready"])
                daemon.get("/api/buckets", method="POST", body={"text": MEMORY, "name": "gasket"})
                for part in others:
                    results[part] = _told(PARTS[part](daemon, state, folder))
    lines = [line for part in results.values() for line in part]
    bad = sum(not line.ok for line in lines)
    print(f"{len(lines) - bad} of {len(lines)} well")
    if asked.write:
        write(results)
    return 1 if bad else 0


def _told(lines: Iterator[Line]) -> list[Line]:
    kept = []
    for line in lines:
        print(f"{'ok  ' if line.ok else 'FAIL'} {line.what}: {line.detail}", flush=True)
        kept.append(line)
    return kept


def write(results: dict[str, list[Line]]) -> None:
    """Replace the tables between the markers of the report."""
    whole = REPORT.read_text(encoding="utf-8")
    for part, lines in results.items():
        rows = "\n".join(f"| {line.what} | {'yes' if line.ok else '**no**'} | {line.detail} |" for line in lines)
        table = f"<!-- {part} -->\n\n| What | Passes | |\n| --- | --- | --- |\n{rows}\n\n<!-- end of {part} -->"
        pattern = re.compile(rf"<!-- {part} -->.*?<!-- end of {part} -->", re.DOTALL)
        whole = pattern.sub(lambda _, table=table: table, whole)
    REPORT.write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
