"""Knows for every tensor whether it would be on the GPU, and proves where one meets another that is not."""

from __future__ import annotations

import functools
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..stand_ins.places import GPU, Place, places
from .instrument import Instrument as Base
from .meeting import Meeting
from .parts import tensors

if TYPE_CHECKING:
    from types import FrameType

    from ..recorder import Recorder
    from ..scopes import Here
    from ..watching.watch import Watch

AGENT = "torch_doctor_agent"  # in the names of the agent's own modules
NAME = re.compile(r"""\w+(?:\.\w+|\[(?:\w+|"[^"\[]*"|'[^'\[]*')\])*""")  # `x`, `self.x`, `batch["x"]`
MOST = 200_000  # operations that are followed
ANYWHERE = frozenset(
    (
        "copy_ set_ __setitem__ index_put_ ctc_loss _pack_padded_sequence pack_padded_sequence _pad_packed_sequence "
        "tensor_split is_set_to equal allclose backward __reduce_ex__ __deepcopy__ swap_tensors"
    ).split()
)
"""Operations that take tensors of several devices, or that are not the script's computations."""
FIRST = frozenset(("__getitem__", "index_select", "as_tensor", "tensor", "new_tensor"))
"""Operations whose result is where their first argument is."""


class Instrument(Base):
    """Follows every operation on the Python side."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.torch = watch.torch
        self.recorder: Recorder = watch.recorder
        self.real = bool(watch.recorder.plan.get("device") != "cpu" and watch.torch.cuda.is_available())
        self.root: Any = None
        self.given: list[Place | None] = []
        self.lost: list[Place] = []
        self._meeting = Meeting(self)
        self._agreed: dict[int, list[int]] = {}
        self._rows: dict[tuple[int, str, int, int], int] = {}
        places.on_put = self._put
        self._operations = 0
        parallel = self.torch.nn.parallel
        self._shells = (parallel.DataParallel, parallel.DistributedDataParallel)
        self.active = bool(self.real or watch.recorder.plan.get("pretend"))
        if self.active:
            places.begin()
            self._follow_parameters()
            self._follow_arrays()
            if not self.real:
                self._follow_shells()
            _mode(self)

    # --- what is told ---

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is given tensors."""
        self.root = module
        self.given = [self.place(tensor) for tensor in tensors((arguments, keywords))]
        self._meeting.forward = here.site
        weight = next(iter(module.parameters()), None)
        if weight is not None and not isinstance(module, self._shells):
            self._agree(here.site, [self.place(weight), *self.given])

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss is given tensors."""
        self._agree(here.site, [self.place(tensor) for tensor in tensors((arguments, keywords)) if tensor.dim()])

    def _agree(self, site: int, places: list[Place | None]) -> None:
        """Counts a call all of whose tensors are on the GPU; one that is elsewhere makes it count no more."""
        if not self.active or not places:
            return
        if all(place is not None and place.gpu for place in places):
            self._agreed.setdefault(site, [0, 0])
            self._agreed[site][0] += 1
            self._agreed[site][1] = len(places)
        else:
            self._agreed[site] = [-MOST, 0]

    def _put(self) -> None:
        """Counts a move to the GPU that a data set makes while a loader gets its rows."""
        fetching, frame = self.watch.fetching, self.recorder.frame()
        if fetching is not None and frame is not None:
            key = (self.recorder.sites.of_frame(frame), *fetching)
            self._rows[key] = self._rows.get(key, 0) + 1

    def at_end(self, error: BaseException | None) -> None:
        """Tells of the calls whose tensors are all on the GPU, and of the rows that are moved there."""
        for (site, name, workers, loader), times in self._rows.items():
            here, fields = self.recorder.here(), {"class_name": name, "workers": workers, "loader_site": loader}
            self.recorder.event("RowMoved", here, site=site, times=times, **fields)
        for site, (times, count) in self._agreed.items():
            if times > 0:
                self.recorder.event("DevicesAgreed", self.recorder.here(), site=site, tensors=count, times=times)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """What a loader gives is on the CPU, unless its dataset is not."""
        place = Place(gpu=False, how="batch", site=here.site)
        for tensor in tensors(batch):
            known = self.place(tensor)
            if known is None or not known.gpu:
                places.set(tensor, place)

    def on_dropped(self, key: int, value: Any) -> None:
        """A statement moves a tensor that it names; on the GPU there is a copy now that nobody has."""
        result, before, tensor = places.latest
        node = self.recorder.index.nodes[key]
        if result is not value and places.is_gpu(value):
            self._agree(self.recorder.index.site(key), [self.place(value)])  # it was there
        if result is not value or tensor is value or not NAME.fullmatch(node.text):
            return
        if before is None:
            before = Place(gpu=False, how="batch")
            places.set(tensor, before)
        self.lost.append(before)
        self.recorder.event(
            "MoveLost",
            self.recorder.here(),
            site=self.recorder.index.site(key),
            name=node.text,
            device="cuda:0",
            elements=tensor.numel(),
        )

    # --- where tensors are ---

    def place(self, tensor: Any) -> Place | None:
        """Where a tensor is; None where that is not known."""
        if self.real:
            if tensor.device.type != "cpu":
                return GPU
            known = places.of(tensor)
            return known if known is None or not known.gpu else None
        return places.of(tensor)

    def operate(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Does what was asked for, and knows where the result is."""
        name = getattr(function, "__name__", "")
        if (
            places.asleep
            or self.recorder.quiet
            or self._operations > MOST
            or threading.get_ident() != self.recorder.main
        ):
            return function(*arguments, **keywords)
        if name in {"__get__", "__set__", "__delete__"}:
            return self._attribute(function, name, arguments, keywords)
        self._operations += 1
        given = tensors((arguments, keywords))
        if name in {"cpu", "to", "type_as"} and given:
            return self._moved(function, name, arguments, keywords)
        try:
            result = function(*arguments, **keywords)
        except RuntimeError as error:
            if self.real and "same device" in str(error):
                self.recorder.safely(self._meeting.told, function, name, given, str(error))
            raise
        made = [tensor for tensor in tensors(result) if not any(tensor is each for each in given)]
        if made or given:
            self.recorder.safely(self._settle, function, name, arguments, keywords, given, made)
        return result

    def _settle(
        self, function: Any, name: str, arguments: Any, keywords: dict[str, Any], given: list[Any], made: list[Any]
    ) -> None:
        where = [self.place(tensor) for tensor in given]
        on_gpu = any(place is not None and place.gpu for place in where)
        if on_gpu and not self.real and name not in ANYWHERE:
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
            place = self.place(first) if isinstance(first, self.torch.Tensor) else self._born()
        elif on_gpu:
            place = GPU
        elif not given:
            place = self._born()
        else:
            place = next((place for place in where if place is not None), None) if None not in where else None
        for tensor in made:
            places.set(tensor, place)

    def _born(self) -> Place:
        """A tensor is made here, on the CPU."""
        frame: FrameType | None = sys._getframe(4)  # `_settle`, `safely`, `operate` and the mode are between
        recorder = self.recorder
        while frame is not None and AGENT in frame.f_globals.get("__name__", ""):
            frame = frame.f_back  # a stand-in that wraps the function
        if frame is None or not recorder.sites.is_users(frame.f_code.co_filename):
            return Place(gpu=False, inside=bool(recorder.inside))
        return Place(gpu=False, site=recorder.sites.of_frame(frame), inside=bool(recorder.inside))

    def _moved(self, function: Any, name: str, arguments: Any, keywords: dict[str, Any]) -> Any:
        tensor = arguments[0]
        before = self.place(tensor)
        target = "cpu" if name == "cpu" else keywords.get("device", arguments[1] if len(arguments) > 1 else None)
        other = keywords.get("other", target)
        result = function(*arguments, **keywords)
        if isinstance(other, self.torch.Tensor):
            return self._beside(tensor, result, other)
        away = str(target) == "cpu" or places.means_gpu(target)
        if self.real:
            if self.place(result) is GPU and before is not GPU:
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
        place = self.place(other)
        if self.real or place is None:
            places.set(result, None)
        elif place.gpu:
            return places.put(tensor, result)
        elif result is not tensor:
            places.set(result, place)
        return result

    def _put_back(self) -> Place:
        frame = self.recorder.frame()
        site = self.recorder.sites.of_frame(frame) if frame is not None else -1
        return Place(gpu=False, how="moved", site=site, inside=bool(self.recorder.inside))

    def _attribute(self, function: Any, name: str, arguments: Any, keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        what = getattr(getattr(function, "__self__", None), "__name__", "")
        tensor = arguments[0]
        if name == "__set__" and what == "data":
            places.set(tensor, self.place(arguments[1]))
        elif name == "__get__" and not self.real:
            place = places.of(tensor)
            if isinstance(result, self.torch.Tensor):
                if result is not tensor:
                    places.set(result, place)
            elif place is not None and place.gpu and what in {"device", "is_cuda"}:
                users = self.recorder.sites.is_users(sys._getframe(3).f_code.co_filename)
                if what == "is_cuda":
                    return True if users else result
                return self.torch.device("cuda", 0) if users else self.torch.device("cpu", 0)
        return result

    def _follow_parameters(self) -> None:
        """`nn.Parameter(tensor)` is where the tensor is."""
        cls = self.torch.nn.Parameter
        new = cls.__new__

        def made(kind: Any, data: Any = None, requires_grad: bool = True) -> Any:  # noqa: FBT001, FBT002 - torch's own
            parameter = new(kind, data, requires_grad)
            place = None if data is None else self.place(data)
            if place is not None:
                places.set(parameter, GPU if place.gpu else Place(gpu=False, how="parameter", site=place.site))
            return parameter

        cls.__new__ = staticmethod(made)

    def _follow_arrays(self) -> None:
        """`torch.from_numpy(array)` is on the CPU, `Variable(tensor)` where that is; torch does not tell modes of them."""
        original = self.torch.from_numpy
        meta = type(self.torch.autograd.Variable)
        wrap = meta.__call__

        @functools.wraps(original)
        def from_numpy(*arguments: Any, **keywords: Any) -> Any:
            tensor = original(*arguments, **keywords)
            frame = None if self.recorder.quiet else self.recorder.frame()
            site = self.recorder.sites.of_frame(frame) if frame is not None else -1
            places.set(tensor, Place(gpu=False, site=site, inside=bool(self.recorder.inside)))
            return tensor

        def wrapped(cls: Any, *arguments: Any, **keywords: Any) -> Any:
            result = wrap(cls, *arguments, **keywords)
            inner = arguments[0] if arguments else None
            if isinstance(inner, self.torch.Tensor) and isinstance(result, self.torch.Tensor) and result is not inner:
                places.set(result, self.place(inner))
            return result

        self.torch.from_numpy = from_numpy
        meta.__call__ = wrapped

    def _follow_shells(self) -> None:
        """`DataParallel` and `DistributedDataParallel` move what they are given."""
        parallel = self.torch.nn.parallel
        tree_map = self.torch.utils._pytree.tree_map

        def put(thing: Any) -> Any:
            return places.put(thing, thing) if isinstance(thing, self.torch.Tensor) else thing

        for cls in (parallel.DataParallel, parallel.DistributedDataParallel):
            forward = cls.forward

            def scattered(shell: Any, *inputs: Any, _forward: Any = forward, **keywords: Any) -> Any:
                if any(places.is_gpu(each) for each in shell.module.parameters()):
                    inputs, keywords = tree_map(put, inputs), tree_map(put, keywords)
                return _forward(shell, *inputs, **keywords)

            cls.forward = scattered


def _mode(instrument: Instrument) -> None:
    """Every operation of this thread goes through the instrument, beneath whatever modes the script uses."""

    class Mode(instrument.torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return instrument.operate(func, args, kwargs or {})

    Mode().__enter__()
