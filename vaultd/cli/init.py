"""`vaultd init`: folders and settings for a vault."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from vaultd.cli.options import FOLDER, config_option, load_settings
from vaultd.cli.output import say
from vaultd.config.loading import check_value, load_with_sources
from vaultd.config.paths import config_path
from vaultd.config.saving import save
from vaultd.config.values import as_text
from vaultd.core.errors import BadInput, StorageFull
from vaultd.settings import KEYS, Settings, Value, value_of
from vaultd.vault.layout import CARDS, CONVERSATIONS, FOLDERS, INBOX, Layout

VAULT_ID_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is missing: what it is, and how it comes about."""

    about: str
    do: Callable[[], None]


@click.command()
@config_option
@click.option("--vault", type=FOLDER, metavar="DIR", help="The vault's folder; asked for when not given.")
@click.option("--root", metavar="SUBFOLDER", help="Keep the memories in this subfolder of the vault.")
@click.option(
    "--language",
    type=click.Choice(KEYS["language"].choices),
    help="Language of the answers; at first that of this account.",
)
@click.option("--with-base", is_flag=True, help="Add Memories.base, a view of the memories for Obsidian.")
@click.option("--with-plugin", is_flag=True, help="Add the Obsidian plugin.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def init(
    config: Path | None,
    vault: Path | None,
    root: str | None,
    language: str | None,
    with_base: bool,
    with_plugin: bool,
    yes: bool,
) -> None:
    """Set up a vault: the folders for memories in it, and the settings file that names it.

    Shows what it will make before it makes it. Notes that are there are never changed.

    \b
    Examples:
      vaultd init
      vaultd init --vault ~/Notes --root Memories --yes
    """
    chosen = vault or _ask_vault(config, yes)
    folder = check_value("vault.path", str(chosen), Path.cwd())
    assert isinstance(folder, Path)
    changes: dict[str, Value] = {"vault.path": folder}
    if root is not None:
        changes["memory.root"] = check_value("memory.root", root, Path.cwd())
    path = config_path(config, os.environ)
    if language is None and not path.exists():
        language = _language_here(os.environ)
    if language is not None:
        changes["language"] = language
    settings = load_settings(path, folder, changes, may_be_missing=True).settings
    layout = Layout(folder, memory_root=settings.memory.root)
    steps = [*_folder_steps(layout), *_settings_step(path, changes)]
    steps += _base_step(layout, settings) if with_base else []
    steps += _plugin_step(layout.root / ".obsidian/plugins/vaultd") if with_plugin else []
    _carry_out(steps, yes)
    if with_plugin:
        say("In Obsidian: Settings → Community plugins → vaultd → on; it asks for the token (`vaultd token`).")
    say("Next: `vaultd serve`, and `vaultd config client NAME --write` for your MCP client.")


def _language_here(environ: Mapping[str, str]) -> str | None:
    """English where the account speaks another language than Chinese; None where that is the default, or unknown."""
    spoken = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environ.get(name))), "")
    code = spoken.partition("_")[0].partition(".")[0].casefold()
    return None if code in ("", "c", "posix", "zh") else "en"


def _ask_vault(config: Path | None, yes: bool) -> Path:
    known = load_settings(config, may_be_missing=True).settings.vault.path
    here = Path.cwd() if (Path.cwd() / ".obsidian").is_dir() else None
    proposal = known or here or Path.home() / "Memories"
    if yes:
        return proposal
    return Path(click.prompt("Your vault's folder (a new one is fine)", default=str(proposal)))


def _carry_out(steps: list[Step], yes: bool) -> None:
    if not steps:
        say("Everything is there already.")
        return
    say("This will be made:")
    for step in steps:
        say(f"  {step.about}")
    if not yes:
        click.confirm("Go on?", default=True, abort=True)
    for step in steps:
        try:
            step.do()
        except OSError as exc:
            raise StorageFull(f"{step.about}: cannot be written ({exc.strerror}); check the folder's rights") from exc


def _folder_steps(layout: Layout) -> list[Step]:
    base = layout.state_dir.parent
    names = (*FOLDERS.values(), CARDS, INBOX, CONVERSATIONS)
    missing = [base / name for name in names if not (base / name).is_dir()]
    steps = []
    if missing:
        names_text = ", ".join(folder.name for folder in missing)
        steps.append(Step(f"folders in {base}: {names_text}", lambda: _make_folders(missing)))
    identity = layout.state_dir / "vault.yaml"
    if not identity.is_file():
        steps.append(Step(f"the vault's identity: {identity}", lambda: _write_identity(identity)))
    return steps


def _make_folders(missing: list[Path]) -> None:
    for folder in missing:
        folder.mkdir(parents=True, exist_ok=True)


def _write_identity(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    text = f"# Tells this vault from others, on all machines. Keep it.\nid: {secrets.token_hex(VAULT_ID_BYTES)}\n"
    place.write_text(text, encoding="utf-8")


def _settings_step(path: Path, changes: dict[str, Value]) -> list[Step]:
    loaded = load_with_sources(path, {}) if path.exists() else None  # what the file says by itself
    new = {
        name: value
        for name, value in changes.items()
        if loaded is None or name not in loaded.sources or value_of(loaded.settings, KEYS[name]) != value
    }
    about = ", ".join(f"{name}: {as_text(KEYS[name], value)}" for name, value in new.items())
    return [Step(f"settings in {path}: {about}", lambda: save(path, new))] if new else []


def _base_step(layout: Layout, settings: Settings) -> list[Step]:
    """A base that is there is the person's, whatever is in it."""
    from vaultd.cli.basefile import NAME, base_text

    place = layout.root / settings.memory.root / NAME
    text = base_text(settings)
    return [] if place.exists() else [Step(f"tables for Obsidian: {place}", lambda: _write(place, text))]


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", newline="\n")


def _plugin_step(target: Path) -> list[Step]:
    source = _plugin()
    parts = [item for item in source.iterdir() if item.is_file()]
    if all((target / item.name).is_file() and (target / item.name).read_bytes() == item.read_bytes() for item in parts):
        return []
    return [Step(f"the Obsidian plugin: {target}", lambda: _place(source, target))]


def _plugin() -> Traversable:
    """The built plugin that comes with the package. Raises BadInput where it does not."""
    place = files("vaultd").joinpath("data", "obsidian-plugin")
    if not place.is_dir():
        raise BadInput("this version of vaultd brings no Obsidian plugin; leave out --with-plugin")
    return place


def _place(source: Traversable, place: Path) -> None:
    if source.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(source.read_bytes())
        return
    for item in source.iterdir():
        _place(item, place / item.name)
