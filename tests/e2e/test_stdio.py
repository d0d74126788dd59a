"""`vaultd serve` with transport stdio: a daemon that speaks to the one client that started it."""

import json
import subprocess
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.e2e.daemon import environment, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def command(vault) -> list[str]:
    return [sys.executable, "-m", "vaultd", "serve", "--vault", str(vault)]


def folders(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    return vault, state


def greeted(vault, env) -> subprocess.CompletedProcess[str]:
    """A client that opens a session and leaves."""
    greeting = json.dumps(INITIALIZE) + "\n"
    return subprocess.run(
        command(vault), input=greeting, env=env, capture_output=True, text=True, timeout=60, check=False
    )


async def test_a_client_keeps_and_recalls_over_standard_input_and_output(tmp_path):
    vault, state = folders(tmp_path)
    name, *args = command(vault)
    env = environment(state, VAULTD_TRANSPORT="stdio", VAULTD_EMBEDDING__PROVIDER="none")
    parameters = StdioServerParameters(command=name, args=args, env=env)

    with (tmp_path / "err").open("w") as err:
        async with Client(stdio_client(parameters, errlog=err)) as client:
            kept = await client.call_tool("hold", {"content": "The gasket is in the second drawer", "name": "gasket"})
            assert not kept.is_error, kept
            found = await client.call_tool("breath", {"query": "gasket drawer"})

    assert "second drawer" in found.content[0].text
    assert "dashboard" in (tmp_path / "err").read_text()


def test_the_daemon_ends_with_its_client_and_prints_nothing_but_answers(tmp_path):
    vault, state = folders(tmp_path)
    env = environment(state, VAULTD_TRANSPORT="stdio", VAULTD_EMBEDDING__PROVIDER="none")

    ended = greeted(vault, env)

    assert ended.returncode == 0, ended.stderr
    (answer,) = ended.stdout.splitlines()
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "vaultd"
    assert not list(state.glob("*/runtime.json"))


def test_where_a_daemon_runs_already_the_client_shares_it(tmp_path):
    vault, state = folders(tmp_path)
    with serving(vault, state, VAULTD_EMBEDDING__PROVIDER="none") as daemon:
        env = environment(state, VAULTD_TRANSPORT="stdio")

        ended = greeted(vault, env)

        assert json.loads(ended.stdout)["result"]["serverInfo"]["name"] == "vaultd"
        assert ended.returncode == 0
        assert daemon.status()["pid"] == daemon.process.pid
