"""`Settings` → every object, once. Only here are clock and chance handed out."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vaultd.core.errors import IndexUnavailable
from vaultd.embedding import Model, embedding_model, local_zone
from vaultd.engine import Core, LiveSettings, VaultGround
from vaultd.index.mirror import Mirror
from vaultd.index.store import Store
from vaultd.index.timeline import Timelines
from vaultd.llm.analyst import Analyst
from vaultd.llm.budget import RequestBudget
from vaultd.llm.chat import ChatAnalyst
from vaultd.llm.condense_cache import CondenseCache
from vaultd.llm.upstream import Upstream
from vaultd.services import Services
from vaultd.services.active import ActiveFiles
from vaultd.services.browsing import Browse
from vaultd.services.cardcare import CardCare
from vaultd.services.cardhistory import CardHistory, LastSeen
from vaultd.services.cardids import CardNumbers
from vaultd.services.cardlist import CardList
from vaultd.services.cardrecall import CardRecall
from vaultd.services.cards import Cards
from vaultd.services.condensing import Condensing
from vaultd.services.conflicts import Conflicts
from vaultd.services.conversations import Conversations
from vaultd.services.diary import Diary
from vaultd.services.doctor import Doctor
from vaultd.services.explain import Explain
from vaultd.services.forget import Forget
from vaultd.services.gateway import Gateway
from vaultd.services.health import Health, Progress
from vaultd.services.housekeeping import Housekeeping
from vaultd.services.intents import Intents
from vaultd.services.listing import MemoryList
from vaultd.services.logtail import LogTail
from vaultd.services.matching import Matching
from vaultd.services.meaning import Meaning
from vaultd.services.network import Network
from vaultd.services.overview import Overview
from vaultd.services.ownership import OwnershipOfLifecycle
from vaultd.services.recall import Recall
from vaultd.services.reflect import Reflect
from vaultd.services.reindexing import Reindexing
from vaultd.services.reinforce import Reinforce
from vaultd.services.remember import Remember
from vaultd.services.revise import Revise
from vaultd.services.scribe import Scribe
from vaultd.services.showing import Showing
from vaultd.services.sorting import Sorting
from vaultd.services.surface import Surface
from vaultd.services.surroundings import Surroundings
from vaultd.services.texts import Texts
from vaultd.services.trial import Trial
from vaultd.services.tuning import Tuning
from vaultd.services.versions import Versions
from vaultd.services.waiting import Waiting
from vaultd.settings import Settings
from vaultd.vault.journal import Journal
from vaultd.vault.layout import Layout
from vaultd.vault.lifecycle import Lifecycle
from vaultd.vault.log import WriteLog
from vaultd.vault.machine import machine_id
from vaultd.vault.presence import Presence
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter
from vaultd.watch.inbox import Inbox
from vaultd.watch.pipeline import Pipeline

if TYPE_CHECKING:
    from vaultd.services.importing.importer import Importer
    from vaultd.services.importing.status import ImportStatus


def compose(
    settings: Settings,
    state: Path,
    *,
    clock: Callable[[], datetime] | None = None,
    rng: random.Random | None = None,
    model: Model | None = None,
    analyst: Analyst | None = None,
    config: Path | None = None,
) -> Core:
    """Every object of a daemon, none of them started. Clock, chance and models may be given, for time travel.

    Raises SettingsError, VaultUnavailable.
    """
    live = LiveSettings(settings)
    vault = settings.vault.path
    if vault is None:
        raise IndexUnavailable("no vault is set; use --vault DIR or VAULTD_VAULT")
    zone = local_zone(settings.timezone)
    now = clock or (lambda: datetime.now(zone))
    rng = rng or random.Random(settings.surface.seed)
    layout = Layout(vault, memory_root=settings.memory.root, exclude=settings.vault.exclude)
    machine = machine_id(state)
    reader = VaultReader(layout)
    write_log = WriteLog(layout.state_dir, machine)
    budget = RequestBudget(state / "requests.json", settings.llm.daily_request_cap, today=lambda: now().date())
    model = model or embedding_model(settings, budget, state)
    mirror = Mirror(model.centre)
    presence = Presence(layout.root, layout.state_dir, lambda: len(mirror) > 0)
    writer = VaultWriter(layout, write_log, clock=now, presence=presence)
    journal = Journal(layout.state_dir, machine, state, presence)
    store = Store(settings.index.uri or str(state / "index"))
    inbox = Inbox()
    holder: list[Core] = []
    ground = VaultGround(layout, reader, mirror, lambda: holder[0].tables is not None)
    pipeline = Pipeline(
        inbox,
        ground,
        apply=lambda paths, admits: holder[0].apply(paths, admits),
        on_batch=lambda report: holder[0].on_batch(report),
    )
    progress = Progress(started=now(), embedder=model.name, model_problem=model.why)
    analyst = analyst or ChatAnalyst(
        settings.llm, budget=budget, cache=CondenseCache(state / "condensed.sqlite"), rng=rng
    )
    texts = Texts(reader)
    meaning = Meaning(model.embedder, model.similarity, lambda: mirror.vectors.centre)
    scribe = Scribe(layout, reader, writer, pipeline)
    health = Health(
        mirror,
        pipeline,
        tables=lambda: holder[0].tables,
        queue=lambda: holder[0].queue,
        progress=progress,
        settings=live,
        clock=now,
        root=vault,
    )
    showing = Showing(mirror, texts, Condensing(analyst, strict=settings.strict_llm), live, health.index_state)
    timelines = Timelines(mirror)
    matching = Matching(mirror, timelines, meaning, texts, live)
    reinforce = Reinforce(journal, mirror, timelines, now)
    remember = Remember(layout, scribe, mirror, matching, meaning, analyst, live, now)
    waiting = Waiting(layout, scribe, reader, mirror, now)
    lifecycle = Lifecycle(layout.state_dir, machine, presence)
    active = ActiveFiles(now)
    conflicts = Conflicts(layout, reader, mirror, scribe, lambda: holder[0].aside)
    housekeeping = Housekeeping(
        layout, scribe, reader, mirror, journal, reinforce, active, live, now, lifecycle.owns, write_log, state
    )
    revise = Revise(layout, scribe, mirror, texts, live, now)
    forget = Forget(layout, scribe, mirror, live, now, owns_lifecycle=lifecycle.owns)
    browse = Browse(mirror, reader, meaning, live, now)
    tail = LogTail()

    def chat_model() -> str:
        return live().llm.model

    def put_in_force(settings: Settings) -> None:
        budget.daily_cap = settings.llm.daily_request_cap
        logging.getLogger().setLevel(settings.log_level)
        if isinstance(analyst, ChatAnalyst):
            analyst.use(settings.llm)

    import_seed = rng.random()

    def importer() -> Importer:
        from vaultd.services.importing.importer import Importer
        from vaultd.services.importing.intomemory import IntoMemory
        from vaultd.services.importing.preflight import Prices

        def tell(status: ImportStatus) -> None:
            for listener in holder[0].import_listeners:
                listener(status)

        return Importer(
            state,
            analyst=analyst,
            hands=IntoMemory(remember, revise, browse, mirror, layout, scribe, reader).hands(),
            clock=now,
            rng=random.Random(import_seed),
            zone=zone,
            prices=lambda: Prices.of(live().llm),
            on_progress=tell,
        )

    numbers = CardNumbers(layout, mirror, machine, presence)
    card_history = CardHistory(writer.history, reader, mirror, LastSeen(state / "cards.sqlite"), live, now)
    cards = Cards(layout, scribe, mirror, texts, meaning, reinforce, numbers, card_history, live, now)
    card_care = CardCare(layout, scribe, reader, mirror, cards, numbers, card_history, active, live, now, state)
    intents = Intents(meaning, model.name, state)
    card_recall = CardRecall(mirror, meaning, intents, cards, texts, live, now)
    conversations = Conversations(layout, scribe, reader, mirror, analyst, live)
    services = Services(
        cards=cards,
        card_list=CardList(cards, texts),
        conversations=conversations,
        gateway=Gateway(Upstream(), card_recall, cards, meaning, conversations, live, now),
        card_care=card_care,
        card_recall=card_recall,
        intents=intents,
        recall=Recall(mirror, matching, meaning, showing, reinforce, live, now, rng),
        surface=Surface(mirror, showing, live, now, rng),
        remember=remember,
        diary=Diary(remember, analyst, waiting, now),
        revise=revise,
        reflect=Reflect(mirror, texts, meaning, showing),
        forget=forget,
        waiting=waiting,
        housekeeping=housekeeping,
        conflicts=conflicts,
        ownership=OwnershipOfLifecycle(lifecycle, now),
        doctor=Doctor(
            layout,
            reader,
            writer,
            mirror,
            conflicts,
            housekeeping,
            health,
            lifecycle,
            Surroundings(layout, writer, journal, health, lifecycle, machine, state, now),
            dead_links=scribe.left_behind,
            drift=lambda: holder[0].compare().paths,
            look=pipeline.put_all,
        ),
        active=active,
        browse=browse,
        memory_list=MemoryList(mirror, live, now),
        explain=Explain(mirror, matching, meaning, live, now),
        network=Network(mirror, meaning, live, now),
        versions=Versions(mirror, reader, writer.history, write_log, scribe),
        tuning=Tuning(live, config, put_in_force),
        trial=Trial(analyst, model.embedder, chat_model),
        overview=Overview(health, forget, waiting, layout, reader, machine, budget, analyst, chat_model, tail, now),
        importing=importer,
        sorting=Sorting(layout, scribe, mirror, texts, analyst, lifecycle.owns),
        reindexing=Reindexing(
            reader, mirror, pipeline, indexer=lambda: holder[0].indexer, queue=lambda: holder[0].queue
        ),
        health=health,
        matching=matching,
        meaning=meaning,
    )
    core = Core(
        settings=live,
        state=state,
        layout=layout,
        reader=reader,
        writer=writer,
        journal=journal,
        model=model,
        mirror=mirror,
        store=store,
        inbox=inbox,
        pipeline=pipeline,
        progress=progress,
        reinforce=reinforce,
        services=services,
        scribe=scribe,
        analyst=analyst,
        clock=now,
        zone=zone,
        tail=tail,
    )
    holder.append(core)
    core.listeners += [scribe.heard, housekeeping.heard, card_care.heard]
    return core
