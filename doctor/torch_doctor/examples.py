"""The two complete scripts on the page of a rule: its example, and the script to use instead.

A page shows only what matters. The block below "Example" may use the names of `IMPORTS` and `GIVEN` without defining them, and
the block below "Use instead" is a diff against it, without line numbers: `...` stands for unchanged lines between two hunks.
"""

from __future__ import annotations

import re
import symtable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = "Example"
INSTEAD = "Use instead"
IMPORTS = {
    "copy": "",
    "os": "",
    "tempfile": "",
    "torch": "",
    "nn": "torch",
    "DistributedDataParallel": "torch.nn.parallel",
    "DataLoader": "torch.utils.data",
    "Dataset": "torch.utils.data",
    "DistributedSampler": "torch.utils.data",
    "TensorDataset": "torch.utils.data",
    "random_split": "torch.utils.data",
}
"""The modules from which a complete script imports names that its example uses; empty for a module itself."""
SEED = "torch.manual_seed(0)"
"""Makes the complete script print the same numbers each time, unless its example imports torch itself."""
GIVEN = {
    ("device",): 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    ("data",): "data = TensorDataset(torch.randn(96, 4), torch.randn(96, 1))",
    ("train_set", "test_set"): "train_set, test_set = random_split(data, [64, 32])",
    (
        "loader",
    ): "loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)",
    ("model",): "model = nn.Linear(4, 1)",
    ("optimizer",): "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
}
"""The statement behind each name, or names, that an example need not define, in the order of the complete script."""


def example(page: str) -> str:
    """Return the complete script below "Example" on a page.

    Raises:
        ValueError: the section has no script, or the script defines a name that a given one depends on.
    """
    return complete(_block(page, EXAMPLE, "python"))


def instead(page: str) -> str:
    """Return the complete script below "Use instead" on a page.

    Raises:
        ValueError: as for `example`; or the section has no diff, or its diff does not apply.
    """
    return complete(patched(_block(page, EXAMPLE, "python"), _block(page, INSTEAD, "diff")))


def complete(script: str) -> str:
    """Return a script with the lines that define its undefined names put before it.

    Raises:
        ValueError: the script defines a name that a given one depends on.
    """
    before = preamble(script)
    gap = "\n" * (2 if script.startswith(("class ", "def ", "@")) else 1)
    return f"{before}{gap}{script}" if before else script


def preamble(script: str) -> str:
    """Return the imports and statements that define the undefined names of a script; empty if there are none.

    Raises:
        ValueError: the script defines a name that a given one depends on.
    """
    undefined, defined = _names(script)
    given: list[str] = []
    for names, statement in reversed(GIVEN.items()):
        if undefined.isdisjoint(names):
            continue
        needed, _ = _names(statement)
        if clash := needed & defined:
            message = f"the example must define `{names[0]}`, because it defines `{clash.pop()}`"
            raise ValueError(message)
        undefined |= needed
        given.insert(0, statement)
    seed = [SEED] if "torch" in undefined else []
    parts = (_imports(undefined), [*seed, *given])
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def patched(script: str, diff: str) -> str:
    """Return a script with a diff applied to it.

    Raises:
        ValueError: the lines of a hunk occur in the rest of the script never or several times.
    """
    rest, done = script.splitlines(), []
    for hunk in re.split(r"^\.\.\.\n", diff, flags=re.MULTILINE):
        lines = [line or " " for line in hunk.splitlines()]
        old = [line[1:] for line in lines if line[0] != "+"]
        found = [start for start in range(len(rest) - len(old) + 1) if rest[start : start + len(old)] == old]
        if len(found) != 1:
            message = f"the lines of a hunk occur {len(found)} times in the rest of the example:\n{hunk}"
            raise ValueError(message)
        done += [*rest[: found[0]], *(line[1:] for line in lines if line[0] != "-")]
        rest = rest[found[0] + len(old) :]
    return "".join(f"{line}\n" for line in [*done, *rest])


def _block(page: str, heading: str, language: str) -> str:
    """Return the code block of a section."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    if found := re.search(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        return found[1]
    message = f"the page has no block of {language} below `## {heading}`"
    raise ValueError(message)


def _names(script: str) -> tuple[set[str], set[str]]:
    """Return the global names that a script reads without defining them, and those that it defines; none if it is not valid."""
    try:
        top = symtable.symtable(script, "train.py", "exec")
    except SyntaxError:
        return set(), set()
    defined = {each.get_name() for each in top.get_symbols() if each.is_assigned() or each.is_imported()}
    return set(_read(top)) - defined, defined


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a scope and those within it read."""
    yield from (each.get_name() for each in table.get_symbols() if each.is_referenced() and each.is_global())
    for inner in table.get_children():
        yield from _read(inner)


def _imports(names: set[str]) -> list[str]:
    """Return the imports of those of the names that are in `IMPORTS`, one for each module."""
    needed: dict[str, list[str]] = {}
    for name, module in IMPORTS.items():
        if name in names:
            needed.setdefault(f"from {module} import " if module else f"import {name}", []).append(
                name if module else ""
            )
    return [start + ", ".join(imported) for start, imported in needed.items()]
