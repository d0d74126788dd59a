"""How good injection is, on the labelled messages of tests/data: `python -m bench.injection [--verbose] [--json FILE]`.

200 cards, all fresh (the hardest case: recency counts in full for each), the built-in model. *Right*: of the messages
that a card answers, the share with that card among the injected. *Irrelevant*: the share of all messages that were given
at least one card that does not belong there; *irrelevant cards*: the share of all injected cards that do not. *personal*:
the messages of intents.jsonl, about a life that the cards do not tell of; cards that come near all the same are in `cards`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bench.cards import lines, opened, told, write_cards
from vaultd.core.card import Intent
from vaultd.engine import Core
from vaultd.scoring.intent import intent_of
from vaultd.services.cardrecall import CardQuery
from vaultd.settings import Settings


@dataclass
class Figures:
    asked: int = 0
    answered: int = 0
    right: int = 0
    given: int = 0
    given_wrong: int = 0
    messages_wrong: int = 0
    silent: int = 0
    silent_wrong: int = 0

    def shown(self) -> dict[str, float]:
        return {
            "messages": self.asked,
            "right": self.right / self.answered,
            "irrelevant": self.messages_wrong / self.asked,
            "irrelevant_cards": self.given_wrong / max(self.given, 1),
            "irrelevant_where_none_belongs": self.silent_wrong / max(self.silent, 1),
        }


async def measure(core: Core, *, verbose: bool) -> dict[str, dict[str, float]]:
    out: dict[str, Figures] = {"all": Figures(), "zh": Figures(), "en": Figures()}
    for asked in lines("injections.jsonl"):
        found = await core.services.card_recall(CardQuery(asked["text"]))
        given = [int(hit.view.card.id[-3:]) - 1 for hit in found.kept]
        wrong = [number for number in given if number not in asked["expect"]]
        for figures in (out["all"], out[asked["lang"]]):
            figures.asked += 1
            figures.given += len(given)
            figures.given_wrong += len(wrong)
            figures.messages_wrong += bool(wrong)
            figures.silent += not asked["expect"]
            figures.silent_wrong += not asked["expect"] and bool(wrong)
            figures.answered += bool(asked["expect"])
            figures.right += bool(set(asked["expect"]) & set(given))
        missed = asked["expect"] and not set(asked["expect"]) & set(given)
        if verbose and (wrong or missed):
            print(f"{'MISSED' if missed else 'wrong '} [{found.intent}] {asked['text']}  expect {asked['expect']}")
            for hit in found.hits[:6]:
                number = int(hit.view.card.id[-3:]) - 1
                if hit.fate.value == "kept" or number in asked["expect"]:
                    parts = hit.parts
                    print(
                        f"    {hit.fate.value:16} {number:3} {parts.final:.2f} rel {parts.relevance:.2f} sim {parts.similarity or 0:.2f} "
                        f"kw {parts.keyword:.2f} fit {parts.typefit:.1f}  {hit.view.card.topic} {(hit.view.text or '')[:50]}"
                    )
    return {name: figures.shown() for name, figures in out.items()} | {"personal": await personal(core)}


async def personal(core: Core) -> dict[str, float]:
    """The hardest messages to stay silent at: of a person's life, as the cards are, but of other things in it."""
    asked = lines("intents.jsonl")
    wrong = 0
    for one in asked:
        found = await core.services.card_recall(CardQuery(one["text"], kept_only=True))
        wrong += bool({int(hit.view.card.id[-3:]) - 1 for hit in found.kept} - set(one.get("cards", ())))
    return {"messages": len(asked), "irrelevant": wrong / len(asked)}


async def intents(core: Core) -> dict[str, float]:
    labelled = lines("intents.jsonl")
    words = sum(intent_of(one["text"]) is Intent(one["intent"]) for one in labelled)
    both = 0
    for one in labelled:
        vector = await core.services.meaning.raw_of(one["text"])
        both += core.services.intents(one["text"], vector) is Intent(one["intent"])
    return {"messages": len(labelled), "words": words / len(labelled), "words_and_prototypes": both / len(labelled)}


async def run(options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        vault, state = Path(folder, "vault"), Path(folder, "state")
        state.mkdir()
        write_cards(vault, lines("cards.jsonl"), datetime.now(UTC))
        settings = Settings()
        async with opened(replace(settings, vault=replace(settings.vault, path=vault)), state) as core:
            assert core.queue is not None, "this platform has no built-in model"
            core.queue.start()
            await asyncio.to_thread(core.queue.wait_idle, 600)
            await core.services.intents.learn()
            return {"injection": await measure(core, verbose=options.verbose), "intent": await intents(core)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="tell of each message that went wrong")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told(asyncio.run(run(options)), options.json)


if __name__ == "__main__":
    main()
