"""The dashboard in a real Chromium: right texts, three clicks away; nothing runs, nothing is fetched.

PAGE_PICTURES names a folder for a picture of each page, wide and narrow, light and dark.
"""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dashboards.local.drawn import LONGEST
from dashboards.local.shown import visible
from middleware.injection import escape

from ..dashboards.local.filled import ADDED, PROMPTS, filled
from ..dashboards.local.sending import Trace
from .chromium import CHROMIUM, browse

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
SESSIONS = 4
STRANGE = "a\ud800b\udfff \u202ec\u0000 </script><script>window.hurt=5</script>"
NAME = "<img src=x onerror=window.hurt=3> \u202elate"


def written_elsewhere(folder: Path, served: Any) -> str:
    """A transcript of another program with a text that no SDK would send; the address of its turn."""
    head = {"sessionId": "elsewhere", "cwd": "/", "version": "1", "gitBranch": "<b>"}
    at = datetime.fromtimestamp(time.time() - 30, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    asked = {**head, "uuid": "1", "parentUuid": None, "timestamp": at, "type": "user"}
    asked["message"] = {"role": "user", "parts": [{"text": STRANGE}]}
    reply = {**head, "uuid": "2", "parentUuid": "1", "timestamp": at, "type": "assistant", "model": "<i>m\ud800</i>"}
    reply["message"] = {"role": "model", "parts": [{"text": "\u2067<script>window.hurt=4</script>\udfff"}]}
    (folder / "transcripts" / "elsewhere.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in (asked, reply)))
    deadline = time.monotonic() + 60
    while not (found := served.rows("SELECT lower(hex(key)) FROM turns WHERE session = 'elsewhere' AND calls >= 0")):
        assert time.monotonic() < deadline
    return f"/turn/{found[0][0]}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("seen")
    (folder / "later.pb").write_bytes(Trace().turn(99, at=time.time(), session=NAME).body)
    with filled(folder, SESSIONS) as served:
        rows = served.rows(
            "SELECT lower(hex(key)), session, outcome FROM turns WHERE outcome != 'blocked' ORDER BY session, started"
        )
        ((blocked,), *_) = served.rows("SELECT lower(hex(key)) FROM turns WHERE outcome = 'blocked' ORDER BY session")
        strange = written_elsewhere(folder, served)
        told = browse(
            HERE / "browse.js",
            f"http://localhost:{served.port}",
            str(folder / "later.pb"),
            os.environ.get("PAGE_PICTURES", ""),
            f"/turn/{blocked}",
            *(f"/turn/{key}" for key, _, _ in rows),
            strange,
        )
    return json.loads(told), [f"/turn/{key}" for key, _, _ in rows]


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


def test_a_text_that_is_no_text_is_shown_with_signs_in_place_of_what_cannot_be(seen: Any) -> None:
    (strange,) = set(seen[0]["turns"]) - set(seen[1])
    typed = seen[0]["turns"][strange]["typed"]
    assert typed == "a\ufffdb\ufffd ⟨U+202E⟩c\ufffd </script><script>window.hurt=5</script>"


def test_nothing_ran_nothing_was_fetched_and_no_page_is_wider_than_its_window(seen: Any) -> None:
    assert seen[0]["errors"] == [] and seen[0]["outside"] == []
    assert {shown["hurt"] for shown in seen[0]["turns"].values()} == {None} and seen[0]["hurt"] == []


def test_axe_finds_no_barrier_on_any_page_wide_or_narrow_light_or_dark(seen: Any) -> None:
    assert seen[0]["barriers"] == []


def test_tab_goes_from_the_skip_link_through_the_pages_and_filters_to_the_figures(seen: Any) -> None:
    assert seen[0]["tabs"] == [
        *("Skip to the content", "Firsthand", "Overview", "Sessions", "Turns", "Live", "Theme: system"),
        *("1h", "24h", "7d", "30d", "all", "all gpt-5<i>m\ufffd</i>", "Show", "25", "4"),
    ]
    assert seen[0]["unseen"] == []
    assert seen[0]["skipped"] == "main"


def test_a_choice_made_with_keys_is_sent_by_show_and_not_before(seen: Any) -> None:
    assert (seen[0]["stayed"], seen[0]["chosen"]) == ("/turns", "/turns?outcome=blocked")
    assert seen[0]["refused"].split("\n") == ["drop the table users", "refused by guard: no <i>SQL</i> here"]


def test_a_list_is_put_in_the_order_of_a_column(seen: Any) -> None:
    assert seen[0]["arrow"] == "descending"
    assert seen[0]["order"] == [315] * SESSIONS + [113] * 4 * SESSIONS + [0] * (SESSIONS + 1)


def test_a_chart_says_its_totals_and_under_the_pointer_the_stretch_in_24_hours(seen: Any) -> None:
    resting, pointed = seen[0]["legend"]
    assert resting == ["in all", "0", str(SESSIONS), str(SESSIONS), str(4 * SESSIONS + 1)]
    assert seen[0]["drawn"] == f"in all: sent {4 * SESSIONS + 1}, blocked {SESSIONS}, failed {SESSIONS}, cancelled 0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d–\d\d:\d\d", pointed)


def test_it_is_used_with_the_keyboard_alone(seen: Any) -> None:
    assert seen[0]["keys"] is True
    assert (seen[0]["found"], seen[0]["address"]) == (SESSIONS, "/turns?q=deploy")


def test_tables_are_put_in_another_order(seen: Any) -> None:
    assert seen[0]["sorted"] == [["guard", "added"], ["added", "guard"]]


def test_light_and_dark_are_remembered(seen: Any) -> None:
    assert (seen[0]["theme"], seen[0]["kept"]) == ("light", "light")


def test_what_comes_is_shown_as_it_comes(seen: Any) -> None:
    assert (seen[0]["sent"], seen[0]["live"]) == (200, 1)


def test_what_comes_takes_the_focus_from_nobody(seen: Any) -> None:
    before, after = seen[0]["held"]
    assert before == after and re.fullmatch("/turn/[0-9a-f]{48}", before)


def test_a_page_of_another_origin_can_neither_read_nor_write_nor_frame_it(seen: Any) -> None:
    assert seen[0]["foreign"] == {"read": "refused", "write": "refused", "json": "refused"}
    assert not re.search("Overview|turns", seen[0]["framed"])
