"""`Settings` → every object, once. Only here are clock and chance handed out."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from vaultd.config.paths import calibration_file
from vaultd.core.errors import BadInput, IndexUnavailable, ModelUnavailable
from vaultd.core.note import FileStamp, NotePath
from vaultd.index.embedding import EmbeddingQueue
from vaultd.index.indexer import BatchReport, Indexer
from vaultd.index.mirror import Mirror
from vaultd.index.reconcile import Difference, difference
from vaultd.index.rows import Place
from vaultd.index.store import Store
from vaultd.index.tables import TableWriter
from vaultd.index.vectors import Batch, Centre, Floats, as_they_are
from vaultd.llm.analyst import Analyst
from vaultd.llm.budget import RequestBudget
from vaultd.llm.calibration import (
    BETA_MIXED,
    BETA_ONE_LANGUAGE,
    Calibration,
    LanguageCentre,
    Similarity,
    builtin_calibration,
    saved_calibration,
)
from vaultd.llm.chat import ChatAnalyst
from vaultd.llm.condense_cache import CondenseCache
from vaultd.llm.embedder import Embedder, embedding_key
from vaultd.llm.local import LocalEmbedder
from vaultd.llm.remote import RemoteEmbedder
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
from vaultd.services.importing.importer import Importer
from vaultd.services.importing.intomemory import IntoMemory
from vaultd.services.importing.preflight import Prices
from vaultd.services.importing.status import ImportStatus
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
from vaultd.vault.ancestry import Ancestry
from vaultd.vault.journal import Journal
from vaultd.vault.layout import Layout
from vaultd.vault.lifecycle import Lifecycle
from vaultd.vault.log import WriteLog
from vaultd.vault.machine import machine_id
from vaultd.vault.reader import VaultReader
from vaultd.vault.writer import VaultWriter
from vaultd.watch.inbox import Inbox
from vaultd.watch.pipeline import Pipeline

log = logging.getLogger(__name__)

REFIT_GROWTH = 1.25  # of the vectors that the centring was last fitted to
REFIT_FROM = 20


@dataclass(slots=True)
class LiveSettings:
    """The settings in force; `replace` them while running where a key is hot."""

    value: Settings

    def __call__(self) -> Settings:
        """The settings as they are now."""
        return self.value


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model in force. `embedder` is None where there is none; `why` says so in one line, unless
    a person wants none.

    `fit` makes the centring for a vault out of its vectors; None leaves them as `centre` makes them.
    """

    embedder: Embedder | None
    centre: Centre
    similarity: Similarity
    why: str = ""
    fit: Callable[[Floats, Floats], Centre] | None = None

    @property
    def name(self) -> str:
        """The model's id, "" where there is none."""
        return self.embedder.name if self.embedder else ""


class VaultGround:
    """What the pipeline asks of vault and index."""

    def __init__(self, layout: Layout, reader: VaultReader, mirror: Mirror) -> None:
        self._layout = layout
        self._reader = reader
        self._mirror = mirror

    def available(self) -> bool:
        """Whether the root is there and holds anything."""
        try:
            return any(self._layout.root.iterdir())
        except OSError:
            return False

    def stamp(self, path: NotePath) -> FileStamp | None:
        """What the directory says of a path."""
        return self._reader.stamp(path)

    def is_note(self, path: str) -> bool:
        """Whether a path may be a note."""
        return self._layout.is_note(path)

    def below(self, folder: NotePath) -> Iterable[NotePath]:
        """Notes on disk and in the index below a folder."""
        known = [row.path for row in self._mirror.below(folder)]
        return dict.fromkeys([*self._reader.below(folder), *known])

    def known(self, path: NotePath) -> bool:
        """Whether the index has a note at this path."""
        return self._mirror.by_path(path) is not None

    def missed(self, path: NotePath) -> bool:
        """Whether the index has a note at this path whose text stands nowhere else."""
        return self._mirror.is_only_one(path)

    def notes(self) -> int:
        """How many notes the index has."""
        return len(self._mirror)


@dataclass(slots=True)
class Core:
    """All objects of one daemon. The index is opened by `open_index`, which blocks for a while."""

    settings: LiveSettings
    state: Path
    layout: Layout
    reader: VaultReader
    writer: VaultWriter
    journal: Journal
    model: Model
    mirror: Mirror
    store: Store
    inbox: Inbox
    pipeline: Pipeline
    progress: Progress
    reinforce: Reinforce
    services: Services
    analyst: Analyst
    clock: Callable[[], datetime]
    zone: tzinfo
    scribe: Scribe
    tables: TableWriter | None = None
    indexer: Indexer | None = None
    queue: EmbeddingQueue | None = None
    fitted_to: int = 0
    tail: LogTail = field(default_factory=LogTail)
    listeners: list[Callable[[BatchReport], None]] = field(default_factory=list)
    import_listeners: list[Callable[[ImportStatus], None]] = field(default_factory=list)

    def key_of(self, text: str) -> bytes:
        """The key of a passage: of its text alone, since each model has a table of its own."""
        return bytes.fromhex(embedding_key(text, ""))

    def open_index(self) -> None:
        """Open the tables and fill the mirror. Blocks. Raises IndexUnavailable, StorageFull."""
        self.journal.refresh()
        self.store.open(self.model.name or "none")
        try:
            loaded = self.store.load(self.mirror.body_words)
        except IndexUnavailable as exc:
            log.warning("%s; it is made anew", exc)
            self.store.clear()
            loaded = self.store.load(self.mirror.body_words)
        uses = {row.id: self.reinforce.use_of(row.id) for row in loaded.rows}
        self.mirror.load(loaded.rows, loaded.passages, uses)
        batches = list(self.store.embeddings())
        self._fit(batches)
        for keys, vectors, shares in batches:
            self.mirror.add_vectors(keys, vectors, shares)
        self.tables = TableWriter(self.store, {row.id for row in loaded.rows})
        self.tables.start()
        self.indexer = Indexer(
            self.reader,
            self.place_of,
            self.mirror,
            self.tables,
            self.reinforce.use_of,
            self.key_of,
            self.zone,
            Ancestry(self.layout.root).is_elder,
        )
        if self.model.embedder is not None:
            self.queue = EmbeddingQueue(
                self.model.embedder, self._body, self.mirror, self.tables, self.key_of, on_progress=self.refit
            )

    def _fit(self, batches: Sequence[Batch]) -> None:
        """Centre the vectors for this vault, before they come in."""
        if self.model.fit is not None and batches:
            vectors = np.concatenate([vectors for _, vectors, _ in batches])
            self.mirror.vectors.centre = self.model.fit(vectors, np.concatenate([shares for *_, shares in batches]))
            self.fitted_to = len(vectors)

    def refit(self) -> None:
        """Centre anew when the vault has grown by a quarter. Called by the thread that adds embeddings. Blocks."""
        if self.model.fit is None or len(self.mirror.vectors) < REFIT_GROWTH * self.fitted_to + REFIT_FROM:
            return
        if self.tables is None or not self.tables.flush():
            return
        batches = list(self.store.embeddings())
        if not batches:
            return
        vectors = np.concatenate([vectors for _, vectors, _ in batches])
        centre = self.model.fit(vectors, np.concatenate([shares for *_, shares in batches]))
        self.mirror.recentre(centre, batches)
        self.fitted_to = len(vectors)

    @property
    def aside(self) -> tuple[NotePath, ...]:
        """Numbered copies of cloud drives that have no row."""
        return () if self.indexer is None else tuple(self.indexer.aside)

    def place_of(self, path: str) -> Place:
        """What a note's folder says of it."""
        return Place(self.layout.role_of(path), self.layout.folder_kind(path))

    def _body(self, path: NotePath) -> str | None:
        note = self.reader.read(path)
        return None if note is None else note.body

    def apply(self, paths: Sequence[NotePath], admits: Callable[[Sequence[NotePath]], bool]) -> BatchReport:
        """Have the indexer look at a batch. Blocks."""
        if self.indexer is None:
            raise IndexUnavailable("the index is not open yet")
        return self.indexer.apply(paths, admits)

    def on_batch(self, report: BatchReport) -> None:
        """A batch was applied: what changed gets its embeddings, and listeners hear of it."""
        if self.queue is not None and report.contents:
            self.queue.offer(report.contents)
        for listener in self.listeners:
            listener(report)

    def compare(self) -> Difference:
        """Vault against index. Blocks. Raises VaultUnavailable."""
        self.pipeline.demand_vault()
        self.layout.refresh()
        scan = self.reader.scan()
        found = difference(scan.stamps, self.mirror.rows())
        vanished = tuple(path for path in found.vanished if not scan.hides(path))
        aside = self.indexer.aside if self.indexer is not None else {}
        appeared = tuple(path for path in found.appeared if aside.get(path) != scan.stamps[path])
        self.progress.total = len(scan.stamps)
        return Difference(appeared, found.changed, vanished)

    def close(self) -> None:
        """Flush and let go. Blocks."""
        if self.queue is not None:
            self.queue.close()
        if self.tables is not None:
            self.tables.close()
        self.journal.flush()
        self.store.close()
        self.services.meaning.close()
        self.services.card_care.close()
        if self.model.embedder is not None:
            self.model.embedder.close()


def local_zone(name: str) -> tzinfo:
    """The configured zone, or this machine's."""
    if name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            log.warning("timezone %r is not known; the machine's zone is used", name)
    return datetime.now(UTC).astimezone().tzinfo or UTC


def _own_mean(vectors: Floats, shares: Floats) -> Centre:
    """For a model that was not calibrated: nothing but the vault's own mean is taken away."""
    return LanguageCentre.none(vectors.shape[1]).fitted_to(vectors, shares, BETA_ONE_LANGUAGE)


def _centred(embedder: Embedder, calibration: Calibration) -> Model:
    """A model whose cosines are known."""
    languages = calibration.centre
    return Model(
        embedder,
        languages.at(BETA_MIXED),
        calibration.similarity(BETA_MIXED),
        fit=lambda vectors, shares: languages.fitted_to(vectors, shares, BETA_MIXED),
    )


def _calibrated(state: Path | None, model: str) -> Calibration | None:
    try:
        return None if state is None else saved_calibration(calibration_file(state), model)
    except BadInput as exc:
        log.warning("%s", exc)
        return None


def budget_of(settings: Settings, state: Path) -> RequestBudget:
    """The requests of today to remote models, of a vault that no daemon serves."""
    zone = local_zone(settings.timezone)
    return RequestBudget(
        state / "requests.json", settings.llm.daily_request_cap, today=lambda: datetime.now(zone).date()
    )


def embedding_model(settings: Settings, budget: RequestBudget, state: Path | None = None) -> Model:
    """The embedding model that the settings ask for; words alone where it cannot be had.

    `state`: the state folder of the vault, where a calibration may be kept.
    """
    calibration = builtin_calibration()
    similarity = calibration.similarity(BETA_MIXED)
    try:
        if settings.embedding.provider == "local":
            return _centred(LocalEmbedder(), calibration)
        if settings.embedding.provider == "openai":
            remote = RemoteEmbedder(settings.embedding, budget=budget, rng=random.Random())
            known = _calibrated(state, remote.name)
            return Model(remote, as_they_are, similarity, fit=_own_mean) if known is None else _centred(remote, known)
    except ModelUnavailable as exc:
        log.warning("%s", exc)
        return Model(None, as_they_are, similarity, str(exc))
    return Model(None, as_they_are, similarity)


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
    writer = VaultWriter(layout, write_log, clock=now)
    journal = Journal(layout.state_dir, machine)
    budget = RequestBudget(state / "requests.json", settings.llm.daily_request_cap, today=lambda: now().date())
    model = model or embedding_model(settings, budget, state)
    mirror = Mirror(model.centre)
    store = Store(settings.index.uri or str(state / "index"))
    inbox = Inbox()
    holder: list[Core] = []
    ground = VaultGround(layout, reader, mirror)
    pipeline = Pipeline(
        inbox,
        ground,
        apply=lambda paths, admits: holder[0].apply(paths, admits),
        on_batch=lambda report: holder[0].on_batch(report),
    )
    progress = Progress(started=now(), embedder=model.name, problem=model.why)
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
    matching = Matching(mirror, meaning, texts, live)
    reinforce = Reinforce(journal, mirror, now)
    remember = Remember(layout, scribe, mirror, matching, meaning, analyst, live, now)
    waiting = Waiting(layout, scribe, reader, mirror, now)
    lifecycle = Lifecycle(layout.state_dir, machine)
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

    def tell_import(status: ImportStatus) -> None:
        for listener in holder[0].import_listeners:
            listener(status)

    importer = Importer(
        state,
        analyst=analyst,
        hands=IntoMemory(remember, revise, browse, mirror, layout, scribe, reader).hands(),
        clock=now,
        rng=random.Random(rng.random()),
        zone=zone,
        prices=lambda: Prices.of(live().llm),
        on_progress=tell_import,
    )
    numbers = CardNumbers(layout, mirror, machine)
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
        versions=Versions(mirror, reader, writer, pipeline),
        tuning=Tuning(live, config, put_in_force),
        trial=Trial(analyst, model.embedder, chat_model),
        overview=Overview(health, forget, waiting, layout, reader, machine, budget, analyst, chat_model, tail, now),
        importer=importer,
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
