"""Scripts that should train, and of whose training nothing was understood: their silence is no health."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.scan.options import Incomplete
from torch_doctor.scan.origins import Origins
from torch_doctor.trace import Backward, GaveUp, ModuleBuilt, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static import Imports
    from torch_doctor.trace import Event, Trace

_DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)
_REPEATED = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)


def given_up(trace: Trace) -> list[GaveUp]:
    """Where the analysis of a run stopped."""
    return trace.of(GaveUp)


class Heard(Struct):
    """What the traces of some runs tell of training loops.

    `understood` are the files in which somebody's gradients were seen, and the scripts that came there; `met` are the
    scripts that came to a loop of which nobody knows whose gradients it computes; `ended` are the runs that were given up.
    `unseen` are the scripts that train, with what is out of sight where their own runs understood nothing of it.
    """

    understood: set[str] = field(default_factory=set)
    ended: dict[str, tuple[Site, str]] = field(default_factory=dict)
    met: dict[str, Site] = field(default_factory=dict)
    unseen: dict[str, tuple[Site, str]] = field(default_factory=dict)

    def hear(self, trace: Trace) -> None:
        """Note in which files somebody's gradients were seen, where nobody's were, and which runs were given up."""
        built = frozenset(event.module for event in trace.of(ModuleBuilt))
        for event in trace.of(Backward):
            handed = trace.begins_outside and not event.modules & built
            alone = handed and not event.scope.iterations()  # the loop that calls it is out of sight
            if not alone and (event.modules or event.forwards or event.inputs_only or event.whole):
                self.understood.update((event.site.path, trace.path))
            elif event.scope.iterations() and not trace.begins_outside:
                self.met.setdefault(trace.path, event.site)
        for gave_up in given_up(trace):
            self.ended.setdefault(trace.path, (gave_up.site, gave_up.reason))

    def add(self, other: Heard) -> None:
        """Note what others have heard."""
        self.understood |= other.understood
        self.ended = other.ended | self.ended
        self.met = other.met | self.met
        self.unseen = other.unseen | self.unseen

    def explain(
        self, file: SourceFile, project: Project, imports: Imports, wanted: frozenset[type[Event]] | None
    ) -> None:
        """Note what is out of sight of the training loop of a script in which something goes backward, and nobody knows what.

        `wanted` are the events that the traces have (None: all): without gradients among them, nothing was heard of any.
        """
        if wanted is not None and Backward not in wanted:
            return
        shown = file.display
        # Else parsing it tells nothing.
        trains = shown in self.met or b".backward(" in project.code(file.path)
        tree = project.tree(file.path) if trains and shown not in self.understood else None
        if tree is None or not _is_script(tree):
            return
        if why := _own(file, tree, imports):
            self.unseen[shown] = self.met.get(shown) or _place(file, _around_backward(tree)[0]), why
        elif why := self._imported(file, imports, project):
            self.unseen[shown] = self.met[shown], why

    def _imported(self, file: SourceFile, imports: Imports, project: Project) -> str:
        """What is out of sight of a training loop in a file that the script imports; "" where it comes to none."""
        site = self.met.get(file.display)
        other = None if site is None or site.path == file.display else project.read(project.displayed(site.path))
        tree = None if other is None else project.tree(other.path)
        if site is None or other is None or tree is None:
            return ""
        return f"in {other.display}, {Origins(other, tree, imports).reason(_around_backward(tree))}"


class Unfollowed:
    """Says which scripts of a project train out of sight, from what was heard of all of them."""

    def __init__(self) -> None:
        self._heard = Heard()

    def add(self, heard: Heard) -> None:
        """Take in what was heard of one file."""
        self._heard.add(heard)

    def left(self, shown: str) -> Iterator[Incomplete]:
        """What of a file was not analyzed: its training, of which nobody has understood anything, or what a limit ended."""
        why = None if shown in self._heard.understood else self._heard.unseen.get(shown)
        found = self._heard.ended.get(shown) or why
        if found is not None:
            yield Incomplete(shown, *found, loop=why is not None)


def _own(file: SourceFile, tree: ast.Module, imports: Imports) -> str:
    """What is out of sight of a training loop in the script itself; "" where it has none, or reads the gradients alone."""
    around = _around_backward(tree) if ".backward(" in file.text else ()
    if not any(isinstance(node, _REPEATED) for node in around) or _reads_gradients_alone(tree):
        return ""
    return Origins(file, tree, imports).reason(around)


def _place(file: SourceFile, node: ast.AST) -> Site:
    """The place of an expression."""
    row, column, end_row, end_column = (
        getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
    )
    cell, first = file.place(row)
    return Site(file.display, first, column + 1, file.place(end_row)[1], end_column + 1, cell)


def _is_script(tree: ast.Module) -> bool:
    """Whether running the file does more than to define things, and `backward` is no method of its own."""
    if any(isinstance(node, ast.FunctionDef) and node.name == "backward" for node in ast.walk(tree)):
        return False
    return any(
        not isinstance(node, _DEFINITIONS) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )


def _reads_gradients_alone(tree: ast.Module) -> bool:
    """Whether gradients are read, and nothing steps: they are of an input, or looked at."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return "grad" in attributes and not any(name.startswith("step") for name in attributes)


def _around_backward(tree: ast.AST) -> tuple[ast.AST, ...]:
    """The first call of a method `backward` and what it lies in, from the inside to the whole file."""
    way = [(tree, ast.iter_child_nodes(tree))]  # source nests deeper than functions may call each other
    while way:
        node = next(way[-1][1], None)
        if node is None:
            way.pop()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            return node, *(around for around, _ in reversed(way))
        else:
            way.append((node, ast.iter_child_nodes(node)))
    return ()
