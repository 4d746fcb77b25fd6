"""One operation, and tensors of two devices: may it be done, and whose fault is it?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ...stand_ins.cuda.places import DISPATCHED, places

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...stand_ins.cuda.places import Place
    from ...watching.watch import Watch
    from .whereabouts import Whereabouts

TOGETHER = ("conv", "_convolution", "lstm", "gru", "rnn_tanh", "rnn_relu")
"""Operations that fake tensors let pass, and a GPU does not: each checks its input against its weights."""
NOT_TOGETHER = "input and weight are not on the same device: cpu and cuda:0"
SIGNS = ("same device", "two different devices")
"""What torch's message says of an operation that fails because of devices: today, and before 2.8 on fake tensors."""
ON_A_GPU = (*SIGNS, "torch.cuda.")
"""What it says on a real GPU, where convolutions name the types of their tensors."""


class Meeting:
    """Tries an operation on fake tensors on the CPU and on `cuda:0`, as its real ones would be."""

    def __init__(self, watch: Watch, where: Whereabouts) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._where = where
        self._blamed: set[tuple[str, int]] = set()
        self._fine: set[tuple[Any, ...]] = set()

    def look(self, function: Any, name: str, arguments: Any, keywords: Any, given: list[Any]) -> None:
        """Some of the tensors are on the GPU; whether one is not that has to be."""
        place = self._where.of
        if any(place(tensor) is DISPATCHED for tensor in given):
            return
        left = [tensor for tensor in given if tensor.dim() and (of := place(tensor)) is not None and not of.gpu]
        if not left or not any(each.dim() for each in given if places.is_gpu(each)):
            return
        key = (name, *((tensor.shape, tensor.dtype, places.is_gpu(tensor)) for tensor in given))
        if key in self._fine:
            return
        said = NOT_TOGETHER if name.startswith(TOGETHER) else self._tried(function, arguments, keywords)
        if said:
            self.told(function, name, given, said)
        else:
            self._fine.add(key)

    def failed(self, function: Any, name: str, given: list[Any], said: str) -> None:
        """An operation failed on a real GPU: whether that was because some tensors are there and others are not."""
        devices = {tensor.device.type for tensor in given if tensor.dim()}
        if len(devices) > 1 and any(sign in said for sign in ON_A_GPU):
            self.told(function, name, given, said)

    def told(self, function: Any, name: str, given: list[Any], said: str) -> None:
        """The operation fails because of the devices: writes who is to blame, each culprit once."""
        tensors, recorder = self._where, self._recorder
        frame = recorder.frame()
        if frame is None:
            return
        for tensor in given:
            where = tensors.of(tensor)
            if not tensor.dim() or where is None or where.gpu or not self._is_new(where, tensor):
                continue
            here = recorder.here()
            within = bool(recorder.inside)
            recorder.event(
                "DevicesMet",
                here,
                operation=name.strip("_"),
                loss="loss" in name or "cross_entropy" in name or name == "kl_div",
                elements=tensor.numel(),
                how=where.how,
                proof=said.partition("\n")[0],
                since=where.site if where.site >= 0 else None,
                inside=where.inside,
                given=within and any(where is each for each in tensors.given),
                lost=any(where is each for each in tensors.lost),
                forward_site=tensors.forward if within and tensors.forward >= 0 else None,
                name=recorder.caller(tensors.forward)
                if within and tensors.forward >= 0
                else recorder.argument(here.site, 0),
            )
            return

    def _is_new(self, where: Place, tensor: Any) -> bool:
        """Whether nobody was blamed yet for a tensor that comes from there; parameters count as one."""
        root = self._where.root
        if where.how == "parameter" or isinstance(tensor, self._torch.nn.Parameter):
            if root is None or any(places.is_gpu(each) for each in root.parameters()):
                return False
            key = ("parameter", id(root))
        elif where.site < 0:
            return False
        else:
            key = (where.how, where.site)
        if key in self._blamed:
            return False
        self._blamed.add(key)
        return True

    def _tried(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> str:
        """What torch says to the same operation on fake tensors; "" where it does not mind, or cannot tell."""
        torch: Any = self._torch
        fake: Any = importlib.import_module("torch._subclasses.fake_tensor")
        with self._watch.unwatched():
            mode = fake.FakeTensorMode(allow_non_fake_inputs=True)

            def faked(thing: Any) -> Any:
                if isinstance(thing, torch.Tensor):
                    device = torch.device("cuda:0" if places.is_gpu(thing) else "cpu")
                    return fake.FakeTensor(mode, thing.detach().to("meta"), device)
                if isinstance(thing, (tuple, list)):
                    return type(thing)([faked(each) for each in thing]) if type(thing) in (tuple, list) else thing
                return {key: faked(each) for key, each in thing.items()} if type(thing) is dict else thing

            given, named = faked(arguments), faked(keywords)
            try:
                with mode:
                    function(*given, **named)
            except Exception as error:  # noqa: BLE001 - whatever it says
                return str(error) if any(sign in str(error) for sign in SIGNS) else ""
        return ""
