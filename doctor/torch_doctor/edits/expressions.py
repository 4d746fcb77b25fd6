"""Edits of expressions, arguments and comments."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads the annotations


class Callee(Struct, frozen=True, tag=True):
    """Call the target of another statement instead of the current function."""

    site: Site
    """The call."""
    of: Site
    """The statement that assigns the function to call."""


class Detach(Struct, frozen=True, tag=True):
    """Detach a value from its graph before a call that takes and returns it."""

    site: Site
    """The call."""
    parts: bool | None = None
    """Whether the value is a tuple of tensors; None to apply the edit only if the source shows what it is."""


class Wrap(Struct, frozen=True, tag=True):
    """Replace an expression by code that may contain it.

    For a statement, the expression is the value that it assigns or appends.
    """

    site: Site
    """The expression or statement."""
    code: str
    """The code, with `{}` for the expression."""
    argument: int | None = None
    """The number of the argument or operand to replace, from 0; for a method without arguments, 0 is its object."""
    expected: str = ""
    """Apply the edit only to this part of the expression; "" for any."""
    key: str = ""
    """Replace the value of this key of a dict display."""
    summand: bool = False
    """Replace the summand that is not the target of the statement."""


class Register(Struct, frozen=True, tag=True):
    """Replace a Python container by one of torch, if the file shows that this accepts all items."""

    site: Site
    """The statement that assigns the container."""
    kind: str
    """What it contains: "Module" or "Parameter"."""
    named: bool = False
    """Whether it certainly accepts the keys."""


class Unwrap(Struct, frozen=True, tag=True):
    """Replace a call by its argument; remove a layer from a sequence."""

    site: Site
    """The call."""


class Keyword(Struct, frozen=True, tag=True):
    """Set or remove a keyword argument of a call."""

    site: Site
    """The call."""
    name: str
    """The keyword."""
    value: str = ""
    """The value; "" to remove the argument."""
    position: int | None = None
    """The position as a positional argument, from 0; -1 for the last one."""
    expected: str = ""
    """Apply the edit only if the argument is absent or has this value."""
    like: str = ""
    """Use the value of this other keyword of the call."""
    otherwise: str = ""
    """The value to set if the argument cannot be removed, because a dict of options contains it."""


class Successor(Struct, frozen=True, tag=True):
    """Call another function."""

    site: Site
    """The call."""
    name: str
    """The qualified name of the function."""
    first: str = ""
    """The new first argument, which requires that all others are keyword arguments; "" for none."""


class Attribute(Struct, frozen=True, tag=True):
    """Rename the last attribute of an expression, or a function."""

    site: Site
    """The call, the assignment target or the function definition."""
    name: str
    """The new name; "" to remove the attribute."""


class Construct(Struct, frozen=True, tag=True):
    """Pass the arguments of a constructor to a call of the object instead."""

    site: Site
    """The class."""


class Swap(Struct, frozen=True, tag=True):
    """Exchange the first two arguments of a call."""

    site: Site
    """The call."""


class Rebuild(Struct, frozen=True, tag=True):
    """Change the class, or add a keyword argument, where a layer is constructed."""

    site: Site
    """The construction or a call of the layer, if its class assigns the layer only once."""
    name: str = ""
    """The new class, in the same module; "" for the same class."""
    keyword: str = ""
    """The keyword; "" for none."""
    value: str = ""
    """The value of the argument."""


class Buffer(Struct, frozen=True, tag=True):
    """Replace the assignment of a tensor to an attribute by `register_buffer`."""

    site: Site
    """The assignment."""
    name: str
    """The attribute."""


class Repeat(Struct, frozen=True, tag=True):
    """Create a separate object for each item of a list that repeats one object."""

    site: Site
    """The list. An object that has a name is copied."""


class Fuse(Struct, frozen=True, tag=True):
    """Replace a call of a function, applied to the result of another call, by a single call."""

    site: Site
    """The outer call."""
    inner: Site
    """The inner call."""
    name: str = ""
    """The new method, or function of the same module."""
    function: str = ""
    """The qualified name of the new function; "" to use `name`."""


class Inward(Struct, frozen=True, tag=True):
    """Call a method on the argument of a class instead of the instance."""

    site: Site
    """The statement with the method call."""
    name: str
    """The class."""


class Scale(Struct, frozen=True, tag=True):
    """Add a call of a gradient scaler."""

    site: Site
    """The place of the call."""
    call: str
    """The method to call.

    "unscale_" goes before the statement, "update" after it, "scale" around the loss, and "step" replaces that of the optimizer.
    """
    of: Site
    """Another call of the scaler in the same function: its step, or for "step" the backward pass of the scaled loss."""


class Divide(Struct, frozen=True, tag=True):
    """Divide the loss by the number of accumulated batches."""

    site: Site
    """The backward pass."""
    by: Site
    """The test for a multiple of this number, in the same function."""


class Comment(Struct, frozen=True, tag=True):
    """Replace a comment, or a part of one."""

    site: Site
    """The comment."""
    content: str = ""
    """The new text; "" to remove it, including its line if it is alone."""
