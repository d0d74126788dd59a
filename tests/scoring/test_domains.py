import pytest

from vaultd.scoring.domains import areas_of


@pytest.mark.parametrize(
    ("name", "tags", "body", "areas"),
    [
        ("面试", (), "", ("求职",)),
        ("", (), "今天去医院体检，医生说要复查。", ("就医",)),
        ("Choir", ("song",), "We sing on Mondays.", ("music",)),
        ("", (), "Booked the flight and the hotel; the visa is still missing.", ("travel",)),
        ("带猫咪看兽医", (), "", ("宠物",)),
    ],
)
def test_a_text_has_the_area_of_its_words_in_its_own_language(name, tags, body, areas):
    assert areas_of(name, tags, body) == areas


def test_two_areas_count_where_they_are_nearly_as_close():
    areas = areas_of("", (), "和同事吵架，开会时老板也在，后来他道歉了，是误会。")

    assert set(areas) == {"职场", "争执"}


@pytest.mark.parametrize("text", ["", "Blue.", "今天天气不错", "a game"])
def test_words_that_say_too_little_give_no_area(text):
    assert areas_of("", (), text) == ()


def test_a_word_that_only_looks_alike_does_not_count():
    assert areas_of("catalogue", (), "a catalogue of concatenations") == ()


def test_the_name_says_more_than_the_body():
    assert areas_of("Guitar", (), "A long day at the office, my boss was there.") == ("music",)
