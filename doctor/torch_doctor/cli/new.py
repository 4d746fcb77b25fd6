"""`torch-doctor new`."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path
from typing import Any

import click

from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.scaffold import pack_files, package_of, rule_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN = "TDR"
ENTRY_POINT = "torch_doctor.rules"
LONGEST_NAME = 40


@click.command("new", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("code")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(),
    default=".",
    metavar="FOLDER",
    help="Folder of the rule pack. A new pack is created if there is none. [default: current folder]",
)
def command(code: str, name: str, into: str) -> None:
    """Create a rule of your own: its module, fixtures and test.

    In a folder without a `pyproject.toml`, create a complete rule pack. The generated test passes.
    """
    _check(code, name)
    folder = Path(into)
    files = dict(_files(folder, code, name))
    there = [path for path in files if (folder / path).exists()]
    if there:
        message = f"{folder / there[0]} already exists; choose another code or name"
        raise click.UsageError(message)
    written: list[Path] = []
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("x", encoding="utf-8", newline="\n") as file:
                written.append(folder / path)
                file.write(text)
    except OSError as error:
        for each in written:
            each.unlink(missing_ok=True)
        message = f"{error.filename or folder} cannot be written: {error.strerror}"
        raise click.UsageError(message) from None
    for each in written:
        click.echo(each)
    where = "" if folder == Path() else f"cd {folder} && "
    click.echo(f"Write the rule, then run: {where}pip install -e . && pytest", err=True)


def _check(code: str, name: str) -> None:
    """Make sure that a rule can be called so.

    Raises:
        UsageError: it cannot.
    """
    if not re.fullmatch("[A-Z]+[0-9]+", code):
        message = f"invalid code `{code}`: use capital letters followed by a number, such as TDX101"
    elif code.startswith(OWN):
        message = f"{code}: codes that start with {OWN} are reserved for torch-doctor; use another prefix, as in TDX101"
    elif not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(name):
        message = f"invalid rule name `{name}`: use lower-case words joined by hyphens, such as some-name"
    elif len(name) > LONGEST_NAME:
        message = f"rule name `{name}` is too long: {len(name)} characters, at most {LONGEST_NAME} are allowed"
    else:
        taken = next((rule for rule in installed_rules() if code == rule.code or name == rule.name), None)
        if taken is None:
            return
        message = f"{taken.code} {taken.name} is already installed; choose another code and name"
    raise click.UsageError(message)


def _files(folder: Path, code: str, name: str) -> list[tuple[str, str]]:
    """Return the files to write: their paths in the folder, and their content.

    Raises:
        UsageError: the folder has a project that offers no rules.
    """
    project = folder / "pyproject.toml"
    if not project.exists():
        letters = re.sub("[0-9]+", "", code).lower()
        package = package_of(letters)
        return [*pack_files(letters), *rule_files(code, name, package, f"src/{package}")]
    package = _offering(project).partition(":")[0].strip()
    for place in ("src", "."):
        path = Path(place, *package.split("."))
        if package and (folder / path / "__init__.py").is_file():
            return list(rule_files(code, name, package, path.as_posix()))
    if package:
        message = f"{project} declares rules in `{package}`, but there is no such package next to it or in src"
    else:
        message = f'{project} declares no rules; add [project.entry-points."{ENTRY_POINT}"] with mine = "package:rules"'
    raise click.UsageError(message)


def _offering(project: Path) -> str:
    """Return the entry point of the rules of a project; "" if it declares none.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        offered: Any = tomllib.loads(project.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{project} cannot be read: {error}"
        raise click.UsageError(message) from None
    for key in ("project", "entry-points", ENTRY_POINT):
        offered = offered.get(key, {}) if isinstance(offered, dict) else {}
    return next(iter(map(str, offered.values())), "") if isinstance(offered, dict) else ""
