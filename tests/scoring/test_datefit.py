"""Dates asked for against the days of notes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vaultd.scoring.datefit import Calendar, date_scores
from vaultd.scoring.dates import date_terms

EPOCH = date(1970, 1, 1)


def calendar_of(*days: date) -> Calendar:
    return Calendar.of_days(np.array([(day - EPOCH).days for day in days], np.int64))


def fit(terms, *days):
    return date_scores(terms, calendar_of(*days), np.ones(len(days), np.bool_)).tolist()


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_a_term_holds_for_the_days_that_have_it_and_for_no_other(day, other):
    calendar = calendar_of(other)
    of_other = date_terms(datetime(other.year, other.month, other.day, tzinfo=UTC))

    for term in date_terms(datetime(day.year, day.month, day.day, tzinfo=UTC)):
        assert calendar.at(term).tolist() == [term in of_other]


def test_the_day_asked_for_fits_best_then_its_month():
    days = [date(2025, 3, 2), date(2025, 3, 9), date(2025, 8, 2)] + [date(2024, 1, 1)] * 9

    found = fit(("y2025m03d02", "y2025m03"), *days)

    assert found[0] > found[1] > found[2] == 0.0


def test_a_year_says_nothing_where_all_notes_are_of_it():
    found = fit(("y2025",), *[date(2025, 1, 1) + timedelta(days=n) for n in range(50)])

    assert max(found) < 0.01


def test_what_is_no_term_fits_nothing():
    assert fit(("", "next week", "y"), date(2025, 1, 1)) == [0.0]


def test_rows_that_are_not_eligible_have_no_score():
    scores = date_scores(["m05"], calendar_of(date(2025, 5, 1), date(2025, 5, 2)), np.array([True, False]))

    assert scores[0] > 0.0 == scores[1]
