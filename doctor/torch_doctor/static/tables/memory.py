"""Functions that give a tensor the memory of an array, and what changes the numbers of an array in place.

Sources: https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html,
https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html,
https://docs.pytorch.org/docs/stable/tensor_view.html, https://numpy.org/doc/stable/reference/routines.html.
"""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

SHARING: frozenset[str] = frozenset(("torch.from_numpy", "torch.as_tensor"))
"""Functions whose tensor has the memory of the array that they are given; `torch.tensor` copies."""

ARRAYS = frozenset(libraries.every(lambda library: library.arrays))
"""Functions that return an array of its own."""

VIEWS: frozenset[str] = frozenset(
    words(
        """
        view view_as reshape unsqueeze squeeze transpose permute t flatten unflatten detach expand expand_as narrow
        swapaxes swapdims movedim contiguous select unbind
        """
    )
)
"""Methods whose tensor has the memory of the one that they are called on, or may have it (`reshape`, `contiguous`)."""

CHANGING: frozenset[str] = frozenset(words("fill sort partition put itemset resize setfield byteswap"))
"""Methods of arrays that change their numbers in place."""

CHANGING_FIRST = frozenset(("random.shuffle", *libraries.every(lambda library: library.changing_first)))
"""Functions that change the numbers of their first argument in place; any other changes those of `out`."""
