"""How much memory and time reading a large export takes: a generated file, read and planned in a process of its own.

    python bench/importing.py                       all shapes, 200 MB each
    python bench/importing.py --megabytes 50 --shape chatgpt --folder DIR
    python bench/importing.py --daemon              the same by `vaultd import --dry-run`, in a daemon with an empty vault

Shapes: `claude` and `deepseek` with many conversations; `chatgpt` with trees and Chinese text; `one` conversation that is
the whole file; `huge` messages of twice 7.5 MB with an emoji each (four bytes a character in memory); `zip`: the
Claude file packed; `text`: plain text in one file. Prints the peak RSS (VmHWM, the interpreter's own included), CPU seconds and
what was found. Exits with 1 if a peak is above 300 MB; of a daemon counts what it grows by.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

ROOT = Path(__file__).parent.parent
MOST_RSS_MB = 300
WORDS = ("the", "river", "was", "high", "and", "cold", "today", "we", "walked", "along", "its", "bank", "until", "dark")
RUNS = ("今天去医院复查，", "结果还好；", "晚上和妹妹通了电话。", "她说六月回来。", "我把旧书都送人了，", "心里很轻。")


def english(rng: random.Random, words: int) -> str:
    """Some sentences."""
    return " ".join(rng.choices(WORDS, k=words)) + ".\n"


def chinese(rng: random.Random, runs: int) -> str:
    """Some sentences."""
    return "".join(rng.choices(RUNS, k=runs))


def claude_talk(rng: random.Random, number: int, turns: int, text: Callable[[], str]) -> dict[str, Any]:
    """One conversation as Claude exports it."""
    messages = [
        {
            "uuid": f"{number}-{at}",
            "parent_message_uuid": f"{number}-{at - 1}" if at else "00000000-0000-4000-8000-000000000000",
            "sender": "assistant" if at % 2 else "human",
            "text": "",
            "content": [{"type": "text", "text": text(), "citations": []}],
            "created_at": f"2025-{1 + number % 12:02d}-{1 + at % 28:02d}T10:00:00.000000Z",
            "attachments": [],
            "files": [],
        }
        for at in range(turns)
    ]
    return {
        "uuid": str(number),
        "name": f"Talk {number}",
        "created_at": "2025-01-01T00:00:00Z",
        "chat_messages": messages,
    }


def chatgpt_talk(rng: random.Random, number: int) -> dict[str, Any]:
    """One conversation as ChatGPT exports it, with an abandoned branch."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    parent = "root"
    for at in range(40):
        node = {"author": {"role": "assistant" if at % 2 else "user"}, "create_time": 1.7e9 + number * 1000 + at}
        node["content"] = {"content_type": "text", "parts": [chinese(rng, 60)]}
        mapping[str(at)] = {"id": str(at), "parent": parent, "children": [], "message": {**node, "metadata": {}}}
        parent = str(at) if at % 10 else parent
    return {
        "title": f"第 {number} 次",
        "create_time": 1.7e9,
        "mapping": mapping,
        "current_node": parent,
        "id": str(number),
    }


def deepseek_talk(rng: random.Random, number: int) -> dict[str, Any]:
    """One conversation as DeepSeek exports it, with long thinking that is not kept."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["1"], "message": None}}
    for at in range(1, 21):
        fragments = [{"type": "REQUEST", "content": english(rng, 60)}]
        if at % 2 == 0:
            fragments = [
                {"type": "THINK", "content": english(rng, 400)},
                {"type": "RESPONSE", "content": english(rng, 200)},
            ]
        message = {"files": [], "inserted_at": "2026-03-30T23:49:37.018000+08:00", "fragments": fragments}
        mapping[str(at)] = {
            "id": str(at),
            "parent": str(at - 1) if at > 1 else "root",
            "children": [],
            "message": message,
        }
    return {"id": str(number), "title": f"T{number}", "inserted_at": "2026-03-30T23:49:36+08:00", "mapping": mapping}


def talks(shape: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Conversations without end."""
    number = 0
    while True:
        number += 1
        if shape == "chatgpt":
            yield chatgpt_talk(rng, number)
        elif shape == "deepseek":
            yield deepseek_talk(rng, number)
        elif shape == "huge":
            talk = claude_talk(rng, number, 2, lambda: "🙂" + english(rng, 1000) * (15 * 2**19 // 5000))
            for message in talk["chat_messages"]:
                message["text"] = message["content"][0]["text"]
            yield talk
        else:
            yield claude_talk(rng, number, 30, lambda: english(rng, 200))


def generate(path: Path, shape: str, size: int) -> None:
    """Write a file of about `size` bytes."""
    rng = random.Random(7)
    with path.open("wb") as file:
        if shape == "text":
            while file.tell() < size:
                file.write(f"User: {english(rng, 50)}Assistant: {chinese(rng, 40)}\n".encode())
        elif shape == "one":
            one_talk(file, rng, size)
        else:
            many_talks(file, talks(shape, rng), size)
    if shape == "zip":
        plain = path.rename(path.with_name("plain"))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(plain, "export/conversations.json")
        plain.unlink()


def many_talks(file: BinaryIO, source: Iterator[dict[str, Any]], size: int) -> None:
    """A list of conversations."""
    file.write(b"[")
    while file.tell() < size:
        file.write(b",\n" if file.tell() > 1 else b"")
        file.write(json.dumps(next(source), ensure_ascii=False).encode())
    file.write(b"]")


def one_talk(file: BinaryIO, rng: random.Random, size: int) -> None:
    """A list of one conversation."""
    file.write(b'[{"uuid": "one", "name": "All in one", "chat_messages": [')
    number = 0
    while file.tell() < size:
        for message in claude_talk(rng, number, 30, lambda: english(rng, 200))["chat_messages"]:
            message["parent_message_uuid"] = None
            message["uuid"] = f"m{number}"
            number += 1
            file.write(b"," if number > 1 else b"")
            file.write(json.dumps(message).encode())
    file.write(b"]}]")


def read(folder: Path, name: str) -> None:
    """Read and plan, then print what it took; runs in its own process."""
    from vaultd.services.importing.jobs import ImportOptions
    from vaultd.services.importing.ledger import Ledger
    from vaultd.services.importing.preflight import Prices, look, read_upload

    before = peak_rss_mb()
    now = datetime(2026, 5, 1, tzinfo=UTC)
    start = time.process_time()
    format_, findings = read_upload(folder, name, zone=UTC, now=now)
    spooled = time.process_time()
    found = look(
        folder,
        format_,
        findings,
        ImportOptions(),
        ledger=Ledger(folder / "none"),
        prices=Prices(),
        model_available=True,
        now=now,
    )
    print(
        json.dumps(
            {
                "rss_mb": peak_rss_mb(),
                "rss_before_mb": before,
                "cpu_read_s": round(spooled - start, 1),
                "cpu_plan_s": round(time.process_time() - spooled, 1),
                "conversations": found.conversations,
                "turns": found.turns,
                "chunks": found.chunks,
            }
        )
    )


def read_by_daemon(upload: Path, name: str) -> dict[str, Any]:
    """Upload to a daemon of its own and have it read and planned; the memory is the daemon's, all of it."""
    named = upload.rename(upload.with_name(name))
    state = upload.parent / "state"
    environ = {**os.environ, "VAULTD_STATE_DIR": str(state), "VAULTD_VAULT": str(upload.parent / "vault")}
    environ |= {"VAULTD_CONFIG": str(upload.parent / "none.yaml"), "PYTHONPATH": str(ROOT)}
    (upload.parent / "vault").mkdir()
    (upload.parent / "none.yaml").touch()

    def vaultd(*words: str) -> str:
        command = [sys.executable, "-m", "vaultd", *words]
        return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout

    try:
        vaultd("search", "nothing")  # starts it
        pid = json.loads(vaultd("status", "--json"))["pid"]
        time.sleep(5)  # what starting took is given back
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # count the peak from here on
        before = peak_rss_mb(pid)
        found = json.loads(vaultd("import", str(named), "--dry-run", "--json"))
        counts = {key: found[key] for key in ("conversations", "turns", "chunks")}
        return {"rss_mb": peak_rss_mb(pid), "rss_before_mb": before, **counts}
    finally:
        vaultd("stop")


def peak_rss_mb(pid: int | str = "self") -> int:
    """The most memory that a process ever held, in MB; of another one only on Linux."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20)


def main() -> int:
    """Generate, read, print a line a shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        sys.path.insert(0, str(ROOT))
        read(given.read, given.name)
        return 0
    worst = 0
    for shape in given.shape or SHAPES:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            upload = Path(folder) / "upload"
            generate(upload, shape, given.megabytes << 20)
            name = {"zip": "export.zip", "text": "chat.txt"}.get(shape, "conversations.json")
            megabytes = upload.stat().st_size >> 20
            if given.daemon:
                found = read_by_daemon(upload, name)
            else:
                command = [sys.executable, __file__, "--read", folder, "--name", name]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            own = found["rss_mb"] - (found["rss_before_mb"] if given.daemon else 0)
            worst = max(worst, own)
            print(f"{shape:9} {megabytes:4} MB  {found}", flush=True)
    return 1 if worst > MOST_RSS_MB else 0


SHAPES = ("claude", "chatgpt", "deepseek", "one", "huge", "zip", "text")

if __name__ == "__main__":
    sys.exit(main())
