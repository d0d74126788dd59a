"""The gateway and OpenAI's own client for Node; needs `npm i openai` in a folder named by VAULTD_TEST_NODE_MODULES."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.model_server import reply
from tests.web.card_app import OWNER
from tests.web.stage import play

CLIENT = Path(__file__).parents[1] / "e2e" / "clients" / "openai_client.mjs"
MODULES = os.environ.get("VAULTD_TEST_NODE_MODULES", "")


@pytest.mark.skipif(not MODULES or shutil.which("node") is None, reason="needs node and the openai package from npm")
async def test_the_client_for_node_passes(tmp_path):
    async with play(tmp_path) as stage:
        stage.upstream.default = lambda asked: reply.content("an answer 回答")(asked)
        script = tmp_path / "client.mjs"
        shutil.copy(CLIENT, script)
        (tmp_path / "node_modules").symlink_to(MODULES)
        process = await asyncio.create_subprocess_exec(
            "node", str(script), f"{stage.url}/v1", OWNER, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(process.communicate(), 60)

        assert process.returncode == 0
        told = json.loads(out)
        assert told["one"] == told["text"] == "an answer 回答"
        assert told["usage"]["total_tokens"] == 2
        assert (told["status"], told["retry"]) == (404, "model_not_found")
        assert told["models"] == ["m", "another"]
        assert told["talk"]
