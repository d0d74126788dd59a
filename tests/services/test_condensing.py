import pytest

from tests.fakes import FakeAnalyst
from vaultd.core.errors import ModelTimedOut
from vaultd.core.query import Mark
from vaultd.services.condensing import Condensing

LONG = " ".join(f"Sentence number {i} says something about the weather of that day." for i in range(200))


async def shown(body, analyst=None, **options):
    focus = options.pop("focus", "")
    (one,) = await Condensing(analyst or FakeAnalyst(), **options).show([body], focus=focus)
    return one


async def test_a_short_text_is_shown_as_it_is_and_costs_no_model():
    analyst = FakeAnalyst(condense="never")

    one = await shown("A note about [[tea|green tea]].", analyst)

    assert one.text == "A note about green tea."
    assert analyst.asked == []


async def test_without_a_model_a_long_text_is_cut_at_a_sentence_end_and_says_how_long_it_is():
    one = await shown(LONG)

    assert one.marks == {Mark.CUT}
    assert one.text.endswith("that day.")
    assert len(one.text) < len(LONG)
    assert one.full_tokens > 2_000


async def test_of_a_long_text_the_part_that_was_asked_about_is_shown():
    body = LONG + "\n\nAt the very end the lighthouse keeper waved."

    one = await shown(body, focus="lighthouse keeper")

    assert "the lighthouse keeper waved" in one.text
    assert one.text.startswith("… ")


async def test_with_a_model_a_long_text_is_condensed():
    one = await shown(LONG, FakeAnalyst(condense="It was about the weather."))

    assert one.text == "It was about the weather."
    assert one.marks == {Mark.CONDENSED}


async def test_a_failing_model_leaves_the_text_itself_and_a_notice():
    one = await shown(LONG, FakeAnalyst(condense=ModelTimedOut("no answer in 60 s")))

    assert one.text.startswith("Sentence number 0")
    assert one.problem == "no answer in 60 s"
    assert Mark.NOT_CONDENSED in one.marks


@pytest.mark.parametrize("strict", [True])
async def test_a_strict_setting_shows_the_error_in_the_texts_place(strict):
    one = await shown(LONG, FakeAnalyst(condense=ModelTimedOut("no answer in 60 s")), strict=strict)

    assert one.text == ""
    assert one.problem == "no answer in 60 s"
