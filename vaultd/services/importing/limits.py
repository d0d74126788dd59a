"""What an import may cost, for who asks before an import is thought of."""

from __future__ import annotations

from typing import Final

MOST_UPLOAD_BYTES: Final = 4 << 30
