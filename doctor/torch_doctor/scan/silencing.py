"""Which findings nobody wants to hear: ignored in some files by the settings, or suppressed by a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.sources.suppressions import Suppressions, suppressions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.scan.options import FileIgnore, Options
    from torch_doctor.sources.source import SourceFile

UNREADABLE_CODE = "TDR000"
UNUSED_CODE = "TDR001"


class Silencing:
    """What the settings and the comments of one scan silence."""

    def __init__(self, options: Options) -> None:
        self._file_ignores = options.file_ignores
        self._known = options.known
        self._tells = any(rule.code == UNUSED_CODE for rule in options.rules)
        self._heeds_comments = options.heeds_comments
        self._suppressions: dict[str, Suppressions] = {}

    def silences(self, finding: Finding, path: Path, file: SourceFile | None) -> bool:
        """Whether a finding in the file at `path` is not to be reported; `file` is its text, None where it cannot be read."""
        if self.ignores(finding.code, path):
            return True
        return self._heeds_comments and file is not None and self.comments_of(file).silences(finding, file)

    def ignores(self, code: str, path: Path) -> bool:
        """Whether the settings ignore a rule in a file."""
        return any(_is_ignored(ignore, path, code) for ignore in self._file_ignores)

    def problems(self, file: SourceFile) -> Iterator[str]:
        """What is wrong with the suppressions in a file: they are misspelt, or name no rule."""
        if "torch-doctor" not in file.text:
            return
        comments = self.comments_of(file)
        named = [(comment.row, name) for comment in comments.all() if comment.ours for name in comment.selectors]
        unknown = [(row, f"unknown rule `{name}`") for row, name in named if not self.is_known(name)]
        if self._tells:
            unknown = []  # there is a rule for that
        for row, why in sorted(comments.misspelt + unknown):
            yield f"{file.site(row, 1, row, 1)}: {why}"

    def comments_of(self, file: SourceFile) -> Suppressions:
        """The comments of a file that suppress."""
        if file.display not in self._suppressions:
            self._suppressions[file.display] = suppressions(file)
        return self._suppressions[file.display]

    def is_known(self, selector: str) -> bool:
        """Whether a selector names a rule, or several."""
        return (
            selector == "ALL"
            or selector in self._known
            or any(name.startswith(selector.upper()) for name in self._known)
        )


def _is_ignored(ignore: FileIgnore, path: Path, code: str) -> bool:
    return code in ignore.codes and ignore.patterns.match(path) is not ignore.negated
