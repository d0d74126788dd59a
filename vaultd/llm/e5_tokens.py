"""Text → token ids of multilingual-e5-small, by sentencepiece, which the model was trained with."""

from __future__ import annotations

import re
from typing import Final

from vaultd.llm.e5_file import E5File

_BLANKS: Final = re.compile(" {2,}")
_MASK: Final = "<mask>"


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
    """The vocabulary as sentencepiece wants it."""
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made when imported

    model, special = ModelProto(), file.special
    for piece, score in file.pieces():
        added = model.pieces.add(piece=piece, score=score)
        if piece == _MASK:
            added.type = ModelProto.SentencePiece.CONTROL
    for control in (special.begin, special.end, special.pad):
        model.pieces[control].type = ModelProto.SentencePiece.CONTROL
    model.pieces[special.unknown].type = ModelProto.SentencePiece.UNKNOWN
    trainer = model.trainer_spec
    trainer.bos_id, trainer.eos_id, trainer.pad_id, trainer.unk_id = (
        special.begin,
        special.end,
        special.pad,
        special.unknown,
    )
    normalizer = model.normalizer_spec
    normalizer.name = "identity"  # the file's rules are applied before
    normalizer.add_dummy_prefix = True
    normalizer.remove_extra_whitespaces = False
    normalizer.escape_whitespaces = True
    encoded: bytes = model.SerializeToString()
    return encoded
