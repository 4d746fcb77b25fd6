"""NumPy: arrays (https://numpy.org/doc/stable/reference/routines.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Array, Arrays, Library, members

LIBRARY = Library(
    harmless=("numpy",),
    plain=("numpy",),
    ranges=("numpy.arange",),
    means=members("numpy", "mean average nanmean"),
    reordering=members("numpy.random", "shuffle permutation choice"),
    drawing=("numpy.random.",),
    no_drawing=members("numpy.random", "seed default_rng RandomState"),
    arrays=members(
        "numpy",
        """
        zeros ones empty full zeros_like ones_like empty_like full_like array arange linspace concatenate stack vstack
        hstack copy load loadtxt genfromtxt
        """,
    ),
    returned_arrays={
        "numpy.loadtxt": Arrays((Array("float64"),), unless=("dtype", "unpack", "**")),
        "numpy.genfromtxt": Arrays((Array("float64"),), unless=("dtype", "names", "unpack", "**")),
        "numpy.random.normal": Arrays((Array("float64"),)),
        "numpy.random.uniform": Arrays((Array("float64"),)),
    },
    changing_first=members("numpy", "copyto put place putmask put_along_axis fill_diagonal random.shuffle"),
    picture_draws={"numpy.random.randint": False},
    picture_functions=members(
        "numpy",
        """
        array asarray ascontiguousarray float32 float64 transpose moveaxis swapaxes expand_dims squeeze stack
        concatenate vstack reshape flip fliplr flipud rot90 copy
        """,
    ),
)
