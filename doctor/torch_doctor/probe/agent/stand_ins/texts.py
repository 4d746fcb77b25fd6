"""Texts that are not there: lines of words or numbers, as the function that reads them takes them apart."""

from __future__ import annotations

import ast
import os
import random
import re
from typing import TYPE_CHECKING

from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .learnt import Learnt
    from .source import Sources

TAKING_APART = frozenset({"split", "splitlines", "readlines", "strip", "rstrip"})
PARSING = frozenset(
    "load loads safe_load full_load reader DictReader parse fromstring Unpickler literal_eval frombuffer".split()
)
"""Functions that want a text of a certain form."""
NUMBERED = frozenset({"int", "float"})
PAIR = 2  # classes
FEWEST, FIELDS = 3, 32  # numbers of a line
LINES, WORDS = 2_000, 12
SEVERAL = re.compile(r"[a-z][\w']* [\w' ]*$")
"""Words of a sentence, of which there is more than one, or one with a space behind it."""
BLANK = 8  # of so many lines the last is empty
VOCABULARY = (
    "the a one this that some every old young small big red blue green cold warm house tree river road dog cat bird child "
    "man woman king book letter word song story sees takes gives finds loses makes breaks reads writes hears near under over "
    "behind before after with without slowly quickly always never often today and or but"
).split()
VOCABULARY_ALL = 10_000  # above all that a text of these words has: they begin with capitals, and end with a mark
ENDS = (".", ".", "!", "?", ", and so on;", ' - "so it is": 1, 2.')
SMALL = 64  # numbers stay below it, so that they are indices of any vocabulary


class Texts:
    """Makes up the text of files of which only the reader is known; `lines` is how many they have."""

    def __init__(self, sources: Sources, learnt: Learnt) -> None:
        self._sources = sources
        self._learnt = learnt
        self.lines = learnt.fewer(LINES)

    def of(self, name: str) -> str:
        """The text of a file of this name."""
        draw = random.Random(name)  # noqa: S311 - made-up text
        line, learnt = self._fields_of_a_line(), self._learnt.of("fields", name)
        if line is not None and not all(line[1]) and (any(line[1]) or line[0].strip()):
            kinds = [*line[1], *[False] * max(0, (learnt or 0) - len(line[1]))]
            return "".join(self._mixed(line[0], kinds, draw) for _ in range(self.lines))
        numbers, fields = self._numbers_between(), learnt or self._words_of_a_line() or (len(line[1]) if line else 0)
        if numbers is not None:
            between, count = numbers[0], fields or numbers[1]
            small = self._learnt.below(SMALL)
            rows = (between.join(str(each) for each in _covering(number, count, small)) for number in range(self.lines))
            return "".join(f"{row}\n" for row in rows)
        columns, most = fields or (3 if self._splits_at_tabs() else 1), self._learnt.below(VOCABULARY_ALL)
        known, ends = (VOCABULARY, ENDS) if most == VOCABULARY_ALL else (VOCABULARY[: max(1, most // 3)], ENDS[:1])
        if any(word in os.path.basename(name).lower() for word in ("label", "target", "class")):
            return "".join(f"{draw.randrange(2)}\n" for _ in range(self.lines))
        between = "\t" if not fields or self._splits_at_tabs() else " "
        every = BLANK if self._knows_blank_lines() else 0
        lines, begun = [], self._beginnings()
        for number in range(self.lines):
            first = f"{begun[number % len(begun)].strip()} " if begun and number % 2 else ""
            parts = [
                (first + " ".join(draw.choices(known, k=draw.randint(4, WORDS))).capitalize() + draw.choice(ends))
                if between == "\t"
                else draw.choice(known)
                for _ in range(columns)
            ]
            lines.append("\n" if every and number % every == every - 1 else between.join(parts) + "\n")
        return "".join(lines)

    def _fields_of_a_line(self) -> tuple[str, list[bool]] | None:
        """What separates the fields of a line that the function that reads takes apart, and which of them are numbers."""
        nodes = list(self._reading_function())
        numbers = {ast.unparse(each) for each in taken_for_numbers(nodes)}
        for node in nodes:
            call = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call) or spelled(call) != "split":
                continue
            given = [each.value for each in call.args[:1] if isinstance(each, ast.Constant)]
            if len(given) < len(call.args) or call.keywords:
                continue
            fields = _fields(node.targets[0], nodes)
            if len(fields) > 1:
                return str((given or [" "])[0] or " "), [each in numbers for each in fields]
        return None

    def _mixed(self, between: str, kinds: list[bool], draw: random.Random) -> str:
        """A line of words and of numbers, which are classes."""
        small = self._learnt.below(PAIR)
        parts = []
        for is_number in kinds:
            count = 1 if between == " " else draw.randint(4, WORDS)
            text = " ".join(draw.choices(VOCABULARY, k=count)).replace(between, "")
            parts.append(str(draw.randrange(small)) if is_number else text)
        return between.join(parts) + "\n"

    def _words_of_a_line(self) -> int:
        """How many words the function that reads takes from a line that it splits at spaces; 0 where that is not known."""
        for node in self._reading_function():
            target, value = (node.targets[0], node.value) if isinstance(node, ast.Assign) else (None, None)
            if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, ast.Call):
                continue
            given = [each.value if isinstance(each, ast.Constant) else each for each in value.args]
            whole = not any(isinstance(each, ast.Starred) for each in target.elts)
            if whole and isinstance(value.func, ast.Attribute) and value.func.attr == "split" and given in ([], [" "]):
                return len(target.elts)
        return 0

    def _beginnings(self) -> list[str]:
        """The words with which the user's code asks whether a line begins: lines without them would be left out."""
        found: dict[str, None] = {}
        for tree in self._sources.trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and spelled(node.func) == "startswith" and node.args:
                    found.update(dict.fromkeys(text for text in constants(node.args[0], tree) if SEVERAL.match(text)))
        return list(found)

    def _knows_blank_lines(self) -> bool:
        """Whether the function that reads compares lines with an empty one, as it does where one ends a group of lines."""
        return any(
            isinstance(each, ast.Constant) and isinstance(each.value, str) and not each.value.strip()
            for node in self._reading_function()
            if isinstance(node, ast.Compare)
            for each in (node.left, *node.comparators)
        )

    def _numbers_between(self) -> tuple[str, int] | None:
        """What separates the numbers of a line in the function that reads it, and how many it takes; None for words."""
        nodes = list(self._reading_function())
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        splits = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "split"]
        taken = taken_for_numbers(nodes)
        if not splits or not any(isinstance(each, (ast.Subscript, ast.Name)) for each in taken):
            return None
        given = [each.value for node in splits for each in node.args if isinstance(each, ast.Constant)]
        between = next((each for each in given if isinstance(each, str)), "")
        places = [
            node.slice.value
            for node in nodes
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ]
        return between or " ", max(
            [FEWEST, *(place + 1 for place in places if isinstance(place, int) and place < FIELDS)]
        )

    def _reading_function(self) -> Iterator[ast.AST]:
        """All in the function of the user's that is running; in the module where it is none."""
        frame = self._sources.innermost()
        tree = self._sources.tree(frame.f_code.co_filename) if frame is not None else None
        if frame is None or tree is None:
            return iter(())
        own: list[ast.AST] = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == frame.f_code.co_name
        ]
        return (each for node in own or [tree] for each in ast.walk(node))

    def are_read(self) -> bool:
        """Whether the function that reads takes lines apart, or the text as a whole with nothing that parses it."""
        names = {spelled(node) for node in self._reading_function() if isinstance(node, (ast.Attribute, ast.Name))}
        return bool(names & TAKING_APART) or ("read" in names and not names & PARSING)

    def are_records(self) -> bool:
        """Whether the function that reads takes each line for a record of JSON."""
        nodes = list(self._reading_function())
        lines = {spelled(node.target) for node in nodes if isinstance(node, (ast.For, ast.comprehension))}
        parsed = [
            node.args[0] for node in nodes if isinstance(node, ast.Call) and spelled(node) == "loads" and node.args
        ]
        each = [node.args for node in nodes if isinstance(node, ast.Call) and spelled(node) == "map"]
        return any(
            isinstance(part, ast.Name) and part.id in lines for given in parsed for part in ast.walk(given)
        ) or any(given and spelled(given[0]) == "loads" for given in each)

    def _splits_at_tabs(self) -> bool:
        """Whether the user's code takes lines apart at tabs."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "split"
            and any(isinstance(each, ast.Constant) and each.value == "\t" for each in node.args)
            for tree in self._sources.trees()
            for node in ast.walk(tree)
        )


def _covering(number: int, count: int, small: int) -> list[int]:
    """The numbers of one line of many: each occurs in each column, whatever lines a script keeps of those that begin alike."""
    return [(number + place * (7 + 3 * (number // small))) % small for place in range(count)]


def taken_for_numbers(nodes: list[ast.AST]) -> list[ast.expr]:
    """The expressions of which numbers are made, or from whose parts."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    taken = [node.args[0] for node in calls if spelled(node.func) in NUMBERED and node.args]
    mapped = [node.args for node in calls if spelled(node.func) == "map" and len(node.args) > 1]
    return taken + [given[1] for given in mapped if spelled(given[0]) in NUMBERED]


def _fields(target: ast.expr, nodes: list[ast.AST]) -> list[str]:
    """How the fields of a line are written that is taken apart into a target: names, or parts by their places."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [] if any(isinstance(each, ast.Starred) for each in target.elts) else list(map(ast.unparse, target.elts))
    name = ast.unparse(target)
    places = [
        node.slice.value
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and ast.unparse(node.value) == name
    ]
    count = max((each + 1 for each in places if type(each) is int and each < FIELDS), default=0)
    return [f"{name}[{place}]" for place in range(count)]


def constants(node: ast.expr, tree: ast.Module) -> list[str]:
    """The texts in an expression, and in what a name in it was given."""
    found = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if isinstance(node, ast.Name):
        for each in ast.walk(tree):
            if isinstance(each, ast.Assign) and any(spelled(target) == node.id for target in each.targets):
                found += constants(each.value, tree) if not isinstance(each.value, ast.Name) else []
    return found
