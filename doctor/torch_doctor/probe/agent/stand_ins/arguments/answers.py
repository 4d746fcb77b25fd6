"""Answers to questions at the terminal: by what the code does with them, and never the same for ever."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..source import spelled
from ..uses import Use, use_of
from .values import easiest, made_up, number

if TYPE_CHECKING:
    from types import FrameType

    from ..source import Sources

YES = ("y", "yes", "Y", "Yes", "1", "true", "True", "ok")
NO = frozenset(
    {"", "n", "no", "none", "false", "0", "q", "quit", "exit", "e", "x", "stop", "end", "bye", "-1", "test", "eval"}
)
"""Answers that end something, or leave it out: they come last."""
NUMBERS = ("1", "2", "3", "5", "0", "10", "4", "100", "0.5", "50")
LAST = ("", "y", "n", "1", "2", "0", "a", "q", "quit", "exit")
CONFIRMED = re.compile(r"\b(yes|y)\s*[/|,]\s*(no|n)\b|continue|confirm|sure\?", re.IGNORECASE)


def answers(sources: Sources, frame: FrameType | None, prompt: str) -> list[str]:
    """What may be answered to a question that `frame` asks, the most useful first."""
    use = _use(sources, frame)
    name = " ".join([*use.names[:1], prompt]) or "answer"
    found = _numbers(use, name) if use.kind in (int, float) else _words(use, prompt, sources)
    if use.separator is not None or use.count > 1:
        between = use.separator or " "
        found = [between.join([each] * use.count) for each in found]
    return list(dict.fromkeys(found))


def _use(sources: Sources, frame: FrameType | None) -> Use:
    """What becomes of an answer: where it is asked for, and where the function that asks hands it on."""
    use = Use()
    word = "input"
    while frame is not None and sources.is_users(frame.f_code.co_filename):
        tree, line, called = sources.tree(frame.f_code.co_filename), frame.f_lineno, word
        if tree is None:
            break
        trees = [tree]
        found = use_of(
            trees,
            lambda node, line=line, called=called: (  # type: ignore[misc]
                spelled(node) == called
                and hasattr(node, "func")
                and node.lineno <= line <= (node.end_lineno or node.lineno)
            ),
        )
        use.kind = use.kind or found.kind
        use.words += found.words
        use.numbers += found.numbers
        use.names += found.names
        use.count = max(use.count, found.count)
        use.separator = found.separator if use.separator is None else use.separator
        word, frame = frame.f_code.co_name, frame.f_back
    return use


def _numbers(use: Use, name: str) -> list[str]:
    near = [str(int(bound) + step) for bound in use.numbers for step in (0, 1, -1)]
    first = "0.01" if use.kind is float else number(name)
    return [*([str(first)] if not use.numbers else []), *near, *NUMBERS]


def _words(use: Use, prompt: str, sources: Sources) -> list[str]:
    wanted = [word for word in use.words if word.lower() not in NO]
    yes = [word for word in YES if word in wanted]
    left = [word for word in use.words if word.lower() in NO]
    first = [*yes, *([easiest(wanted)] if wanted else []), *wanted]
    if not first:
        made = None if not use.names else made_up(use.names[0], None, [], prompt, sources)
        first = ["y", "yes"] if CONFIRMED.search(prompt) else [made] if made else [""]
    return [*first, *left, *LAST]
