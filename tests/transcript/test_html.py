"""The exported page: it shows, marks and folds, and does nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middleware.transcript import read, walk
from middleware.transcript.html import page
from middleware.transcript.htmltext import visible

from .records import HOOK, TALK, record, text

GOLDEN = sorted((Path(__file__).parent.parent / "data" / "golden").glob("*.jsonl"))
ELEMENTS = {
    *("html", "head", "meta", "link", "title", "style", "body", "header", "h1", "ul", "li", "code", "p", "span"),
    *("main", "article", "div", "h2", "h3", "a", "time", "details", "summary", "b", "img", "footer"),
}
VOID = {"meta", "link", "img"}
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["<script>alert(1)</script>", "</div></details>", "<!--", "]]>", '" onclick="x', "&lt;", "\u202e", "```\n<b>\n```"]
)


class Elements(HTMLParser):
    """Every element with its attributes, the open ones, and the text outside of them all."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.comments: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(*records: dict[str, Any], title: str = "t") -> str:
    return "".join(page(records, title=title))


def bare(html: str) -> str:
    return html[html.index("<body>") :]


def assert_inert(html: str) -> None:
    elements = Elements(html)
    assert elements.open == []
    assert elements.comments == []
    for tag, attributes in elements.found:
        assert tag in ELEMENTS
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
        assert (attributes.get("href") or "#").startswith("#") or attributes["href"] == "data:,"
        assert (attributes.get("http-equiv") or "") in ("", "Content-Security-Policy")


def test_the_page_has_what_was_typed_and_folds_what_was_added_by_its_source() -> None:
    html = bare(shown(*TALK))
    assert '<div class="text" dir="auto">why is CI red?</div>' in html
    assert (
        '<details class="added by-memory"><summary><b>added by memory</b> '
        '<span class="size">23 characters</span></summary>'
        '<div class="pre" dir="auto">- uploads go to staging</div></details>'
    ) in html
    assert html.count('<details class="added by-hook"><summary><b>added by a hook</b>') == 2
    assert "<details open" not in html


def test_a_tool_call_stands_with_its_result() -> None:
    html = bare(shown(*TALK))
    [call] = re.findall(r'<article class="tool".*?</article>', html, re.DOTALL)
    assert "<b>run</b>" in call
    assert "{&quot;test&quot;: &quot;t&quot;}" in call
    assert '<div class="pre" dir="auto">failed</div>' in call
    assert "added by a hook" in call


def test_the_head_says_how_much_was_added_and_by_whom() -> None:
    html = shown(*TALK)
    assert '<span class="by-hook">2 parts by a hook</span>, <span class="by-memory">1 part by memory</span>' in html
    assert "m: 32 tokens in, 3 out" in html


def test_nothing_is_fetched_and_nothing_runs() -> None:
    html = shown(*TALK)
    assert_inert(html)
    assert "http:" not in html
    assert "https:" not in html
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert "@import" not in style
    assert "url(" not in style


@pytest.mark.parametrize(
    ("hostile", "seen"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("</div></details></article>x", "&lt;/div&gt;&lt;/details&gt;&lt;/article&gt;x"),
        ("<!-- --><style>", "&lt;!-- --&gt;&lt;style&gt;"),
        ("a\u202egnp.exe", '<span class="hidden" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>gnp.exe'),
        ("\u2066x\u2069", '<span class="hidden" title="LEFT-TO-RIGHT ISOLATE">U+2066</span>x'),
        ("\x1b[31m", '<span class="hidden" title="control character">U+001B</span>[31m'),
        ("\U000e0041\U000e0042", '<span class="hidden" title="TAG LATIN CAPITAL LETTER A">U+E0041</span>'),
        ("x\ufe00\ufe01\ufe02", '<span class="hidden" title="VARIATION SELECTOR-1">U+FE00×3</span>'),
        ("\u200b" * 9000, '<span class="hidden" title="ZERO WIDTH SPACE">U+200B\u00d79,000</span>'),
    ],
)
def test_hostile_text_is_shown_and_not_obeyed(hostile: str, seen: str) -> None:
    html = shown(record("a", None, "user", [text(hostile)]), title=hostile)
    assert seen in html
    assert_inert(html)


def test_an_emoji_keeps_what_makes_it_one() -> None:
    assert visible("❤\ufe0f 👩\u200d💻") == "❤\ufe0f 👩\u200d💻"


def test_a_direction_of_its_own_is_kept_inside_of_its_block() -> None:
    assert '<div class="text" dir="auto">שלום</div>' in shown(record("a", None, "user", [text("שלום")]))


def test_a_line_of_a_megabyte_is_folded_behind_its_beginning() -> None:
    html = shown(record("a", None, "user", [text("x" * 1_000_000)]))
    assert '<details class="long"><summary><span class="text glimpse" dir="auto">' + "x" * 400 + " …</span>" in html
    assert '<span class="more">all 1,000,000 characters</span>' in html
    assert len(html) < 1_010_000


def test_code_of_a_reply_stands_in_boxes_and_its_fences_cannot_be_broken_out_of() -> None:
    html = shown(record("a", None, "assistant", [text("see `x`:\n\n```py\n<b>\n```\n\ndone")]))
    assert '<div class="text" dir="auto">see <code>x</code>:</div><div class="pre" dir="auto">&lt;b&gt;</div>' in html
    assert '<div class="text" dir="auto">done</div>' in html


def test_a_picture_is_in_the_page_and_what_only_says_so_is_named() -> None:
    good = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    html = shown(record("a", None, "user", [text("see"), good]))
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in html
    for part in (
        {"inlineData": {"mimeType": "image/svg+xml", "data": "PHN2Zz4="}},
        {"inlineData": {"mimeType": "image/png", "data": 'x" onerror="alert(1)'}},
        {"inlineData": {"mimeType": 'image/png"x', "data": "AAAA"}},
        {"fileData": {"fileUri": "https://evil.example/<x>"}},
    ):
        html = shown(record("a", None, "user", [text("see"), part]))
        assert "<img" not in html
        assert_inert(html)


def test_a_refused_prompt_says_so() -> None:
    refused = record("a", None, "system", subtype="prompt_blocked", systemPayload={"hook": "h", "reason": "<no>"})
    assert '<article class="system blocked" id="r1"><div class="who"><h2>Refused</h2>' in shown(refused)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_transcripts_of_the_reference_program_are_inert_pages(path: Path) -> None:
    assert_inert("".join(page(walk(read(path).records)[0], title="t")))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from("abc"),
            st.none(),
            st.sampled_from(["user", "assistant", "tool_result", "system"]),
            st.lists(
                st.fixed_dictionaries({"text": TEXTS})
                | st.just(text(HOOK))
                | st.fixed_dictionaries(
                    {"functionCall": st.fixed_dictionaries({"name": TEXTS, "id": TEXTS, "args": st.just({"a": 1})})}
                )
                | st.fixed_dictionaries(
                    {"inlineData": st.fixed_dictionaries({"mimeType": TEXTS | st.just("image/png"), "data": TEXTS})}
                ),
                max_size=3,
            ),
            model=TEXTS,
            sessionId=TEXTS,
            subtype=st.none() | st.sampled_from(["notification", "prompt_blocked", "session_start_context"]),
            systemPayload=st.none() | st.fixed_dictionaries({"hook": TEXTS, "reason": TEXTS, "hookContext": TEXTS}),
        ),
        max_size=4,
    ),
    TEXTS,
)
def test_any_record_is_inert(records: list[dict[str, Any]], title: str) -> None:
    assert_inert("".join(page(records, title=title)))


@given(st.text())
def test_every_character_that_is_seen_is_kept(words: str) -> None:
    kept = "".join(Elements(visible(words)).words)
    for character in set(words) - {"\r"}:
        hidden = "\ufe00" <= character <= "\ufe0f" or f"U+{ord(character):04X}" in kept
        assert character in kept or hidden


def test_an_empty_branch_is_a_page_too() -> None:
    assert_inert(shown())


def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    call = {"functionCall": {"id": "1", "name": "f", "args": "not json"}}
    assert "not json" in shown(record("a", None, "assistant", [call]))
    assert json.dumps({}) in shown(record("a", None, "assistant", [{"functionCall": {"name": "f"}}]))
