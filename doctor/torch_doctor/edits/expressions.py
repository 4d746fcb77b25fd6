"""Edits of expressions, arguments and comments."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads the annotations


class Callee(Struct, frozen=True, tag=True):
    """What the statement at `of` assigns, called at `site` in the place of what is called there."""

    site: Site
    of: Site


class Detach(Struct, frozen=True, tag=True):
    """What the call at `site` both takes and gives, taken from its graph before.

    `parts`: it is a tuple of tensors, and no tensor; None: only where the source shows what it is.
    """

    site: Site
    parts: bool | None = None


class Wrap(Struct, frozen=True, tag=True):
    """The expression at `site`, written into `code` in the place of `{}`.

    Code without `{}` takes its place. Where a statement is at the site, it is the value that the statement keeps: the right
    side of an assignment, or the one argument of `append` and its like. `argument`: that argument of the call at the site,
    from 0, or that side of the difference there; 0 of a method without arguments: what it is called on. `expected`: only what
    is spelled like this, in whatever the expression is. `key`: of a dict that is written out, there or where it got its name,
    what is under this key. `summand`: of a sum with what the statement assigns to, the other part.
    """

    site: Site
    code: str
    argument: int | None = None
    expected: str = ""
    key: str = ""
    summand: bool = False


class Register(Struct, frozen=True, tag=True):
    """The container that the statement at `site` assigns, built as one of torch's: "Module" or "Parameter" says of what.

    Only where the file shows that torch's container takes all that is put into it; `named`: it surely takes the keys.
    """

    site: Site
    kind: str
    named: bool = False


class Unwrap(Struct, frozen=True, tag=True):
    """What the call at `site` is applied to, in place of the call; of a layer among others nothing is left."""

    site: Site


class Keyword(Struct, frozen=True, tag=True):
    """A keyword argument of the call at `site`: set to `value`, or left out where that is empty.

    `position`: where it may stand without its name, from 0; -1: as the last one without a name. `expected`: only where it is
    not given, or this is its value. `like`: the value is what the call gives that other keyword. `otherwise`: what it gets
    where it is to be left out and comes from a dict of options.
    """

    site: Site
    name: str
    value: str = ""
    position: int | None = None
    expected: str = ""
    like: str = ""
    otherwise: str = ""


class Successor(Struct, frozen=True, tag=True):
    """The qualified name of another function for the one that is called at `site`, which is given `first` before the rest.

    Where something is `first`, only if all other arguments have names.
    """

    site: Site
    name: str
    first: str = ""


class Attribute(Struct, frozen=True, tag=True):
    """Another name for the last attribute of the expression at `site`, of what is called or assigned there; "": none.

    Of a function that is defined there, its name.
    """

    site: Site
    name: str


class Construct(Struct, frozen=True, tag=True):
    """The class at `site` constructed first, then called with the arguments that its constructor was given."""

    site: Site


class Swap(Struct, frozen=True, tag=True):
    """The first two arguments of the call at `site`, each in the place of the other."""

    site: Site


class Rebuild(Struct, frozen=True, tag=True):
    """The layer that is called at `site`, or built there, made of another class or with a keyword argument more.

    `name` is the other class, of the same module ("": the same class). Of a layer that is called only where the class around
    the call assigns it once, by a call.
    """

    site: Site
    name: str = ""
    keyword: str = ""
    value: str = ""


class Buffer(Struct, frozen=True, tag=True):
    """The assignment of a tensor to the attribute `name` at `site`, as a call of `register_buffer`."""

    site: Site
    name: str


class Repeat(Struct, frozen=True, tag=True):
    """The expression at `site`, a list of one object many times, with an object of its own in each place.

    What the list builds is built in each pass; of what has a name a copy is made.
    """

    site: Site


class Fuse(Struct, frozen=True, tag=True):
    """The call at `inner`, of another function, in the place of the call at `site` that is applied to its result.

    `name` is the function's attribute where it is a method or an attribute of the same module; with a `function`, its
    qualified name, that is called instead.
    """

    site: Site
    inner: Site
    name: str = ""
    function: str = ""


class Inward(Struct, frozen=True, tag=True):
    """The method that the statement at `site` calls on what the class `name` gives, called on the class's first argument."""

    site: Site
    name: str


class Scale(Struct, frozen=True, tag=True):
    """The call of a gradient scaler that its protocol lacks at `site`.

    `call`: "unscale_" before the statement there, "update" after it, "scale" around what goes backward there, "step" in the
    place of the optimizer's own. `of`: where the scaler is called in the same function: its step; for "step" the backward
    pass of what it scales.
    """

    site: Site
    call: str
    of: Site


class Divide(Struct, frozen=True, tag=True):
    """What goes backward at `site`, divided by the number whose multiples the test at `by` asks for, in the same function."""

    site: Site
    by: Site


class Comment(Struct, frozen=True, tag=True):
    """The comment, or the part of one, at `site`, written as `content`; where that is empty, its row goes if it is alone."""

    site: Site
    content: str = ""
