"""Text → token ids of multilingual-e5-small, by sentencepiece, which the model was trained with."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import ModelUnavailable
from vaultd.llm.e5_file import E5File, Vocabulary

_BLANKS: Final = re.compile(" {2,}")
_MASK: Final = "<mask>"
_LONGEST_PIECE: Final = 100  # bytes


class E5Tokenizer:
    """Tokens of a text, without the begin and end tokens. Safe to call from several threads.

    A text that spells `</s>` or `<mask>` gets the tokens of those letters: what a person wrote is never a command.
    """

    def __init__(self, file: E5File) -> None:
        self.begin, self.end = file.special.begin, file.special.end
        self._rules = file.rules
        from sentencepiece import SentencePieceProcessor  # several MB, for nothing where another model is used

        self._processor = SentencePieceProcessor(model_proto=_model(file))

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text that `clean` has seen."""
        normal = _BLANKS.sub(" ", text.translate(self._rules))
        ids: list[int] = self._processor.encode(normal)
        return ids


def _model(file: E5File) -> bytes:
    """The vocabulary as sentencepiece wants it: a ModelProto message."""
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made when imported

    words, special, kinds = file.vocabulary, file.special, ModelProto.SentencePiece
    types = np.full(len(words.scores), kinds.NORMAL, np.uint8)
    types[[special.begin, special.end, special.pad]] = kinds.CONTROL
    types[words.find(_MASK)] = kinds.CONTROL
    types[special.unknown] = kinds.UNKNOWN
    rest = ModelProto()
    trainer = rest.trainer_spec
    trainer.bos_id, trainer.eos_id, trainer.pad_id, trainer.unk_id = (
        special.begin,
        special.end,
        special.pad,
        special.unknown,
    )
    normalizer = rest.normalizer_spec
    normalizer.name = "identity"  # the file's rules are applied before
    normalizer.add_dummy_prefix = True
    normalizer.remove_extra_whitespaces = False
    normalizer.escape_whitespaces = True
    encoded: bytes = rest.SerializeToString()
    return _encoded_pieces(words, types) + encoded  # messages of one kind, put together, are one message


def _encoded_pieces(words: Vocabulary, types: npt.NDArray[np.uint8]) -> bytes:
    """All pieces in protobuf's wire format, at once: a quarter of a million objects take most of a second.

    0x0A size ( 0x0A length text  0x15 score  0x18 type ) each; every size is below 128, hence one byte.
    """
    lengths = np.diff(words.starts).astype(np.int32)
    if lengths.max() > _LONGEST_PIECE:
        raise ModelUnavailable(f"a piece of the built-in model's vocabulary has {lengths.max()} bytes")
    sizes = lengths + 11
    at = np.cumsum(sizes, dtype=np.int32) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    out[at], out[at + 1] = 0x0A, sizes - 2
    out[at + 2], out[at + 3] = 0x0A, lengths
    shift = at + np.int32(4) - words.starts[:-1].astype(np.int32)
    out[np.repeat(shift, lengths) + np.arange(len(words.text), dtype=np.int32)] = words.text
    after = at + 4 + lengths
    out[after] = 0x15
    for i, byte in enumerate(words.scores.astype("<f4").view(np.uint8).reshape(-1, 4).T, 1):
        out[after + i] = byte
    out[after + 5], out[after + 6] = 0x18, types
    return out.tobytes()
