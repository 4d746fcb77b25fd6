"""What a rule would change in the source: edits at sites, which `torch_doctor.fixes` turns into text.

In the code of an edit `$torch.nn.ModuleList` stands for what the file calls that; where it has no name for it, its import
is added.
"""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.edits.expressions import (
    Attribute,
    Buffer,
    Callee,
    Comment,
    Construct,
    Detach,
    Divide,
    Fuse,
    Inward,
    Keyword,
    Rebuild,
    Register,
    Repeat,
    Scale,
    Successor,
    Swap,
    Unwrap,
    Wrap,
)
from torch_doctor.edits.figures import Figure
from torch_doctor.edits.statements import (
    Ask,
    Assign,
    Call,
    Delete,
    Discard,
    Epoch,
    Forget,
    Initialise,
    Insert,
    Leave,
    Move,
    Rename,
    Top,
    Within,
)
from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads the annotations

__all__ = [
    "Ask",
    "Assign",
    "Attribute",
    "Buffer",
    "Call",
    "Callee",
    "Change",
    "Comment",
    "Construct",
    "Delete",
    "Detach",
    "Discard",
    "Divide",
    "Edit",
    "Epoch",
    "Figure",
    "Forget",
    "Fuse",
    "Initialise",
    "Insert",
    "Inward",
    "Keyword",
    "Leave",
    "Move",
    "Proposal",
    "Rebuild",
    "Register",
    "Rename",
    "Repeat",
    "Scale",
    "Successor",
    "Swap",
    "Top",
    "Unwrap",
    "Within",
    "Wrap",
]

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
    | Rename
    | Scale
    | Divide
    | Initialise
    | Ask
    | Forget
)


class Change(Struct, frozen=True):
    """A change of the text."""

    site: Site
    """The range to replace; an empty one is an insertion before it."""
    content: str
    """The new text."""


class Proposal(Struct, frozen=True):
    """The changes that fix a finding."""

    changes: tuple[Change, ...]
    """The changes."""
    safe: bool
    """Whether they preserve the meaning of the program, or the new meaning is certainly intended."""
