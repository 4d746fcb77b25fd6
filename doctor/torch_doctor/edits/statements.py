"""Edits of whole statements: put in, moved, taken out."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads the annotations


class Insert(Struct, frozen=True, tag=True):
    """Insert statements."""

    site: Site
    """The statement next to them."""
    code: str
    """The statements."""
    after: bool = False
    """Insert them after the statement, instead of before it."""
    first: bool = False
    """Insert them at the start of the block of the loop, function or condition."""
    unless: str = ""
    """Do not apply the edit if the statement contains this word."""


class Within(Struct, frozen=True, tag=True):
    """Put a statement into the block of a `with` statement, or decorate a function."""

    site: Site
    """The statement or the function."""
    code: str
    """The context manager or decorator."""
    apart: tuple[Site, ...] = ()
    """Do not apply the edit if the statement contains one of these places."""
    unless: str = ""
    """Do not apply the edit if the statement contains this word."""
    condition: bool = False
    """Use an `if` statement instead, for a call whose result is not used."""


class Top(Struct, frozen=True, tag=True):
    """Insert a statement at the top level of a file, after imports and definitions."""

    site: Site
    """The file."""
    code: str
    """The statement."""
    before: Site
    """The place that it must precede, if this is in the same file."""


class Epoch(Struct, frozen=True, tag=True):
    """Insert a call of `set_epoch` at the start of the loop over epochs."""

    site: Site
    """The loop."""
    name: str
    """The name of the loader in the function that `calls` lead to."""
    built: Site
    """Where the loader is constructed."""
    calls: tuple[tuple[Site, Site], ...] = ()
    """As in `Call`."""


class Call(Struct, frozen=True, tag=True):
    """Insert a call as a statement."""

    site: Site
    """The place next to it."""
    name: str
    """The name of the object in the function that `calls` lead to."""
    code: str
    """The call, with `{}` for the object."""
    where: str
    """Where: "before" or "after" the statement, "first" in the loop, "function" (first in the function if possible)."""
    apart: tuple[Site, ...] = ()
    """Places to exclude from the `with` blocks that it is inserted before or after."""
    calls: tuple[tuple[Site, Site], ...] = ()
    """The call and the `def` of each function on the path from the function of `site` to that of `name`."""
    beside: Site | None = None
    """If the statement of this place is in the same block, insert the call after the statement of `site`."""


class Move(Struct, frozen=True, tag=True):
    """Move a statement out of loops and `with` blocks, with its conditions.

    The statements that it passes must not bind its names.
    """

    site: Site
    """The statement."""
    to: Site
    """The statement to move it to."""
    after: bool = False
    """Move it after that statement, instead of before it."""
    called: tuple[str, str] | None = None
    """Replace the first of these names by the second one, which other statements may bind."""
    close: bool = False
    """Move it directly next to `to`, under the conditions of that, and not next to the block that contains it."""


class Forget(Struct, frozen=True, tag=True):
    """Set a gradient that a manual update applies to None."""

    site: Site
    """The update."""
    before: Site
    """The backward pass to insert it before, or after the update if the parameter has no name there."""


class Leave(Struct, frozen=True, tag=True):
    """Move a statement, and those that follow it, out of a `with` block."""

    site: Site
    """The statement."""
    of: Site
    """The `with` statement."""
    methods: tuple[str, ...]
    """Apply the edit only if the statements call no other methods."""


class Rename(Struct, frozen=True, tag=True):
    """Rename the target of a statement that assigns the result of a call to the called name, and all reads of the result."""

    site: Site
    """The statement."""
    names: tuple[str, ...]
    """The new names, of which the first unused one is chosen."""


class Initialise(Struct, frozen=True, tag=True):
    """Call the constructor of the base class first in a constructor."""

    site: Site
    """The constructor."""


class Delete(Struct, frozen=True, tag=True):
    """Remove a statement, or a `with` statement around its block, with statements that use the removed name."""

    site: Site
    """The statement."""


class Assign(Struct, frozen=True, tag=True):
    """Assign the result of a method call to the object."""

    site: Site
    """The statement with the method call."""


class Discard(Struct, frozen=True, tag=True):
    """Remove the target of an assignment of a method's result to the object, or construct the object in a statement of its own."""

    site: Site
    """The assignment."""


class Ask(Struct, frozen=True, tag=True):
    """Replace the assignment to an attribute by a method call."""

    site: Site
    """The assignment."""
    method: str
    """The method."""
