"""What numpy had: aliases of Python's types, and names that are spelled otherwise."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .names import Removed, moved

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

ALIASES: dict[str, str] = {
    **{name: f"builtins:{name}" for name in ("int", "float", "bool", "object", "str", "complex")},
    "long": "builtins:int",
    "unicode": "builtins:str",
    **dict.fromkeys(("Inf", "Infinity", "infty", "PINF"), "numpy:inf"),
    "NaN": "numpy:nan",
    "NAN": "numpy:nan",
    "float_": "numpy:float64",
    "complex_": "numpy:complex128",
    "string_": "numpy:bytes_",
    "unicode_": "numpy:str_",
    "bool8": "numpy:bool_",
    "int0": "numpy:intp",
    "object0": "numpy:object_",
    "product": "numpy:prod",
    "cumproduct": "numpy:cumprod",
    "sometrue": "numpy:any",
    "alltrue": "numpy:all",
    "in1d": "numpy:isin",
    "trapz": "numpy:trapezoid",
    "row_stack": "numpy:vstack",
    "round_": "numpy:round",
    "mat": "numpy:asmatrix",
    "math": "math",
}


class NumpyNames(Removed):
    """Names that numpy had."""

    def prepare(self) -> None:
        """Hooks numpy when it is imported."""
        after("numpy", self._patch)

    def _patch(self, module: ModuleType) -> None:
        numpy: Any = module
        known: dict[str, tuple[str, Callable[[], Any]]] = {
            name: moved(path) for name, path in ALIASES.items() if name not in vars(module)
        }
        known["NINF"] = "-numpy.inf", lambda: -numpy.inf
        known["asscalar"] = "ndarray.item", lambda: lambda array: array.item()
        known["asfarray"] = "numpy.asarray", lambda: lambda array, dtype=float: numpy.asarray(array, dtype)
        known["msort"] = "numpy.sort", lambda: lambda array: numpy.sort(array, axis=0)
        known["rank"] = "numpy.ndim", lambda: numpy.ndim
        self.names(module, known)
        if self.learnt.of("copy"):
            self._patch_copies(numpy)

    def _patch_copies(self, numpy: Any) -> None:
        """Until version 2, `copy=False` meant that there is a copy only where there has to be one."""
        build = numpy.array

        @functools.wraps(build)
        def built(*arguments: Any, **keywords: Any) -> Any:
            if keywords.get("copy", True) is False:
                self.was_used("numpy.array(copy=False)", "numpy.asarray")
                keywords["copy"] = None
            return build(*arguments, **keywords)

        numpy.array = built
