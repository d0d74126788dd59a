"""Import lancedb without what only serves catalogue servers and its own developers.

`import lancedb` spends more than half of its two seconds on generated classes for the REST protocol of namespaces, of
which a table in a folder or a bucket needs none, and most of the rest on `overrides`, which compares the signatures of
its classes' methods each time. The first are stood in for by empty classes, the second by decorators that do nothing;
where the import fails that way, and for `db://` addresses, everything is imported as it is.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

log = logging.getLogger(__name__)

_CATALOGUE = ("lance_namespace", "lance_namespace_urllib3_client")
_CHECKS = "overrides"
_SKIPPED = (*_CATALOGUE, _CHECKS)
_one_at_a_time = threading.Lock()


class _Empty(ModuleType):
    """A module in which every name is a class that holds what it is given."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        base = Exception if name.endswith("Error") else SimpleNamespace
        empty = type(name, (base,), {"__module__": self.__name__})
        setattr(self, name, empty)
        return empty


def _unchecked(method: Any = None, **_: object) -> Any:
    """A method as it is; stands in for the decorators of `overrides`."""
    return (lambda method: method) if method is None else method


def _no_checks() -> ModuleType:
    module = ModuleType(_CHECKS)
    module.__dict__.update(override=_unchecked, overrides=_unchecked, final=_unchecked, EnforceOverrides=object)
    return module


class _Skip(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds empty modules for the packages that are skipped."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for what is skipped, nothing for the rest."""
        if fullname.partition(".")[0] in _SKIPPED:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module that stands in for a skipped one."""
        return _no_checks() if spec.name == _CHECKS else _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


@contextmanager
def _skipping() -> Iterator[None]:
    """While it lasts, imports find empty modules for what is skipped.

    The list of finders is put in place anew each time, never changed: another thread that imports something goes
    through the list it began with, and would miss the finder that moved up a place when the first one is removed.
    """
    skip = _Skip()
    with _one_at_a_time:
        sys.meta_path = [skip, *sys.meta_path]
        try:
            yield
        finally:
            sys.meta_path = [finder for finder in sys.meta_path if finder is not skip]


def _forget(*packages: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]


def import_lancedb(*, whole: bool = False) -> Any:
    """The lancedb module; `whole` imports the client of catalogue servers as well."""
    if whole or any(name in sys.modules for name in ("lancedb", *_CATALOGUE)):
        return importlib.import_module("lancedb")
    try:
        with _skipping():
            return importlib.import_module("lancedb")
    except (ImportError, AttributeError, TypeError, NameError) as exc:
        log.info("lancedb is imported whole: %s", exc)
        _forget("lancedb", *_SKIPPED)
    return importlib.import_module("lancedb")
