"""What commands print: JSON, progress, and errors in one line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import click

PLAIN_PROGRESS_EVERY_S: Final = 5.0


class Failure(click.ClickException):
    """A command that failed: one line on stderr, exit code 1."""

    exit_code = 1


def say(text: str = "") -> None:
    """A line of the answer, on stdout."""
    click.echo(text)


def note(text: str) -> None:
    """A line about the answer, on stderr, so that stdout holds the answer alone."""
    click.echo(text, err=True)


def complain(message: str) -> None:
    """An error, on stderr, as one line."""
    click.echo(f"vaultd: {' '.join(message.split())}", err=True)


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """The answer for a script."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        say(f"  {name:<{width}}  {value}".rstrip())


@contextmanager
def progress(
    label: str, total: int | None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int], None]]:
    """Show how far a long task is; call what this yields with the number done so far.

    A bar on a terminal; elsewhere a plain line on stderr every few seconds. `total` None: not known.
    """
    shown = _bar(label, total) if sys.stderr.isatty() else _lines(label, total, clock)
    with shown as update:
        yield update


@contextmanager
def _bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console  # costs half a second: only a terminal that waits anyway pays it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def _lines(label: str, total: int | None, clock: Callable[[], float]) -> Iterator[Callable[[int], None]]:
    last = [clock(), -1.0]

    def line(done: int) -> None:
        last[:] = [clock(), done]
        note(f"{label}: {done}" + (f" of {total}" if total is not None else ""))

    def update(done: int) -> None:
        if clock() - last[0] >= PLAIN_PROGRESS_EVERY_S or (done == total and last[1] != done):
            line(done)

    yield update
