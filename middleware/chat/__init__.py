"""The chat from the keyboard to the send: what was typed, what may be vouched for, what goes out when.

Everything here but `expand` is pure; the terminal that owns the keys and the screen is built on it.
"""

from .cells import Act, Sidecar, State
from .chat import Chat
from .composer import Capture, Composer, Draft
from .effects import (
    AcceptSpeculation,
    Cancelled,
    Effect,
    Given,
    Quit,
    Refused,
    RunCommand,
    RunShell,
    Send,
    SideQuestion,
    ToAgent,
)
from .history import Entry, History
from .queue import Item, Kind, Queue

__all__ = [
    "AcceptSpeculation",
    "Act",
    "Cancelled",
    "Capture",
    "Chat",
    "Composer",
    "Draft",
    "Effect",
    "Entry",
    "Given",
    "History",
    "Item",
    "Kind",
    "Queue",
    "Quit",
    "Refused",
    "RunCommand",
    "RunShell",
    "Send",
    "SideQuestion",
    "Sidecar",
    "State",
    "ToAgent",
]
