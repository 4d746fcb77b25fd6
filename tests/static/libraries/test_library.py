"""What is known of a library stands in its own module, and the tables are filled from there."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import astuple

from torch_doctor.static import libraries, tables
from torch_doctor.static.libraries.library import Library, members
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.libraries import harmless
from torch_doctor.static.tables.models import library_model
from torch_doctor.static.tables.training import SCALER_CALLS, loader_of, optimizer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES, TABLES = (Path(package.__path__[0]) for package in (libraries, tables))


def roots(library: Library) -> set[str]:
    """The packages that a library's names belong to."""
    strings = (name for names in astuple(library) for name in names if isinstance(name, str))
    return {name.partition(".")[0] for name in strings} - {"torch"}


ROOTS = set[str]().union(*map(roots, libraries.known()))


def modules(package: Path) -> list[Path]:
    return [path for path in sorted(package.glob("*.py")) if path.name not in ("__init__.py", "library.py")]


def names(path: Path) -> Iterator[str]:
    """The dotted names that the strings of a module mention, docstrings aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield from (word for word in node.value.split() if "." in word.strip("."))
            yield from (word for word in node.value.split() if word.endswith("."))


@pytest.mark.parametrize("path", modules(LIBRARIES), ids=lambda path: path.stem)
def test_every_module_has_a_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LIBRARY" for node in tree.body)


def test_all_are_found() -> None:
    assert len(libraries.known()) == len(modules(LIBRARIES))
    assert all(isinstance(library, Library) for library in libraries.known())


@pytest.mark.parametrize("path", modules(TABLES), ids=lambda path: path.stem)
def test_no_table_names_a_library(path: Path) -> None:
    assert [name for name in names(path) if name.partition(".")[0] in ROOTS] == []


def test_no_library_stands_in_two_modules() -> None:
    homes: dict[str, set[str]] = {}
    for path in modules(LIBRARIES):
        for name in names(path):
            if (root := name.partition(".")[0]) in ROOTS:
                homes.setdefault(root, set()).add(path.stem)
    assert {root: found for root, found in homes.items() if len(found) > 1} == {}
    assert homes["timm"] == {"timm"}
    every = sorted(root for library in libraries.known() for root in roots(library))
    assert [root for root in ROOTS if every.count(root) > 1] == []


def test_no_name_is_told_twice() -> None:
    for field in Library.__struct_fields__:
        told = [name for library in libraries.known() for name in getattr(library, field) if isinstance(name, str)]
        assert len(told) == len(set(told)), field


def test_what_one_module_says_reaches_the_tables() -> None:
    assert canonical("timm.utils.cuda.NativeScaler") in SCALER_CALLS
    assert canonical("timm.models.factory.create_model") == "timm.create_model"
    assert library_model("timm.models.resnet18") is not None
    assert optimizer_of("timm.optim.AdamP")
    assert not optimizer_of("timm.optim.Lookahead")
    assert loader_of("timm.data.create_loader")
    assert harmless("timm.utils.accuracy")


def test_members_are_dotted_names() -> None:
    assert members("torch", "a b.c") == ("torch.a", "torch.b.c")


def test_each_field_of_a_library_is_read() -> None:
    """A table that nobody reads looks like knowledge, and changes nothing."""
    sources = [path.read_text(encoding="utf-8") for path in LIBRARIES.parent.rglob("*.py")]
    read = {
        node.attr
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert set(Library.__struct_fields__) <= read
