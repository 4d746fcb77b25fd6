"""Qualified names in the code of an edit, as the file that it goes into writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.fixes.program import CannotEditError
from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from torch_doctor.fixes.program import Program

QUALIFIED = pattern(r"\$([\w.]+\w)")
STAYS = frozenset({"torch", "copy", "os", "random"})  # modules whose import may be added


def named(program: Program, code: str) -> tuple[str, list[str]]:
    """The code with the file's own names, and the modules that it has to import for them.

    Raises:
        CannotEditError: the name that an import would bind means something else in the file.
    """
    missing: list[str] = []

    def own(qualified: str) -> str:
        best = ""
        for alias, meaning in program.imported.items():
            if qualified == meaning or qualified.startswith(f"{meaning}."):
                name = alias + qualified[len(meaning) :]
                best = name if not best or len(name) < len(best) else best
        if best:
            return best
        module = qualified.partition(".")[0]
        if module not in STAYS or module in program.imported:
            raise CannotEditError
        missing.append(module)
        return qualified

    return QUALIFIED.sub(lambda found: own(found[1]), code), missing
