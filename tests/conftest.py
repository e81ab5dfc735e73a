"""What holds for every test: how many run at once, and what garbage collections leave out."""

from __future__ import annotations

import gc
import os

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: many tests wait for a process, a server or a browser."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Tests collect to see what is left of an object; among all that the SDKs load, that takes 0.2 s each time."""
    gc.collect()
    gc.freeze()
