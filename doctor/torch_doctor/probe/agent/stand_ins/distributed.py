"""Distributed training on the CPU: gloo, in this process alone or in those that the probe started on this machine."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from . import told
from .cuda.devices import needed
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable


# What a launcher would have set; the script is given it where it would fail without.
# https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
LAUNCHED = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
LOCAL_RANK = ("--local_rank", "--local-rank")
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
SPLITS = ("use_local_synchronization", "group_desc")  # keywords of `new_group` that any backend takes


class ProcessGroup(StandIn):
    """Lets distributed training run on the CPU, by gloo."""

    replaces = "no launcher for several processes"
    voids = (told.PROCESSES,)
    installed_after = ("Gpu",)

    def prepare(self) -> None:
        """Answers `os.environ["LOCAL_RANK"]` and its like where they are not set; `get` and `in` still say that they are not.

        Several processes get their number as an argument, too, where the script takes it.
        """
        if self.ranks.count > 1:
            _pass_local_rank(self)
        kind = type(os.environ)
        look_up = kind.__getitem__

        def answered(environment: Any, key: Any) -> Any:
            try:
                return look_up(environment, key)
            except KeyError:
                if key not in LAUNCHED or environment is not os.environ or not self.sources.called_by_user():
                    raise
            self.tell(f'os.environ["{key}"]', LAUNCHED[key], why="not set by a launcher")
            return LAUNCHED[key]

        kind.__getitem__ = answered  # type: ignore[method-assign]

    def with_torch(self, torch: Any) -> None:
        """Patches `init_process_group`, `DistributedDataParallel` and what else asks for several devices."""
        distributed: Any = torch.distributed
        if not distributed.is_available():
            return
        begin = distributed.init_process_group

        @functools.wraps(begin)
        def init_process_group(backend: Any = None, *_: Any, timeout: Any = None, **__: Any) -> None:
            asked = f"the backend {backend or 'of the launcher'}"
            if self.ranks.count == 1:
                self.tell("init_process_group", "gloo, one rank", why=asked)
            elif backend != "gloo":
                self.tell("init_process_group", f"gloo, {self.ranks.count} processes on the CPU", why=asked, voids=[])
            os.environ["GLOO_SOCKET_IFNAME"] = LOOPBACK
            keywords = {} if timeout is None else {"timeout": timeout}
            begin("gloo", store=self.ranks.store(torch), rank=self.ranks.rank, world_size=self.ranks.count, **keywords)

        for space in (distributed, distributed.distributed_c10d):
            space.init_process_group = init_process_group
        for space in (distributed, distributed.rendezvous):
            space.TCPStore = lambda *_, **__: self.ranks.store(torch)
        if self.ranks.count > 1:
            _on_gloo(distributed)
        if needed(torch, self.plan):
            _without_devices(torch)


def _pass_local_rank(stand_in: StandIn) -> None:
    """`torch.distributed.launch`, which `torchrun` came after, passes each process its number as an argument."""
    parse: Any = argparse.ArgumentParser.parse_known_args

    @functools.wraps(parse)
    def parse_known_args(self: Any, args: Any = None, *rest: Any, **keywords: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        name = next((each for each in LOCAL_RANK if each in self._option_string_actions), "")
        if name and stand_in.sources.innermost() is not None and not any(word.startswith(LOCAL_RANK) for word in words):
            stand_in.tell(name, "the rank of each process", why="passed by `torch.distributed.launch`", voids=[])
            args = [f"{name}={stand_in.ranks.rank}", *words]
        return parse(self, args, *rest, **keywords)

    argparse.ArgumentParser.parse_known_args = parse_known_args  # type: ignore[method-assign]


def _on_gloo(distributed: Any) -> None:
    """What NCCL knows and gloo does not: groups of its own, the barrier of a device, and averages."""
    split, meet, reduce = distributed.new_group, distributed.barrier, distributed.all_reduce

    @functools.wraps(split)
    def new_group(members: Any = None, timeout: Any = None, backend: Any = None, *_: Any, **keywords: Any) -> Any:
        del backend
        return split(members, timeout, "gloo", **{name: keywords[name] for name in SPLITS if name in keywords})

    @functools.wraps(meet)
    def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, **keywords: Any) -> Any:  # noqa: FBT001, FBT002 - torch's
        del device_ids
        return meet(group, async_op, **keywords)

    @functools.wraps(reduce)
    def all_reduce(tensor: Any, op: Any = distributed.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:  # noqa: FBT001, FBT002 - torch's
        if op != distributed.ReduceOp.AVG or async_op:
            return reduce(tensor, op, group, async_op)
        reduce(tensor, distributed.ReduceOp.SUM, group)
        tensor.div_(distributed.get_world_size(group))
        return None

    for space in (distributed, distributed.distributed_c10d):
        space.new_group, space.barrier, space.all_reduce = new_group, barrier, all_reduce


def _without_devices(torch: Any) -> None:
    parallel = torch.nn.parallel.DistributedDataParallel
    build = parallel.__init__

    @functools.wraps(build)
    def built(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *rest: Any, **keywords: Any
    ) -> None:
        del device_ids, output_device
        build(self, module, None, None, *rest, **keywords)

    parallel.__init__ = built
    convert = torch.nn.SyncBatchNorm.convert_sync_batchnorm
    torch.nn.SyncBatchNorm.convert_sync_batchnorm = _identity(convert)


def _identity(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def same(module: Any, *_: Any, **__: Any) -> Any:
        return module

    return same
