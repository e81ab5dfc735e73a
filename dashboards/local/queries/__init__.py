"""Everything that the pages read: pure functions of a connection that can only read, which return frozen values.

    readers = Readers(path)                       # dashboards.local.database
    with readers.reading() as connection:         # one moment, for all that a page asks
        seen = overview(connection, Filter(start=now - 86_400, model="gpt-5"), prices=prices)
        page = sessions(connection, search="upload", sort="turns", limit=50, offset=0)
        one = turn(connection, key)

The texts of a turn are not in the file: `dashboards.local.contents.turn_text` reads them from its transcript.
"""

from .metrics import MetricSum, metric_sums
from .overview import overview, step_of
from .refused import Refused, refused
from .sessions import models, sessions, status
from .turns import turn, turns
from .values import (
    Characters,
    Filter,
    HookSummary,
    ModelSummary,
    Overview,
    Pollution,
    RecallSummary,
    Spread,
    Timeline,
    Tokens,
)
from .views import (
    CallView,
    HookCallView,
    LogView,
    MemoryView,
    Page,
    Place,
    RecallView,
    SessionSort,
    SessionSummary,
    SpanView,
    Status,
    TurnDetail,
    TurnSort,
    TurnSummary,
)

__all__ = [
    "CallView",
    "Characters",
    "Filter",
    "HookCallView",
    "HookSummary",
    "LogView",
    "MemoryView",
    "MetricSum",
    "ModelSummary",
    "Overview",
    "Page",
    "Place",
    "Pollution",
    "RecallSummary",
    "RecallView",
    "Refused",
    "SessionSort",
    "SessionSummary",
    "SpanView",
    "Spread",
    "Status",
    "Timeline",
    "Tokens",
    "TurnDetail",
    "TurnSort",
    "TurnSummary",
    "metric_sums",
    "models",
    "overview",
    "refused",
    "sessions",
    "status",
    "step_of",
    "turn",
    "turns",
]
