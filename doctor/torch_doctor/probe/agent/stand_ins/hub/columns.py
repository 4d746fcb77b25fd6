"""The columns that the user's code reads of a data set that is not there, and what sort each is, by how it is used."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from ..source import spelled, targets
from ..table_values import LABELS, PICTURES, TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..source import Sources

SPLITS = frozenset(
    "train training validation valid val dev test testing eval evaluation unsupervised validation_matched".split()
)
ROWWISE = frozenset({"map", "filter", "set_transform", "with_transform"})
OF_TOKENIZERS = frozenset(
    "input_ids attention_mask token_type_ids special_tokens_mask offset_mapping overflow_to_sample_mapping pixel_values "
    "sentence_embedding".split()
)
PASSAGES = ("text", "article", "document", "passage", "context", "dialogue", "content", "story", "body", "abstract")
CLASSES = (*LABELS, "labels", "intent", "emotion", "stars", "rating", "genre", "topic")
AMOUNTS = ("score", "similarity", "price", "amount", "value", "length", "weight")
TOKENS = ("tokens", "words")
CHATS = ("messages", "conversations", "conversation")
TAKING = ("remove_columns", "input_columns")  # keywords
FIRST = ("rename_column", "remove_columns", "select_columns", "class_encode_column", "cast_column")  # first arguments
COUNTS = ("num_labels", "num_classes", "n_classes", "nb_classes", "n_labels")


def read(sources: Sources, held: set[str]) -> dict[str, str]:
    """The columns, in the order of the source, with their kinds as `rows` has them.

    Args:
        sources: the user's files; those that are loaded are looked at.
        held: the names that the data set is assigned to.
    """
    found = _ColumnReader(list(sources.trees()), held)
    return {name: found.kind(name) for name in found.columns()}


def splits(sources: Sources, held: set[str]) -> list[str]:
    """The splits that the code takes out of a data set, in the order of the source."""
    found = _ColumnReader(list(sources.trees()), held)
    words = [word for node in found.indexed() for word in found.words(node.slice) if word in SPLITS]
    return list(dict.fromkeys(words))


class _ColumnReader:
    """What is known of names: which hold the data set or something out of it, and which strings they hold."""

    def __init__(self, trees: list[ast.Module], held: set[str]) -> None:
        self.nodes = [node for tree in trees for node in sorted(ast.walk(tree), key=_place)]
        self.held = {name for name in held if name}
        self._functions = {
            node.name: node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self._classes = {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}
        for _ in range(5):  # the dataset, its split, the class that keeps it, its row
            before = len(self.held)
            for node in self.nodes:
                self._follow(node)
            if len(self.held) == before:
                break

    # --- names ---

    def _follow(self, node: ast.AST) -> None:
        """Adds the names that what is known flows into here."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and self._is_held(node.value):
            self.held.update(name for name in targets(node) if name)
        elif isinstance(node, (ast.For, ast.comprehension)) and self._is_held(node.iter):
            self._add(node.target)
        elif isinstance(node, ast.Call):
            name = spelled(node.func)
            if name in ROWWISE and isinstance(node.func, ast.Attribute) and node.args:
                self._rows_of(node.args[0])
            for each in node.keywords:
                if each.arg in ("collate_fn", "data_collator") or (name in ROWWISE and each.arg == "function"):
                    self._rows_of(each.value)
            self._given(name, node)

    def _add(self, target: ast.expr) -> None:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if spelled(each):
                self.held.add(spelled(each))

    def _rows_of(self, function: ast.expr) -> None:
        """The first parameter of what is called with rows."""
        if isinstance(function, ast.Call) and spelled(function) == "partial" and function.args:
            function = function.args[0]
        held = [each for each in self._given_to.get(spelled(function), []) if isinstance(each, ast.Lambda)]
        known = function if isinstance(function, ast.Lambda) else self._functions.get(spelled(function), *held[:1])
        if known is not None:
            names = [each.arg for each in known.args.args if each.arg != "self"]
            self.held.update(names[:1])

    def _given(self, name: str, call: ast.Call) -> None:
        """The parameters of the user's function or class that get something of the data set."""
        function = self._functions.get(name)
        if name in self._classes:
            own = self._classes[name].body
            function = next(
                (each for each in own if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
            )
        if function is None:
            return
        names = [each.arg for each in function.args.args if each.arg != "self"]
        self.held.update(parameter for parameter, given in zip(names, call.args, strict=False) if self._is_held(given))
        self.held.update(each.arg for each in call.keywords if each.arg in names and self._is_held(each.value))

    def _is_held(self, node: ast.expr) -> bool:
        """Whether it is a name that holds the data set, an attribute or item of it, or what a method of it gives."""
        while True:
            if spelled(node) in self.held and isinstance(node, (ast.Name, ast.Attribute)):
                return True
            if (
                isinstance(node, ast.Call)
                and spelled(node) in ("enumerate", "tqdm", "iter", "list", "zip")
                and node.args
            ):
                node = node.args[0]
            elif isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, (ast.Attribute, ast.Subscript)):
                node = node.value
            else:
                return False

    # --- columns ---

    def indexed(self) -> Iterator[ast.Subscript]:
        """The places where something is read out of what is held by a key."""
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self._is_held(node.value):
                yield node

    def columns(self) -> list[str]:
        """The names of the columns."""
        read = [word for node in self.indexed() for word in self.words(node.slice)]
        found = [word for call in self._calls() for word in self._named(call)]
        gone = {*OF_TOKENIZERS, *SPLITS, *self._made()}
        return [name for name in dict.fromkeys([*read, *found]) if name not in gone]

    def _calls(self) -> Iterator[tuple[str, ast.Call, ast.Attribute]]:
        """The calls of methods."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node.func.attr, node, node.func

    def _named(self, found: tuple[str, ast.Call, ast.Attribute]) -> list[str]:
        """The columns that a call of a method names."""
        name, call, method = found
        given = [*call.args, *(each.value for each in call.keywords)]
        words = [word for each in call.keywords if each.arg in TAKING for word in self.words(each.value)]
        if name in FIRST or (name == "get" and self._is_held(method.value)):
            words += [word for each in given[:1] for word in self.words(each)]
        if name == "rename_columns":
            words += [word for old, _ in _pairs(given) for word in self.words(old)]
        return words

    def _made(self) -> set[str]:
        """The columns that the script makes."""
        made: list[ast.expr | None] = []
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                made.append(node.slice)
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
                made += node.value.keys
        for name, call, _ in self._calls():
            given = [*call.args, *(each.value for each in call.keywords)]
            if name == "rename_column":
                made += given[1:2]
            elif name == "rename_columns":
                made += [new for _, new in _pairs(given)]
        return {word for each in made if each is not None for word in self.words(each)}

    def words(self, node: ast.expr, depth: int = 2) -> list[str]:
        """The strings that an expression stands for: itself, those in a list, what a name is given in the source."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [word for each in node.elts for word in self.words(each, depth)]
        if isinstance(node, ast.IfExp):
            return self.words(node.body, depth)
        if isinstance(node, (ast.Name, ast.Attribute)) and depth:
            return [
                word for value in self._given_to.get(spelled(node), [])[:4] for word in self.words(value, depth - 1)
            ]
        return []

    @functools.cached_property
    def _given_to(self) -> dict[str, list[ast.expr]]:
        """What names are given: by assignments, defaults of parameters, and defaults of arguments."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                for name in targets(node):
                    found.setdefault(name, []).append(node.value)
            elif isinstance(node, ast.arguments):
                for parameter, default in zip(node.args[::-1], node.defaults[::-1], strict=False):
                    found.setdefault(parameter.arg, []).append(default)
            elif isinstance(node, ast.Call) and spelled(node) == "add_argument":
                values = [each.value for each in node.keywords if each.arg == "default"]
                for each in node.args:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        found.setdefault(each.value.lstrip("-").replace("-", "_"), []).extend(values)
        return found

    # --- kinds ---

    def kind(self, name: str) -> str:
        """What sort of values a column of this name has."""
        lowered = name.lower()
        words = lowered.replace("-", "_").replace(" ", "_").split("_")
        compared = self._compared(name)
        if self._is_tokenized(name) and not set(words) & {*TOKENS, *CHATS}:
            return "long" if lowered in PASSAGES else "text"
        if compared:
            return f"words:{','.join(compared)}"
        if lowered in ("translation", "answers"):
            return "translation:en,de" if lowered == "translation" else "answers"
        sorts = (
            (words[-1] in ("tags", "tag"), f"tags:{self._count()}"),
            (lowered in TOKENS, "tokens"),
            (lowered in CHATS, "chat"),
            (lowered in ("input_ids", "ids"), "numbers"),
            (lowered == "attention_mask", "ones"),
            (words[0] in PICTURES and words[-1] not in ("id", "path", "name"), "image:64x64x3"),
            (words[-1] in ("id", "idx", "index"), "int"),
            (any(word in CLASSES for word in words), f"class:{self._count()}"),
            (any(word in AMOUNTS for word in words), "float"),
            (lowered in PASSAGES, "long"),
            (any(word in TEXTS for word in words), "text"),
        )
        return next((kind for holds, kind in sorts if holds), "text")

    def _count(self) -> int:
        """The number of classes that the source names; else two."""
        for node in self.nodes:
            named = isinstance(node, ast.keyword) and node.arg in COUNTS
            assigned = isinstance(node, ast.Assign) and bool(set(targets(node)) & set(COUNTS))
            value = getattr(node, "value", None) if named or assigned else None
            if isinstance(value, ast.Constant) and isinstance(value.value, int) and value.value > 1:
                return value.value
        return 2

    def _is_tokenized(self, column: str) -> bool:
        """Whether values of a column go to a tokenizer, at once or by a name."""
        names: set[str] = set()
        given: list[ast.expr] = []
        for node in self.nodes:
            if isinstance(node, ast.Assign) and self._is_column(node.value, column):
                names.update(targets(node))
            elif isinstance(node, ast.Call) and "tokeniz" in spelled(node.func).lower():
                given += node.args
        return any(self._is_column(each, column) or (isinstance(each, ast.Name) and each.id in names) for each in given)

    def _is_column(self, node: ast.expr, column: str) -> bool:
        return isinstance(node, ast.Subscript) and self._is_held(node.value) and column in self.words(node.slice)

    def _compared(self, column: str) -> list[str]:
        """The strings that values of a column are compared with."""
        found: list[str] = []
        for node in self.nodes:
            if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq):
                continue
            left = node.left
            if isinstance(left, ast.Subscript) and column in self.words(left.slice) and self._is_held(left.value):
                found += self.words(node.comparators[0])
        return list(dict.fromkeys(word for word in found if "," not in word and word))


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _pairs(given: list[ast.expr]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The keys and values of the dictionaries that are given."""
    for each in given:
        if isinstance(each, ast.Dict):
            yield from ((key, value) for key, value in zip(each.keys, each.values, strict=True) if key is not None)
