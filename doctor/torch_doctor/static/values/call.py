"""One call: what it is given, where it is written, and the words it is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.plain import Const, Default

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_doctor.static import program as p
    from torch_doctor.static.values.value import Args, Keywords, Value
    from torch_doctor.trace import Tri


class Call:
    """The arguments of a call, with the node that makes it and `name`, the user's spelling of what is called."""

    __slots__ = ("args", "keywords", "name", "node")

    def __init__(self, args: Args, keywords: Keywords, node: p.Node, name: str = "") -> None:
        self.args = args
        self.keywords = keywords
        self.node = node
        self.name = name

    @property
    def values(self) -> Args:
        """All arguments, those by position first."""
        return (*self.args, *self.keywords.values()) if self.keywords else self.args

    @property
    def receiver(self) -> str:
        """The user's spelling of the object whose method is called."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def method(self) -> str:
        """The last part of the user's spelling."""
        return self.name.rpartition(".")[2]

    def argument(self, position: int, *names: str) -> Value | None:
        """The argument at a position or under one of these names; None where it is not given."""
        if position < len(self.args):
            return self.args[position]
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return None

    def flag(self, *names: str, position: int | None = None, default: Tri = None) -> Tri:
        """Whether a setting is on: the default where it is not given, None where its value is not known."""
        value = self.argument(len(self.args) if position is None else position, *names)
        if value is None:
            return default
        return bool(value.value) if isinstance(value, Const) and not isinstance(value, Default) else None

    def with_args(self, args: Args) -> Call:
        """The same call with other positional arguments."""
        return Call(args, self.keywords, self.node, self.name)

    def with_first(self, value: Value) -> Call:
        """The same call with one more argument before the others, as a method's function gets its receiver."""
        return Call((value, *self.args), self.keywords, self.node, self.name)

    def led_by(self, *names: str) -> Call:
        """The same call with the argument of one of these names by position, where none is given so."""
        name = next((name for name in names if name in self.keywords), None)
        if self.args or name is None:
            return self
        others = {each: value for each, value in self.keywords.items() if each != name}
        return Call((self.keywords[name],), others, self.node, self.name)

    def in_words(self, words: Mapping[str, str]) -> Call:
        """The same call with the names of some arguments in other words."""
        if self.keywords.keys().isdisjoint(words):
            return self
        keywords = {words.get(name, name): value for name, value in self.keywords.items()}
        return Call(self.args, keywords, self.node, self.name)

    def renamed(self, name: str) -> Call:
        """The same call under another spelling."""
        return Call(self.args, self.keywords, self.node, name)
