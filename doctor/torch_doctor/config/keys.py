"""The configuration keys: names, types, defaults and descriptions. The JSON schema and `torch-doctor config` use them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from torch_doctor.selection import FixLayer, Layer

LevelName: TypeAlias = Literal["error", "warning", "advice"]


class ConfigError(ValueError):
    """An invalid configuration. The message is one line that names the file and the key."""


class Probe(Struct, frozen=True):
    """How `--probe` runs scripts. Command-line options take precedence."""

    scripts: Annotated[
        tuple[str, ...],
        Meta(
            description="The scripts to run, as .gitignore patterns. If no path is given, `--probe` runs all of these; if a "
            "folder is given, those in it. By default, it runs the scripts in a folder that train a model.",
            examples=[["train.py", "experiments/*.py"]],
        ),
    ] = ()
    arguments: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="Command-line arguments for each script: a table from .gitignore patterns to lists of arguments. If "
            "several patterns match a script, the last one counts. Arguments after `--` on the command line replace them. "
            "Also used by `checkup` and `diagnose`.",
            examples=[{"train.py": ["--epochs", "1"], "experiments/*.py": ["--config", "tiny.yaml"]}],
        ),
    ] = field(default_factory=dict)
    time: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            description="Time limit in seconds for each script, as for `--probe-timeout`. The default is 60.",
            examples=[30],
        ),
    ] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None,
        Meta(
            description="The device to run on, as for `--device`. The default is `auto`. Also used by `checkup` and "
            "`diagnose`.",
            examples=["cpu"],
        ),
    ] = None
    python: Annotated[
        str | None,
        Meta(
            description="The Python interpreter or environment that runs the scripts, as for `--python`. The scan reads the "
            "libraries installed there. Also used by `checkup` and `diagnose`. If it does not exist, a scan without "
            "`--probe` uses the project's default environment.",
            examples=[".venv"],
        ),
    ] = None


class Config(Struct, frozen=True, rename="kebab"):
    """The configuration of torch-doctor. Keys are written with hyphens; paths are relative to the file's folder."""

    extend: Annotated[
        str | None,
        Meta(
            description="Another configuration file to inherit from; `~` expands to the home folder. Keys in this file take "
            "precedence. `select` and `ignore` are applied after those of the other file, and keys that start with "
            "`extend-` add to its lists.",
            examples=["../shared/torch-doctor.toml"],
        ),
    ] = None
    required_version: Annotated[
        str | None,
        Meta(
            description="The versions of torch-doctor that may use this configuration, as a PEP 440 specifier. Any other "
            "version exits with status 2.",
            examples=[">=0.1,<0.2"],
        ),
    ] = None
    select: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Rules to enable: codes, prefixes, names, or `ALL`. By default, all rules of level error and "
            "warning are enabled.",
            examples=[["TDR1", "softmax-before-cross-entropy"]],
        ),
    ] = None
    ignore: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules to disable. If both `select` and `ignore` match a rule, the more specific selector wins.",
            examples=[["TDR601"]],
        ),
    ] = ()
    extend_select: Annotated[
        tuple[str, ...],
        Meta(description="Rules to enable in addition to the selected ones.", examples=[["no-seed"]]),
    ] = ()
    levels: Annotated[
        dict[str, LevelName],
        Meta(
            description="A level for each rule: a table from codes, prefixes, names or `ALL` to `error`, `warning` or "
            "`advice`. All output formats show this level, and `fail-level` compares it. Rules of level error or warning are "
            "enabled by default; advice is reported only if it is selected.",
            examples=[{"TDR305": "advice", "no-seed": "warning"}],
        ),
    ] = field(default_factory=dict)
    fail_level: Annotated[
        LevelName | None,
        Meta(
            description="The lowest level of findings that makes the exit status 1, as for `--fail-level`. The default is "
            "`advice`: any finding.",
            examples=["error"],
        ),
    ] = None
    fail_conditional: Annotated[
        bool,
        Meta(
            description="Whether findings that need other settings than the defaults also set exit status 1.",
            examples=[True],
        ),
    ] = False
    include: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Python files and notebooks to scan, as .gitignore patterns; a folder stands for all files in it. By "
            "default, all are scanned. `exclude` takes precedence. Files named on the command line are scanned even if no "
            "pattern matches, except with `force-exclude`.",
            examples=[["src", "train_*.py"]],
        ),
    ] = None
    fixable: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Rules whose fixes may be offered and applied: codes, prefixes, names, or `ALL`, the default.",
            examples=[["TDR1", "TDR601"]],
        ),
    ] = None
    unfixable: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules whose findings are reported without a fix. If both `fixable` and `unfixable` match a rule, the "
            "more specific selector wins.",
            examples=[["TDR101"]],
        ),
    ] = ()
    extend_safe_fixes: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules whose unsafe fixes count as safe, so that `--fix` applies them without `--unsafe-fixes`.",
            examples=[["TDR101"]],
        ),
    ] = ()
    extend_unsafe_fixes: Annotated[
        tuple[str, ...],
        Meta(
            description="Rules whose safe fixes count as unsafe, so that `--fix` applies them only with `--unsafe-fixes`.",
            examples=[["TDR111"]],
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Files and folders to exclude, as .gitignore patterns. Replaces the default list (`.venv`, `build`, "
            "...).",
            examples=[["third_party", "*_pb2.py"]],
        ),
    ] = None
    extend_exclude: Annotated[
        tuple[str, ...],
        Meta(description="Files and folders to exclude in addition to those of `exclude`.", examples=[["vendor"]]),
    ] = ()
    force_exclude: Annotated[
        bool,
        Meta(
            description="Also apply `include`, `exclude` and `extend-exclude` to files named on the command line. The "
            "pre-commit hooks always do.",
            examples=[True],
        ),
    ] = False
    per_file_ignores: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="Rules to disable in files that match a pattern; a pattern after `!` matches all other files.",
            examples=[{"notebooks/*": ["TDR402"]}],
        ),
    ] = field(default_factory=dict)
    extend_per_file_ignores: Annotated[
        dict[str, tuple[str, ...]],
        Meta(
            description="Like `per-file-ignores`, but added to those of the configuration named by `extend`.",
            examples=[{"tests/*.py": ["TDR901"]}],
        ),
    ] = field(default_factory=dict)
    respect_gitignore: Annotated[bool, Meta(description="Exclude files that git ignores.", examples=[False])] = True
    probe: Annotated[
        Probe,
        Meta(
            description="A table with settings of `--probe`. Command-line options take precedence.",
            examples=[{"device": "cpu", "time": 30}],
        ),
    ] = Probe()
    output_format: Annotated[
        str | None,
        Meta(
            description="The output format, as for `--output-format`. `FORMAT:FILE` writes to a file. The default is "
            "`full`, or `short` with `--watch`.",
            examples=["concise"],
        ),
    ] = None
    torch_version: Annotated[
        str | None,
        Meta(
            description="The oldest supported version of torch, or a range. By default, the project's requirements and lock "
            "files decide.",
            examples=["2.4", ">=2.4,<2.9"],
        ),
    ] = None
    installed_libraries: Annotated[
        bool,
        Meta(
            description="Read the source of libraries that are installed in the project's environment.",
            examples=[False],
        ),
    ] = True
    cache_dir: Annotated[
        str | None,
        Meta(
            description="The cache folder. The default is `.torch_doctor_cache` in the project root.",
            examples=["~/.cache/torch-doctor-results"],
        ),
    ] = None
    baseline: Annotated[
        str | None,
        Meta(
            description="The baseline: a file of known findings, which are not reported. `--write-baseline` creates and "
            "updates it.",
            examples=["torch-doctor-baseline.json"],
        ),
    ] = None

    @property
    def layer(self) -> Layer:
        """The rule selection of this configuration."""
        return Layer(self.select, self.ignore, self.extend_select)

    @property
    def fixes(self) -> FixLayer:
        """The fixes that this configuration allows."""
        return FixLayer(self.fixable, self.unfixable, self.extend_safe_fixes, self.extend_unsafe_fixes)


KEYS = Config.__struct_encode_fields__
"""The keys as written in a file, in the order of the documentation."""
PROBE_KEYS = Probe.__struct_encode_fields__
"""The keys of the table `probe`."""


class Part(Struct, frozen=True):
    """The keys of one file, or of `--config KEY=VALUE`."""

    config: Config
    """The values; keys that are absent have their defaults."""
    base: Path
    """The folder to which paths and patterns are relative."""
    path: Path | None = None
    """The file; None for the command line and the defaults."""
    said: frozenset[str] = frozenset()
    """The keys that are present; those of the table `probe` also as `probe.time`."""

    @property
    def source(self) -> str:
        """The name of this part in messages."""
        return str(self.path or "--config")


class LoadedConfig(Struct, frozen=True):
    """The configuration in effect, and where it comes from."""

    config: Config
    base: Path
    path: Path | None = None
    """The file that was found or named; None for the defaults."""
    parts: tuple[Part, ...] = ()
    """The files and command-line settings it was merged from; later parts take precedence."""
    warnings: tuple[str, ...] = ()
    """One line for each file or table that looks like a configuration, but has another name."""

    def saying(self, key: str) -> Part:
        """Return the part that decides the value of a key, such as `cache-dir`."""
        saying = (part for part in reversed(self.parts) if key in part.said)
        return next(saying, Part(self.config, self.base, self.path))
