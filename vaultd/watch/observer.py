"""watchdog's events → touches. Says no more than "look there"; which event it was is only a hint for the wait."""

from __future__ import annotations

import errno
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from vaultd.core.note import NotePath
from vaultd.watch.inbox import Inbox, Ring, Touch

log = logging.getLogger(__name__)

_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_OVERFLOW_LOGGERS = (
    "watchdog.observers.inotify_c",
    "watchdog.observers.inotify",
    "watchdog.observers.read_directory_changes",
)
_NO_WATCHES_LEFT = (errno.EMFILE, errno.ENFILE, errno.ENOSPC)
POLLING_INTERVAL_S = 2.0
STOP_TIMEOUT_S = 5.0


class _Handler(FileSystemEventHandler):
    """Puts touches into the inbox; runs in watchdog's thread and must be quick."""

    def __init__(
        self,
        root: str,
        inbox: Inbox,
        is_note: Callable[[str], bool],
        is_folder: Callable[[str], bool],
        shaken: Callable[[], None],
    ) -> None:
        self._cut = len(root.rstrip(os.sep)) + 1
        self._inbox = inbox
        self._is_note = is_note
        self._is_folder = is_folder
        self._shaken = shaken

    def dispatch(self, event: FileSystemEvent) -> None:
        """One event; both ends of a move ring."""
        ends = [(event.src_path, False)]
        if isinstance(event, DirMovedEvent):
            self._shaken()
        if isinstance(event, FileMovedEvent | DirMovedEvent):
            ends.append((event.dest_path, True))
        for place, arrived in ends:
            path = os.fsdecode(place)[self._cut :].replace(os.sep, "/")
            if event.is_directory:
                if path and self._is_folder(path):
                    self._inbox.put(Touch(NotePath(path), Ring.FOLDER))
            elif path and self._is_note(path):
                self._inbox.put(Touch(NotePath(path), Ring.RENAMED if arrived else Ring.CHANGED))


class _Overflow(logging.Handler):
    """watchdog only logs that the kernel dropped events; this hears it."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self._lost()


class VaultObserver:
    """Watches a vault's folder. `lost` is called from any thread when events may have been dropped, or come to be so.

    After a folder moved, watchdog may go on to report its files at the old place: then `lost` is called as well, since
    only watching anew helps.
    """

    def __init__(
        self,
        root: Path,
        inbox: Inbox,
        *,
        is_note: Callable[[str], bool],
        is_folder: Callable[[str], bool],
        lost: Callable[[], None],
        polling: bool = False,
    ) -> None:
        self._root = root
        self._handler = _Handler(str(root), inbox, is_note, is_folder, lost)
        self._overflow = _Overflow(lost)
        self._polling = polling
        self._observer: BaseObserver | None = None
        self._watched: tuple[int, int] | None = None

    def start(self) -> None:
        """Begin to watch; by polling where the system has no watches left. Raises OSError where there is no folder."""
        # said of each folder that comes and goes fast; restarting is what helps, and that is done
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        if not self._root.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the vault's folder is gone", str(self._root))
        try:
            self._observer = self._started(polling=self._polling)
        except OSError as exc:
            if self._polling or exc.errno not in _NO_WATCHES_LEFT:
                raise
            log.warning("the system has no file watches left (%s); the vault is looked through instead", exc.strerror)
            self._observer = self._started(polling=True)
        self._watched = self._identity()
        for name in _OVERFLOW_LOGGERS:
            logging.getLogger(name).addHandler(self._overflow)

    def _started(self, *, polling: bool) -> BaseObserver:
        observer = PollingObserver(timeout=POLLING_INTERVAL_S) if polling else Observer()
        try:
            observer.schedule(self._handler, str(self._root), recursive=True, event_filter=_EVENTS)
            observer.start()
        except OSError:
            observer.on_thread_stop()  # an observer that never ran would keep its watches for ever
            raise
        return observer

    @property
    def alive(self) -> bool:
        """Whether every thread that listens still runs, and listens to what lies at the vault's place now.

        watchdog itself notices neither when a thread ends, nor when a disk was taken out or put in.
        """
        observer = self._observer
        if observer is None or self._identity() != self._watched:
            return False
        return observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)

    def _identity(self) -> tuple[int, int] | None:
        """Which folder lies at the vault's place."""
        try:
            status = self._root.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def stop(self) -> None:
        """Stop watching; returns when the threads have ended."""
        for name in _OVERFLOW_LOGGERS:
            logging.getLogger(name).removeHandler(self._overflow)
        observer, self._observer = self._observer, None
        if observer is None:
            return
        try:
            observer.stop()
        except (KeyError, RuntimeError, OSError):
            # watchdog loses count of folders that come and go fast; its threads end all the same
            log.debug("the watcher did not end in good order", exc_info=True)
        observer.join(STOP_TIMEOUT_S)

    def restart(self) -> None:
        """Watch anew. Raises OSError."""
        self.stop()
        self.start()
