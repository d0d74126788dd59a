"""What happens when the endpoint misbehaves: each failure is named, nothing waits long, nothing is asked in vain."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.llm.chat_setup import KEY, an_analyst, failure, settings_for
from tests.model_server import ModelServer, good_answer, reply
from vaultd.core.errors import CapReached, ModelBusy, ModelRefused, ModelTimedOut, ModelUnavailable


@pytest.mark.parametrize("code", [401, 403])
async def test_a_refused_key_is_not_tried_again_and_the_message_says_where_it_is_set(server, analyst, code):
    server.script(reply.status(code, f"Incorrect API key provided: {KEY}-0123456789abcdef"))

    error = await failure(analyst)

    assert isinstance(error, ModelRefused)
    assert "VAULTD_API_KEY" in str(error)
    assert KEY not in str(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("code", "words"), [(402, "Insufficient Balance"), (429, "You exceeded: insufficient_quota")])
async def test_an_account_without_credit_is_not_asked_again(server, analyst, code, words):
    server.script(reply.status(code, words))

    error = await failure(analyst)

    assert isinstance(error, ModelRefused)
    assert "no credit left" in str(error)
    assert len(server.asked) == 1


async def test_a_busy_endpoint_is_waited_for_as_long_as_it_asks(server, analyst, waits):
    server.script(
        reply.status(429, headers={"retry-after": "7"}),
        reply.status(
            429,
            headers={"date": "Mon, 30 Nov 2026 20:00:00 GMT", "retry-after": "Mon, 30 Nov 2026 20:00:12 GMT"},
        ),
    )

    await analyst.annotate("We met again.")

    assert waits.slept == [7.0, 12.0]


async def test_an_endpoint_that_asks_for_a_long_wait_is_not_waited_for(server, analyst, waits):
    server.script(reply.status(429, headers={"retry-after": "3600"}))

    error = await failure(analyst)

    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == 3600
    assert waits.slept == []


async def test_a_busy_endpoint_that_names_no_time_is_tried_three_times_with_growing_waits(server, analyst, waits):
    server.script(*[reply.status(429)] * 5)

    error = await failure(analyst)

    assert isinstance(error, ModelBusy)
    assert len(server.asked) == 3
    assert 0.375 <= waits.slept[0] <= 0.625
    assert 0.75 <= waits.slept[1] <= 1.25


@pytest.mark.parametrize("bad", [reply.status(500), reply.status(503), reply.html(502), reply.cut(30)])
async def test_a_passing_failure_is_bridged(server, analyst, bad):
    server.script(bad, bad)

    assert (await analyst.annotate("We met again.")).domain == ("growth",)
    assert len(server.asked) == 3


@pytest.mark.parametrize("bad", [reply.status(500, "boom"), reply.html(502), reply.cut(30)])
async def test_a_lasting_failure_is_named_after_three_attempts(server, analyst, bad):
    server.script(*[bad] * 9)

    error = await failure(analyst)

    assert isinstance(error, ModelUnavailable)
    assert "\n" not in str(error)
    assert "<html" not in str(error)
    assert len(server.asked) == 3


async def test_an_endpoint_that_is_not_there_is_named(tmp_path):
    with ModelServer() as server:
        settings = settings_for(server)
    analyst = an_analyst(settings, tmp_path)

    error = await failure(analyst)
    await analyst.close()

    assert isinstance(error, ModelUnavailable)
    assert "cannot reach 127.0.0.1" in str(error)
    assert "llm.base_url" in str(error)


async def test_an_endpoint_that_hangs_is_given_up_in_time_and_not_asked_again_at_once(server, tmp_path, waits):
    analyst = an_analyst(settings_for(server, timeout_s=0.2), tmp_path, waits)
    server.script(reply.hang())

    error = await failure(analyst)
    again = await failure(analyst)

    assert isinstance(error, ModelTimedOut)
    assert isinstance(again, ModelTimedOut)
    assert "llm.timeout_s" in str(error)
    assert len(server.asked) == 1
    await analyst.close()


async def test_a_slow_answer_within_the_time_is_taken(server, analyst):
    server.script(reply.late(0.1))

    assert (await analyst.annotate("We met again.")).domain == ("growth",)


async def test_after_a_failure_calls_fail_at_once_for_a_while_and_then_ask_again(server, analyst, waits):
    server.script(*[reply.status(500)] * 3)
    await failure(analyst)

    at_once = await failure(analyst)
    waits.now += 5.1
    recovered = await analyst.annotate("We met again.")

    assert isinstance(at_once, ModelUnavailable)
    assert recovered.domain == ("growth",)
    assert len(server.asked) == 4


async def test_a_busy_endpoint_is_left_alone_until_it_said(server, analyst, waits):
    server.script(reply.status(429, headers={"retry-after": "60"}))
    await failure(analyst)

    waits.now += 45
    meanwhile = await failure(analyst)
    waits.now += 16

    assert isinstance(meanwhile, ModelBusy)
    assert meanwhile.retry_after_s == pytest.approx(15)
    assert (await analyst.annotate("We met again.")).domain == ("growth",)


@pytest.mark.parametrize(
    "words", ["The model `played` does not exist", "Model Not Exist", 'model "x" not found, pull it']
)
async def test_an_unknown_model_is_named_with_those_that_exist(server, analyst, words):
    server.models = ("deepseek-v4", "deepseek-v4-think")
    server.script(reply.status(400 if "Not" in words else 404, words))

    error = await failure(analyst)

    assert isinstance(error, ModelUnavailable)
    assert "no model 'played-chat': set llm.model to one of: deepseek-v4, deepseek-v4-think" in str(error)


async def test_an_unknown_model_is_named_even_where_the_endpoint_lists_none(server, analyst):
    server.models = ()

    assert str(await failure(analyst)).endswith("has no model 'played-chat': set another llm.model")


async def test_the_models_of_an_endpoint_can_be_listed(server, analyst):
    assert await analyst.models() == ("played-chat", "played-embedding")


async def test_a_wrong_address_is_named(server, tmp_path):
    analyst = an_analyst(settings_for(server, base_url=server.url.removesuffix("/v1")), tmp_path)

    error = await failure(analyst)
    await analyst.close()

    assert isinstance(error, ModelUnavailable)
    assert "check llm.base_url, most end in /v1" in str(error)


async def test_a_memory_is_not_sent_on_to_where_a_redirect_points(server, analyst):
    with ModelServer() as elsewhere:
        server.script(reply.redirect(f"{elsewhere.url}/chat/completions"))

        error = await failure(analyst)

        assert isinstance(error, ModelUnavailable)
        assert "redirects to" in str(error)
        assert elsewhere.asked == []


async def test_every_request_counts_toward_the_daily_cap(server, tmp_path):
    analyst = an_analyst(settings_for(server), tmp_path, cap=4)
    server.script(reply.status(500), reply.content("{broken"))

    await analyst.annotate("We met again.")
    await analyst.annotate("We met again.")
    error = await failure(analyst)
    await analyst.close()

    assert isinstance(error, CapReached)
    assert len(server.asked) == 4


async def test_an_unused_key_of_another_service_is_never_sent(server, analyst, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-the-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer other\nX-Team: secret")

    await analyst.annotate("We met again.")

    sent = str(server.asked[0].headers)
    assert server.asked[0].key == KEY
    assert not any(word in sent for word in ("another", "admin", "org-secret", "proj-secret", "other", "x-team"))


async def test_four_requests_at_most_are_under_way(server, analyst):
    import asyncio

    under_way: list[int] = []
    now = 0

    def counted(asked):
        nonlocal now
        now += 1
        under_way.append(now)
        server.closing.wait(0.01)
        now -= 1
        return good_answer(asked)

    server.default = counted
    await asyncio.gather(*(analyst.annotate(f"We met {number} times.") for number in range(20)))

    assert len(server.asked) == 20
    assert max(under_way) <= 4


def test_openai_is_imported_at_the_first_question_and_never_on_the_loop(tmp_path):
    script = f"""
    import asyncio, sys, threading
    from pathlib import Path
    from tests.llm.chat_setup import an_analyst, settings_for
    from tests.model_server import ModelServer

    assert "openai" not in sys.modules, "imported too early"
    threads = set()

    class Witness:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "openai":
                threads.add(threading.current_thread() is threading.main_thread())

    sys.meta_path.insert(0, Witness())

    async def main():
        with ModelServer() as server:
            analyst = an_analyst(settings_for(server), Path({str(tmp_path)!r}))
            await analyst.annotate("We met again.")
            await analyst.close()

    asyncio.run(main())
    assert threads == {{False}}, threads
    print("fine")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize("address", ["http://exa mple/v1", "http://a\x7fb/v1", "http://xn--/v1"])
async def test_an_address_that_no_client_takes_is_named(server, tmp_path, address):
    analyst = an_analyst(settings_for(server, base_url=address), tmp_path)

    error = await failure(analyst)
    await analyst.close()

    assert isinstance(error, ModelUnavailable)
    assert "llm.base_url" in str(error)
