"""How a run ends is told, whatever comes between."""

from __future__ import annotations

import json
import os

from torch_doctor.probe.agent.caps import Caps, StopProbe
from torch_doctor.probe.agent.channel import Channel
from torch_doctor.probe.agent.ending import STOPPED, Ending
from torch_doctor.probe.agent.nodes import Index
from torch_doctor.probe.agent.packets import Unpacker
from torch_doctor.probe.agent.recorder import Recorder
from torch_doctor.probe.agent.sites import Sites


def test_time_that_is_over_just_as_the_script_ends_is_told_as_such() -> None:
    said, says = os.pipe()
    channel = Channel(says, b"key")
    sites = Sites("/project", "/project/train.py", channel)
    recorder = Recorder(channel, sites, Index(sites), Caps({}), {})
    ending = Ending(recorder)
    late = [StopProbe()]

    def watcher(_: BaseException | None) -> None:
        if late:
            raise late.pop()

    ending.before.append(watcher)
    assert ending.of(lambda: None) == STOPPED
    lines = map(json.loads, Unpacker(b"key").take(os.read(said, 1 << 16)).splitlines())
    assert [line["how"] for line in lines if "how" in line] == ["stopped"]
    os.close(said)
