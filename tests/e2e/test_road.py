import json
import os
import re
import signal
import subprocess
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.e2e.daemon import environment, serving
from tests.e2e.talk import found, said

pytestmark = pytest.mark.e2e


async def test_a_client_holds_recalls_and_changes_what_a_person_edits(tmp_path):
    vault = tmp_path / "vault"
    with serving(vault, tmp_path / "state") as daemon:
        async with daemon.client() as client:
            told = await said(
                client,
                "hold",
                content="牙医约在周一下午三点。",
                name="看牙医",
                domain="健康",
                tags=["牙医"],
                valence=0.4,
            )
            answer = await said(client, "breath", query="牙医")
            (path,) = vault.glob("dynamic/健康/*.md")
            path.write_text(path.read_text().replace("周一", "周四"))

            edited = await found(client, "牙医", "周四")
            note_id = re.search(r"bucket_id:([0-9a-f]{12})", edited)[1]
            changed = await said(client, "trace", bucket_id=note_id, resolved=1)
            status = await said(client, "pulse")

    assert told.startswith("新建→看牙医 健康")
    assert "周一下午三点" in answer
    assert changed == f"已修改记忆桶 {note_id}: resolved=True → 已沉底，只在关键词触发时重新浮现"
    assert "✅ [看牙医]" in status
    assert "resolved: true" in path.read_text()


async def test_by_atomic_rename_too(tmp_path):
    vault = tmp_path / "vault"
    with serving(vault, tmp_path / "state") as daemon:
        daemon.wait(lambda status: status["ready"])
        async with daemon.client() as client:
            temporary = vault / ".note.md.tmp"
            temporary.write_text("the lighthouse keeper's dog\n")
            temporary.rename(vault / "note.md")

            await found(client, "lighthouse", "keeper's dog")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_both_eras_of_the_protocol_over_stdio_with_a_daemon_that_is_started_for_it(tmp_path, mode):
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "vaultd", "mcp", "--vault", str(vault)],
        env=environment(state, VAULTD_PORT="0"),
    )
    try:
        async with Client(server, mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            told = await said(client, "hold", content="the spare key lies under the third flower pot")
            answer = await said(client, "breath", query="spare key")
    finally:
        for file in state.glob("*/runtime.json"):
            os.kill(json.loads(file.read_text())["pid"], signal.SIGTERM)

    assert {"breath", "hold", "grow", "trace", "pulse", "dream"} <= tools
    assert told.startswith("新建→")
    assert "third flower pot" in answer


async def test_bad_calls_get_one_line_that_says_what_to_do(tmp_path):
    with serving(tmp_path / "vault", tmp_path / "state") as daemon:
        async with daemon.client() as client:
            for tool, arguments, expected in [
                ("hold", {"content": "  "}, "content: is empty; say what is to be remembered"),
                ("hold", {"content": ["a"]}, "hold: content: must be text"),
                ("hold", {"text": "x"}, "hold: has no argument 'text'"),
                ("breath", {"date_from": "2026-13-40", "query": "x"}, "date_from"),
                ("breath", {"max_results": "many"}, "breath: max_results: 'many' is not a number"),
                ("trace", {"bucket_id": "ffffffffffff", "resolved": 1}, "未找到记忆桶: ffffffffffff"),
                ("grow", {"content": ""}, "content: is empty; give a text, or items"),
                ("grow", {"items": [{"name": "x"}]}, "items[0].content: must be a text that is not empty"),
            ]:
                result = await client.call_tool(tool, arguments)
                text = result.content[0].text
                assert result.is_error, (tool, arguments, text)
                assert expected in text
                assert "\n" not in text


async def test_breath_with_no_argument_surfaces_or_says_that_all_is_calm(tmp_path):
    with serving(tmp_path / "vault", tmp_path / "state") as daemon:
        async with daemon.client() as client:
            assert await said(client, "breath") == "权重池平静，没有需要处理的记忆。"


def test_a_second_daemon_says_where_the_first_is(tmp_path):
    with serving(tmp_path / "vault", tmp_path / "state") as daemon:
        second = subprocess.run(
            [sys.executable, "-m", "vaultd", "serve", "--vault", str(tmp_path / "vault"), "--port", "0"],
            env=environment(tmp_path / "state"),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert second.returncode == 1
    assert daemon.url in second.stderr


async def test_tools_carry_hints_and_refuse_what_they_do_not_know(tmp_path):
    with serving(tmp_path / "vault", tmp_path / "state") as daemon:
        async with daemon.client() as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert tools["breath"].annotations.read_only_hint
    assert tools["trace"].annotations.destructive_hint
    assert not tools["hold"].annotations.read_only_hint
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
    assert "max_results=20" in tools["breath"].description
