import json

import pytest

from tests.model_server import Asked, ModelServer, Reply, embedding_of
from vaultd.config.paths import calibration_file, state_folder
from vaultd.llm.calibration import labelled_pairs, saved_calibration
from vaultd.llm.embedder import clean


class Knowing(ModelServer):
    """An endpoint whose vectors of related texts lie close together; it has read the labelled pairs."""

    def __init__(self) -> None:
        super().__init__(dimension=48)
        self.known: dict[str, list[float]] = {}
        for pair in labelled_pairs():
            a = self.known.setdefault(clean(pair.a), embedding_of(pair.a, 48))
            noise = embedding_of(pair.b, 48)
            share = {"related": 0.7, "same_topic": 0.3, "unrelated": 0.0}[pair.label]
            mixed = [share * x + (1 - share) * y for x, y in zip(a, noise, strict=True)]
            self.known.setdefault(clean(pair.b), mixed)

    def _checked(self, asked: Asked) -> Reply:
        if asked.path != "/v1/embeddings":
            return super()._checked(asked)
        texts = asked.body["input"]
        texts = [texts] if isinstance(texts, str) else texts
        vectors = [self.known.get(text) or embedding_of(text, 48) for text in texts]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        return Reply(200, json.dumps(body).encode(), {"content-type": "application/json"})


def test_the_built_in_model_needs_none(run, vault):
    assert "nothing to do" in run("calibrate").stdout


def test_no_model_is_said(run, vault):
    result = run("calibrate", VAULTD_EMBEDDING__PROVIDER="none")

    assert (result.exit_code, result.stderr) == (
        1,
        "vaultd: embedding.provider is none: there is no model to calibrate\n",
    )


@pytest.mark.slow
def test_another_model_is_asked_and_its_curve_is_kept_for_the_vault(run, vault, home):
    with Knowing() as server:
        environ = {
            "VAULTD_EMBEDDING__PROVIDER": "openai",
            "VAULTD_EMBEDDING_BASE_URL": server.url,
            "VAULTD_EMBEDDING_API_KEY": "k",
            "VAULTD_EMBEDDING__MODEL": "played-embedding",
        }
        stopped = run("calibrate", input="n\n", **environ)
        assert (stopped.exit_code, len(server.asked)) == (1, 0)

        result = run("calibrate", "--yes", "--json", **environ)

    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["related_found"] > found["unrelated_found"]
    kept = saved_calibration(calibration_file(state_folder(vault, home / "state")), found["model"])
    assert kept is not None
    assert saved_calibration(calibration_file(state_folder(vault, home / "state")), "another") is None
