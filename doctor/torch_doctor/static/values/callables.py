"""What can be called beside functions: methods, calls with some arguments given, and what calls give to `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from torch_doctor.static.values.functions import FunctionValue


class Bound(Value):
    """A project method with its object."""

    __slots__ = ("function", "self")

    def __init__(self, function: FunctionValue, self_value: Value) -> None:
        self.function = function
        self.self = self_value


class Method(Value):
    """A method, by name, of something whose class is not the project's: tensor, optimizer, module, list, unknown."""

    __slots__ = ("name", "of")

    def __init__(self, of: Value, name: str) -> None:
        self.of = of
        self.name = name

    @property
    def tells_version(self) -> bool:
        """Whether it belongs to what does."""
        return self.of.tells_version


class Partial(Value):
    """A callable with some arguments already given."""

    __slots__ = ("args", "func", "keywords")

    def __init__(self, func: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.func = func
        self.args = args
        self.keywords = keywords


class Super(Value):
    """`super()`: attributes are looked up after `cls`, a class of the project or a library, in the classes of `self`."""

    __slots__ = ("cls", "self")

    def __init__(self, cls: Value, self_value: Value) -> None:
        self.cls = cls
        self.self = self_value


class Raising(Value):
    """A context manager by which a test says that its block raises."""

    __slots__ = ()


class Suspended(Value):
    """A call of a generator function that is used as a context manager: it runs when the block is entered."""

    __slots__ = ("args", "func", "keywords")

    def __init__(self, func: FunctionValue, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.func = func
        self.args = args
        self.keywords = keywords
