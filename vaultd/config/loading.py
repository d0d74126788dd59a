"""File and environment to `Settings`: options over variables over the file over the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vaultd.config.aliases import ALIASES, BUCKETS_DIR, EMBEDDING_ENABLED, OLD_NAMES
from vaultd.config.entry import Entry
from vaultd.config.files import read_text
from vaultd.config.paths import config_path
from vaultd.config.values import parse, refusal
from vaultd.core.errors import SettingsError
from vaultd.scoring.constants import MatchWeights
from vaultd.settings import KEYS, Key, Settings, Value, with_values

VARIABLE_PREFIX: Final = "VAULTD_"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and where they came from. `sources` names the place of each key that is not at its default."""

    settings: Settings
    path: Path
    exists: bool
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it was found, and what to say about where."""

    value: object
    where: str
    folder: Path


def load(given: Path | None, environ: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Settings:
    """All settings. `overrides` are options of the command line by key; None among them counts as not given.

    Raises SettingsError, which names key, value, place and what is allowed.
    """
    return load_with_sources(given, environ, overrides).settings


def load_with_sources(
    given: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    *,
    may_be_missing: bool = False,
) -> Loaded:
    """As `load`, with the place that each value came from. `may_be_missing`: for commands that make the file."""
    path = config_path(given, environ)
    text = read_text(path)
    if text is None and not may_be_missing and path != config_path(None, {}):
        raise SettingsError(f"{path}: there is no such file; make it with `vaultd config example > {path}`")
    entries = _entries(text, path) if text is not None else []
    layers = (_from_file(entries, path), _from_environment(environ), _from_options(overrides or {}))
    found = layers[0] | layers[1] | layers[2]
    _infer_provider(found, layers)
    values = {name: parse(KEYS[name], item.value, folder=item.folder, where=item.where) for name, item in found.items()}
    settings = with_values(Settings(), values)
    check_together(settings)
    return Loaded(settings, path, text is not None, {name: item.where for name, item in found.items()})


def variables(key: Key) -> tuple[str, ...]:
    """The variables that set a key, by precedence; the last but for Ombre's is the general form VAULTD_SECTION__KEY."""
    general = VARIABLE_PREFIX + key.name.upper().replace(".", "__")
    own = tuple(name for name in key.env if name.startswith(VARIABLE_PREFIX))
    return tuple(dict.fromkeys((*own, general, *key.env)))


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """The variables that hold a key or token now; files that vaultd writes never take them over."""
    return [name for key in KEYS.values() if key.secret for name in variables(key) if environ.get(name)]


def check_value(name: str, raw: object, folder: Path) -> Value:
    """One value on its own, as a person typed it. Raises SettingsError, also for a key that does not exist."""
    if name not in KEYS:
        raise _unknown(name, "")
    return parse(KEYS[name], raw, folder=folder)


def _entries(text: str, path: Path) -> list[Entry]:
    from vaultd.config.yamlfile import read_entries  # YAML is slow to import, and many have no settings file

    return read_entries(text, path)


def _from_file(entries: Iterable[Entry], path: Path) -> dict[str, _Given]:
    found: dict[str, _Given] = {}
    spelled: dict[str, str] = {}
    by_name = {entry.name: entry for entry in entries}
    for entry in by_name.values():
        where = f"{path} line {entry.line}"
        if entry.name not in KEYS and entry.name not in OLD_NAMES:
            raise _unknown(entry.name, where)
        name = ALIASES.get(entry.name, entry.name)
        if entry.value is None or name in (BUCKETS_DIR, EMBEDDING_ENABLED):
            continue
        if name in found:
            raise SettingsError(f"{where}: {entry.name} and {spelled[name]} are the same setting; keep one")
        found[name] = _Given(entry.value, where, path.parent)
        spelled[name] = entry.name
    if switch := by_name.get(EMBEDDING_ENABLED):
        found |= _switched_off(switch, path)
    if buckets := by_name.get(BUCKETS_DIR):
        found |= _buckets(buckets, found, path)
    return found


def _switched_off(entry: Entry, path: Path) -> dict[str, _Given]:
    where = f"{path} line {entry.line}"
    if not isinstance(entry.value, bool | None):
        raise SettingsError(f'{entry.name}: "{entry.value}" is not allowed; use true or false ({where})')
    return {"embedding.provider": _Given("none", where, path.parent)} if entry.value is False else {}


def _buckets(entry: Entry, found: Mapping[str, _Given], path: Path) -> dict[str, _Given]:
    """`buckets_dir` is the vault; beside a vault it is the folder in it that holds the memories."""
    where = f"{path} line {entry.line}"
    vault = found.get("vault.path")
    if entry.value is None:
        return {}
    if vault is None or not str(vault.value).strip():
        return {"vault.path": _Given(entry.value, where, path.parent)}
    root = parse(KEYS["vault.path"], vault.value, folder=vault.folder, where=vault.where)
    buckets = parse(KEYS["vault.path"], entry.value, folder=path.parent, where=where)
    if not isinstance(root, Path) or not isinstance(buckets, Path):
        return {}
    if not buckets.resolve().is_relative_to(root.resolve()):
        raise SettingsError(f"{where}: {BUCKETS_DIR} lies outside the vault {root}; leave out one of the two")
    inside = buckets.resolve().relative_to(root.resolve()).as_posix()
    return {} if inside == "." else {"memory.root": _Given(inside, where, path.parent)}


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    folder = Path.cwd()
    known: set[str] = set()
    found: dict[str, _Given] = {}
    for key in KEYS.values():
        names = variables(key)
        known.update(names)
        name = next((name for name in names if environ.get(name, "").strip()), None)
        if name:
            found[key.name] = _Given(environ[name], name, folder)
    for name in environ:
        if name.startswith(VARIABLE_PREFIX) and "__" in name and name not in known:
            raise _unknown_variable(name, known)
    return found


def _from_options(overrides: Mapping[str, object]) -> dict[str, _Given]:
    folder = Path.cwd()
    return {name: _Given(raw, "command line", folder) for name, raw in overrides.items() if raw is not None}


def _infer_provider(found: dict[str, _Given], layers: Sequence[Mapping[str, _Given]]) -> None:
    """An address for embeddings is the wish to use it, unless a provider is named in the same place or a stronger one.

    `none` stands against every address: whoever switched embeddings off wants nothing sent.
    """
    rank = {name: index for index, layer in enumerate(layers) for name in layer}
    address, provider = found.get("embedding.base_url"), found.get("embedding.provider")
    if address is None or not str(address.value).strip():
        return
    weaker = rank.get("embedding.provider", -1) < rank["embedding.base_url"]
    if weaker and (provider is None or str(provider.value).strip().casefold() == "local"):
        found["embedding.provider"] = _Given("openai", address.where, address.folder)


def check_together(settings: Settings) -> None:
    """What no key can tell alone; for settings that were changed one by one as well. Raises SettingsError."""
    embedding = settings.embedding
    if embedding.provider == "openai":
        for name, value in (("embedding.base_url", embedding.base_url), ("embedding.model", embedding.model)):
            if not value:
                variable = variables(KEYS[name])[0]
                raise SettingsError(
                    f"{name}: needed for embeddings by an endpoint; set it in the file or as {variable}, "
                    "or set embedding.provider to local or none"
                )
    _check_weights(settings.match_weights)


def _check_weights(weights: MatchWeights) -> None:
    """A score is a share of these sums: they must not be zero."""
    if not weights.total:
        raise refusal(KEYS["scoring_weights.topic_relevance"], 0, "more than 0 for one of the four parts at least")
    if not weights.fuzzy_total:
        raise refusal(KEYS["scoring_weights.name_weight"], 0, "more than 0 for one of name, domain, tags and content")


def _unknown(name: str, where: str) -> SettingsError:
    place = f"{where}: " if where else ""
    guess = next(_nearest(name), None)
    hint = f"did you mean {guess}?" if guess else "`vaultd config show` lists all"
    return SettingsError(f"{place}{name} is not a setting; {hint}")


def _nearest(name: str) -> Iterator[str]:
    """Names like `name`, best first: as a whole, then by the last part alone."""
    import difflib  # only for a mistake: it would cost each command time to start

    yield from difflib.get_close_matches(name, [*KEYS, *sorted(OLD_NAMES)], n=1, cutoff=0.7)
    tails = {key.rpartition(".")[2]: key for key in KEYS}
    yield from (tails[tail] for tail in difflib.get_close_matches(name.rpartition(".")[2], tails, n=1, cutoff=0.7))


def _unknown_variable(name: str, known: set[str]) -> SettingsError:
    import difflib

    guess = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {guess[0]}?" if guess else "see `vaultd config show`"
    return SettingsError(f"{name}: no setting has this variable; {hint}")
