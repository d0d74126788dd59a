"""Use cases, one a module. `Services` is the bundle that the faces receive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from vaultd.core.query import Answer, Mode, Query
from vaultd.services.active import ActiveFiles
from vaultd.services.browsing import Browse
from vaultd.services.cardcare import CardCare
from vaultd.services.cardlist import CardList
from vaultd.services.cardrecall import CardRecall
from vaultd.services.cards import Cards
from vaultd.services.conflicts import Conflicts
from vaultd.services.conversations import Conversations
from vaultd.services.diary import Diary
from vaultd.services.doctor import Doctor
from vaultd.services.explain import Explain
from vaultd.services.forget import Forget
from vaultd.services.gateway import Gateway
from vaultd.services.health import Health
from vaultd.services.housekeeping import Housekeeping
from vaultd.services.intents import Intents
from vaultd.services.listing import MemoryList
from vaultd.services.matching import Matching
from vaultd.services.meaning import Meaning
from vaultd.services.network import Network
from vaultd.services.overview import Overview
from vaultd.services.ownership import OwnershipOfLifecycle
from vaultd.services.recall import Recall
from vaultd.services.reflect import Reflect
from vaultd.services.reindexing import Reindexing
from vaultd.services.remember import Remember
from vaultd.services.revise import Revise
from vaultd.services.sorting import Sorting
from vaultd.services.surface import Surface
from vaultd.services.trial import Trial
from vaultd.services.tuning import Tuning
from vaultd.services.versions import Versions
from vaultd.services.waiting import Waiting

if TYPE_CHECKING:
    from vaultd.services.importing.importer import Importer


@dataclass(frozen=True)
class Services:
    """Everything a face can ask for. `importing` makes the importer, whose many modules a start need not wait for."""

    recall: Recall
    surface: Surface
    remember: Remember
    cards: Cards
    card_care: CardCare
    card_list: CardList
    conversations: Conversations
    gateway: Gateway
    card_recall: CardRecall
    intents: Intents
    diary: Diary
    revise: Revise
    reflect: Reflect
    forget: Forget
    waiting: Waiting
    housekeeping: Housekeeping
    conflicts: Conflicts
    ownership: OwnershipOfLifecycle
    doctor: Doctor
    active: ActiveFiles
    browse: Browse
    memory_list: MemoryList
    explain: Explain
    network: Network
    versions: Versions
    tuning: Tuning
    trial: Trial
    overview: Overview
    importing: Callable[[], Importer]
    sorting: Sorting
    reindexing: Reindexing
    health: Health
    matching: Matching
    meaning: Meaning

    @cached_property
    def importer(self) -> Importer:
        """Imports, made when first asked for. Blocks for a tenth of a second then."""
        return self.importing()

    async def close(self) -> None:
        """End what the services have under way."""
        if "importer" in vars(self):
            await self.importer.close()
        await self.gateway.close()

    async def answer(self, query: Query) -> Answer:
        """Answer a query in the way it asks for."""
        await self.health.opened()
        match query.mode:
            case Mode.FEEL:
                return await self.surface.feels(query)
            case Mode.IMPORTANCE:
                return await self.surface.important(query)
            case Mode.RECALL:
                return await self.recall(query)
            case Mode.SURFACE:
                return await self.surface.surface(query)
