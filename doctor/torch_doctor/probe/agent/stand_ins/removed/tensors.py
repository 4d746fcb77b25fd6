"""What torch had: functions of linear algebra and of spectra, tensors that were numbers, iterators with `next`."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

from ... import hooks, imports
from ..fallbacks import importing_frame
from .names import Removed, moved

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


class TorchNames(Removed):
    """Functions and modules that torch had."""

    def prepare(self) -> None:
        """Finds modules that torch had."""
        imports.where_absent(self._find)

    def with_torch(self, torch: Any) -> None:
        """Patches functions that torch has only to say that they are gone, and names it has no more."""
        for name, function in {**_algebra(torch), **_spectra(torch)}.items():
            working = self._told(f"torch.{name}", function)
            setattr(torch, name, working)
            setattr(torch.Tensor, name, working)
        torch.stft = self._real_stft(torch, torch.stft)
        for name in ("torch.utils.data.dataloader", "torch.distributed"):
            imports.after(name, functools.partial(self._patch_names, torch))

    def _told(self, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **keywords: Any) -> Any:
            self.was_used(what, "torch.linalg or torch.fft")
            return function(*arguments, **keywords)

        return called

    def _real_stft(self, torch: Any, stft: Any) -> Any:
        """`torch.stft` gives real numbers in pairs where it is not said what it gives."""

        @functools.wraps(stft)
        def called(input: Any, *arguments: Any, return_complex: Any = None, **keywords: Any) -> Any:  # noqa: A002
            if return_complex is not None or input.is_complex() or len(arguments) > STFT_ARGUMENTS:
                return stft(input, *arguments, return_complex=return_complex, **keywords)
            self.was_used("torch.stft without return_complex", "pairs of real numbers")
            return torch.view_as_real(stft(input, *arguments, return_complex=True, **keywords))

        return called

    def _patch_names(self, torch: Any, module: types.ModuleType) -> None:
        known: dict[str, tuple[str, Callable[[], Any]]] = {}
        if module.__name__ == "torch.distributed":
            known["reduce_op"] = moved("torch.distributed:ReduceOp")
        else:
            for name in ("DataLoaderIter", "_DataLoaderIter"):
                known[name] = moved("torch.utils.data.dataloader:_SingleProcessDataLoaderIter")
            known["numpy_type_map"] = "numpy's types", lambda: _numpy_types(torch)
        self.names(module, {name: entry for name, entry in known.items() if name not in vars(module)})

    def _find(self, name: str) -> ModuleSpec | None:
        frame = importing_frame()
        if name not in MODULES or frame is None or not self.sources.is_users(frame.f_code.co_filename):
            return None
        self.was_used(name, "its value")
        return imports.spec_of(name, _made)


STFT_ARGUMENTS = 7
"""Those before `return_complex`, which real inputs require since torch 2.0 (https://github.com/pytorch/pytorch/pull/86724)."""


def _algebra(torch: Any) -> dict[str, Callable[..., Any]]:
    linalg = torch.linalg

    def symeig(input: Any, eigenvectors: bool = False, upper: bool = True, **_: Any) -> Any:  # noqa: A002, FBT001, FBT002
        values, vectors = linalg.eigh(input, UPLO="U" if upper else "L")
        return _pair("symeig", eigenvalues=values, eigenvectors=vectors if eigenvectors else vectors.new_zeros(0))

    def eig(input: Any, eigenvectors: bool = False, **_: Any) -> Any:  # noqa: A002, FBT001, FBT002
        values, vectors = linalg.eig(input)
        kept = vectors.real if eigenvectors else vectors.real.new_zeros(0)
        return _pair("eig", eigenvalues=torch.view_as_real(values), eigenvectors=kept)

    def solve(input: Any, A: Any, **_: Any) -> Any:  # noqa: A002, N803 - as torch had it
        return _pair("solve", solution=linalg.solve(A, input), LU=linalg.lu_factor(A)[0])

    def lstsq(input: Any, A: Any, **_: Any) -> Any:  # noqa: A002, N803 - as torch had it
        return _pair("lstsq", solution=linalg.lstsq(A, input).solution, QR=linalg.qr(A)[1])

    def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, **_: Any) -> Any:  # noqa: A002, FBT001, FBT002
        return linalg.matrix_rank(input, hermitian=symmetric, **({} if tol is None else {"tol": tol}))

    return {
        "symeig": symeig,
        "eig": eig,
        "solve": solve,
        "gesv": solve,
        "lstsq": lstsq,
        "gels": lstsq,
        "matrix_rank": matrix_rank,
    }


def _spectra(torch: Any) -> dict[str, Callable[..., Any]]:
    fft = torch.fft

    def norm(normalized: bool) -> str:  # noqa: FBT001
        return "ortho" if normalized else "backward"

    def last(count: int) -> list[int]:
        return list(range(-count, 0))

    def rfft(input: Any, signal_ndim: int, normalized: bool = False, onesided: bool = True) -> Any:  # noqa: A002, FBT001, FBT002
        function = fft.rfftn if onesided else fft.fftn
        return torch.view_as_real(function(input, dim=last(signal_ndim), norm=norm(normalized)))

    def irfft(
        input: Any,  # noqa: A002 - as torch had it
        signal_ndim: int,
        normalized: bool = False,  # noqa: FBT001, FBT002
        onesided: bool = True,  # noqa: FBT001, FBT002
        signal_sizes: Any = None,
    ) -> Any:
        whole = torch.view_as_complex(input.contiguous())
        if not onesided:
            return fft.ifftn(whole, dim=last(signal_ndim), norm=norm(normalized)).real
        return fft.irfftn(whole, s=signal_sizes, dim=last(signal_ndim), norm=norm(normalized))

    def ifft(input: Any, signal_ndim: int, normalized: bool = False) -> Any:  # noqa: A002, FBT001, FBT002
        whole = torch.view_as_complex(input.contiguous())
        return torch.view_as_real(fft.ifftn(whole, dim=last(signal_ndim), norm=norm(normalized)))

    return {"rfft": rfft, "irfft": irfft, "ifft": ifft}


def _pair(name: str, **parts: Any) -> Any:
    import collections

    return collections.namedtuple(name, parts)(**parts)  # noqa: PYI024 - fields by what is returned


def _numpy_types(torch: Any) -> dict[str, Any]:
    return {
        "float64": torch.DoubleTensor,
        "float32": torch.FloatTensor,
        "float16": torch.HalfTensor,
        "int64": torch.LongTensor,
        "int32": torch.IntTensor,
        "int16": torch.ShortTensor,
        "int8": torch.CharTensor,
        "uint8": torch.ByteTensor,
    }


def _six() -> dict[str, Any]:
    import collections.abc
    import math
    import queue

    return {
        "PY2": False,
        "PY3": True,
        "PY37": True,
        "string_classes": (str, bytes),
        "int_classes": int,
        "container_abcs": collections.abc,
        "inf": math.inf,
        "nan": math.nan,
        "queue": queue,
        "istuple": lambda value: isinstance(value, tuple),
        "with_metaclass": lambda meta, *bases: meta("Base", bases, {}),
    }


def _gradcheck() -> dict[str, Any]:
    def zero_gradients(x: Any) -> None:
        for each in [x] if hasattr(x, "grad") else x:
            if each.grad is not None:
                each.grad.detach_()
                each.grad.zero_()

    return {"zero_gradients": zero_gradients}


MODULES: dict[str, Callable[[], dict[str, Any]]] = {"torch._six": _six}


def _made(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(MODULES[name]())
    return module


class TorchValues(Removed):
    """What tensors, iterators and schedules could do."""

    installed_after = ("Gpu",)

    def with_torch(self, torch: Any) -> None:
        """Patches iterators of loaders, subtraction from masks and schedules, and what reads the first of a number."""
        hooks.put("first", self._first(torch))
        self._patch_iterators(torch)
        self._patch_masks(torch)
        self._patch_schedules(torch)
        check: Any = sys.modules.get("torch.autograd.gradcheck")
        if check is not None and not hasattr(check, "zero_gradients"):
            entry = "manual zeroing", lambda: _gradcheck()["zero_gradients"]
            self.names(check, {"zero_gradients": entry})

    def _first(self, torch: Any) -> Callable[[Any], Any]:
        """`loss.data[0]`: the number in a tensor that was one of one element."""

        def first(value: Any) -> Any:
            try:
                return value[0]
            except IndexError:
                if isinstance(value, torch.Tensor):
                    if value.dim():
                        raise
                elif type(value).__module__ != "numpy" or len(getattr(value, "shape", (1,))):
                    raise
            except TypeError:
                if type(value).__module__ != "numpy":  # a number of numpy's
                    raise
            self.was_used("[0] of a number", "the number")
            return value.item()

        return first

    def _patch_iterators(self, torch: Any) -> None:
        stand_in = self

        def following(self: Any) -> Any:
            stand_in.was_used("iterator.next()", "next(iterator)")
            return next(self)

        iterator = torch.utils.data.dataloader._BaseDataLoaderIter
        if not hasattr(iterator, "next"):
            iterator.next = following

    def _patch_masks(self, torch: Any) -> None:
        """`1 - mask`, where comparisons gave bytes."""
        subtract = torch.Tensor.__rsub__

        @functools.wraps(subtract)
        def subtracted(this: Any, other: Any) -> Any:
            if this.dtype is torch.bool and isinstance(other, (int, float)) and self.sources.called_by_user():
                self.was_used("1 - mask", "the mask as bytes")
                return other - this.to(torch.uint8)
            return subtract(this, other)

        torch.Tensor.__rsub__ = subtracted

    def _patch_schedules(self, torch: Any) -> None:
        schedules = torch.optim.lr_scheduler
        for cls in list(vars(schedules).values()):
            if isinstance(cls, type) and hasattr(cls, "get_last_lr") and "__init__" in vars(cls):
                self._without_verbose(cls)

    def _without_verbose(self, cls: Any) -> None:
        build = cls.__init__
        if "verbose" in inspect.signature(build).parameters:
            return

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            if "verbose" in keywords:
                self.was_used(f"{cls.__name__}(verbose=…)", "no printing")
                del keywords["verbose"]
            build(this, *arguments, **keywords)

        cls.__init__ = built
