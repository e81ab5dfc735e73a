"""Where hooks are found: the project's, the person's and the system's files, in this order.

Only the command line looks here; a library user names a hooks file. A project's hooks run in a trusted folder only,
and a hooks file that the folder's own settings name is the project's: whoever wrote the one wrote the other.
`disableAllHooks` reaches downwards: the system's turns everything off, the person's or a trusted project's whatever is
not the system's. `security.allowPrivateNetworkHooks` counts from the person and the system only, and
`security.allowedHttpHookUrls` of the system before the person's before the project's: a project never widens either.
Source: hooks-and-transcripts 1.6, 1.11, 1.14.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import SettingsError
from .entries import Entry, entries_of, without_duplicates
from .keys import about_guard
from .select import HookSet, about_document, document_of, hook_set, is_disabled
from .trust import Standing, digest_of, standing_of

__all__ = ["Found", "Source", "Survey", "config_folder", "discover", "project_files", "survey", "trust_file"]

Source: TypeAlias = Literal["named", "project", "user", "system"]

SYSTEM = Path("/etc/firsthand/hooks.json")
PROJECT = (".qwen/settings.json", ".firsthand/hooks.json")

_LARGEST = 1024 * 1024
_OUTRANKED_BY: Mapping[Source, tuple[Source, ...]] = {
    "named": (),
    "project": ("system", "user", "project"),
    "user": ("system", "user", "project"),
    "system": ("system",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hooks file that is there; `document` is None and `problem` one line if it cannot be used."""

    source: Source
    path: Path
    document: Mapping[str, object] | None = None
    problem: str = ""

    @property
    def has_hooks(self) -> bool:
        """True if it holds hooks, or says that it turns them off."""
        return self.document is not None and bool(self.document.get("hooks") or self.document.get("disableAllHooks"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found for `folder`: the files and every hook in them, also those that do not run, in order.

    `standing` is the folder's; `digest` is of the hooks that it has now.
    """

    folder: Path
    files: tuple[Found, ...]
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]
    standing: Standing
    digest: str

    @property
    def hooks(self) -> HookSet:
        """What runs, with the warnings."""
        return hook_set(self.entries, self.warnings)


def discover(folder: Path, *, home: Path | None = None) -> HookSet:
    """The hooks that the command line runs in `folder`; see `survey`."""
    return survey(folder, home=home).hooks


def survey(
    folder: Path,
    *,
    home: Path | None = None,
    named: Path | None = None,
    alone: bool = False,
    setting: Path | None = None,
    system: Path = SYSTEM,
) -> Survey:
    """Read every hooks file that counts in `folder`; `home` is the person's, `named` one that comes first, or `alone`.

    `setting` is the hooks file that a settings file of the folder names, the first of the project's. It belongs to
    the digest in any case, and does not run beside a `named` one, which is what the setting is then.
    Raises `SettingsError` for a file of the person or the system that cannot be used, and for a trust file that
    is none. A hook in it that cannot run is skipped with a warning: those files are other programs' too. What is wrong
    with a project's file is a warning.
    """
    home = Path.home() if home is None else home
    outer: list[tuple[Path, Source]] = [
        (Path(home, ".qwen/settings.json"), "user"),
        (config_folder(home) / "hooks.json", "user"),
        (system, "system"),
    ]
    first = [_found(named, "named")] if named is not None else []
    others = [] if alone else [found for path, source in outer if (found := _found(path, source)) is not None]
    # In the home folder the project's settings are the person's own.
    own = {_real(found.path) for found in others}
    project = [] if alone else [found for found in project_files(folder) if _real(found.path) not in own]
    documents: dict[str, object] = {found.path.name: found.document for found in project}
    before = {_real(found.path) for found in first if found is not None}
    if setting is not None and not alone and _real(setting) not in own:
        given = _found(setting, "project", expected=True)
        if given is not None:
            documents[f"hooks_file {setting}"] = given.document
            if named is None:
                project = [given, *(found for found in project if _real(found.path) != _real(setting))]
    digest = digest_of(documents)
    project = [found for found in project if _real(found.path) not in before]
    others = [found for found in others if _real(found.path) not in before]
    files = [found for found in (*first, *project, *others) if found is not None]
    for found in files:
        if found.problem and found.source != "project":
            raise SettingsError(found.problem)
    has_hooks = any(found.has_hooks for found in project)
    standing = standing_of(folder, digest, file=trust_file(home)) if has_hooks else "untrusted"
    warnings = [f"{found.problem}; its hooks are skipped" for found in project if found.problem]
    if has_hooks and standing != "trusted":
        warnings.append(_distrusted(folder, standing, project))
    counted = [found for found in files if found.source != "project" or standing == "trusted"]
    for found in files:
        if found.document is not None:
            warnings += about_document(found.document, str(found.path), named=found.source == "named")
    for found in counted:
        if found.document is not None:
            warnings += about_guard(found.document, str(found.path))
    warnings += _about_security(counted)
    security = _security(counted)
    entries: list[Entry] = []
    for found in files:
        if found.problem:
            entries.append(
                Entry(event="", where=str(found.path), state="invalid", why=found.problem, source=found.source)
            )
        elif found.document is not None:
            document = found.document if found.source == "named" else {**found.document, "security": security}
            placed = (_placed(entry, found, counted, standing) for entry in _read(document, found))
            entries += (_with_allowing(entry, found, counted, config_folder(home)) for entry in placed)
    return Survey(
        folder=folder,
        files=tuple(files),
        entries=tuple(without_duplicates(entries)),
        warnings=tuple(warnings),
        standing=standing,
        digest=digest,
    )


def project_files(folder: Path) -> list[Found]:
    """The hooks files of a project that are there, trusted or not; never raises for what they hold."""
    return [found for name in PROJECT if (found := _found(folder / name, "project")) is not None]


def config_folder(home: Path) -> Path:
    """The folder of the person's own files: in `XDG_CONFIG_HOME` if that is an absolute path, else in `~/.config`."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if Path(given).is_absolute() else home / ".config") / "firsthand"


def trust_file(home: Path) -> Path:
    """The file that names trusted folders."""
    return config_folder(home) / "trusted_folders.json"


def _found(path: Path, source: Source, *, expected: bool = False) -> Found | None:
    """A file, read once: what is judged, digested and run are the same bytes. None if there is no such file.

    It is a problem that one is not there which was named, or is `expected`.
    """
    try:
        # A pipe or a device of that name must not hold us.
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return Found(source=source, path=path, problem=f"{path}: is no file; move it away")
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        if source != "named" and not expected:
            return None
        return Found(source=source, path=path, problem=f"{path}: cannot be read (No such file); check hooks_file")
    except IsADirectoryError:
        return Found(source=source, path=path, problem=f"{path}: is a folder; name the file in it")
    except OSError as error:
        problem = f"{path}: cannot be read ({error.strerror}); check its permissions"
        return Found(source=source, path=path, problem=problem)
    if len(data) > _LARGEST:
        return Found(source=source, path=path, problem=f"{path}: is over 1 MiB, which no hooks file is; mend it")
    try:
        document = document_of(data, path)
        is_disabled(document, where=str(path))
        # Whatever reads it later may be called a little deeper than this.
        digest_of({"": [[[document]]]})
    except RecursionError:
        return Found(source=source, path=path, problem=f"{path}: is nested too deep; mend it there")
    except SettingsError as error:
        return Found(source=source, path=path, problem=str(error))
    except ValueError:
        # TOML bounds no hexadecimal number, where Python bounds how long a number it writes.
        return Found(source=source, path=path, problem=f"{path}: holds a number of too many digits; shorten it there")
    return Found(source=source, path=path, document=document if isinstance(document, Mapping) else None)


def _read(document: Mapping[str, object], found: Found) -> list[Entry]:
    entries = entries_of(document, where=str(found.path), source=found.source)
    if found.source == "named":
        for entry in entries:
            if entry.state == "invalid":
                raise SettingsError(entry.why)
    return [
        replace(entry, warnings=(f"{entry.why}; this hook is skipped",)) if entry.state == "invalid" else entry
        for entry in entries
    ]


def _placed(entry: Entry, found: Found, counted: Iterable[Found], standing: Standing) -> Entry:
    """The entry with what keeps it from running where it is."""
    distrusted = found.source == "project" and standing != "trusted"
    if entry.state == "skipped":
        return replace(entry, warnings=()) if distrusted else entry
    if distrusted:
        why = (
            "the folder's hooks changed since it was trusted" if standing == "changed" else "the folder is not trusted"
        )
        return replace(entry, state="untrusted", why=why)
    if entry.state == "invalid":
        return entry
    if found.source == "named":
        disabling = [found] if _disables(found) else []
    else:
        disabling = [other for other in counted if _disables(other) and other.source in _OUTRANKED_BY[found.source]]
    if disabling:
        return replace(entry, state="disabled", why=f"disableAllHooks in {disabling[0].path}")
    return entry


def _with_allowing(entry: Entry, found: Found, counted: Iterable[Found], own: Path) -> Entry:
    """The entry of a refused hook with the file that may allow it."""
    if entry.state != "refused" or not entry.allowed_by:
        return entry
    file = found.path if found.source == "named" else own / "hooks.json"
    if entry.allowed_by == "allowedHttpHookUrls" and found.source != "named":
        ranked = [other for source in ("system", "user", "project") for other in counted if other.source == source]
        file = next((other.path for other in ranked if _security_of(other).get(entry.allowed_by)), file)
    decides = "allows it" if entry.allowed_by == "allowPrivateNetworkHooks" else "decides"
    return replace(entry, why=f"{entry.why.partition(';')[0]}; security.{entry.allowed_by} in {file} {decides}")


def _disables(found: Found) -> bool:
    return found.document is not None and found.document.get("disableAllHooks") is True


def _distrusted(folder: Path, standing: Standing, project: Iterable[Found]) -> str:
    files = " and ".join(_short(found.path, folder) for found in project if found.has_hooks)
    changed = "they changed since it was trusted (a file that came or went is a change)"
    why = changed if standing == "changed" else "it is not trusted"
    command = f"firsthand hooks trust {shlex.quote(str(folder))}"
    return f"{folder}: the hooks of this folder are skipped, because {why}; read {files}, then run `{command}`"


def _security(counted: Iterable[Found]) -> dict[str, object]:
    """What the files that count say together about HTTP hooks."""
    said: dict[str, object] = {}
    for source in ("project", "user", "system"):
        # Of two files of one source the first counts, as its hooks come first.
        for found in reversed([found for found in counted if found.source == source]):
            security = _security_of(found)
            if security.get("allowedHttpHookUrls"):
                said["allowedHttpHookUrls"] = security["allowedHttpHookUrls"]
            if source != "project" and "allowPrivateNetworkHooks" in security:
                said["allowPrivateNetworkHooks"] = security["allowPrivateNetworkHooks"]
    return said


def _security_of(found: Found) -> Mapping[str, object]:
    security = found.document.get("security") if found.document is not None else None
    return security if isinstance(security, Mapping) else {}


def _about_security(counted: Iterable[Found]) -> list[str]:
    return [
        f"{found.path}: security.allowPrivateNetworkHooks is ignored in a project's file; it belongs into your own"
        for found in counted
        if found.source == "project" and _security_of(found).get("allowPrivateNetworkHooks")
    ]


def _short(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _real(path: Path) -> str:
    return os.path.realpath(path)
