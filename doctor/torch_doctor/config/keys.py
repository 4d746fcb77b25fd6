"""The settings: their names, types, defaults and descriptions, of which the schema and `torch-doctor config` are made."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import Annotated

from msgspec import Meta, Struct, field

from torch_doctor.selection import Layer


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the file and the key."""


class Config(Struct, frozen=True, rename="kebab"):
    """The settings of torch-doctor; in a file the keys have hyphens, and paths start at the file's folder."""

    extend: Annotated[
        str | None,
        Meta(
            description="Another configuration that this one builds on; `~` is the home folder. What is said here counts "
            "before what is said there; `select` and `ignore` are applied after those of the other file, and the keys "
            "that begin with `extend-` add to its lists.",
            examples=["../shared/torch-doctor.toml"],
        ),
    ] = None
    select: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="The rules that speak: codes, the beginnings of codes, names or `ALL`. By default all errors and "
            "warnings do.",
            examples=[["TDR1", "softmax-before-cross-entropy"]],
        ),
    ] = None
    ignore: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules that do not speak. Of `select` and `ignore` the one that names a rule more exactly wins.",
            examples=[["TDR601"]],
        ),
    ] = ()
    extend_select: Annotated[
        tuple[str, ...],
        Meta(description="Rules that speak besides those that do anyway.", examples=[["no-seed"]]),
    ] = ()
    exclude: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Files and folders to leave out, as patterns of .gitignore, instead of the usual ones such as "
            "`.venv` and `build`.",
            examples=[["third_party", "*_pb2.py"]],
        ),
    ] = None
    extend_exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="Files and folders to leave out besides those that are left out anyway.", examples=[["vendor"]]
        ),
    ] = ()
    per_file_ignores: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="Rules that do not speak in the files that match a pattern; after `!`, in all others.",
            examples=[{"notebooks/*": ["TDR402"]}],
        ),
    ] = field(default_factory=dict)
    extend_per_file_ignores: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="As `per-file-ignores`, added to those of the configuration that `extend` names.",
            examples=[{"tests/*.py": ["TDR901"]}],
        ),
    ] = field(default_factory=dict)
    respect_gitignore: Annotated[bool, Meta(description="Leave out what git ignores.", examples=[False])] = True
    output_format: Annotated[
        str | None,
        Meta(
            description="The format of the output, as of `--output-format`; `FORMAT:FILE` writes it to a file. By default "
            "`full`.",
            examples=["concise"],
        ),
    ] = None
    torch_version: Annotated[
        str | None,
        Meta(
            description="The oldest torch that the code has to work with, or a range. By default what the requirements and "
            "lock files of the project say.",
            examples=["2.4", ">=2.4,<2.9"],
        ),
    ] = None
    installed_libraries: Annotated[
        bool,
        Meta(
            description="Look into the sources of the libraries that the project's environment has.", examples=[False]
        ),
    ] = True
    cache_dir: Annotated[
        str | None,
        Meta(
            description="The folder in which results are kept. By default `.torch_doctor_cache` in the project.",
            examples=["~/.cache/torch-doctor-results"],
        ),
    ] = None
    baseline: Annotated[
        str | None,
        Meta(
            description="The file of findings that are known and not reported, as `--write-baseline` writes it.",
            examples=["torch-doctor-baseline.json"],
        ),
    ] = None

    @property
    def layer(self) -> Layer:
        """What the configuration says of the selection."""
        return Layer(self.select, self.ignore, self.extend_select)


KEYS = Config.__struct_encode_fields__
"""The keys as they stand in a file."""


class Part(Struct, frozen=True):
    """What one file, or the command line, says: the keys `said` there, and the folder at which paths start."""

    config: Config
    base: Path
    path: Path | None = None
    said: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        """What messages call it."""
        return str(self.path or "--config")


class LoadedConfig(Struct, frozen=True):
    """A configuration and where it came from; `path` is None for the built-in one.

    `parts`: what it is made of, each counting before those in front of it. `warnings` name files and tables that look
    like a configuration and are none.
    """

    config: Config
    base: Path
    path: Path | None = None
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()

    def saying(self, key: str) -> Part:
        """The part that decides about a key, written with hyphens."""
        saying = (part for part in reversed(self.parts) if key in part.said)
        return next(saying, Part(self.config, self.base, self.path))
