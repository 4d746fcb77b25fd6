"""What is known of a module and all its parts."""

from __future__ import annotations

from typing import Any


class Family:
    """What is known of a module and all its parts, until another module is built."""

    __slots__ = ("parameters", "sensitive", "version")

    def __init__(self, version: int, parameters: list[Any], sensitive: list[Any]) -> None:
        self.version = version
        self.parameters = parameters
        self.sensitive = sensitive
