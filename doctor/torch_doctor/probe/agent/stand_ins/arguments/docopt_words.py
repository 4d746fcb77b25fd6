"""What the usage text of docopt requires and was not given: a command line made of its first pattern that trains."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from ..uses import use_of
from .values import TRAINING, WHY, easiest, number, untyped

if TYPE_CHECKING:
    from types import ModuleType

OPTIONAL = re.compile(r"\[[^\[\]]*\]")
CHOICE = re.compile(r"\(([^()]*)\)")
PLACED = re.compile(r"^<.+>$|^[A-Z][A-Z0-9_-]+$")


class DocoptWords(StandIn):
    """Fills what docopt requires."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches docopt when it is imported."""
        after("docopt", functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    library: Any = module
    parse = library.docopt

    @functools.wraps(parse)
    def parsed(doc: str, argv: Any = None, *arguments: Any, **keywords: Any) -> Any:
        try:
            return parse(doc, argv, *arguments, **keywords)
        except library.DocoptExit:
            if argv is not None or stand_in.plan.get("args"):
                raise
            words = _words(doc, stand_in)
            stand_in.tell(" ".join(words), "a placeholder command line", why=WHY)
            return parse(doc, words, *arguments, **keywords)

    library.docopt = parsed


def _words(doc: str, stand_in: StandIn) -> list[str]:
    """The command line of the first pattern that trains, without what may be left out."""
    usage = re.split(r"usage:", doc, maxsplit=1, flags=re.IGNORECASE)[1].strip("\n")
    lines = [line.strip() for line in re.split(r"\n\s*\n", usage)[0].splitlines() if line.strip()]
    patterns = [line.split()[1:] for line in lines if line.split()[0] == lines[0].split()[0]]
    chosen = next((each for word in TRAINING for each in patterns if word in each), patterns[0])
    text = " ".join(chosen)
    while OPTIONAL.search(text):
        text = OPTIONAL.sub(" ", text)
    while CHOICE.search(text):
        text = CHOICE.sub(lambda found: found[1].split("|")[0], text)
    found: list[str] = []
    for word in re.findall(r"<[^>]*>|[^\s<]+=<[^>]*>|\S+", text.replace("...", "")):
        option, equals, _ = word.partition("=")
        if word.startswith("-") and equals:
            found.append(f"{option}={_value(option, stand_in)}")
        else:
            found.append(_value(word, stand_in) if PLACED.match(word) else word)
    return found


def _value(key: str, stand_in: StandIn) -> str:
    """A value by what the code does with `arguments[key]`, or by its name."""
    use = use_of(
        stand_in.sources.project_trees(),
        lambda node: (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == key
        ),
    )
    name = key.strip("<>-").lower().replace("-", "_")
    if use.words:
        return easiest(use.words)
    if use.kind is not None:
        return "0.01" if use.kind is float else str(number(name))
    return str(untyped(name, stand_in.sources))
