"""`firsthand transcript export` and `import`, and `show` of other programs' files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..transcript.records import TALK, write
from .conftest import Run

CLAUDE = [
    {
        "type": "user",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "c-1",
        "version": "2.1",
        "timestamp": "2026-09-02T10:00:00Z",
        "message": {"role": "user", "content": "why?"},
    },
    {
        "type": "attachment",
        "uuid": "h",
        "parentUuid": "u",
        "attachment": {"type": "hook_additional_context", "hookEvent": "UserPromptSubmit", "content": ["branch: x"]},
    },
    {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "h",
        "message": {"id": "m", "content": [{"type": "text", "text": "so."}]},
    },
]
GEMINI = [{"sessionId": "g-1", "projectHash": "4e", "startTime": "x"}, {"id": "1", "type": "user", "content": "hi"}]


@pytest.fixture
def file(place: Path) -> Path:
    return write(place / "s.jsonl", TALK)


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("html", "<!doctype html>\n"),
        ("md", "# why is CI red?\n"),
        ("json", '{\n  "title": "why is CI red?",\n'),
        ("jsonl", '{"uuid":"a","parentUuid":null,'),
        ("openai", '{\n  "messages": [\n'),
        ("anthropic", '{\n  "messages": [\n'),
    ],
)
def test_every_format_is_written_to_stdout_or_to_a_file_for_its_owner_alone(
    run: Run, file: Path, place: Path, form: str, begins: str
) -> None:
    result = run("transcript", "export", "s.jsonl", "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(begins)
    assert run("transcript", "export", "s.jsonl", "-f", form, "-o", "out").exit_code == 0
    assert (place / "out").read_bytes() == result.stdout_bytes
    assert oct((place / "out").stat().st_mode)[-3:] == "600"


def test_a_file_that_is_there_is_written_over_by_force_only(run: Run, file: Path, place: Path) -> None:
    (place / "out").write_text("mine")
    result = run("transcript", "export", "s.jsonl", "-f", "md", "-o", "out")
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: out is there already; name another file, or write over it with --force\n",
    )
    assert (place / "out").read_text() == "mine"
    assert run("transcript", "export", "s.jsonl", "-f", "md", "-o", "out", "--force").exit_code == 0
    assert (place / "out").read_text().startswith("# why")
    assert sorted(path.name for path in place.iterdir()) == ["out", "s.jsonl"]


def test_a_link_is_replaced_and_not_written_through(run: Run, file: Path, place: Path) -> None:
    (place / "target").write_text("mine")
    (place / "out").symlink_to("target")
    assert run("transcript", "export", "s.jsonl", "-f", "md", "-o", "out").exit_code == 1
    assert run("transcript", "export", "s.jsonl", "-f", "md", "-o", "out", "--force").exit_code == 0
    assert (place / "target").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nowhere.jsonl", "-f", "md"), 1, "nowhere.jsonl: no such file; check the path, or the setting `transcripts`"),
        (("s.jsonl", "-f", "md", "-o", "no/out"), 1, "no: no such folder; make it, or name another with --out"),
        (("s.jsonl", "-f", "md", "-o", "-", "--force"), 2, "--force is about the file that --out names"),
        (("", "-f", "md"), 2, "Invalid value for 'FILE|SESSION': the path is empty"),
        (("s.jsonl", "-f", "md", "--force"), 2, "--force is about the file that --out names"),
        (("s.jsonl", "-f", "pdf"), 2, "Invalid value for '--format'"),
        (("s.jsonl",), 2, "Missing option '--format'"),
        (("empty.jsonl", "-f", "md"), 1, "empty.jsonl holds no conversation"),
        (("c.jsonl", "-f", "md"), 1, "c.jsonl is a session of Claude Code; `firsthand transcript import c.jsonl`"),
        ((".", "-f", "md"), 1, ". is a folder, not a transcript"),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    run: Run, file: Path, place: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (place / "empty.jsonl").touch()
    write(place / "c.jsonl", CLAUDE)
    result = run("transcript", "export", *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1)
    assert result.stderr.startswith(f"firsthand: {said}")


def test_a_call_without_a_result_is_told_of_where_a_provider_would_refuse_it(run: Run, place: Path) -> None:
    write(place / "s.jsonl", TALK[:2])
    assert run("transcript", "export", "s.jsonl", "-f", "openai").stderr == (
        "firsthand: s.jsonl: 1 tool call has no recorded result; a provider refuses the messages until one is added\n"
    )


def test_show_says_what_another_programs_file_is_and_how_to_read_it(run: Run, place: Path) -> None:
    write(place / "c.jsonl", CLAUDE)
    write(place / "g.jsonl", GEMINI)
    claude, gemini = run("transcript", "show", "c.jsonl"), run("transcript", "show", "g.jsonl")
    assert (claude.exit_code, gemini.exit_code) == (0, 0)
    assert claude.stdout == (
        "c.jsonl is a session of Claude Code (version 2.1; session c-1; prompts: 1, replies: 1; "
        "from 2026-09-02T10:00:00Z); to read it here: firsthand transcript import c.jsonl\n"
    )
    assert gemini.stdout == (
        "g.jsonl is a session of Gemini CLI (session g-1; prompts: 1, replies: 0; from x); "
        "it is not imported, since it does not tell what hooks added from what was typed\n"
    )


def test_a_program_that_asks_for_rows_of_another_programs_file_gets_an_error(run: Run, place: Path) -> None:
    write(place / "c.jsonl", CLAUDE)
    result = run("transcript", "show", "--json", "c.jsonl")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)


def test_a_session_of_claude_code_is_imported_and_shown(run: Run, place: Path) -> None:
    write(place / "c.jsonl", CLAUDE)
    result = run("transcript", "import", "c.jsonl", "--to", "tr")
    assert (result.exit_code, result.stdout) == (0, "tr/c-1.jsonl: prompts: 1, replies: 1, hook contexts: 1\n")
    assert run("transcript", "show", "tr/c-1.jsonl").stdout == "session c-1\n\n> why?\n  so.\n"
    assert "branch: x" in run("transcript", "show", "--raw", "tr/c-1.jsonl").stdout
    rows: list[dict[str, Any]] = json.loads(run("transcript", "list", "tr", "--json").stdout)
    assert [row["first_prompt"] for row in rows] == ["why?"]


def test_another_programs_file_in_a_folder_is_told_of_and_not_searched_or_counted(run: Run, place: Path) -> None:
    write(place / "tr" / "c.jsonl", CLAUDE)
    write(place / "tr" / "s.jsonl", TALK)
    told = "firsthand: tr/c.jsonl is a session of Claude Code; `firsthand transcript import tr/c.jsonl` first\n"
    found = run("transcript", "search", "why|branch", "tr")
    assert (found.stdout, found.stderr) == ("tr/s.jsonl:1: user why is CI red?\n", told)
    counted = run("transcript", "stats", "--json", "tr")
    assert (json.loads(counted.stdout)["sessions"], counted.stderr) == (1, told)
    checked = run("transcript", "check", "tr")
    assert (checked.exit_code, checked.stdout, checked.stderr) == (1, "no faults in 1 file\n", told)


def test_files_that_cannot_be_imported_are_told_of_and_the_others_are(run: Run, place: Path) -> None:
    write(place / "c.jsonl", CLAUDE)
    write(place / "g.jsonl", GEMINI)
    result = run("transcript", "import", "g.jsonl", "nowhere.jsonl", "c.jsonl", "c.jsonl", "--to", "tr")
    assert result.exit_code == 1
    assert result.stdout.startswith("tr/c-1.jsonl: ")
    first, second, third = result.stderr.splitlines()
    assert first.startswith("firsthand: g.jsonl is a session of Gemini CLI, which writes what hooks added into")
    assert second == ("firsthand: nowhere.jsonl: no such file; check the path")
    assert third == "firsthand: c.jsonl: its session is at tr/c-1.jsonl already; --force writes over it"


def test_the_layout_of_the_settings_is_that_of_what_is_imported(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTHAND_LAYOUT", "qwen")
    monkeypatch.setenv("FIRSTHAND_TRANSCRIPTS", "tr")
    write(place / "c.jsonl", [{**CLAUDE[0], "cwd": "/work/shop"}, *CLAUDE[1:]])
    assert run("transcript", "import", "c.jsonl").exit_code == 0
    assert (place / "tr" / "-work-shop" / "chats" / "c-1.jsonl").exists()


def test_without_a_folder_import_says_where_to_name_it(run: Run, place: Path) -> None:
    write(place / "c.jsonl", CLAUDE)
    result = run("transcript", "import", "c.jsonl")
    assert result.exit_code == 2
    assert "no folder: give --to FOLDER, or set `transcripts`" in result.stderr


@pytest.mark.parametrize("out", ["s.jsonl", "./s.jsonl", "other.jsonl", "c.jsonl"])
def test_no_export_is_written_over_a_transcript(run: Run, file: Path, place: Path, out: str) -> None:
    write(place / "other.jsonl", TALK[:1])
    write(place / "c.jsonl", CLAUDE)
    before = (place / out).read_bytes()
    said = "is a transcript, and is not written over; name another file, or remove that one first"
    for form in ("md", "jsonl"):
        result = run("transcript", "export", "s.jsonl", "-f", form, "-o", out, "--force")
        assert (result.exit_code, result.stderr) == (1, f"firsthand: {Path(out)} {said}\n")
    assert (place / out).read_bytes() == before


def test_a_dash_is_stdout(run: Run, file: Path, place: Path) -> None:
    assert run("transcript", "export", "s.jsonl", "-f", "md", "-o", "-").stdout.startswith("# why is CI red?\n")
    assert not (place / "-").exists()


def test_a_folder_that_takes_no_file_is_named(run: Run, file: Path) -> None:
    result = run("transcript", "export", "s.jsonl", "-f", "md", "-o", "/proc/self/out.md")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("firsthand: /proc/self: ")


def test_a_page_and_a_text_say_whose_session_it_is_and_what_was_an_image(run: Run, place: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    message = {"role": "user", "parts": [{"text": "see"}, image]}
    said = {"uuid": "a", "parentUuid": None, "sessionId": "s", "type": "user", "userId": "zoe", "message": message}
    write(place / "s.jsonl", [said])
    markdown = run("transcript", "export", "s.jsonl", "-f", "md").stdout
    assert markdown == "# see\n\n- session: `s`\n- user: `zoe`\n\n## You\n\n> see\n>\n> [image/png]\n"
    assert "<li>user zoe</li>" in run("transcript", "export", "s.jsonl", "-f", "html").stdout
    assert json.loads(run("transcript", "export", "s.jsonl", "-f", "json").stdout)["user"] == "zoe"


def test_a_shorter_copy_of_a_session_is_not_imported_over_the_longer_one(run: Run, place: Path) -> None:
    write(place / "whole.jsonl", CLAUDE)
    write(place / "cut.jsonl", CLAUDE[:1])
    result = run("transcript", "import", "whole.jsonl", "cut.jsonl", "--to", "tr", "--force")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("firsthand: cut.jsonl has fewer records than tr/c-1.jsonl, which holds its session")
    assert "  so.\n" in run("transcript", "show", "tr/c-1.jsonl").stdout
