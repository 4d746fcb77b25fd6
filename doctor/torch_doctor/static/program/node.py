"""What every node of a program has."""

from __future__ import annotations

from typing import TypeAlias

At: TypeAlias = tuple[int, int, int, int]


class Node:
    """Something written at a place."""

    __slots__ = ("at",)
    at: At


class Expr(Node):
    """A node that has a value."""

    __slots__ = ()


class Stmt(Node):
    """A statement."""

    __slots__ = ()
