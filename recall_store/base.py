"""What a memory is, what a match is, and what every engine promises."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .errors import ArgumentError, NamespaceError, RecordError
from .text import clean

if TYPE_CHECKING:
    from .embedders.base import Embedder

TYPES = frozenset({"user", "feedback", "project", "reference"})
AUTHORS = frozenset({"user", "assistant", "tool", "import"})
MAX_TEXT = 1_000_000
"""Characters in one field of a record; of `source` and `metadata` as JSON, which is looked at when it is stored."""
MAX_ID = 512

Progress = Callable[[int, int], None]
"""Called with (done, total) while a long operation runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory: a text, who wrote it, where it came from, and when.

    `type` is one of user, feedback, project, reference; `author` one of user, assistant, tool, import. `source`
    (session, record, position ...) and `metadata` are JSON objects. `created_at` and `expires_at` are aware datetimes.
    `id` and `created_at` may be None until the record is stored. NUL and lone surrogates become U+FFFD.

    A `source` with a `session` (str) and a `position` (number) gives the memory neighbours: those of the same session
    with the positions before and after. Their words help to find it; they go when the neighbour goes.

    Raises RecordError when a field is not valid. The message names the field, never its value.
    """

    text: str
    id: str | None = None
    title: str = ""
    description: str = ""
    type: str = "user"
    author: str = "user"
    source: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("text", "title", "description"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise RecordError(f"record field {name!r} is {type(value).__name__}; give a str")
            if len(value) > MAX_TEXT:
                raise RecordError(f"record field {name!r} has {len(value)} characters; the limit is {MAX_TEXT}")
            object.__setattr__(self, name, clean(value))
        if not self.text.strip():
            raise RecordError("record field 'text' is blank; a memory needs words")
        if self.id is not None and not is_plain(self.id):
            raise RecordError(
                f"record field 'id' is not plain text of 1 to {MAX_ID} characters; leave it out for a new id"
            )
        if self.type not in TYPES:
            raise RecordError(f"record field 'type' is not one of {', '.join(sorted(TYPES))}")
        if self.author not in AUTHORS:
            raise RecordError(f"record field 'author' is not one of {', '.join(sorted(AUTHORS))}")
        for name in ("source", "metadata"):
            try:
                object.__setattr__(self, name, json_object(getattr(self, name)))
            except ValueError as error:
                raise RecordError(f"record field {name!r} {error}") from None
        for name in ("created_at", "expires_at"):
            moment = getattr(self, name)
            if moment is not None and (not isinstance(moment, datetime) or moment.utcoffset() is None):
                raise RecordError(f"record field {name!r} is not an aware datetime; give one with a time zone")
            if moment is not None and not _is_of_our_years(moment):
                raise RecordError(f"record field {name!r} is not within the years 1 to 9999 in UTC; give another")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory that answers a query, best first in a search's list.

    `score` is `lexical + weight * cosine` (a negative cosine takes nothing away), with a bonus for a memory whose
    speaker the query names, and one for a memory of the month that it names (`ranking.MENTION` each); compare it within
    one answer only. `weight` is the embedder's. `lexical` is BM25 divided by the best BM25 of the candidates (0 to 1; 0
    without a common word). `cosine` is exact (-1 to 1; 0 for a zero vector).
    """

    record: Record
    score: float
    lexical: float
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One event in a memory's life: `event` is added, updated or deleted; `at` is an aware datetime.

    `record` is the memory as it was after the event; None once the memory was deleted, for every event of its life, and
    for one whose words were forgotten.
    """

    event: str
    at: datetime
    record: Record | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What holds all the words of a query: `records`, which do now, and `earlier`, memories by id that do not any more,
    each with how many of its earlier versions do."""

    records: Sequence[Record]
    earlier: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """Two memories that nearly say the same. `similarity` is Dice's coefficient of their words, 0 to 1."""

    record: Record
    other: Record
    similarity: float


# A class with a method `list` cannot say `list[...]` in its annotations.
Records = list[Record]
Matches = list[Match]
Changes = list[Change]
Names = list[str]


class Store(ABC):
    """Memories in namespaces. Safe to share between threads; several processes may open one store.

    Every argument is by keyword. `namespace` is required, plain and not blank, or NamespaceError is raised; one
    namespace never sees another's rows. A missing namespace reads as an empty one. After `close()` every method
    raises ClosedError. BusyError is raised when another process holds the store for longer than the bound.
    """

    @property
    @abstractmethod
    def embedder(self) -> str:
        """The name of the embedder that the store recorded: its vectors are of that one, until `reindex`."""

    @abstractmethod
    def upsert(self, *, namespace: str, records: Iterable[Record]) -> Records:
        """Store `records`, all or none; return them in order, with `id` and `created_at` filled.

        A record without `id` whose words are already there is that memory: nothing is written and it is returned. A
        record with the `id` of a memory replaces it and the old one is kept in its history; an equal one changes
        nothing. Raises ReservedTagError, SecretError, EmbedderError.
        """

    @abstractmethod
    def search(self, *, namespace: str, query: str, top_k: int = 5, where: Mapping[str, Any] | None = None) -> Matches:
        """The at most `top_k` memories that answer `query`, best first; an empty list when none does.

        `where` keeps memories by `type`, `author` (a str or several), `after` (created at or after), `before`
        (created before; aware datetimes) and `metadata` (a mapping of keys to equal values), before the best are
        chosen. Any string is a valid query; of a long one, 64 words and 1,000 bytes are used, half from each end.

        Silence is an answer: nothing is returned unless the best cosine, with what the words in common add, reaches the
        embedder's `floor`, or one memory has every word of the query (`ranking.is_answer`); nor for a query of one or
        two characters. Among answers, a memory without a common word needs a cosine of the floor by itself.

        Raises FilterError, EmbedderError, ArgumentError.
        """

    @abstractmethod
    def get(self, *, namespace: str, ids: Iterable[str]) -> Records:
        """The memories with these ids, in the order asked for; ids that are not there are left out."""

    @abstractmethod
    def list(
        self, *, namespace: str, where: Mapping[str, Any] | None = None, limit: int | None = None, offset: int = 0
    ) -> Records:
        """Memories, newest first. `where` as in `search`."""

    @abstractmethod
    def delete(self, *, namespace: str, ids: Iterable[str]) -> int:
        """Delete the memories with these ids and their texts in history; return how many there were."""

    @abstractmethod
    def forget(self, *, namespace: str, query: str) -> int:
        """Delete every memory that holds all the words of `query`, and blank the earlier versions that do of those that
        do not any more, which stay; return how many memories lost words. No words, nothing is lost.
        """

    @abstractmethod
    def holding(self, *, namespace: str, query: str) -> Holding:
        """What `forget` would take. Nothing is changed; the records in no order that means anything."""

    @abstractmethod
    def history(self, *, namespace: str, id: str) -> Changes:
        """What happened to a memory, oldest first; empty for an id that never was."""

    def histories(self, *, namespace: str, ids: Iterable[str]) -> Mapping[str, Changes]:
        """The histories of several memories by id."""
        return {id: self.history(namespace=namespace, id=id) for id in check_ids(ids)}

    @abstractmethod
    def restore(self, *, namespace: str, histories: Mapping[str, Sequence[Change]]) -> None:
        """Put what happened elsewhere in the place of an "added", for the memories by id to which nothing else did.

        For whoever moves memories; `import_` does. Nothing is looked for in the texts.
        """

    def near_duplicates(
        self, *, namespace: str, ids: Iterable[str] | None = None, at_least: float = 0.5
    ) -> Iterator[NearDuplicate]:
        """Pairs of memories whose words are alike, each pair once: those of `ids`, or all. Nothing is changed.

        For what was just stored: `near_duplicates(namespace=..., ids=[record.id for record in upserted])`.
        """
        from .duplicates import report

        return report(self, check_namespace(namespace), None if ids is None else check_ids(ids), at_least)

    def export(self, *, namespace: str) -> Iterator[str]:
        """Every memory as one line of JSON, newest first, without line ends; `Record`'s fields, empty ones left out.

        And its `history`: a list of `event`, `at` and, where the memory was another than now, `record` (null where the
        words were forgotten).
        """
        from .jsonl import write

        return write(self, check_namespace(namespace))

    def import_(self, *, namespace: str, lines: Iterable[str | bytes], progress: Progress | None = None) -> int:
        """Upsert the lines that `export` gave; return how many memories they were. Blank lines are skipped.

        All lines are looked at first: RecordError, ReservedTagError or SecretError, with the number of the line, means
        that nothing was stored. They are stored in groups of 256; stopped in between, importing again goes on.
        """
        from .jsonl import read

        if isinstance(lines, (str, bytes)):
            raise ArgumentError(f"lines is one {type(lines).__name__}; give a list of lines, such as text.splitlines()")
        return read(self, check_namespace(namespace), lines, progress)

    @abstractmethod
    def namespaces(self) -> Names:
        """The namespaces that hold memories, sorted. For whoever administers the store."""

    @abstractmethod
    def reindex(self, *, embedder: str | Embedder | None = None, progress: Progress | None = None) -> int:
        """Embed every memory again, with `embedder` if given, and record it; return how many.

        Interrupted, it leaves the store as it was, and the next call with the same embedder goes on where it stopped.
        """

    @abstractmethod
    def vacuum(self) -> None:
        """Remove expired memories, shrink the files, and remove deleted memories from every file."""

    def index(self) -> None:  # noqa: B027 - most engines keep no index that waits
        """Give every namespace that became large the index that its searches need (PostgreSQL; nothing in SQLite).

        `import_`, `reindex` and `vacuum` do it themselves. For whoever upserts tens of thousands.
        """

    @abstractmethod
    def warm(self, *, namespace: str | None = None) -> None:
        """Load the embedder, and the vectors of `namespace`, so that the first search is as fast as the next."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections. Closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_plain(value: object) -> bool:
    """True for a str that is not blank, not over 512 characters, and without NUL or lone surrogates."""
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_ID and clean(value) == value


def check_namespace(namespace: object) -> str:
    """`namespace` itself, or NamespaceError. Nothing is trimmed or repaired: two namespaces must never become one."""
    if isinstance(namespace, str) and is_plain(namespace):
        return namespace
    raise NamespaceError(f"namespace is not plain text of 1 to {MAX_ID} characters; give the user or project it is for")


def check_ids(ids: Iterable[str]) -> Sequence[str]:
    """The ids that can exist, each once, in order. A bare str is refused: it would be taken letter by letter."""
    if isinstance(ids, str):
        raise RecordError("ids is one str; give a list of ids")
    if not isinstance(ids, Iterable):
        raise ArgumentError(f"ids is {type(ids).__name__}; give a list of ids")
    return [*dict.fromkeys(value for value in ids if is_plain(value))]


def json_object(value: object) -> dict[str, Any]:
    """A copy of `value` as a store holds it. Raises ValueError, which says what it is or holds, for what is no JSON."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("is not a mapping with str keys")
    if not value:
        return {}
    try:
        copied: dict[str, Any] = _plain_json(json.loads(json.dumps(dict(value), allow_nan=False)))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("holds something that JSON cannot say") from None
    return copied


def _is_of_our_years(moment: datetime) -> bool:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        return False
    return True


def _plain_json(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain_json(inner) for inner in value]
    return value
