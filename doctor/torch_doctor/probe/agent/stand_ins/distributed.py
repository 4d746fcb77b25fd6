"""Distributed training with one rank: gloo in this process, without a connection to anyone."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from . import told

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .source import Sources
    from .told import Teller

# What a launcher would have set; the script is given it where it would fail without.
LAUNCHED = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}


def prepare(sources: Sources, teller: Teller) -> None:
    """Answers `os.environ["LOCAL_RANK"]` and its like where they are not set; `get` and `in` still say that they are not."""
    kind = type(os.environ)
    look_up = kind.__getitem__

    def answered(self: Any, key: Any) -> Any:
        try:
            return look_up(self, key)
        except KeyError:
            if key not in LAUNCHED or self is not os.environ or not sources.called_by_user():
                raise
        teller.stand_in(f'os.environ["{key}"]', "no launcher set it", LAUNCHED[key], [told.PROCESSES])
        return LAUNCHED[key]

    kind.__getitem__ = answered  # type: ignore[method-assign]


def with_torch(torch: ModuleType, teller: Teller, *, on_cpu: bool) -> None:
    """Patches `init_process_group`, `DistributedDataParallel` and what else asks for several devices."""
    distributed: Any = torch.distributed
    if not distributed.is_available():
        return
    begin = distributed.init_process_group

    @functools.wraps(begin)
    def init_process_group(backend: Any = None, *_: Any, timeout: Any = None, **__: Any) -> None:
        teller.stand_in(
            "init_process_group", f"the backend {backend or 'of the launcher'}", "gloo, one rank", [told.PROCESSES]
        )
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        keywords = {} if timeout is None else {"timeout": timeout}
        begin("gloo", store=distributed.HashStore(), rank=0, world_size=1, **keywords)

    for space in (distributed, distributed.distributed_c10d):
        space.init_process_group = init_process_group
    if on_cpu:
        _without_devices(torch)


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
