"""The reads of files of which the project takes just what it saves, as its source spells it: they are its own checkpoints."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.static.saves import ANY, last, texts
from torch_doctor.static.whole_reads import LOAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.sources.project import Project

SAVE = "save"
_FETCHED = re.compile(r"download|url|http|hub|cached_path", re.IGNORECASE)
"""Words of a path that somebody else has put something at."""
_PUBLISHED = re.compile(r"pre_?train|fine_?tune", re.IGNORECASE)
"""Words of a path at which weights of others may lie."""
_PLAIN = frozenset(("model", "state_dict", "model_state_dict", "weights", "net", "state"))
"""Keys that published checkpoints have as well."""
_ASKS = frozenset(("get", "pop"))
_SHOWS = frozenset(("print", "isinstance", "type", "len"))

_Kept: TypeAlias = "tuple[str, list[str]]"
"""By what something is saved, and its keys; `*` where there may be more."""


def is_own_read(project: Project, file: str, row: str) -> bool:
    """Whether the read in this row of a file takes what the project saves: each key is one of one thing that is saved."""
    path = Path(file)
    reads = _reading(project, path) if path.suffix == ".py" else []
    taken = [(set(keys), narrow) for place, keys, narrow in reads if place == row]
    if not taken:
        return False  # most files take no keys, and to look for what is saved takes longest of all
    kept = _kept(project)
    return any(_is_kept(keys, kept, narrow=narrow) for keys, narrow in taken)


def _kept(project: Project) -> list[set[str]]:
    """The keys of each thing that the project saves."""
    found = [_known(project, path) for path in project.mentions((LOAD, SAVE), _saving(project))]
    calls = {(name, callee) for _, passed in found for name, callee in passed}
    savers = {SAVE}
    while more := {name for name, callee in calls if callee in savers} - savers:
        savers |= more
    return [set(keys) for saved, _ in found for callee, keys in saved if callee in savers]


def _is_kept(keys: set[str], kept: list[set[str]], *, narrow: bool) -> bool:
    return any(
        keys & each and (keys <= each or ANY in each) and (not narrow or keys == each or not keys <= _PLAIN)
        for each in kept
    )


def _saving(project: Project) -> list[Path]:
    return [path for path in project.python_files() if path.suffix == ".py"]


def _reading(project: Project, path: Path) -> list[tuple[str, list[str], bool]]:
    """What one file reads: the row, the keys that are taken, and whether it may be what others have published."""
    kind = "own reads", path
    if kind not in project.worked_out:
        tree = project.tree(path)
        project.worked_out[kind] = [repr([each for scope in _scopes(tree) for each in _reads(scope)] if tree else [])]
    reads: list[tuple[str, list[str], bool]] = ast.literal_eval(project.worked_out[kind][0])
    return reads


def _known(project: Project, path: Path) -> tuple[list[_Kept], list[tuple[str, str]]]:
    """What one file saves, and which of its functions give what they get to which others."""
    kind = "own saves", path
    if kind not in project.worked_out:
        tree = project.tree(path)
        scopes = [] if tree is None else list(_scopes(tree))
        saved = [each for scope in scopes for each in _saves(scope)]
        passed = [] if tree is None else sorted(set(_passing(tree)))
        project.worked_out[kind] = [repr((saved, passed))]
    saved, passed = ast.literal_eval(project.worked_out[kind][0])
    return saved, passed


def _scopes(tree: ast.Module) -> Iterator[list[ast.AST]]:
    """The nodes of each function, with those in it, and of the top level."""
    top: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _nodes(node)
        else:
            top.append(node)
            waiting += ast.iter_child_nodes(node)
    yield top


def _nodes(root: ast.AST) -> list[ast.AST]:
    """A node and all nodes in it, level by level, as `ast.walk` has them; not how names are used."""
    found = [root]
    for node in found:  # it grows
        for name in node._fields:
            part = None if name == "ctx" else getattr(node, name, None)
            if isinstance(part, list):
                found += [each for each in part if isinstance(each, ast.AST)]
            elif isinstance(part, ast.AST):
                found.append(part)
    return found


def _assigned(scope: list[ast.AST]) -> dict[str, list[ast.expr]]:
    names: dict[str, list[ast.expr]] = {}
    for node in scope:
        for target, value in _bound(node):
            names.setdefault(ast.unparse(target), []).append(value)
    return names


def _bound(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with what it gets."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    return [(node.target, node.value)] if isinstance(node, ast.AnnAssign) and node.value is not None else []


def _named(scope: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """What the variables of a scope are assigned."""
    names: dict[str, list[ast.expr]] = {}
    for node in scope:
        for target, value in _bound(node):
            if isinstance(target, ast.Name):
                names.setdefault(target.id, []).append(value)
    return names


def _passing(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Functions that give a parameter to something, and what that is."""
    for function in _nodes(tree):
        if isinstance(function, ast.FunctionDef):
            of = function.args
            given = (*of.posonlyargs, *of.args, *of.kwonlyargs, *([of.vararg] if of.vararg else []))
            names = {each.arg for each in given} - {"self", "cls"}
            for call in _nodes(function) if names else ():
                first = _given(call) if isinstance(call, ast.Call) else None
                if isinstance(call, ast.Call) and isinstance(first, ast.Name) and first.id in names:
                    yield function.name, last(call.func)


def _given(call: ast.Call) -> ast.expr | None:
    """The first argument of a call."""
    first = next(iter((*call.args, *(each.value for each in call.keywords))), None)
    return first.value if isinstance(first, ast.Starred) else first


def _saves(scope: list[ast.AST]) -> Iterator[_Kept]:
    names, added = _named(scope), _added(scope)
    for call in scope:
        if not isinstance(call, ast.Call):
            continue
        for given in (*call.args, *(each.value for each in call.keywords)):
            keys = [] if last(call.func) == "dict" else _keys(given)
            if isinstance(given, ast.Name):
                keys = [key for value in names.get(given.id, []) for key in _keys(value)]
                keys += added.get(given.id, ()) if given.id in names else ()
            if keys:
                yield last(call.func), sorted(set(keys))


def _keys(value: ast.expr) -> list[str]:
    """The keys of a dictionary that is written out."""
    if isinstance(value, ast.Dict):
        return [str(key.value) if isinstance(key, ast.Constant) else ANY for key in value.keys]
    if isinstance(value, ast.Call) and last(value.func) == "dict":
        return [ANY] * bool(value.args) + [each.arg or ANY for each in value.keywords]
    return []


def _added(scope: list[ast.AST]) -> dict[str, list[str]]:
    """Keys that dictionaries get later, by their names."""
    added: dict[str, list[str]] = {}
    for node in scope:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            key = str(node.slice.value) if isinstance(node.slice, ast.Constant) else ANY
            added.setdefault(node.value.id, []).append(key)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "update"
            and isinstance(node.func.value, ast.Name)
        ):
            keys = [key for each in node.args for key in _keys(each) or [ANY]]
            added.setdefault(node.func.value.id, []).extend((*keys, *(each.arg or ANY for each in node.keywords)))
    return added


def _reads(scope: list[ast.AST]) -> Iterator[tuple[str, list[str], bool]]:
    if not any(isinstance(node, ast.Call) and _is_load(node) for node in scope):
        return
    names, taken = _assigned(scope), cache(lambda name: _taken(scope, name))
    for node in scope:
        bound = _bound(node)
        if len(bound) == 1 and _is_load(bound[0][1]):
            target, call = bound[0]
            keys, bare = taken(target.id) if isinstance(target, ast.Name) else (set(), False)
        elif isinstance(node, ast.Subscript) and _is_load(node.value) and isinstance(node.slice, ast.Constant):
            call, keys, bare = node.value, {str(node.slice.value)}, False
        else:
            continue
        given = _given(call) if isinstance(call, ast.Call) else None
        if keys and given is not None and any(ANY in text for text in texts(given, names)):
            parts = [given, *names.get(ast.unparse(given), [])]
            spelled = " ".join(map(ast.unparse, parts))
            if not _FETCHED.search(spelled):
                yield f"{call.lineno}", sorted(keys), bare or bool(_PUBLISHED.search(spelled))


def _is_load(value: ast.expr) -> bool:
    func = value.func if isinstance(value, ast.Call) else None
    if isinstance(func, ast.Attribute):
        return func.attr == LOAD and _is_name(func.value, "torch")
    return func is not None and _is_name(func, LOAD)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _taken(scope: list[ast.AST], name: str) -> tuple[set[str], bool]:
    """The keys that are taken of what was read, and whether it is used as it is without them; none where it is so with them."""
    keys, seen, bare = set[str](), set[int](), False
    for node in scope:
        key: ast.expr | None = None
        of: list[ast.expr] = []
        whole: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            key, of = node.slice, [node.value]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            key, of = node.left, node.comparators
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS:
            key, of, whole = _given(node), [node.func.value], node.args[1:]
        elif isinstance(node, ast.Call) and last(node.func) in _SHOWS:
            of = node.args
        elif isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare):
            whole = [node.orelse, node.body] if isinstance(node.test.ops[0], ast.In | ast.NotIn) else []
        elif isinstance(node, ast.Return) and node.value is not None:
            of = [*node.value.elts] if isinstance(node.value, ast.Tuple) else [node.value]
        own = {id(each) for each in of if _is_name(each, name)}
        without = {id(each) for each in whole if _is_name(each, name)}
        seen |= own | without
        bare = bare or bool(without)
        if own and isinstance(key, ast.Constant):
            keys.add(str(key.value))
    escapes = any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in seen
        for node in scope
    )
    return (set() if escapes else keys), bare
