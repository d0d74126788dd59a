import json
import sys
import tomllib
from pathlib import Path

import pytest

from vaultd.cli.clientfiles import UnfitFile, merge_json, merge_toml
from vaultd.cli.clients import CLIENTS, executable

PLACES = {
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}


def entry_of(name: str, text: str) -> dict[str, object]:
    found = tomllib.loads(text)["mcp_servers"] if name == "codex" else json.loads(text)["mcpServers"]
    return found["vaultd"]


@pytest.mark.parametrize("name", CLIENTS)
def test_snippet_starts_the_bridge_with_absolute_paths(run, vault, home, name):
    result = run("config", "client", name)

    assert result.exit_code == 0
    entry = entry_of(name, result.stdout)
    command, *rest = executable()
    assert entry["command"] == command
    assert Path(command).is_absolute()
    assert entry["args"] == [*rest, "mcp", "--vault", str(vault)]
    assert entry["env"] == {"VAULTD_STATE_DIR": str(home / "state")}
    assert ("type" in entry) == (name == "claude-code")


def test_named_settings_file_is_passed_on(run, vault, home):
    run("config", "set", "--config", "my.yaml", "language", "en")

    result = run("config", "client", "cursor", "--config", "my.yaml")

    assert entry_of("cursor", result.stdout)["args"][-2:] == ["--config", str(home / "my.yaml")]


def test_address_and_token_in_each_clients_own_form(run, daemon):
    def by_http(name: str) -> dict[str, object]:
        return entry_of(name, run("config", "client", name, "--http").stdout)

    header = {"Authorization": "Bearer right"}
    url = by_http("cursor")["url"]
    assert str(url).startswith("http://127.0.0.1:")
    assert str(url).endswith("/mcp")
    assert by_http("cursor") == {"url": url, "headers": header}
    assert by_http("claude-code") == {"type": "http", "url": url, "headers": header}
    assert by_http("gemini") == {"httpUrl": url, "headers": header}
    assert by_http("codex") == {"url": url, "http_headers": header}


def test_client_without_addresses_says_so(run, vault):
    result = run("config", "client", "claude-desktop", "--http")

    assert result.exit_code == 2
    assert "claude-desktop takes no address in its file; leave out --http." in result.stderr


def test_claude_codes_own_command_is_offered_as_well(run, vault):
    hint = run("config", "client", "claude-code").stderr

    assert "claude mcp add --scope user --env VAULTD_STATE_DIR=" in hint
    assert f"vaultd -- {executable()[0]} " in hint


def test_secrets_in_variables_are_not_copied_but_mentioned(run, vault):
    result = run("config", "client", "cursor", VAULTD_API_KEY="sk-secret", VAULTD_GATEWAY_API_KEY="sk-hidden")

    assert "sk-" not in result.output
    assert "VAULTD_API_KEY is not copied" in result.stderr
    assert "VAULTD_GATEWAY_API_KEY is not copied" in result.stderr


@pytest.mark.parametrize("name", PLACES)
def test_write_makes_the_file_where_there_is_none(run, vault, home, name):
    result = run("config", "client", name, "--write")

    place = home / PLACES[name]
    assert result.stdout == f"{place}: vaultd is in, restart the client\n"
    assert entry_of(name, place.read_text())["args"][-2:] == ["--vault", str(vault)]
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform != "linux", reason="the place is another one on each system")
def test_write_finds_claude_desktops_place(run, vault, home):
    run("config", "client", "claude-desktop", "--write")

    assert (home / ".config/Claude/claude_desktop_config.json").is_file()


def test_places_follow_the_clients_own_variables(run, vault, home):
    run("config", "client", "codex", "--write", CODEX_HOME=str(home / "cx"))
    run("config", "client", "claude-code", "--write", CLAUDE_CONFIG_DIR=str(home / "cc"))

    assert (home / "cx/config.toml").is_file()
    assert (home / "cc/.claude.json").is_file()


def test_write_keeps_the_rest_and_a_backup(run, vault, home):
    place = home / ".cursor/mcp.json"
    place.parent.mkdir()
    before = '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    },\n    "z": "中文"\n}'
    place.write_text(before)
    place.chmod(0o640)

    result = run("config", "client", "cursor", "--write")

    after = place.read_text()
    assert list(json.loads(after)) == ["mcpServers", "z"]
    assert json.loads(after)["mcpServers"]["other"] == {"command": "x"}
    assert '\n    "z": "中文"\n}' in after
    assert place.stat().st_mode & 0o777 == 0o640
    (backup,) = place.parent.glob("*.bak")
    assert backup.read_text() == before
    assert str(backup) in result.stdout


def test_second_write_changes_nothing(run, vault, home):
    for name, place in PLACES.items():
        run("config", "client", name, "--write")
        before = (home / place).stat()
        result = run("config", "client", name, "--write")
        assert result.stdout == f"{home / place}: vaultd is already there\n"
        assert (home / place).stat().st_mtime_ns == before.st_mtime_ns
        assert not list((home / place).parent.glob("*.bak"))


@pytest.mark.parametrize("text", ['{"a": 1, // comment\n}', "[]", '{"mcpServers": []}', '{"a": 1,}'])
def test_file_that_is_not_plain_json_is_left_to_the_person(run, vault, home, text):
    place = home / ".cursor/mcp.json"
    place.parent.mkdir()
    place.write_text(text)

    result = run("config", "client", "cursor", "--write")

    assert result.exit_code == 1
    assert "add the entry by hand" in result.stderr
    assert result.stderr.count("\n") == 1
    assert place.read_text() == text
    assert not list(place.parent.glob("*.bak"))


def test_json_keeps_bom_newlines_and_tabs():
    text = '\ufeff{\r\n\t"a": 1\r\n}\r\n'

    after = merge_json(text, "mcpServers", "vaultd", {"command": "v"})

    assert after.startswith('\ufeff{\r\n\t"a": 1,\r\n\t"mcpServers": {\r\n\t\t"vaultd"')
    assert after.endswith("}\r\n")
    assert "\n" not in after.replace("\r\n", "")


TOML = """\
# mine
model = "o9"   # the good one

[mcp_servers.vaultd]   # old
command = "old"
# its comment
args = [
  "a", # one
  "b",
]

[mcp_servers.vaultd.env]
A = "1"

# about the next
[mcp_servers.other]
command = "x"

[[profiles]]
name = 'p'
"""


def test_toml_replaces_our_tables_and_keeps_every_other_line():
    after = merge_toml(TOML, "mcp_servers", "vaultd", {"command": "new", "args": ["m"], "env": {"B": "2"}})

    assert after == (
        '# mine\nmodel = "o9"   # the good one\n\n'
        "# about the next\n[mcp_servers.other]\ncommand = \"x\"\n\n[[profiles]]\nname = 'p'\n\n"
        '[mcp_servers.vaultd]\ncommand = "new"\nargs = ["m"]\nenv = { B = "2" }\n'
    )


def test_toml_is_appended_where_we_are_not_in_it_yet():
    assert merge_toml("", "mcp_servers", "vaultd", {"command": "v"}) == '[mcp_servers.vaultd]\ncommand = "v"\n'
    assert merge_toml('a = "x"', "mcp_servers", "vaultd", {"command": "v"}) == (
        'a = "x"\n\n[mcp_servers.vaultd]\ncommand = "v"\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { vaultd = { command = "old" } }\n',
        'mcp_servers.vaultd.command = "old"\n',
        'text = """\n[mcp_servers.vaultd]\n"""\n',
        "not toml",
    ],
)
def test_toml_in_a_form_that_cannot_be_replaced_safely_is_refused(text):
    with pytest.raises(UnfitFile):
        merge_toml(text, "mcp_servers", "vaultd", {"command": "new"})
