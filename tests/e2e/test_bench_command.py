import json
import os
import subprocess
import sys

import pytest

from vaultd.cli.bench import make_vault

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_a_machine_is_measured_without_a_trace(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VAULTD_", "OMBRE_", "XDG_"))}

    done = subprocess.run(
        [sys.executable, "-m", "vaultd", "bench", "--notes", "10", "--json"],
        env=kept | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["notes"] == 10
    for key in (
        "start_s",
        "index_s",
        "notes_per_s",
        "search_p50_ms",
        "search_p95_ms",
        "keep_p50_ms",
        "decay_ms",
        "stop_s",
    ):
        assert found[key] > 0, key
    assert not list(tmp_path.glob("vaultd-bench-*"))


def test_the_vault_is_the_same_for_the_same_seed(tmp_path):
    first, second = make_vault(tmp_path / "a", 12), make_vault(tmp_path / "b", 12)

    assert first == second
    assert len(list((tmp_path / "a").rglob("*.md"))) == 12
