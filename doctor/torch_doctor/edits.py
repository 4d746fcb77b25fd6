"""What a rule would change in the source: edits at sites, which `torch_doctor.fixes` turns into text.

In the code of an edit `$torch.nn.ModuleList` stands for what the file calls that; where it has no name for it, its import
is added.
"""

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
    """The statement that holds `site`, put before the one that holds `to`, or after it; both stand in one block.

    Only where nothing between the two binds a name that it uses. `called`: what has the first name in it gets the second one,
    and may be bound in between.
    """

    site: Site
    to: Site
    after: bool = False
    called: tuple[str, str] | None = None


class Leave(Struct, frozen=True, tag=True):
    """The statement at `site` and those that follow it, behind the `with` block over `of` in which they stand.

    Only where they call nothing but `methods`.
    """

    site: Site
    of: Site
    methods: tuple[str, ...]


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


class Delete(Struct, frozen=True, tag=True):
    """The statement that holds `site`, taken out."""

    site: Site


class Wrap(Struct, frozen=True, tag=True):
    """The expression at `site`, written into `code` in the place of `{}`.

    Code without `{}` takes its place. Where a statement is at the site, it is the value that the statement keeps: the right
    side of an assignment, or the one argument of `append` and its like. `argument`: that argument of the call at the site,
    from 0. `expected`: only where this is what the expression is. `summand`: of a sum with what the statement assigns to, the
    other part.
    """

    site: Site
    code: str
    argument: int | None = None
    expected: str = ""
    summand: bool = False


class Register(Struct, frozen=True, tag=True):
    """The container that the statement at `site` assigns, built as one of torch's: "Module" or "Parameter" says of what.

    Only where the file shows that torch's container takes all that is put into it.
    """

    site: Site
    kind: str


class Unwrap(Struct, frozen=True, tag=True):
    """What the call at `site` is applied to, in place of the call; of a layer among others nothing is left."""

    site: Site


class Keyword(Struct, frozen=True, tag=True):
    """A keyword argument of the call at `site`: set to `value`, or left out where that is empty.

    `position`: where it may stand without its name, from 0; -1: as the last one without a name. `expected`: only where it is
    not given, or this is its value.
    """

    site: Site
    name: str
    value: str = ""
    position: int | None = None
    expected: str = ""


class Successor(Struct, frozen=True, tag=True):
    """The qualified name of another function for the one that is called at `site`, which is given `first` before the rest.

    Where something is `first`, only if all other arguments have names.
    """

    site: Site
    name: str
    first: str = ""


class Attribute(Struct, frozen=True, tag=True):
    """Another name for the last attribute of the expression at `site`, of what is called or assigned there; "": none."""

    site: Site
    name: str


class Assign(Struct, frozen=True, tag=True):
    """The result of the method call that is the statement at `site`, bound to what the method is called on."""

    site: Site


class Discard(Struct, frozen=True, tag=True):
    """The assignment at `site`, of a method's result to what the method is called on, without its target."""

    site: Site


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


class Comment(Struct, frozen=True, tag=True):
    """The comment, or the part of one, at `site`, written as `content`; where that is empty, its row goes if it is alone."""

    site: Site
    content: str = ""


Edit = (
    Insert
    | Within
    | Top
    | Epoch
    | Call
    | Move
    | Leave
    | Callee
    | Detach
    | Delete
    | Wrap
    | Register
    | Unwrap
    | Keyword
    | Successor
    | Attribute
    | Assign
    | Discard
    | Construct
    | Swap
    | Comment
    | Fuse
    | Repeat
    | Buffer
    | Rebuild
    | Inward
)


class Change(Struct, frozen=True):
    """A stretch of source and what is written there instead; of no length: before this place."""

    site: Site
    content: str


class Proposal(Struct, frozen=True):
    """The changes that mend a finding; `safe`: they keep what the program means, or are plainly what was meant."""

    changes: tuple[Change, ...]
    safe: bool
