"""Starts the processes of a distributed run as `torchrun` does, each with the agent in it, and tells which of them failed."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .channel import Channel

FAILED = 1
WITHOUT = "its torch has no `torch.distributed`: omit `--probe-processes`"


def launch(plan: Mapping[str, Any], plan_file: str, channel: Channel) -> int:
    """Runs the processes to their end; returns 0, or 1 where one of them failed, which is told in a line for each."""
    del sys.path[0]  # the agent's own folder, whose modules are not torch's
    os.environ["PYTHON_EXEC"] = sys.executable
    # Its server, which is shared by default (https://github.com/pytorch/pytorch/pull/128096), would listen to everybody.
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    logging.disable(logging.CRITICAL)  # what torchrun says of failures, the processes say themselves
    from torch import distributed

    if not distributed.is_available():
        channel.write(t="asked", text=WITHOUT)
        channel.write(t="ended", how="asked", status=FAILED)
        channel.flush()
        return FAILED
    import torch.distributed.run as torchrun
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    meeting = os.path.join(plan["scratch"], "meeting")
    options = (
        f"--rdzv-backend c10d --rdzv-conf store_type=file --local-addr 127.0.0.1 --nproc-per-node {plan['processes']}"
    )
    options += " --nnodes 1 --monitor-interval 0.1 --rdzv-id probe --rdzv-endpoint"
    channels = os.path.join(plan["scratch"], "channels")
    run: Any = torchrun.run
    parsed: Any = torchrun.parse_args
    try:
        run(parsed([*options.split(), meeting, plan["agent"], "--plan", plan_file, "--channels", channels]))
    except ChildFailedError as error:
        for rank, failure in error.failures.items():
            channel.write(t="failed", rank=rank, status=failure.exitcode)
        channel.flush()
        return FAILED
    except SignalException:
        return FAILED
    return 0
