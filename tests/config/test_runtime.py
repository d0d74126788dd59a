import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from filelock import FileLock

from vaultd.config.paths import holder_file, lock_file, runtime_file, state_folder, token_file
from vaultd.config.runtime import (
    Runtime,
    find_daemon,
    is_alive,
    keep_token,
    lock_holder,
    make_token,
    named_as_holder,
    read_runtime,
    remove_runtime,
    write_runtime,
)


def a_runtime(*, pid: int | None = None, port: int = 1) -> Runtime:
    return Runtime(
        pid=os.getpid() if pid is None else pid,
        url=f"http://127.0.0.1:{port}",
        port=port,
        token="t",
        vault="/vault",
        started="2026-11-30T12:00:00+08:00",
    )


@contextmanager
def health(answer: bytes, status: int = 200) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_runtime_file_comes_back_and_is_for_its_owner_alone(tmp_path):
    write_runtime(tmp_path, a_runtime())

    assert read_runtime(tmp_path) == a_runtime()
    assert mode(runtime_file(tmp_path)) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["runtime.json"]


def test_runtime_file_that_others_could_read_is_closed_again(tmp_path):
    runtime_file(tmp_path).write_text("{}")
    runtime_file(tmp_path).chmod(0o644)

    write_runtime(tmp_path, a_runtime())

    assert mode(runtime_file(tmp_path)) == 0o600


def test_torn_runtime_file_is_none(tmp_path):
    assert read_runtime(tmp_path) is None
    for text in ("", "{", "[]", '{"pid": 1}', json.dumps({"pid": "x"})):
        runtime_file(tmp_path).write_text(text)
        assert read_runtime(tmp_path) is None


def test_runtime_file_is_removed_by_its_own_process_only(tmp_path):
    write_runtime(tmp_path, a_runtime(pid=4711))

    remove_runtime(tmp_path, 4712)
    assert read_runtime(tmp_path) is not None
    remove_runtime(tmp_path, 4711)
    assert read_runtime(tmp_path) is None


def test_daemon_is_found_by_its_vault_and_state_folder(tmp_path):
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()

    with health(b'{"status": "ok", "version": "1"}') as port:
        write_runtime(state_folder(vault, state), a_runtime(port=port))

        assert find_daemon(vault, state) == a_runtime(port=port)
        assert find_daemon(tmp_path / "other", state) is None
        assert find_daemon(vault, tmp_path / "elsewhere") is None


def test_dead_process_is_no_daemon_though_its_port_answers(tmp_path):
    with health(b'{"status": "ok"}') as port:
        write_runtime(state_folder(tmp_path, tmp_path), a_runtime(pid=ended_process(), port=port))

        assert find_daemon(tmp_path, tmp_path) is None


def test_living_process_that_does_not_answer_is_no_daemon(tmp_path):
    with health(b"hello") as port:
        write_runtime(state_folder(tmp_path, tmp_path), a_runtime(port=port))
        assert find_daemon(tmp_path, tmp_path) is None
    with health(b'{"status": "ok"}', status=503) as port:
        write_runtime(state_folder(tmp_path, tmp_path), a_runtime(port=port))
        assert find_daemon(tmp_path, tmp_path) is None
    assert find_daemon(tmp_path, tmp_path) is None  # nobody listens any more


def test_port_that_passed_to_another_daemon_is_not_this_ones(tmp_path):
    with health(b'{"status": "ok", "pid": 1}') as port:
        write_runtime(state_folder(tmp_path, tmp_path), a_runtime(port=port))

        assert find_daemon(tmp_path, tmp_path) is None


def test_processes_are_told_alive_from_ended():
    assert is_alive(os.getpid())
    assert not is_alive(ended_process())
    assert not is_alive(0)


def test_token_is_made_once_kept_and_private(tmp_path):
    token = keep_token(tmp_path)

    assert keep_token(tmp_path) == token
    assert len(token.encode()) >= 32
    assert mode(token_file(tmp_path)) == 0o600
    assert make_token(tmp_path) != token


def test_state_folder_tells_vaults_of_one_name_apart_and_follows_links(tmp_path):
    first, second = tmp_path / "a" / "My Notes 笔记", tmp_path / "b" / "My Notes 笔记"
    first.mkdir(parents=True)
    second.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(first)

    assert state_folder(first, tmp_path) != state_folder(second, tmp_path)
    assert state_folder(link, tmp_path) == state_folder(first, tmp_path)
    assert state_folder(first, tmp_path).name.startswith("My_Notes_笔记-")
    assert state_folder(first, tmp_path).parent == tmp_path


def test_who_holds_the_lock_is_told_while_it_is_held(tmp_path):
    before = lock_holder(tmp_path)
    with FileLock(lock_file(tmp_path)), named_as_holder(tmp_path):
        meanwhile = lock_holder(tmp_path)

    assert (before, meanwhile, lock_holder(tmp_path)) == (None, os.getpid(), None)
    assert not holder_file(tmp_path).exists()


def test_a_living_process_without_the_lock_is_not_taken_for_its_holder(tmp_path):
    holder_file(tmp_path).write_text(f"{os.getpid()}\n")  # of a daemon that was killed; the number was given out again

    assert lock_holder(tmp_path) is None


def test_a_holder_that_was_killed_is_none(tmp_path):
    for text in ("", "x", f"{ended_process()}\n"):
        holder_file(tmp_path).write_text(text)
        assert lock_holder(tmp_path) is None
