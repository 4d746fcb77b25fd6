from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torch_doctor.probe.agent.watching.update.gradients import Watcher


class Recorder:
    """Keeps what a watcher writes and doubts; every statement that it shows speaks of `.grad`."""

    inside, quiet = False, 0

    def __init__(self) -> None:
        self.events: list[str] = []
        self.doubts: list[str] = []
        self.index = SimpleNamespace(nodes={1: SimpleNamespace(text="p.grad += g")}, site=lambda key: key)

    def rests(self) -> bool:
        return False

    def here(self) -> Any:
        return SimpleNamespace(site=1, loops=[], _replace=lambda **_: None)

    def safely(self, function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    def event(self, kind: str, *_: Any, **__: Any) -> int:
        self.events.append(kind)
        return len(self.events)

    def happened(self, *_: Any, **__: Any) -> None: ...

    def doubt(self, text: str) -> None:
        self.doubts.append(text)


@pytest.fixture
def parameter() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.ones(2))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def watcher(parameter: torch.nn.Parameter, recorder: Recorder) -> Watcher:
    optimizers = SimpleNamespace(tensors=lambda: [parameter], optimized=set(), moved=set())
    modules = SimpleNamespace(owners=lambda tensors, _: {1} if tensors else set())
    watch: Any = SimpleNamespace(torch=torch, recorder=recorder, optimizers=optimizers, modules=modules)
    return Watcher(watch)


def _in_a_thread(watcher: Watcher) -> None:
    thread = Thread(target=watcher.touched, args=(1,))
    thread.start()
    thread.join()


def test_one_thread_that_assigns_gradients_is_told(
    watcher: Watcher, parameter: torch.nn.Parameter, recorder: Recorder
) -> None:
    parameter.grad = torch.ones(2)
    watcher.touched(1)
    assert recorder.events == ["ZeroGrad", "Backward"]
    assert not recorder.doubts


def test_gradients_that_another_thread_assigned_are_not_told_of_this_one(
    watcher: Watcher, parameter: torch.nn.Parameter, recorder: Recorder
) -> None:
    watcher.touched(1)
    parameter.grad = torch.ones(2)  # by the first thread, whose statement has not ended yet
    _in_a_thread(watcher)
    assert recorder.events == []
    assert len(recorder.doubts) == 1
