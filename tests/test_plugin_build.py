"""The Obsidian plugin that ships with the package. Needs no Node; its own tests run by `make plugin`."""

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

STUB = Path(__file__).parents[1] / "obsidian-plugin-stub"
BUILT = Path(str(files("vaultd") / "data" / "obsidian-plugin"))
WRITES = (
    "vault.modify",
    "vault.process",
    "vault.create",
    "vault.append",
    "vault.delete",
    "vault.trash",
    "vault.rename",
)


def digest_of_sources() -> str:
    """As obsidian-plugin-stub/esbuild.config.mjs computes it."""
    digest = hashlib.sha256()
    for file in sorted((STUB / "src").iterdir()):
        digest.update(f"{file.name}\0".encode() + file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def test_the_shipped_plugin_was_built_of_the_sources_that_are_here():
    first_line = (BUILT / "main.js").read_text(encoding="utf-8").partition("\n")[0]

    assert digest_of_sources() in first_line, "run scripts/build_plugin.sh"
    for name in ("manifest.json", "styles.css"):
        assert (BUILT / name).read_text(encoding="utf-8") == (STUB / name).read_text(encoding="utf-8")


def test_the_manifest_keeps_to_the_rules_of_the_community_list():
    manifest = json.loads((BUILT / "manifest.json").read_text(encoding="utf-8"))
    versions = json.loads((STUB / "versions.json").read_text(encoding="utf-8"))
    package = json.loads((STUB / "package.json").read_text(encoding="utf-8"))

    assert set(manifest) == {"id", "name", "version", "minAppVersion", "description", "author", "isDesktopOnly"}
    assert manifest["isDesktopOnly"] is True
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert versions[manifest["version"]] == manifest["minAppVersion"]
    assert package["version"] == manifest["version"]
    assert len(manifest["description"]) <= 250 and manifest["description"].endswith(".")
    assert not re.search(r"obsidian|plugin", f"{manifest['id']} {manifest['name']}", re.IGNORECASE)


def test_the_plugin_has_no_way_to_write_a_note_and_speaks_to_this_machine_only():
    code = (BUILT / "main.js").read_text(encoding="utf-8")

    assert [call for call in (*WRITES, "processFrontMatter", "adapter", "innerHTML") if call in code] == []
    assert set(re.findall(r"https?://[^/`\"']+", code)) == {"http://127.0.0.1:${this.settings.port}"}
