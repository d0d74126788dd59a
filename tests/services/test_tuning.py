"""Settings changed from a page: the hot ones at once, the others for the next start, none lost."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from vaultd.config.loading import load
from vaultd.core.errors import SettingsError
from vaultd.services.tuning import Tuning
from vaultd.settings import Settings


@dataclass
class Live:
    """The settings in force."""

    value: Settings


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("server:\n  port: 8000  # mine\n", encoding="utf-8")
    return path


def tuning(file, **environ: str) -> tuple[Tuning, Live, list[Settings]]:
    live, heard = Live(Settings()), []
    return Tuning(live, file, heard.append, environ), live, heard


def shown(tuned: Tuning, name: str):
    return next(one for section in tuned.shown() for one in section.settings if one.key.name == name)


async def test_what_is_not_hot_waits_in_the_file_for_the_next_start(file):
    tuned, live, heard = tuning(file)

    assert await tuned.change({"server.port": 9000}) == ("server.port",)

    assert live.value.server.port == 8000 and heard == []
    assert load(file, {}).server.port == 9000 and "# mine" in file.read_text()
    port = shown(tuned, "server.port")
    assert (port.value, port.waits, port.next_value, port.is_set) == (8000, True, 9000, True)


async def test_taking_it_back_before_the_start_leaves_nothing_waiting(file):
    tuned, _, _ = tuning(file)
    await tuned.change({"server.port": 9000})

    assert await tuned.change({"server.port": 8000}) == ("server.port",)

    assert not shown(tuned, "server.port").waits
    assert load(file, {}).server.port == 8000
    assert await tuned.change({"server.port": 8000}) == ()


async def test_hot_ones_and_others_are_changed_together_or_not_at_all(file):
    tuned, live, heard = tuning(file)

    with pytest.raises(SettingsError, match=r"server\.port"):
        await tuned.change({"decay.threshold": 0.5, "server.port": "far"})
    assert (live.value, heard) == (Settings(), [])

    await tuned.change({"decay.threshold": 0.5, "watch.mode": "polling"})
    assert heard == [live.value] and live.value.decay.threshold == 0.5 and live.value.watch.mode != "polling"
    assert load(file, {}).watch.mode == "polling"


async def test_a_variable_that_wins_over_the_file_is_named(file):
    tuned, _, _ = tuning(file, VAULTD_PORT="9999")

    assert shown(tuned, "server.port").variable == "VAULTD_PORT"
    with pytest.raises(SettingsError, match="VAULTD_PORT"):
        await tuned.change({"server.port": 9000})
    assert "8000" in file.read_text()


async def test_a_secret_for_the_next_start_is_never_written(file):
    tuned, _, _ = tuning(file)

    with pytest.raises(SettingsError, match="VAULTD_EMBEDDING_API_KEY"):
        await tuned.change({"embedding.api_key": "sk-never-written"})
    assert "sk-never-written" not in file.read_text()


async def test_without_a_file_the_variable_is_named():
    tuned, _, _ = tuning(None)

    with pytest.raises(SettingsError, match="VAULTD_PORT"):
        await tuned.change({"server.port": 9000})
