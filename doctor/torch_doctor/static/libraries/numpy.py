"""NumPy: arrays (https://numpy.org/doc/stable/reference/routines.html)."""

from __future__ import annotations

import math

from torch_doctor.static.libraries.library import Array, Arrays, Library, members
from torch_doctor.static.tables import words
from torch_doctor.static.tables.reading import ChannelFunctions

LIBRARY = Library(
    harmless=("numpy",),
    plain=("numpy",),
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
    },
    alike={
        **{
            f"numpy.{name}": name
            for name in words(
                """
                zeros ones empty full stack vstack hstack column_stack arange linspace eye zeros_like ones_like
                empty_like full_like argmax argmin where reshape squeeze ravel flip tile roll unique cumsum
                argsort matmul dot outer abs clip square sign floor ceil nan_to_num negative
                sum mean std var max min amax amin median prod all any
                sin cos tan arcsin arccos arctan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt deg2rad rad2deg
                add subtract multiply divide true_divide maximum minimum arctan2 hypot
                greater greater_equal less less_equal not_equal logical_and logical_or logical_xor logical_not
                isnan isinf isfinite isclose isin
                """
            )
        },
        "numpy.equal": "eq",
        "numpy.repeat": "repeat_interleave",
        "numpy.power": "pow",
        "numpy.absolute": "abs",
        "numpy.radians": "deg2rad",
        "numpy.transpose": "permute",
        "numpy.digitize": "indices",
        **dict.fromkeys(members("numpy", "array asarray ascontiguousarray"), "as_tensor"),
        "numpy.concatenate": "cat",
        "numpy.expand_dims": "unsqueeze",
        "numpy.copy": "clone",
        "numpy.random.randn": "randn",
        "numpy.random.rand": "rand",
        **{
            f"numpy.random.{name}": f"draw {name}"
            for name in words(
                """
                random random_sample ranf sample standard_normal standard_exponential exponential chisquare pareto
                rayleigh standard_gamma standard_t weibull geometric poisson beta f gamma gumbel laplace logistic
                lognormal normal uniform vonmises wald binomial integers negative_binomial randint triangular
                hypergeometric choice permutation permuted
                """
            )
        },
        "numpy.float32": "float",
        "numpy.float64": "double",
        "numpy.int64": "long",
        "numpy.int32": "int",
    },
    numbers={"numpy.pi": math.pi, "numpy.e": math.e, "numpy.inf": math.inf},
    dtypes={
        **{f"numpy.{name}": name for name in words("float16 float32 float64 int8 uint8 int16 int32 int64 bool")},
        **dict.fromkeys(members("numpy", "float double"), "float64"),
        **dict.fromkeys(members("numpy", "int long"), "int64"),
        "numpy.single": "float32",
        "numpy.bool_": "bool",
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
    channels=ChannelFunctions(
        flips={"numpy.flip": False, **dict.fromkeys(members("numpy", "fliplr flipud rot90"), True)},
        keeping=members("numpy", "array asarray ascontiguousarray float32 float64 copy"),
    ),
)
