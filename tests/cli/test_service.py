import json
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vaultd.cli.serviceunits import launchd_agent, systemd_unit

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd is Linux's")

SYSTEMCTL = """\
#!/bin/sh
# keeps what it was asked, and whether the unit runs, beside itself
echo "$@" >> "$(dirname "$0")/asked"
case "$2" in
  enable) touch "$(dirname "$0")/runs" ;;
  disable) rm "$(dirname "$0")/runs" ;;
  is-active) test -e "$(dirname "$0")/runs" ;;
esac
"""


@pytest.fixture
def manager(home, monkeypatch) -> Path:
    """A systemctl that only notes what it is told."""
    folder = home / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL)
    (folder / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    return folder


@linux
def test_the_unit_starts_this_vaultd_for_this_vault_and_feeds_the_watchdog(run, vault, home):
    text = run("service", "install", "--print").stdout

    assert f" serve --if-needed --vault {vault}\n" in text
    assert f"Environment=VAULTD_STATE_DIR={home / 'state'}\n" in text
    assert "Type=notify\n" in text
    assert "WatchdogSec=60\n" in text
    assert not (home / ".config").exists()


@linux
def test_it_is_installed_asked_after_and_taken_away(run, vault, home, manager):
    assert run("service", "status").exit_code == 1

    installed = run("service", "install")
    assert installed.exit_code == 0, installed.stderr
    (unit,) = (home / ".config/systemd/user").iterdir()
    assert (manager / "asked").read_text().splitlines()[-2:] == [
        "--user daemon-reload",
        f"--user enable --now {unit.name}",
    ]

    status = run("service", "status", "--json")
    assert (status.exit_code, json.loads(status.stdout)["running"]) == (0, True)

    assert run("service", "uninstall").exit_code == 0
    assert not unit.exists()
    assert run("service", "status").exit_code == 1


@linux
def test_a_unit_of_an_earlier_version_is_named(run, vault, home, manager):
    run("service", "install")
    (unit,) = (home / ".config/systemd/user").iterdir()
    unit.write_text("[Service]\n")

    assert "renews it" in run("service", "status").stderr


@linux
@pytest.mark.parametrize("harm", ["another file", "does not run"])
def test_the_doctor_looks_at_the_service_too(run, vault, home, manager, daemon, harm):
    daemon.answers["GET", "/api/doctor"] = (200, {"findings": []})
    without = json.loads(run("doctor", "--json").stdout)["findings"]
    runtime = next(home.glob("state/*/runtime.json"))
    kept = runtime.read_bytes()
    runtime.unlink()
    run("service", "install")
    runtime.write_bytes(kept)
    well = json.loads(run("doctor", "--json").stdout)["findings"]
    (unit,) = (home / ".config/systemd/user").iterdir()
    if harm == "another file":
        unit.write_text("[Service]\n")
    else:
        (manager / "runs").unlink()

    told = json.loads(run("doctor", "--json").stdout)["findings"]
    said = run("doctor").stdout

    assert without == well == []
    assert [(one["level"], one["where"]) for one in told] == [("warning", f"service {unit.stem}")]
    assert told[0]["mend"] in said


@linux
def test_a_daemon_that_runs_already_is_not_outrun(run, daemon, manager, home):
    result = run("service", "install")

    assert result.exit_code == 1
    assert "serves this vault already; end it first: vaultd stop" in result.stderr
    assert not (home / ".config").exists()


@linux
def test_what_the_manager_says_is_passed_on(run, vault, home, manager):
    (manager / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n")

    assert run("service", "install").stderr.splitlines()[-1] == (
        "vaultd: `systemctl --user daemon-reload` failed: Failed to connect to bus"
    )


def test_words_with_blanks_and_signs_reach_the_daemon_as_they_are():
    unit = systemd_unit(["/opt/my vaultd", "--vault", "/home/me/100% $HOME"], vault=Path("/v"), environ={"A": "x $y"})

    assert 'ExecStart="/opt/my vaultd" --vault "/home/me/100%% $$HOME"\n' in unit
    assert 'Environment="A=x $y"\n' in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_itself_accepts_the_unit(tmp_path):
    unit = tmp_path / "vaultd-0.service"
    unit.write_text(systemd_unit([sys.executable, "serve", "my notes"], vault=Path("/v v"), environ={"A": "b c"}))

    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)], capture_output=True, text=True, timeout=30, check=False
    )

    assert unit.name not in checked.stderr, checked.stderr


def test_the_agent_for_launchd_keeps_the_daemon_running():
    agent = plistlib.loads(
        launchd_agent(["/opt/vaultd", "serve"], label="vaultd.0", log=Path("/log"), environ={"A": "b"}).encode()
    )

    assert agent["ProgramArguments"] == ["/opt/vaultd", "serve"]
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["EnvironmentVariables"] == {"A": "b"}
