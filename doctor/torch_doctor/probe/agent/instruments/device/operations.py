"""Follows every operation on the Python side, to know where its result is."""

from __future__ import annotations

import functools
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ...stand_ins.cuda.places import GPU, Place, places
from ..parts import tensors

if TYPE_CHECKING:
    from types import FrameType

    from ...watching.watch import Watch
    from .meeting import Meeting
    from .whereabouts import Whereabouts

AGENT = "torch_doctor_agent"  # in the names of the agent's own modules
MOST = 200_000  # operations that are followed
ANYWHERE = frozenset(
    (
        "copy_ set_ __setitem__ index_put_ ctc_loss _pack_padded_sequence pack_padded_sequence _pad_packed_sequence "
        "tensor_split is_set_to equal allclose backward __reduce_ex__ __deepcopy__ swap_tensors"
    ).split()
)
"""Operations that take tensors of several devices, or that are not the script's computations."""
MOVES = frozenset(("cpu", "to", "type_as"))
"""Operations whose result may be elsewhere than their first argument; `cuda` is one on a real GPU, else a stand-in's."""
FIRST = frozenset(("__getitem__", "index_select", "as_tensor", "tensor", "new_tensor"))
"""Operations whose result is where their first argument is."""
NUMBERS_BESIDE = frozenset(("_pack_padded_sequence", "_pad_packed_sequence"))
"""Operations whose second result is on the CPU wherever the first is: the lengths of sequences."""


class Operations:
    """Does what the script asks torch for, and sets the places of what comes of it."""

    def __init__(self, watch: Watch, where: Whereabouts, meeting: Meeting) -> None:
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._where = where
        self._place = where.of
        self._meeting = meeting
        self._done = 0

    def follow(self) -> None:
        """From now on every operation of this thread is followed, beneath whatever modes the script uses."""
        self._follow_parameters()
        self._follow_arrays()
        if not self._where.real:
            self._follow_shells()
        operate = self.operate

        class OperationMode(self._torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return operate(func, args, kwargs or {})

        OperationMode().__enter__()

    def operate(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Does what was asked for, and knows where the result is."""
        name = getattr(function, "__name__", "")
        if places.asleep or self._recorder.quiet or self._done > MOST or get_ident() != self._recorder.main:
            return function(*arguments, **keywords)
        if name in {"__get__", "__set__", "__delete__"}:
            return self._attribute(function, name, arguments, keywords)
        self._done += 1
        given = tensors((arguments, keywords))
        if (name in MOVES or (name == "cuda" and self._where.real)) and given:
            return self._moved(function, name, arguments, keywords)
        try:
            result = function(*arguments, **keywords)
        except RuntimeError as error:
            if self._where.real:
                self._recorder.safely(self._meeting.failed, function, name, given, str(error))
            raise
        made = [tensor for tensor in tensors(result) if not any(tensor is each for each in given)]
        if made or given:
            self._recorder.safely(self._settle, function, name, arguments, keywords, given, made)
        return result

    def _settle(
        self, function: Any, name: str, arguments: Any, keywords: dict[str, Any], given: list[Any], made: list[Any]
    ) -> None:
        where = [self._place(tensor) for tensor in given]
        on_gpu = any(place is not None and place.gpu for place in where)
        if on_gpu and not self._where.real and name not in ANYWHERE:
            self._meeting.look(function, name, arguments, keywords, given)
        if not made:
            return
        place: Place | None
        device = keywords.get("device")
        if device is not None and name != "to":
            place = GPU if places.means_gpu(device) else self._born() if str(device) == "cpu" else None
        elif name == "type":
            place = None
        elif name in FIRST and arguments:
            first = arguments[0]
            place = self._place(first) if isinstance(first, self._torch.Tensor) else self._born()
        elif on_gpu:
            place = next((each for each in where if each is not None and each.gpu and each.site >= 0), GPU)
        elif not given:
            place = self._born()
        else:
            place = next((place for place in where if place is not None), None) if None not in where else None
        for number, tensor in enumerate(made):
            places.set(tensor, self._born() if number and name in NUMBERS_BESIDE else place)

    def _born(self) -> Place:
        """A tensor is made here, on the CPU."""
        frame: FrameType | None = sys._getframe(4)  # `_settle`, `safely`, `operate` and the mode are between
        recorder = self._recorder
        while frame is not None and AGENT in frame.f_globals.get("__name__", ""):
            frame = frame.f_back  # a stand-in that wraps the function
        if frame is None or not recorder.sites.is_users(frame.f_code.co_filename):
            return Place(gpu=False, inside=bool(recorder.inside))
        return Place(gpu=False, site=recorder.sites.of_frame(frame), inside=bool(recorder.inside))

    def _moved(self, function: Any, name: str, arguments: Any, keywords: dict[str, Any]) -> Any:
        tensor = arguments[0]
        before = self._place(tensor)
        target = "cpu" if name == "cpu" else keywords.get("device", arguments[1] if len(arguments) > 1 else None)
        other = keywords.get("other", target)
        result = function(*arguments, **keywords)
        if isinstance(other, self._torch.Tensor):
            return self._beside(tensor, result, other)
        away = str(target) == "cpu" or places.means_gpu(target)
        if self._where.real:
            if self._place(result) is GPU and before is not GPU:
                places.latest = (result, before, tensor)
                places.on_put()
            elif result is not tensor:
                places.set(result, self._put_back() if away else before)
        elif places.means_gpu(target):
            return places.put(tensor, result)
        elif not away:
            places.set(result, before)
        elif before is not None and before.gpu:
            if result is tensor:
                result = tensor.to("cpu", copy=True)
            places.set(result, self._put_back())
        elif result is not tensor:
            places.set(result, before)
        return result

    def _beside(self, tensor: Any, result: Any, other: Any) -> Any:
        place = self._place(other)
        if self._where.real or place is None:
            places.set(result, None)
        elif place.gpu:
            return places.put(tensor, result)
        elif result is not tensor:
            places.set(result, place)
        return result

    def _put_back(self) -> Place:
        frame = self._recorder.frame()
        site = self._recorder.sites.of_frame(frame) if frame is not None else -1
        return Place(gpu=False, how="moved", site=site, inside=bool(self._recorder.inside))

    def _attribute(self, function: Any, name: str, arguments: Any, keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        what = getattr(getattr(function, "__self__", None), "__name__", "")
        tensor = arguments[0]
        if name == "__set__" and what == "data":
            places.set(tensor, self._place(arguments[1]))
        elif name == "__get__" and not self._where.real:
            place = places.of(tensor)
            if isinstance(result, self._torch.Tensor):
                if result is not tensor:
                    places.set(result, place)
            elif place is not None and place.gpu and what in {"device", "is_cuda"}:
                users = self._recorder.sites.is_users(sys._getframe(3).f_code.co_filename)
                if what == "is_cuda":
                    return True if users else result
                return self._torch.device("cuda", 0) if users else self._torch.device("cpu", 0)
        return result

    def _follow_parameters(self) -> None:
        """`nn.Parameter(tensor)` is where the tensor is."""
        cls = self._torch.nn.Parameter
        new = cls.__new__

        def made(kind: Any, data: Any = None, requires_grad: bool = True) -> Any:  # noqa: FBT001, FBT002 - torch's own
            parameter = new(kind, data, requires_grad)
            place = None if data is None else self._place(data)
            if place is not None:
                places.set(parameter, GPU if place.gpu else Place(gpu=False, how="parameter", site=place.site))
            return parameter

        cls.__new__ = staticmethod(made)

    def _follow_arrays(self) -> None:
        """`torch.from_numpy(array)` is on the CPU, `Variable(tensor)` where that is; torch does not tell modes of them."""
        original = self._torch.from_numpy
        meta = type(self._torch.autograd.Variable)
        wrap = meta.__call__

        @functools.wraps(original)
        def from_numpy(*arguments: Any, **keywords: Any) -> Any:
            tensor = original(*arguments, **keywords)
            frame = None if self._recorder.quiet else self._recorder.frame()
            site = self._recorder.sites.of_frame(frame) if frame is not None else -1
            places.set(tensor, Place(gpu=False, site=site, inside=bool(self._recorder.inside)))
            return tensor

        def wrapped(cls: Any, *arguments: Any, **keywords: Any) -> Any:
            result = wrap(cls, *arguments, **keywords)
            inner = arguments[0] if arguments else None
            if isinstance(inner, self._torch.Tensor) and isinstance(result, self._torch.Tensor) and result is not inner:
                places.set(result, self._place(inner))
            return result

        self._torch.from_numpy = from_numpy
        meta.__call__ = wrapped

    def _follow_shells(self) -> None:
        """`DataParallel` and `DistributedDataParallel` move what they are given."""
        parallel = self._torch.nn.parallel
        tree_map = self._torch.utils._pytree.tree_map

        def put(thing: Any) -> Any:
            return places.put(thing, thing) if isinstance(thing, self._torch.Tensor) else thing

        for cls in (parallel.DataParallel, parallel.DistributedDataParallel):
            forward = cls.forward

            def scattered(shell: Any, *inputs: Any, _forward: Any = forward, **keywords: Any) -> Any:
                if any(places.is_gpu(each) for each in shell.module.parameters()):
                    inputs, keywords = tree_map(put, inputs), tree_map(put, keywords)
                return _forward(shell, *inputs, **keywords)

            cls.forward = scattered
