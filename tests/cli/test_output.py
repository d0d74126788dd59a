import click
import pytest

from vaultd.cli.output import PLAIN_PROGRESS_EVERY_S, complain, progress


def test_progress_away_from_a_terminal_is_plain_lines_now_and_then(capsys):
    now = [0.0]

    with progress("indexing", 10, clock=lambda: now[0]) as update:
        update(1)
        now[0] = PLAIN_PROGRESS_EVERY_S
        update(4)
        update(5)
        update(10)
        update(10)

    assert capsys.readouterr().err == "indexing: 4 of 10\nindexing: 10 of 10\n"


def test_progress_of_unknown_length_counts(capsys):
    now = [0.0]

    with progress("reading", None, clock=lambda: now[0]) as update:
        now[0] = PLAIN_PROGRESS_EVERY_S
        update(7)

    assert capsys.readouterr().err == "reading: 7\n"


def test_progress_ends_with_the_error_that_ended_the_task():
    with pytest.raises(click.Abort), progress("x", 1):
        raise click.Abort


def test_error_of_several_lines_becomes_one(capsys):
    complain("a\n  b\tc")

    assert capsys.readouterr().err == "vaultd: a b c\n"
