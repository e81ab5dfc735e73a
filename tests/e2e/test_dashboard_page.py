"""The dashboard in a real Chromium: right texts, three clicks away; nothing runs, nothing is fetched.

PAGE_PICTURES names a folder for a picture of each page, wide and narrow, light and dark.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dashboards.local.drawn import LONGEST
from dashboards.local.shown import visible
from middleware.injection import escape

from ..dashboards.local.filled import ADDED, PROMPTS, filled
from ..dashboards.local.sending import Trace
from .environments import alone

HERE = Path(__file__).parent
PACKAGE = "playwright-core@1.56"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
SESSIONS = 4


def installed() -> None:
    """playwright-core, which drives a browser that is here already; fails without npm."""
    with alone("playwright"):
        if (HERE / "node_modules" / "playwright-core").exists():
            return
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("npm is missing: these tests need node 20 and npm (Debian: apt-get install nodejs npm)")
        options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund")
        command = [npm, "install", *options, PACKAGE, "--prefix", str(HERE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.fail(f"npm install {PACKAGE} failed with {done.returncode}: {done.stderr[-800:]}")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    installed()
    folder = tmp_path_factory.mktemp("seen")
    (folder / "later.pb").write_bytes(Trace().turn(99, at=time.time(), session="late").body)
    with filled(folder, SESSIONS) as served:
        rows = served.rows(
            "SELECT lower(hex(key)), session, outcome FROM turns WHERE outcome != 'blocked' ORDER BY session, started"
        )
        command = [
            "node",
            str(HERE / "browse.js"),
            str(CHROMIUM),
            f"http://localhost:{served.port}",
            str(folder / "later.pb"),
            os.environ.get("PAGE_PICTURES", ""),
            *(f"/turn/{key}" for key, _, _ in rows),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), [f"/turn/{key}" for key, _, _ in rows]


def test_a_turn_is_three_clicks_from_the_overview(seen: Any) -> None:
    assert (seen[0]["clicks"], seen[0]["arrived"]) == (3, 1)


def test_twenty_turns_show_what_was_typed_and_what_was_received(seen: Any) -> None:
    told, addresses = seen
    asked = [prompt for prompt in PROMPTS if "drop the table" not in prompt] * SESSIONS
    assert len(addresses) == 20
    for address, prompt in zip(addresses, asked, strict=True):
        shown = told["turns"][address]
        assert shown["typed"] == visible(prompt.replace("\x00", "\ufffd")[:LONGEST])
        kinds = [kind for kind, _ in shown["received"]]
        assert kinds[0] == "user" and kinds[-1] == "hook" and set(kinds[1:-1]) <= {"memory"}
        assert shown["received"][0][1] == shown["typed"]
        assert escape(ADDED) in shown["received"][-1][1]


def test_nothing_ran_nothing_was_fetched_and_no_page_is_wider_than_its_window(seen: Any) -> None:
    assert seen[0]["errors"] == [] and seen[0]["outside"] == []
    assert {shown["hurt"] for shown in seen[0]["turns"].values()} == {None}


def test_it_is_used_with_the_keyboard_alone(seen: Any) -> None:
    assert seen[0]["keys"] is True
    assert (seen[0]["found"], seen[0]["address"]) == (SESSIONS, "/turns?q=deploy")


def test_tables_are_put_in_another_order(seen: Any) -> None:
    assert seen[0]["sorted"] == [["guard", "added"], ["added", "guard"]]


def test_light_and_dark_are_remembered(seen: Any) -> None:
    assert (seen[0]["theme"], seen[0]["kept"]) == ("light", "light")


def test_what_comes_is_shown_as_it_comes(seen: Any) -> None:
    assert (seen[0]["sent"], seen[0]["live"]) == (200, 1)


def test_a_page_of_another_origin_can_neither_read_nor_write_nor_frame_it(seen: Any) -> None:
    assert seen[0]["foreign"] == {"read": "refused", "write": "refused", "json": "refused"}
    assert not re.search("Overview|turns", seen[0]["framed"])
