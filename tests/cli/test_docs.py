import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_what_the_commands_say():
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts/cli_docs.py"), "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": "/nowhere"},
        check=False,
        timeout=120,
    )

    assert checked.returncode == 0, "run python scripts/cli_docs.py"
