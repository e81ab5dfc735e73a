"""What can go wrong with the dashboard, in one line a person can act on."""

from __future__ import annotations

from middleware import FirsthandError

__all__ = ["BadRequest", "DashboardError", "DatabaseError"]


class DashboardError(FirsthandError):
    """The dashboard cannot do what it was asked; its text says what happened, where, and what to do."""


class DatabaseError(DashboardError):
    """The file cannot be opened, is of another program, or is damaged."""


class BadRequest(DashboardError):
    """A request that cannot be taken, with the HTTP status that says so; its text is one line for its sender."""

    def __init__(self, text: str, *, status: int = 400) -> None:
        super().__init__(text)
        self.status = status
