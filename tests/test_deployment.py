"""What containers and platforms are told; their own linters run by scripts/lint_deployment.sh."""

import re
from pathlib import Path

import pytest
import yaml

from vaultd.config.loading import variables
from vaultd.settings import KEYS

ROOT = Path(__file__).parents[1]


READ = {name for key in KEYS.values() for name in variables(key)}


@pytest.mark.parametrize("file", ["Dockerfile", "docker-compose.yml", "docker-compose.user.yml", "render.yaml"])
def test_every_variable_that_is_set_is_one_that_is_read(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    told = re.sub(r"^\s*#.*|\$\{[^}]*\}", "", text, flags=re.MULTILINE)  # `${…}`: what the person sets for compose
    found = set(re.findall(r"\bVAULTD_[A-Z_]+", told))

    assert len(found) >= 3
    assert found <= READ


def test_the_vault_on_renders_disk_is_made_before_it_is_served():
    (service,) = yaml.safe_load((ROOT / "render.yaml").read_text(encoding="utf-8"))["services"]
    given = {one["key"]: one.get("value") for one in service["envVars"]}

    assert given["VAULTD_VAULT"].startswith(service["disk"]["mountPath"] + "/")
    assert f"mkdir -p {given['VAULTD_VAULT']} && exec vaultd serve" in service["dockerCommand"]
