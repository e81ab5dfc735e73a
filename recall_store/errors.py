"""Every error this package raises on purpose.

    StoreError
    ├── UrlError (ValueError)          the store URL or the embedder's name is not one we know
    ├── OpenError                      the file or server cannot be reached, or holds no store of ours
    ├── BusyError                      another process held the store longer than the bound
    ├── ClosedError                    the store was used after close()
    ├── ArgumentError (ValueError)      a query, a count, ids or an embedder is of another kind than the method takes
    ├── NamespaceError (ValueError)    a namespace is missing, blank or not plain text
    ├── RecordError (ValueError)       a record is not valid
    │   ├── ReservedTagError           its text holds a tag that only this project writes
    │   └── SecretError                its text holds a secret
    ├── FilterError (ValueError)       a `where` mapping is not valid
    └── EmbedderError                  an embedder cannot be loaded, or returned something else than vectors
        └── EmbedderMismatchError      the store was built with another embedder

A message is one line: what happened, where, what to do. None holds a memory's text, a query or a secret.
"""

from __future__ import annotations


class StoreError(Exception):
    """Anything that a memory store can refuse or fail to do."""


class UrlError(StoreError, ValueError):
    """The store URL or the embedder's name is not one this installation knows."""


class OpenError(StoreError):
    """The file or the server cannot be opened, read or written, or what is there is not a store of ours."""


class BusyError(StoreError):
    """Another process held the store for longer than the bound."""


class ClosedError(StoreError):
    """The store was used after `close()`."""


class ArgumentError(StoreError, ValueError):
    """A query, a count, records, ids or an embedder is of another kind than the method takes."""


class NamespaceError(StoreError, ValueError):
    """A namespace is missing, blank or not plain text."""


class RecordError(StoreError, ValueError):
    """A record is not valid."""


class ReservedTagError(RecordError):
    """A record holds a tag that marks injected text; injected text is never a memory."""


class SecretError(RecordError):
    """A record holds a secret. The message names the rule, never the value."""


class FilterError(StoreError, ValueError):
    """A `where` mapping has an unknown key or a value of the wrong type."""


class EmbedderError(StoreError):
    """An embedder cannot be loaded, or returned something else than the vectors it was asked for."""


class EmbedderMismatchError(EmbedderError):
    """The store was built with another embedder; vectors of two embedders are never compared."""
