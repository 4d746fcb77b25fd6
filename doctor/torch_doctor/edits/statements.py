"""Edits of whole statements: put in, moved, taken out."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads the annotations


class Insert(Struct, frozen=True, tag=True):
    """A statement, of one row or more, before the statement that holds `site`, or after it.

    `first`: as the first statement of the block of the loop, function or condition at the site. `unless`: not where that
    statement holds this word.
    """

    site: Site
    code: str
    after: bool = False
    first: bool = False
    unless: str = ""


class Within(Struct, frozen=True, tag=True):
    """The statement that holds `site` as the block of a `with` over `code`; of a function at `site`: `code` decorates it.

    Not where it holds one of the places `apart`, or the word `unless`. `condition`: `code` is that of an `if`, for a call whose
    result nobody uses.
    """

    site: Site
    code: str
    apart: tuple[Site, ...] = ()
    unless: str = ""
    condition: bool = False


class Top(Struct, frozen=True, tag=True):
    """A statement at the top level of the file of `site`, before the first one that does more than define or import.

    It stands behind all imports above `before`, if that is in this file.
    """

    site: Site
    code: str
    before: Site


class Epoch(Struct, frozen=True, tag=True):
    """The number of each pass of the loop at `site`, for the sampler of the loader built at `built`, at its beginning.

    The loader is called `name` behind the `calls`, as for `Call`.
    """

    site: Site
    name: str
    built: Site
    calls: tuple[tuple[Site, Site], ...] = ()


class Call(Struct, frozen=True, tag=True):
    """`code` as a statement, in which `{}` stands for what is called `name` behind the `calls`.

    Those lead from the function of `site` to the one that has the name: the place of each, and of the `def` that it enters.
    `where`: "before" the statement that holds `site`, or "after" it, and so the `with` blocks around it that hold nothing
    `apart`; "first" in the block of the loop at `site`; "function": first in the function around it, where it can stand
    there, else before. After the statement that holds `site` and stands in one block with that of `beside`, if there is one.
    """

    site: Site
    name: str
    code: str
    where: str
    apart: tuple[Site, ...] = ()
    calls: tuple[tuple[Site, Site], ...] = ()
    beside: Site | None = None


class Move(Struct, frozen=True, tag=True):
    """The statement that holds `site`, put before the one that holds `to`, or after it.

    It leaves the loops and the `with` blocks that `to` is not in, and takes the conditions with it; where `to` lies deeper, it
    goes before or after what holds that, or with `close` right beside it, under its conditions. Only where nothing that it
    passes by binds a name that it uses. `called`: what has the first name in it gets the second one, and may be bound in
    between.
    """

    site: Site
    to: Site
    after: bool = False
    called: tuple[str, str] | None = None
    close: bool = False


class Forget(Struct, frozen=True, tag=True):
    """The gradient that the update by hand at `site` applies, set to None: before the backward pass at `before`.

    Where what is updated has no name there, after the update.
    """

    site: Site
    before: Site


class Leave(Struct, frozen=True, tag=True):
    """The statement at `site` and those that follow it, behind the `with` block over `of` in which they stand.

    Only where they call nothing but `methods`.
    """

    site: Site
    of: Site
    methods: tuple[str, ...]


class Rename(Struct, frozen=True, tag=True):
    """What the statement at `site` assigns to the very name that it calls, under the first of the `names` that is free.

    So wherever its result is read afterwards; only where the source shows which reads mean the result.
    """

    site: Site
    names: tuple[str, ...]


class Initialise(Struct, frozen=True, tag=True):
    """The constructor defined at `site`, so that the one of the base is called first in it.

    The call that is there is mended or moved; where there is none, it is put in.
    """

    site: Site


class Delete(Struct, frozen=True, tag=True):
    """The statement that holds `site`, taken out; of a `with` block over it, what is in the block stays.

    What uses the name that the block gives it goes, too, where that is nothing but statements.
    """

    site: Site


class Assign(Struct, frozen=True, tag=True):
    """The result of the method call that is the statement at `site`, bound to what the method is called on."""

    site: Site


class Discard(Struct, frozen=True, tag=True):
    """The assignment at `site`, of a method's result to what the method is called on, without its target.

    Where the method is called on what is built there, that gets the target, and the call becomes a statement of its own.
    """

    site: Site


class Ask(Struct, frozen=True, tag=True):
    """The assignment at `site` of an attribute, as a call of `method` with what is assigned."""

    site: Site
    method: str
