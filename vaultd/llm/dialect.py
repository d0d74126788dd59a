"""What differs between OpenAI-compatible endpoints, found out by asking: how JSON is asked for, how a limit is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from vaultd.settings import ChatModelSettings


class Shape(IntEnum):
    """How JSON is asked for, from the strictest way to the most common."""

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    PLAIN = 2


@dataclass(frozen=True, slots=True)
class Question:
    """One request: a fixed system prompt, the fenced material, the schema of the answer, the room it needs in tokens."""

    task: str
    system: str
    material: str
    schema: Mapping[str, Any]
    room_tokens: int


@dataclass(frozen=True, slots=True)
class Dialect:
    """What an endpoint understands. `generous`: it may be asked for longer answers than the setting names."""

    shape: Shape = Shape.JSON_SCHEMA
    limit_key: str = "max_tokens"
    temperature: bool = True
    generous: bool = True

    def request(self, question: Question, settings: ChatModelSettings) -> dict[str, Any]:
        """The arguments of a chat completion."""
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.material},
            ],
            self.limit_key: self.limit_tokens(question, settings),
        }
        if self.temperature:
            request["temperature"] = settings.temperature
        if self.shape is Shape.JSON_SCHEMA:
            schema = {"name": question.task, "strict": True, "schema": question.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.shape is Shape.JSON_OBJECT:
            request["response_format"] = {"type": "json_object"}
        return request

    def limit_tokens(self, question: Question, settings: ChatModelSettings) -> int:
        """The longest answer that is asked for."""
        return max(settings.max_tokens, question.room_tokens) if self.generous else settings.max_tokens

    def plainer(self) -> Dialect | None:
        """The next way to ask for JSON; None where there is none."""
        return None if self.shape is Shape.PLAIN else replace(self, shape=Shape(self.shape + 1))

    def after_refusal(self, said: str, *, fixed: bool) -> Dialect | None:
        """What to try after the endpoint refused a request with these words (400, 422); None: nothing is left to try.

        `fixed`: this shape has worked before, so that it is not to blame.
        """
        words = said.lower()
        if "max_completion_tokens" in words and self.limit_key == "max_tokens":
            return replace(self, limit_key="max_completion_tokens")
        if self.generous and ("max_tokens" in words or "max_completion_tokens" in words):
            return replace(self, generous=False)
        if "temperature" in words and self.temperature:
            return replace(self, temperature=False)
        return None if fixed else self.plainer()
