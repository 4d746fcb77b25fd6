"""What tests ask of the source code: its modules, the lines of its functions, and which module imports which."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
LONGEST_MODULE, LONGEST_FUNCTION = 300, 60


def modules(root: str) -> dict[str, Path]:
    """The files below a source root by the dotted names of their modules."""
    paths = {}
    for path in sorted((ROOT / root).rglob("*.py")):
        parts = path.relative_to(ROOT / root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def functions(source: str) -> Iterator[tuple[str, int]]:
    """The functions of a module with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def long_modules(paths: Mapping[str, Path]) -> dict[str, int]:
    """The modules that have more lines than anybody should have to read, with their number."""
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in paths.items()}
    return {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE}


def long_functions(paths: Mapping[str, Path]) -> dict[str, int]:
    """The same of functions."""
    return {
        f"{module}.{name}": lines
        for module, path in paths.items()
        for name, lines in functions(path.read_text(encoding="utf-8"))
        if lines > LONGEST_FUNCTION
    }


def needs(paths: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which of these modules each of them imports, wherever in it, for type checking too."""
    found = {}
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found[name] = {other for node in nodes for other in _imported(node, package, paths)} - {name}
    return found


def _imported(node: ast.AST, package: str, paths: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in paths)
    elif isinstance(node, ast.ImportFrom):
        around = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        source = ".".join([*around, *([node.module] if node.module else [])])
        for alias in node.names:
            whole = f"{source}.{alias.name}"
            if whole in paths:
                yield whole
            elif source in paths:
                yield source


def circles(needs: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules of which each needs, in the end, itself."""
    reached = {name: _reached(name, needs) for name in needs}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in needs
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def _reached(name: str, needs: Mapping[str, set[str]]) -> set[str]:
    """All that a module needs, directly or not."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = needs[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def fields(*classes: ast.stmt) -> set[str]:
    """The attributes that the methods of these classes give to `self`."""
    return {
        target.attr
        for cls in classes
        for node in ast.walk(cls)
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        for target in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    }


def undocumented(paths: Mapping[str, Path]) -> list[str]:
    """Return the public fields of public classes in these modules that have no docstring below them."""
    return [
        f"{module}.{cls.name}.{field.target.id}"
        for module, path in paths.items()
        for cls in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(cls, ast.ClassDef) and not cls.name.startswith("_")
        for field, below in zip(cls.body, [*cls.body[1:], None], strict=True)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if not field.target.id.startswith("_") and not _is_text(below)
    ]


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
