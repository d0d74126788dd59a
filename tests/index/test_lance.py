"""LanceDB is imported without what it does not need, and without disturbing what other threads import."""

from __future__ import annotations

import subprocess
import sys

_MEANWHILE = """
import sys

from vaultd.index.lance import import_lancedb

class Meanwhile:
    '''Asked for a module of LanceDB, it begins to go through the finders, as another thread's import would.'''

    asked = None

    def find_spec(self, fullname, path, target=None):
        if self.asked is None and fullname.startswith('lancedb.'):
            self.asked = iter(sys.meta_path)
            self.begun = [next(self.asked) for _ in range(len(sys.meta_path) - 1)]

meanwhile = Meanwhile()
sys.meta_path = [meanwhile, *sys.meta_path]
paths = sys.meta_path[-1]
import_lancedb()
rest = list(meanwhile.asked)
assert paths in rest, rest
assert not any('vaultd' in str(type(finder)) for finder in sys.meta_path), sys.meta_path
"""

_SKIPPED = """
import sys

from vaultd.index.lance import import_lancedb

assert import_lancedb() is import_lancedb() is sys.modules['lancedb']
import lance_namespace
assert getattr(lance_namespace, '__file__', None) is None, 'the client of catalogue servers was imported'
"""


def _run(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_an_import_in_another_thread_misses_no_finder() -> None:
    _run(_MEANWHILE)


def test_the_client_of_catalogue_servers_is_not_imported() -> None:
    _run(_SKIPPED)
