"""Privacy of the built-in model: what it leaves behind on the machine."""

import os
import subprocess
import sys

import pytest

from vaultd.llm.local import local_model_file

EMBED = "from vaultd.llm.local import LocalEmbedder; print(LocalEmbedder(engine='onnxruntime', checked=False).engine)"


@pytest.mark.skipif(local_model_file() is None, reason="this platform has no built-in model")
def test_the_built_in_model_reports_to_nobody(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    environ = kept | {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run(
        [sys.executable, "-c", EMBED], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )

    # a device id and a store of events lie in the home folder where onnxruntime's telemetry is on
    assert done.stdout == "onnxruntime\n"
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == []
