from pathlib import Path

import pytest

from vaultd.config import load, load_with_sources
from vaultd.config.loading import variables
from vaultd.config.paths import config_path
from vaultd.core.errors import SettingsError
from vaultd.scoring.constants import DecayWeights, FinalWeights, MatchWeights
from vaultd.settings import KEYS, Settings, value_of


@pytest.fixture
def write(tmp_path):
    def written(text: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_bytes(text.encode())
        return path

    return written


def value(settings: Settings, name: str):
    return value_of(settings, KEYS[name])


# What the older table of keys says, and what it means here: (text, key, value)
OLD_TABLE = [
    ("transport: stdio", "transport", "stdio"),
    ("log_level: debug", "log_level", "DEBUG"),
    ("merge_threshold: 80", "merge.threshold", 80.0),
    ("dehydration:\n  model: m1", "llm.model", "m1"),
    ("dehydration:\n  base_url: https://example.org/v1/", "llm.base_url", "https://example.org/v1"),
    ("dehydration:\n  api_key: k-1", "llm.api_key", "k-1"),
    ("dehydration:\n  max_tokens: 2048", "llm.max_tokens", 2048),
    ("dehydration:\n  temperature: 0.7", "llm.temperature", 0.7),
    ("embedding:\n  enabled: false", "embedding.provider", "none"),
    ("embedding:\n  enabled: true", "embedding.provider", "local"),
    ("embedding:\n  model: gemini-embedding-001", "embedding.model", "gemini-embedding-001"),
    ("decay:\n  lambda: 0.1", "decay.lambda", 0.1),
    ("decay:\n  threshold: 0.5", "decay.threshold", 0.5),
    ("decay:\n  check_interval_hours: 6", "decay.check_interval_hours", 6.0),
    ("decay:\n  emotion_weights:\n    base: 1.2", "decay.emotion_weights.base", 1.2),
    ("decay:\n  emotion_weights:\n    arousal_boost: 0.5", "decay.emotion_weights.arousal_boost", 0.5),
    ("matching:\n  fuzzy_threshold: 60", "matching.fuzzy_threshold", 60.0),
    ("matching:\n  max_results: 9", "matching.max_results", 9),
    ("scoring_weights:\n  topic_relevance: 5", "scoring_weights.topic_relevance", 5.0),
    ("scoring_weights:\n  emotion_resonance: 1", "scoring_weights.emotion_resonance", 1.0),
    ("scoring_weights:\n  time_proximity: 2.5", "scoring_weights.time_proximity", 2.5),
    ("scoring_weights:\n  importance: 2", "scoring_weights.importance", 2.0),
    ("scoring_weights:\n  content_weight: 3.0", "scoring_weights.content_weight", 3.0),
    ("wikilink:\n  enabled: false", "wikilink.enabled", False),
    ("wikilink:\n  use_tags: true", "wikilink.use_tags", True),
    ("wikilink:\n  use_domain: false", "wikilink.use_domain", False),
    ("wikilink:\n  use_auto_keywords: false", "wikilink.use_auto_keywords", False),
    ("wikilink:\n  auto_top_k: 3", "wikilink.auto_top_k", 3),
    ("wikilink:\n  min_keyword_len: 4", "wikilink.min_keyword_len", 4),
    ("wikilink:\n  exclude_keywords: [今天, a b]", "wikilink.exclude_keywords", ("今天", "a b")),
]


@pytest.mark.parametrize(("text", "name", "expected"), OLD_TABLE, ids=[name for _, name, _ in OLD_TABLE])
def test_each_key_of_the_older_table_keeps_its_meaning(write, text, name, expected):
    assert value(load(write(text), {}), name) == expected


def test_defaults_of_the_older_table_are_ours_but_for_the_two_that_were_decided_anew():
    assert value(Settings(), "scoring_weights.time_proximity") == 1.5
    assert value(Settings(), "scoring_weights.content_weight") == 1.0
    assert value(Settings(), "merge.threshold") == 75
    assert value(Settings(), "matching.fuzzy_threshold") == 50
    assert value(Settings(), "decay.lambda") == 0.05


def test_buckets_dir_is_the_vault_and_starts_from_the_files_folder(write, tmp_path):
    settings = load(write("buckets_dir: ./buckets"), {})

    assert settings.vault.path == tmp_path / "buckets"
    assert settings.memory.root == ""


def test_buckets_dir_inside_a_vault_is_the_memory_root(write):
    settings = load(write("vault: Notes\nbuckets_dir: Notes/AI/buckets"), {})

    assert settings.memory.root == "AI/buckets"


def test_buckets_dir_outside_the_vault_is_refused(write):
    with pytest.raises(SettingsError, match=r"line 2: buckets_dir lies outside the vault"):
        load(write("vault: Notes\nbuckets_dir: Elsewhere"), {})


def test_the_same_setting_under_two_names_is_refused(write):
    with pytest.raises(SettingsError, match=r"line 3: merge\.threshold and merge_threshold are the same setting"):
        load(write("merge_threshold: 80\nmerge:\n  threshold: 70"), {})


VARIABLES = [
    ("VAULTD_VAULT", "/v", "vault.path", Path("/v")),
    ("VAULTD_STATE_DIR", "/s", "state_dir", Path("/s")),
    ("VAULTD_API_KEY", "k", "llm.api_key", "k"),
    ("VAULTD_BASE_URL", "http://localhost:11434/v1", "llm.base_url", "http://localhost:11434/v1"),
    ("VAULTD_EMBEDDING_API_KEY", "e", "embedding.api_key", "e"),
    ("VAULTD_TRANSPORT", "stdio", "transport", "stdio"),
    ("VAULTD_TOKEN", "t", "server.token", "t"),
    ("VAULTD_HOST", "::1", "server.host", "::1"),
    ("VAULTD_PORT", "8123", "server.port", 8123),
    ("VAULTD_HOOK_URL", "http://127.0.0.1:9", "hook.url", "http://127.0.0.1:9"),
    ("VAULTD_HOOK_SKIP", "1", "hook.skip", True),
    ("VAULTD_GATEWAY_API_KEY", "g", "gateway.api_key", "g"),
    ("OMBRE_API_KEY", "k", "llm.api_key", "k"),
    ("OMBRE_BASE_URL", "https://example.org/v1", "llm.base_url", "https://example.org/v1"),
    ("OMBRE_TRANSPORT", "sse", "transport", "sse"),
    ("OMBRE_BUCKETS_DIR", "/b", "vault.path", Path("/b")),
    ("OMBRE_HOOK_URL", "http://localhost:8000", "hook.url", "http://localhost:8000"),
    ("OMBRE_HOOK_SKIP", "1", "hook.skip", True),
    ("VAULTD_LANGUAGE", "en", "language", "en"),
    ("VAULTD_MATCHING__TOPIC", "fuzzy", "matching.topic", "fuzzy"),
    ("VAULTD_DECAY__EMOTION_WEIGHTS__BASE", "2", "decay.emotion_weights.base", 2.0),
    ("VAULTD_VAULT__EXCLUDE", "Private/**, *.draft.md", "vault.exclude", ("Private/**", "*.draft.md")),
]


@pytest.mark.parametrize(("variable", "text", "name", "expected"), VARIABLES, ids=[row[0] for row in VARIABLES])
def test_each_variable_sets_its_key(write, variable, text, name, expected):
    assert value(load(write(""), {variable: text}), name) == expected


def test_our_variable_stands_before_the_older_one(write):
    settings = load(write(""), {"OMBRE_API_KEY": "old", "VAULTD_API_KEY": "new"})

    assert settings.llm.api_key == "new"


def test_an_empty_variable_counts_as_unset(write):
    settings = load(write(""), {"VAULTD_API_KEY": "", "OMBRE_API_KEY": "old"})

    assert settings.llm.api_key == "old"


def test_option_beats_variable_beats_file_beats_default(write):
    assert load(write(""), {}).server.port == 8000

    path = write("server:\n  port: 1001")

    assert load(path, {}).server.port == 1001
    assert load(path, {"VAULTD_PORT": "1002"}).server.port == 1002
    assert load(path, {"VAULTD_PORT": "1002"}, {"server.port": 1003}).server.port == 1003
    assert load(path, {"VAULTD_PORT": "1002"}, {"server.port": None}).server.port == 1002


def test_each_value_knows_where_it_came_from(write):
    path = write("language: en\nserver:\n  port: 1001")

    loaded = load_with_sources(path, {"VAULTD_PORT": "1002"}, {"server.host": "localhost"})

    assert loaded.sources == {
        "language": f"{path} line 1",
        "server.port": "VAULTD_PORT",
        "server.host": "command line",
    }


def test_key_of_the_chat_model_never_reaches_the_embeddings(write):
    settings = load(write("embedding:\n  enabled: true\n  model: gemini-embedding-001"), {"OMBRE_API_KEY": "k"})

    assert settings.llm.configured
    assert (settings.embedding.provider, settings.embedding.api_key, settings.embedding.base_url) == ("local", "", "")


def test_address_for_embeddings_in_the_environment_switches_the_provider(write):
    environ = {"VAULTD_EMBEDDING_BASE_URL": "https://example.org/v1", "VAULTD_EMBEDDING__MODEL": "m"}

    assert load(write(""), environ).embedding.provider == "openai"
    assert load(write("embedding:\n  provider: local"), environ).embedding.provider == "openai"
    assert load(write("embedding:\n  provider: none"), environ).embedding.provider == "none"
    assert load(write("embedding:\n  enabled: false"), environ).embedding.provider == "none"


def test_provider_named_beside_the_address_wins(write):
    text = "embedding:\n  provider: local\n  base_url: https://example.org/v1"

    assert load(write(text), {}).embedding.provider == "local"


def test_embeddings_by_an_endpoint_need_address_and_model(write):
    with pytest.raises(SettingsError, match=r"embedding\.base_url: needed .* VAULTD_EMBEDDING_BASE_URL"):
        load(write("embedding:\n  provider: openai"), {})
    with pytest.raises(SettingsError, match=r"embedding\.model: needed .* VAULTD_EMBEDDING__MODEL"):
        load(write("embedding:\n  base_url: https://example.org/v1"), {})


def test_chat_model_counts_as_configured_by_key_or_by_another_address(write):
    assert not load(write(""), {}).llm.configured
    assert not load(write("llm:\n  base_url: https://api.deepseek.com/v1/"), {}).llm.configured
    assert load(write(""), {"VAULTD_API_KEY": "k"}).llm.configured
    assert load(write(""), {"VAULTD_BASE_URL": "http://localhost:11434/v1"}).llm.configured


def test_wrong_secret_is_not_repeated():
    with pytest.raises(SettingsError, match=r"server\.token: the value is not allowed") as caught:
        load(None, {"VAULTD_TOKEN": "hunter 2"})

    assert "hunter" not in str(caught.value)


WRONG = [
    ("server:\n  port: 99999", "server.port: 99999 is not allowed; use 0…65535 (", "line 2"),
    ("server:\n  port: eight", 'server.port: "eight" is not allowed; use 0…65535', ""),
    ("server:\n  port: 80.5", "server.port: 80.5 is not allowed; use 0…65535", ""),
    ("server:\n  port: true", "server.port: true is not allowed; use 0…65535", ""),
    ("server:\n  port: []", "server.port: [] is not allowed; use 0…65535", ""),
    ("server:\n  host: http://x/", 'server.host: "http://x/" is not allowed; use an address such as 127.0.0.1', ""),
    ("language: fr", 'language: "fr" is not allowed; use zh | en', "line 1"),
    ("matching:\n  topic: 3", "matching.topic: 3 is not allowed; use best | fuzzy", ""),
    ("decay:\n  lambda: .nan", "decay.lambda: NaN is not allowed; use 0…10", ""),
    ("decay:\n  lambda: -0.1", "decay.lambda: -0.1 is not allowed; use 0…10", ""),
    ("decay:\n  lambda: 2026-01-31", 'decay.lambda: "2026-01-31" is not allowed; use 0…10', ""),
    ("strict_llm: maybe", 'strict_llm: "maybe" is not allowed; use true or false', ""),
    ("embedding:\n  enabled: maybe", 'embedding.enabled: "maybe" is not allowed; use true or false', ""),
    ("llm:\n  base_url: ftp://x", 'llm.base_url: "ftp://x" is not allowed; use http(s) address', ""),
    ("llm:\n  base_url: http://x:port/", "llm.base_url:", ""),
    ("llm:\n  base_url: ''", 'llm.base_url: "" is not allowed', ""),
    (
        "journal:\n  project_every: 30",
        "journal.project_every: 30 is not allowed; use auto, or a time such as 0, 30min",
        "",
    ),
    ("journal:\n  project_every: 999d", 'journal.project_every: "999d" is not allowed', ""),
    ("timezone: Mars/Base", 'timezone: "Mars/Base" is not allowed; use a zone\'s name such as Asia/Shanghai', ""),
    ("timezone: ../etc", 'timezone: "../etc" is not allowed', ""),
    ("memory:\n  root: ../out", 'memory.root: "../out" is not allowed; use a folder inside the vault', ""),
    ("memory:\n  root: /abs", 'memory.root: "/abs" is not allowed', ""),
    ("memory:\n  root: .hidden", 'memory.root: ".hidden" is not allowed', ""),
    ("index:\n  uri: ftp://x", 'index.uri: "ftp://x" is not allowed; use an address that starts with s3://', ""),
    ("vault:\n  exclude: 3", "vault.exclude: 3 is not allowed; use list of text", ""),
    ("vault:\n  exclude: [[a]]", 'vault.exclude: [["a"]] is not allowed; use list of text', ""),
    ("vault:\n  path: [a]", 'vault.path: ["a"] is not allowed; use folder', ""),
    ("surface:\n  seed: x", 'surface.seed: "x" is not allowed; use a whole number', ""),
    ("matchng:\n  topic: best", "matchng.topic is not a setting; did you mean matching.topic?", "line 2"),
    ("matching:\n  topics: best", "matching.topics is not a setting; did you mean matching.topic?", "line 2"),
    ("project_every: 0", "project_every is not a setting; did you mean journal.project_every?", "line 1"),
    ("llm:\n  model:\n    name: x", "llm.model.name is not a setting", "line 3"),
    ("zzzz: 1", "zzzz is not a setting; `vaultd config show` lists all", "line 1"),
    ("language: zh\nlanguage: en", "language stands twice (first in line 1); keep one", "line 2"),
    ("- a", "not a list of settings", ""),
    ("language: [zh", "mend this line", "line 2"),
    ("language: *x", "mend this line", "line 1"),
    ("language: !!python/object:os.system zh", "mend this line", "line 1"),
    ("a\0b", "UTF-8", ""),
]


@pytest.mark.parametrize(("text", "message", "line"), WRONG, ids=[text.replace("\n", " ") for text, _, _ in WRONG])
def test_wrong_file_is_refused_in_one_line_that_helps(write, text, message, line):
    path = write(text)

    with pytest.raises(SettingsError) as caught:
        load(path, {})

    said = str(caught.value)
    assert message in said
    assert line in said
    assert "\n" not in said
    assert str(path) in said or not line


def test_file_that_is_not_utf8_is_named_with_the_byte(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"language: zh # \xff")

    with pytest.raises(SettingsError, match="byte 15 is not UTF-8"):
        load(path, {})


def test_wrong_variable_is_named():
    with pytest.raises(SettingsError, match=r'server\.port: "x" is not allowed; use 0…65535 \(VAULTD_PORT\)'):
        load(None, {"VAULTD_PORT": "x"})
    with pytest.raises(
        SettingsError, match=r"VAULTD_MATCHING__TOPICS: no setting .* did you mean VAULTD_MATCHING__TOPIC"
    ):
        load(None, {"VAULTD_MATCHING__TOPICS": "best"})


def test_named_file_must_exist_and_the_platforms_need_not(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert load(None, {}) == Settings()
    with pytest.raises(SettingsError, match="there is no such file; make it with `vaultd config example"):
        load(tmp_path / "none.yaml", {})
    with pytest.raises(SettingsError, match="there is no such file"):
        load(None, {"VAULTD_CONFIG": str(tmp_path / "none.yaml")})


def test_option_names_the_file_before_the_variable(tmp_path):
    assert config_path(tmp_path / "a", {"VAULTD_CONFIG": "b"}) == tmp_path / "a"
    assert config_path(None, {"VAULTD_CONFIG": str(tmp_path / "b")}) == tmp_path / "b"


def test_sections_and_values_left_empty_stand_for_the_defaults(write):
    assert load(write("llm:\nmatching:\n  topic:\nvault:\n  exclude: ~\n"), {}) == Settings()
    assert load(write("# nothing but a comment\n"), {}) == Settings()


def test_durations_are_read_with_their_units(write):
    seconds = {"auto": None, "0": 0.0, "90s": 90.0, "10min": 600.0, "1.5h": 5400.0, "2d": 172800.0}

    for text, expected in seconds.items():
        assert load(write(f"journal:\n  project_every: {text}"), {}).journal.project_every_s == expected


def test_weights_that_cancel_every_score_are_refused(write):
    parts = "topic_relevance: 0, emotion_resonance: 0, time_proximity: 0, importance: 0"
    fuzzy = "name_weight: 0, domain_weight: 0, tags_weight: 0, content_weight: 0"

    for weights in (parts, fuzzy):
        with pytest.raises(SettingsError, match="is not allowed; use more than 0 for one of"):
            load(write(f"scoring_weights: {{{weights}}}"), {})


def test_settings_reach_the_formulas(write):
    text = "scoring_weights: {content_weight: 3}\nmatching: {topic: fuzzy, fuzzy_threshold: 40}\n"
    text += "decay: {lambda: 0.1, protect_importance_floor: 8}\ncards: {relevance_floor: 0, recency: smooth}\n"

    settings = load(write(text), {})

    assert settings.match_weights == MatchWeights(body=3.0, topic_mode="fuzzy", threshold=40.0)
    assert settings.decay.weights == DecayWeights(rate_per_day=0.1, protect_importance_floor=8)
    assert settings.cards.weights == FinalWeights(relevance_floor=0.0, recency_mode="smooth")
    assert Settings().decay.weights == DecayWeights()


def test_home_folder_is_expanded(write, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    assert load(write("vault: ~/Notes"), {}).vault.path == tmp_path / "Notes"


def test_secrets_do_not_show_up_when_settings_are_printed(write):
    secrets = {name: f"secret-{name}" for name, key in KEYS.items() if key.secret}
    environ = {variables(KEYS[name])[0]: text for name, text in secrets.items()}

    settings = load(write(""), environ)

    assert [value(settings, name) for name in secrets] == list(secrets.values())
    assert "secret-" not in repr(settings)


def test_every_key_has_its_own_variables():
    names = [variable for key in KEYS.values() for variable in variables(key)]

    assert len(names) == len(set(names))
