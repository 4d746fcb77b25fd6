"""From options and configuration to what a scan needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from torch_doctor.cli.patterns import split
from torch_doctor.cli.settings import Flags, formats, settings
from torch_doctor.config import Config, LoadedConfig
from torch_doctor.sources.ignores import Patterns

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("stand_ins")


def test_lists_have_commas_and_can_be_repeated() -> None:
    assert split(["a, b", "c,,", ""]) == ("a", "b", "c")


def test_without_a_path_the_working_directory_is_scanned(folder: Path) -> None:
    options, loaded = settings(Flags())
    assert options.paths == (folder,)
    assert (loaded.path, loaded.base) == (None, folder)


def test_paths_are_absolute_and_named_once(folder: Path) -> None:
    options, _ = settings(Flags(paths=("a.py", "./a.py", "b/../a.py", str(folder / "c.py"))))
    assert options.paths == (folder / "a.py", folder / "c.py")


def test_the_configuration_nearest_to_the_paths_counts_and_its_patterns_begin_there(
    folder: Path, write: Callable[..., Path]
) -> None:
    write("torch-doctor.toml", "ignore = ['TDR6']\n")
    write("pkg/torch-doctor.toml", "extend-exclude = ['gen']\nper-file-ignores = { 'a.py' = ['TDR1'] }\n")
    write("pkg/a.py", "")
    options, loaded = settings(Flags(paths=("pkg/a.py",), extend_exclude=("old",)))
    assert loaded.base == folder / "pkg"
    assert options.extend_exclude == (Patterns(folder / "pkg", ("gen",)), Patterns(folder, ("old",)))
    (ignore,) = options.file_ignores
    assert (ignore.patterns.base, ignore.codes, ignore.negated) == (folder / "pkg", frozenset({"TDR101"}), False)
    assert [rule.code for rule in options.rules] == ["TDR000", "TDR101", "TDR601"]
    options, _ = settings(Flags(paths=("pkg/a.py", "b.py")))
    assert [rule.code for rule in options.rules] == ["TDR000", "TDR101"]


def test_exclude_on_the_command_line_replaces_the_configurations(folder: Path, write: Callable[..., Path]) -> None:
    assert settings(Flags())[0].exclude is None
    write("torch-doctor.toml", "exclude = ['old']\n")
    assert settings(Flags())[0].exclude == (Patterns(folder, ("old",)),)
    assert settings(Flags(exclude=("new",)))[0].exclude == (Patterns(folder, ("new",)),)


def test_selectors_for_one_pattern_add_up(folder: Path) -> None:  # noqa: ARG001 - gives the environment
    options, _ = settings(Flags(per_file_ignores=("a.py:TDR101,a.py:TDR601", "!b.py:ALL")))
    first, second = options.file_ignores
    assert (first.patterns.globs, first.codes) == (("a.py",), frozenset({"TDR101", "TDR601"}))
    assert (second.patterns.globs, second.negated) == (("b.py",), True)
    assert second.codes == {"TDR000", "TDR101", "TDR601", "TDR901"}


def test_a_format_has_a_file_or_stdout(folder: Path) -> None:
    built_in = LoadedConfig(Config(), folder)
    assert formats((), built_in) == [("full", None)]
    assert formats((), LoadedConfig(Config(output_format="sarif:a.sarif"), folder)) == [("sarif", Path("a.sarif"))]
    asked = ("concise", "json:C:\\out.json", "github:")
    with pytest.raises(click.UsageError, match="only one output format can be written to stdout"):
        formats(asked, built_in)
    assert formats(asked[:2], built_in) == [("concise", None), ("json", Path("C:\\out.json"))]
