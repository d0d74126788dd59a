from pathlib import Path

import yaml

from vaultd.config import load
from vaultd.config.example import example
from vaultd.settings import KEYS, SECTIONS, Settings

EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"


def test_the_file_in_the_repository_is_the_generated_one():
    assert EXAMPLE.read_text(encoding="utf-8") == example()


def test_loading_the_example_gives_the_defaults():
    assert load(EXAMPLE, {}) == Settings()


def test_every_setting_stands_in_it_with_a_comment_above():
    lines = example().splitlines()
    found = [index for index, line in enumerate(lines) if ":" in line and not line.lstrip().startswith("#")]
    sections = {section.name.rpartition(".")[2] for section in SECTIONS}
    settings = [index for index in found if lines[index].strip().partition(":")[0] not in sections - {"importance"}]
    secrets = [key for key in KEYS.values() if key.secret]

    assert len(settings) == len(KEYS) - len(secrets)
    assert all(lines[index - 1].lstrip().startswith("# ") and "(" in lines[index - 1] for index in settings)


def test_secrets_stand_in_it_as_comments_only():
    flat = str(yaml.safe_load(example()))

    assert "api_key" not in flat
    assert "token'" not in flat
    assert '# api_key: ""' in example()
