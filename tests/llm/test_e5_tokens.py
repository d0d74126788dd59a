"""Token ids equal those of the model's own tokenizer.

`golden/e5_tokens.json` was made once with the tokenizer definition that is published with the model, by another
library (`tokenizers`), from `"passage: " + clean(text)`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vaultd.llm.e5_file import E5File
from vaultd.llm.e5_tokens import E5Tokenizer
from vaultd.llm.embedder import clean
from vaultd.llm.local import PASSAGE_PREFIX, local_model_file

GOLDEN = json.loads((Path(__file__).parent / "golden" / "e5_tokens.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def tokenizer() -> E5Tokenizer:
    path = local_model_file()
    assert path is not None, "the package with the model file is a dependency on this platform"
    return E5Tokenizer(E5File(path))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: ascii(case["text"])[:30])
def test_tokens_are_those_of_the_models_own_tokenizer(tokenizer, case):
    assert tokenizer.tokens(PASSAGE_PREFIX + clean(case["text"])) == case["tokens"]


@pytest.mark.parametrize("spelled", ["<s>", "</s>", "<unk>", "<pad>", "<mask>"])
def test_a_text_that_spells_a_special_token_stays_text(tokenizer, spelled):
    tokens = tokenizer.tokens(f"I wrote {spelled} in my diary")

    assert not set(tokens) & {tokenizer.begin, tokenizer.end, 1, 250_001}  # pad, mask
    assert len(tokens) > len(tokenizer.tokens("I wrote in my diary")) + 1
