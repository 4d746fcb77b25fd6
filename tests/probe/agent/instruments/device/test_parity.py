"""One step on two devices: what agrees, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from torch_doctor.probe.agent.instruments.device.parity import TOLERANCES, compared, difference
from torch_doctor.trace import DevicesDiffer

if TYPE_CHECKING:
    from collections.abc import Callable

CPUS = ("cpu", "cpu:0")
"""Two devices as far as a module can tell that looks at where it is put, and one as far as numbers can."""


class Net(nn.Module):
    """Knows where it was put, as modules do that override `to`."""

    def __init__(self, elsewhere: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.dropout = nn.Dropout(0.5)
        self.elsewhere = elsewhere
        self.place = "cpu"

    def to(self, where: Any) -> Net:  # type: ignore[override]
        self.place = where if isinstance(where, str) else self.place
        return super().to(where)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layer(self.dropout(x))
        return scores if self.place == "cpu" else self.elsewhere(scores)


def of(elsewhere: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """What comes of comparing a module that does something else with its scores on the other device."""
    torch.manual_seed(0)
    return compared(torch, Net(elsewhere), (torch.randn(8, 4),), {}, CPUS)


def test_a_module_that_does_the_same_everywhere_agrees_with_itself() -> None:
    assert of(lambda scores: scores) is None


def test_an_answer_that_depends_on_the_device_is_named_with_its_size() -> None:
    found = of(lambda scores: scores + 0.5)
    assert found.largest == pytest.approx(0.5)
    assert found.elements == 8
    assert 0 < found.allowed < 1e-4


def test_rounding_that_float64_does_not_have_is_no_difference() -> None:
    tiny = torch.finfo(torch.float32).tiny
    assert of(lambda scores: scores * (1 + 1e-4) if scores.dtype == torch.float32 else scores + tiny) is None


class Drawing(Net):
    """Adds noise in any mode."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + torch.rand(1)


def test_nothing_is_said_of_a_module_that_draws_random_numbers() -> None:
    torch.manual_seed(0)
    assert compared(torch, Drawing(lambda scores: scores + 0.5), (torch.randn(8, 4),), {}, CPUS) is None


def test_what_does_not_run_elsewhere_is_told_by_others() -> None:
    def fails(_: torch.Tensor) -> torch.Tensor:
        raise RuntimeError

    assert of(fails) is None


def test_comparing_leaves_the_module_and_the_random_numbers_as_they_are() -> None:
    net, x = Net(lambda scores: scores * 2).half(), torch.randn(8, 4)
    before = torch.get_rng_state()
    assert compared(torch, net, (x,), {}, CPUS) is not None
    assert torch.equal(before, torch.get_rng_state())
    assert net.training
    assert net.layer.weight.dtype == torch.float16
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_what_assert_close_allows_is_allowed(dtype: str) -> None:
    relative, absolute = TOLERANCES[dtype]
    one = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    kind = getattr(torch, dtype)
    torch.testing.assert_close(one.to(kind), (one * (1 + relative / 2) + absolute / 2).to(kind))
    assert difference(torch, [one], [one * (1 + relative / 2) + absolute / 2], dtype) is None
    assert difference(torch, [one], [one * (1 + 4 * relative) + 4 * absolute], dtype) is not None


def test_without_a_gpu_nothing_is_said(seen: Callable[..., list[Any]]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    script = """
import torch
class Net(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) * (2 if x.is_cuda else 1)
net = Net(4, 1)
net(torch.randn(8, 4)).sum().backward()
"""
    assert seen(script, DevicesDiffer, "parity") == []
