"""Memories as Markdown files with a frontmatter, and folders of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall_store import Record, RecordError, ReservedTagError, SecretError, Store, open_store
from recall_store.frontmatter import parse, render
from recall_store.markdown import INDEX, export_folder, files_in, import_files, index_of

FREEZE = """\
---
name: Release freeze
description: when something is to be merged
type: project
---

Merges are frozen from 2026-03-05 on.

**Why:** mobile cuts a release branch.
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/m.db") as opened:
        yield opened


def test_a_file_of_the_reference_is_read() -> None:
    record = parse(FREEZE)
    assert record == Record(
        text="Merges are frozen from 2026-03-05 on.\n\n**Why:** mobile cuts a release branch.",
        title="Release freeze",
        description="when something is to be merged",
        type="project",
        author="import",
    )


def test_a_memory_is_written_as_the_reference_reads_it() -> None:
    record = Record(
        id="f1",
        text="Merges are frozen.",
        title="Release freeze",
        description="when to merge",
        type="project",
        created_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        metadata={"team": "mobile"},
    )
    assert render(record) == (
        "---\nname: Release freeze\ndescription: when to merge\ntype: project\nid: f1\nauthor: user\n"
        'created_at: 2026-03-01T12:00:00+00:00\nmetadata: {"team": "mobile"}\n---\n\nMerges are frozen.\n'
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("Release issue #1234", "Release issue #1234"),
        ("#1 priority fix", "#1 priority fix"),
        ("why: because", "why: because"),
        ("10183", "10183"),
        ("true", "true"),
        ("2026-03-05", "2026-03-05"),
        ("[draft] plan", "[draft] plan"),
        ("*bold* plan", "*bold* plan"),
        ('"quoted: name"', "quoted: name"),
        ("'single ''quoted'''", "single 'quoted'"),
        ('"half" quoted', '"half" quoted'),
        ("on\n  two lines", "on two lines"),
        (">-\n  folded\n  text", "folded text"),
        ("with comment below\n  # see tracker", "with comment below"),
        ("名前", "名前"),
        ("", ""),
    ],
)
def test_a_name_is_taken_as_it_stands(value: str, name: str) -> None:
    assert parse(f"---\nname: {value}\ntype: user\n---\nbody").title == name


@pytest.mark.parametrize(
    ("header", "kind", "title"),
    [
        ("type: feedback # always\nname: x", "feedback", "x"),
        ("title: old form\ntype: user", "user", "old form"),
        ("name: new\ntitle: old\ntype: user", "user", "new"),
        ("type: reference", "reference", ""),
        ("name: x\nmetadata:\n  type: feedback\n  node_type: memory", "feedback", "x"),
    ],
)
def test_older_and_other_forms_are_read(header: str, kind: str, title: str) -> None:
    record = parse(f"---\n{header}\n---\n\nbody")
    assert (record.type, record.title, record.text) == (kind, title, "body")


def test_keys_of_other_programs_are_kept() -> None:
    record = parse("---\nname: x\ntype: project\ncategory: tool_experience\nkeywords:\n- one\n- two #2\n---\nbody")
    assert record.metadata == {"category": "tool_experience", "keywords": ["one", "two"]}
    assert parse(render(record)) == record


def test_the_line_ends_and_the_mark_of_windows_are_read_over() -> None:
    assert parse("\ufeff" + FREEZE.replace("\n", "\r\n")) == parse(FREEZE)


def test_without_a_body_the_description_is_the_memory() -> None:
    assert parse("---\nname: tea\ndescription: likes tea\ntype: user\n---\n").text == "likes tea"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: no frontmatter"),
        ("# Notes\n\nsome", "line 1: no frontmatter"),
        ("---\nname: x\ntype: user\n", "line 1: the frontmatter has no end"),
        ("---\nname: x\n---\nbody", "line 1: type is none of feedback, project, reference, user"),
        ("---\nname: x\ntype: hook\n---\nbody", "line 3: type is none of"),
        ("---\nname: x\ntype: [user]\n---\nbody", "line 3: type is none of"),
        ("---\nname: x\njust words\ntype: user\n---\nbody", "line 3: no YAML: no `key: value`"),
        ("---\ntype: user\nname: x\nname: y\n---\nbody", "line 4: a key stands there twice"),
        ("---\ntype: user\nkeywords: [a, b\n---\nbody", "line 3: a value is no YAML"),
        ("---\ntype: user\nmetadata:\n  a: 1\n  b: [2\n  c: 3\n---\nbody", "line 6: metadata is no YAML"),
        ("---\ntype: user\nmetadata: {a: &x 1, b: *x}\n---\nbody", "line 3: metadata is no YAML"),
        ("---\ntype: user\nmetadata: [1]\n---\nbody", "line 3: metadata is no mapping"),
        ("---\ntype: user\nsource: 5\n---\nbody", "line 3: record field 'source'"),
        ("---\ntype: user\nname:\n  - a\n---\nbody", "line 3: a text is to stand there"),
        ("---\ntype: user\nauthor: hook\n---\nbody", "line 3: record field 'author'"),
        ("---\ntype: user\n\ncreated_at: yesterday\n---\nbody", "line 4: created_at is no date"),
        ("---\ntype: user\n---\n \n", "line 1: record field 'text' is blank"),
    ],
)
def test_what_is_no_memory_is_named_with_its_line(content: str, said: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse(content)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


AWARE = st.datetimes(
    min_value=datetime(1700, 1, 2),
    max_value=datetime(9000, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3))]),
)
TEXT = st.text(max_size=200)
JSON = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=5
    ),
    max_size=3,
)
RECORDS = st.builds(
    Record,
    text=st.text(min_size=1, max_size=400).filter(lambda text: bool(text.strip())),
    id=st.none() | st.from_regex(r"[0-9A-Za-z:#é]{1,20}", fullmatch=True),
    title=TEXT,
    description=TEXT,
    type=st.sampled_from(["user", "feedback", "project", "reference"]),
    author=st.sampled_from(["user", "assistant", "tool", "import"]),
    source=JSON,
    metadata=JSON,
    created_at=st.none() | AWARE,
    expires_at=st.none() | AWARE,
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(RECORDS)
@example(Record(text="---\nname: forged\ntype: user\n---\nbody"))
@example(Record(text="\r\n  x\r\n", title="a\nb", description="---"))
@example(Record(text="body", title="null", description="1e3"))
@example(Record(text="x", metadata={"category": "a", "type": "b"}))
def test_any_memory_comes_back_as_it_was(record: Record) -> None:
    content = render(record)
    assert parse(content) == record
    header = content.split("\n---\n")[0].removeprefix("---\n")
    assert yaml.safe_load(header.replace("created_at: ", "x: "))["type"] == record.type


@settings(max_examples=300)
@given(st.text(alphabet=st.sampled_from(list("-\n:#\"'[]{}&*!|> \tnametypusr\r0")), max_size=80), st.booleans())
def test_any_file_is_read_or_refused_with_a_line(text: str, framed: bool) -> None:
    try:
        parse(f"---\ntype: user\n{text}\n---\nbody" if framed else text)
    except RecordError as error:
        assert str(error).startswith("line ")


# --- folders


def test_a_folder_holds_one_file_a_memory_and_an_index(store: Store, tmp_path: Path) -> None:
    store.upsert(
        namespace="alice",
        records=[
            Record(text="Merges are frozen.", title="Release: freeze?", description="when to merge", type="project"),
            Record(text="Be short.", type="feedback", created_at=datetime(2026, 1, 1, tzinfo=UTC)),
            Record(text="be short!", type="feedback", created_at=datetime(2025, 1, 1, tzinfo=UTC)),
        ],
    )
    assert export_folder(store, namespace="alice", folder=tmp_path / "out") == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "MEMORY.md",
        "feedback_be_short.md",
        "feedback_be_short_2.md",
        "project_release_freeze.md",
    ]
    assert (tmp_path / "out" / INDEX).read_text() == (
        "- [Release: freeze?](project_release_freeze.md) — when to merge\n"
        "- [Be short.](feedback_be_short.md) — feedback\n"
        "- [be short!](feedback_be_short_2.md) — feedback\n"
    )
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert not list(tmp_path.glob(".*"))


def test_a_folder_comes_back_as_it_was(store: Store, tmp_path: Path) -> None:
    texts = ["I like tea", "用户喜欢绿茶", "Я живу в Осло", "  odd ends\r\n", "🍵" * 90, "x" * 5_000]
    store.upsert(namespace="alice", records=[Record(text=text, metadata={"n": n}) for n, text in enumerate(texts)])
    export_folder(store, namespace="alice", folder=tmp_path / "out")
    seen: list[tuple[int, int]] = []
    paths = [tmp_path / "out"]
    assert import_files(store, namespace="bob", paths=paths, progress=lambda *at: seen.append(at)) == 6
    assert seen == [(6, 6)]
    assert set(map(render, store.list(namespace="bob"))) == set(map(render, store.list(namespace="alice")))
    import_files(store, namespace="bob", paths=paths)
    assert len(store.list(namespace="bob")) == 6


def test_an_empty_folder_is_filled_and_another_is_refused(store: Store, tmp_path: Path) -> None:
    store.upsert(namespace="alice", records=[Record(text="I like tea")])
    (tmp_path / "empty").mkdir()
    assert export_folder(store, namespace="alice", folder=tmp_path / "empty") == 1
    for taken in ("empty", "m.db"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(FileExistsError):
            export_folder(store, namespace="alice", folder=tmp_path / taken)
        assert sorted(tmp_path.rglob("*")) == before


def test_files_of_a_folder_are_read_at_any_depth_but_the_index_with_the_files_date(
    store: Store, tmp_path: Path
) -> None:
    memories = tmp_path / "memories"
    (memories / "project").mkdir(parents=True)
    (memories / "project" / "freeze.md").write_text(FREEZE)
    (memories / INDEX).write_text("- [x](y.md) — z\n")
    (memories / "notes.txt").write_text("no memory")
    os.utime(memories / "project" / "freeze.md", (1_700_000_000, 1_700_000_000))
    assert import_files(store, namespace="alice", paths=[memories]) == 1
    [record] = store.list(namespace="alice")
    assert record.created_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert (record.source, record.author) == ({"file": "project/freeze.md"}, "import")
    assert files_in([memories, memories / "project"]) == [(memories / "project" / "freeze.md", memories)]


def test_a_link_that_leads_out_of_the_folder_is_left_out_with_a_warning(store: Store, tmp_path: Path) -> None:
    memories, elsewhere = tmp_path / "memories", tmp_path / "elsewhere"
    (memories / "sub").mkdir(parents=True)
    elsewhere.mkdir()
    (memories / "freeze.md").write_text(FREEZE)
    (memories / "again.md").symlink_to("sub/../freeze.md")
    (elsewhere / "private.md").write_text("---\ntype: user\n---\nmy diary")
    (memories / "private.md").symlink_to(elsewhere / "private.md")
    (memories / "up.md").symlink_to("../elsewhere/private.md")
    (memories / "sub" / "folder").symlink_to(elsewhere, target_is_directory=True)
    (memories / "loop.md").symlink_to("loop.md")
    with pytest.warns(UserWarning, match="a link out of .*memories, left out; import") as told:
        assert import_files(store, namespace="alice", paths=[memories]) == 2
    assert [str(one.message).split(": ")[0] for one in told] == [f"{memories}/{name}.md" for name in ("private", "up")]
    assert [record.title for record in store.list(namespace="alice")] == ["Release freeze"]
    linked = tmp_path / "linked"
    linked.symlink_to(memories, target_is_directory=True)
    told_to: list[str] = []
    assert len(files_in([linked, memories / "private.md"], told_to.append)) == 3
    assert len(told_to) == 2


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"no frontmatter", RecordError, "line 1: no frontmatter"),
        (b"---\ntype: user\nname: \xff\n---\nx", RecordError, "line 3: not UTF-8"),
        (b"---\ntype: user\n---\nkey AKIAIOSFODNN7EXAMPLE", SecretError, "holds a secret (rule aws-access-key)"),
        (b"---\ntype: user\n---\n<firsthand:recalled-memory>", ReservedTagError, "holds the reserved tag"),
        (b"---\ntype: user\n---\n" + b"x" * (8 * 1024 * 1024), RecordError, "over 8 MiB"),
    ],
)
def test_one_file_that_is_no_memory_is_named_and_nothing_is_imported(
    content: bytes, kind: type[Exception], said: str, store: Store, tmp_path: Path
) -> None:
    good, bad = tmp_path / "a.md", tmp_path / "b.md"
    good.write_text(FREEZE)
    bad.write_bytes(content)
    with pytest.raises(kind) as caught:
        import_files(store, namespace="alice", paths=[good, bad])
    assert str(caught.value).startswith(f"{bad}: ")
    assert said in str(caught.value)
    assert "AKIA" not in str(caught.value)
    assert store.list(namespace="alice") == []


def test_an_index_is_cut_where_the_reference_stops_to_read() -> None:
    short = index_of([(f"{number}.md", Record(text="x", title=f"memory {number}")) for number in range(300)])
    assert (short.count("\n- "), "> WARNING: MEMORY.md is too large" in short) == (199, True)
    long = index_of([(f"{number}.md", Record(text="x", title="名" * 200)) for number in range(190)])
    assert all(len(line) <= 150 for line in long.splitlines() if line.startswith("- "))
    assert len(long.split("\n\n>")[0]) <= 25_000
