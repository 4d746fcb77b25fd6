"""Which versions of torch a project asks for: its requirements, environments, package metadata and lock files.

The nearest folder at or above a script that has something to say decides. A lock file says what is really installed; the
others say what is allowed, and where several do, every version that one of them allows is.
"""

from __future__ import annotations

import ast
import codecs
import configparser
import json
import re
import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from torch_doctor.pattern import pattern
from torch_doctor.sources import conda
from torch_doctor.trace.versions import ANY, Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Versions", "pinned", "versions"]

NAMES = frozenset({"torch", "pytorch", "pytorch-cpu", "pytorch-gpu"})
LATEST = {
    **{f"0.{minor}": 1 for minor in (1, 2, 3, 4)},
    **dict(zip((f"1.{minor}" for minor in range(14)), (1, 0, 0, 1, 0, 1, 0, 1, 2, 1, 2, 0, 1, 1), strict=True)),
    **dict(zip((f"2.{minor}" for minor in range(10)), (1, 2, 2, 1, 1, 1, 0, 1, 0, 1), strict=True)),
    **{f"2.{minor}": 0 for minor in range(10, 30)},
}
"""The last patch of each minor version of torch (https://github.com/pytorch/pytorch/releases); of those to come, the first."""
EXPORTED = pattern(r"([\w.-]+)(={1,2}[^=\s]+(?:=\S*)?)$")
"""A line that `conda list --export` writes: `pytorch=1.4.0=py3.7_cuda10.1.243_cudnn7.6.3_0`."""
LOCAL = pattern(r"\+[\w.]+")
"""The end of a version that says which build it is: `+cu118`."""
POSTS = (".post1", ".post2", ".post3", ".post4")
LARGEST = 5_000_000


def pinned(folder: Path, root: Path) -> Versions:
    """The versions of torch for scripts in a folder, by what lies in it or in a folder above it, up to the root."""
    for each in (folder, *folder.parents):
        found = _locked(each)
        found = found if found is not None else _allowed(each)
        if found is not None:
            return found
        if each == root:
            break
    return ANY


def versions(text: str) -> Versions:
    """What a setting means: `2.4` is that version and everything newer, `>=2.1,<2.6` a range.

    Raises:
        ValueError: it is neither a version nor a range, or no torch is in it.
    """
    stripped = text.strip() or "?"
    try:
        allowed = SpecifierSet(f">={Version(stripped)}")
    except InvalidVersion:
        try:
            allowed = SpecifierSet(stripped)
        except InvalidSpecifier:
            message = f"`{text}` is neither a torch version nor a version range"
            raise ValueError(message) from None
    found = _range([allowed])
    if found is None:
        message = f"no torch version matches `{text}`"
        raise ValueError(message)
    return found


@cache
def _releases() -> dict[tuple[int, int], list[Version]]:
    """The releases of each minor version of torch, and those that were made again: torch 0.x had up to four."""
    return {
        (int(minor.partition(".")[0]), int(minor.partition(".")[2])): [
            Version(f"{minor}.{patch}{again}") for patch in range(latest + 1) for again in ("", *POSTS)
        ]
        for minor, latest in LATEST.items()
    }


def _range(allowed: Iterable[SpecifierSet]) -> Versions | None:
    """From the oldest to the newest version that one of the sets contains."""
    fits = [
        minor
        for minor, releases in _releases().items()
        if any(each.contains(release, prereleases=True) for each in allowed for release in releases)
    ]
    if not fits:
        return None
    newest = ANY.newest if max(fits) == (2, 29) else max(fits)
    return Versions(max(min(fits), ANY.oldest), newest)


# --- what is installed ---


def _locked(folder: Path) -> Versions | None:
    found: list[SpecifierSet] = []
    for name in ("uv.lock", "poetry.lock", "pdm.lock"):
        for package in _tables(_toml(folder / name).get("package")):
            if str(package.get("name", "")).lower() in NAMES:
                found += _specifier(f"=={package.get('version', '')}")
    lock = _json(folder / "Pipfile.lock").get("default")
    torch = lock.get("torch") if isinstance(lock, dict) else None
    if isinstance(torch, dict):
        found += _specifier(str(torch.get("version", "")))
    return _range(found) if found else None


# --- what is allowed ---


def _allowed(folder: Path) -> Versions | None:
    found = [
        *_requirements(folder),
        *_environments(folder),
        *_pyproject(_toml(folder / "pyproject.toml")),
        *_setup_cfg(folder / "setup.cfg"),
        *_setup_py(folder / "setup.py"),
        *_pipfile(_toml(folder / "Pipfile")),
    ]
    return _range(found) if found else None


def _requirements(folder: Path) -> Iterator[SpecifierSet]:
    for each in ("requirements*.txt", "requirements/*.txt", "*requirements.txt"):
        for path in sorted(folder.glob(each)):
            for line in _text(path).splitlines():
                yield from _requirement(line.partition(" #")[0])


def _environments(folder: Path) -> Iterator[SpecifierSet]:
    for path in sorted({*folder.glob("*env*.y*ml"), *folder.glob("conda*.y*ml")}):
        for name, asked in conda.dependencies(_text(path)):
            if name.lower() in NAMES:
                if asked.startswith("@"):
                    yield from _requirement(name + asked)
                for each in conda.versions(asked):
                    yield from _specifier(each)


def _pyproject(table: dict[str, Any]) -> Iterator[SpecifierSet]:
    project = _table(table.get("project"))
    lines = [*_list(project.get("dependencies"))]
    for group in _table(project.get("optional-dependencies")).values():
        lines += _list(group)
    for group in _table(table.get("dependency-groups")).values():
        lines += _list(group)
    for line in lines:
        if isinstance(line, str):
            yield from _requirement(line)
    poetry = _table(_table(table.get("tool")).get("poetry"))
    groups = [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    for dependencies in (poetry.get("dependencies"), *groups):
        torch = _table(dependencies).get("torch")
        for each in torch if isinstance(torch, list) else [torch]:
            version = each.get("version", "*") if isinstance(each, dict) else each
            if isinstance(version, str):
                yield from _specifier(_poetry_style(version))


def _poetry_style(version: str) -> str:
    """`^1.8` goes up to the next major version, `~1.8` to the next minor one, `*` to anything; `1.8` is that one."""
    parts = []
    for part in version.split(","):
        bare = part.strip().lstrip("^~=").strip()
        if part.strip().startswith("^"):
            parts += [f">={bare}", f"<{int(bare.partition('.')[0]) + 1}"] if bare[:1].isdigit() else []
        elif part.strip().startswith("~") and not part.strip().startswith("~="):
            parts += [f">={bare}", f"=={'.'.join(bare.split('.')[:2])}.*"]
        elif part.strip()[:1].isdigit():
            parts.append(f"=={bare}")
        elif part.strip() != "*":
            parts.append(part.strip())
    return ",".join(parts)


def _setup_cfg(path: Path) -> Iterator[SpecifierSet]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(path))
    except configparser.Error:
        return
    lines = parser.get("options", "install_requires", fallback="")
    extras = dict(parser.items("options.extras_require")) if parser.has_section("options.extras_require") else {}
    for line in "\n".join([lines, *extras.values()]).splitlines():
        yield from _requirement(line)


def _setup_py(path: Path) -> Iterator[SpecifierSet]:
    try:
        tree = ast.parse(_text(path))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.lower().startswith("torch"):
            yield from _requirement(node.value)


def _pipfile(table: dict[str, Any]) -> Iterator[SpecifierSet]:
    torch = _table(table.get("packages")).get("torch")
    version = torch.get("version", "*") if isinstance(torch, dict) else torch
    if isinstance(version, str):
        yield from _specifier("" if version == "*" else version)


# --- reading ---


def _requirement(line: str) -> Iterator[SpecifierSet]:
    """The versions in one line of requirements, when it is one of torch; a link to a wheel allows the wheel's."""
    text = line.strip()
    if not text.lower().startswith(("torch", "pytorch", '"torch', "'torch")):
        return
    try:
        requirement = Requirement(LOCAL.sub("", text.strip("\"'").partition(" --")[0]))
    except InvalidRequirement:
        exported = EXPORTED.match(text)
        if exported is not None and exported[1].lower() in NAMES:
            yield from _specifier(conda.pip_style(exported[2]))
        return
    if requirement.name.lower() in NAMES:
        wheel = re.search(r"torch-(\d+\.\d+\.\d+)", requirement.url or "")
        yield SpecifierSet(f"=={wheel[1]}") if wheel else requirement.specifier


def _specifier(text: str) -> list[SpecifierSet]:
    try:
        return [SpecifierSet(LOCAL.sub("", text))]
    except InvalidSpecifier:
        return []


def _text(path: Path) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark, as PowerShell writes what is redirected."""
    try:
        data = path.read_bytes() if path.stat().st_size < LARGEST else b""
    except OSError:
        return ""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _toml(path: Path) -> dict[str, Any]:
    return _parsed(_text(path))


@lru_cache(maxsize=8)
def _parsed(text: str) -> dict[str, Any]:
    """The tables of a TOML file: the lock file of a project is read for each of its folders, and parsed once."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError:
        return {}
    return table


def _json(path: Path) -> dict[str, Any]:
    try:
        return _table(json.loads(_text(path) or "{}"))
    except (ValueError, RecursionError):
        return {}


def _table(value: Any) -> dict[str, Any]:  # noqa: ANN401 - anything can stand in a file
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    return [each for each in _list(value) if isinstance(each, dict)]


def _list(value: Any) -> list[Any]:  # noqa: ANN401
    return value if isinstance(value, list) else []
