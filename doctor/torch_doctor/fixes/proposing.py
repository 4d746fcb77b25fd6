"""What would mend each finding, as changes of text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.edits import Change, Proposal
from torch_doctor.fixes.imports import without_use
from torch_doctor.fixes.program import CannotEditError, Program
from torch_doctor.fixes.surgery import pieces
from torch_doctor.packages import modules
from torch_doctor.rule import Fix, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_doctor.fixes.program import Piece
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.sources.source import SourceFile

for _name in modules("torch_doctor.fixes"):
    import_module(_name)  # each registers its edits with `surgery.made`


def propose(findings: Iterable[Finding], sources: Mapping[str, SourceFile], rules: Iterable[Rule]) -> list[Finding]:
    """The findings, those that can be mended with a proposal; `sources` are the files by the path that sites carry.

    What the probe refuted is not mended.
    """
    kinds = {rule.code: rule.fix for rule in rules}
    programs: dict[str, Program | None] = {}

    def program(path: str) -> Program:
        if path not in programs:
            programs[path] = None
            if path in sources:
                programs[path] = Program(sources[path], program)
        found = programs[path]
        if found is None:
            raise CannotEditError
        return found

    def proposed(finding: Finding) -> Finding:
        kind = kinds.get(finding.code, Fix.NONE)
        if not finding.edits or kind is Fix.NONE or finding.verdict is Verdict.REFUTED:
            return finding
        made: dict[str, list[Piece]] = {}
        try:
            for edit in finding.edits:
                made.setdefault(edit.site.path, []).extend(pieces(program(edit.site.path), edit))
        except CannotEditError:
            return finding
        changes = [
            Change(program(path).site(start, end), text)
            for path, several in made.items()
            for start, end, text in dict.fromkeys((*several, *without_use(program(path), several)))
        ]
        if any(sources[path].is_older(change.site) for path in made for change in changes if change.site.path == path):
            return finding  # what is changed there would not be what stands in the file
        return replace(finding, fix=Proposal(tuple(changes), kind is Fix.SAFE))

    return [proposed(finding) for finding in findings]
