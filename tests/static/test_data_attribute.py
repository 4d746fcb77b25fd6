"""What is known of numbers by where they come from: those changed through `.data`, and those of bytes."""

from __future__ import annotations

import textwrap

from tests.said import SCRIPT
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

CLAMPED = """
    import torch
    from torch import nn
    net = nn.Linear(4, 3)
    shares = torch.softmax(net(torch.randn(8, 4)), 1)
    {}
    torch.log(shares).mean().backward()
    """
DIVIDED = """
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from torchvision import datasets
    digits = datasets.MNIST("data")
    images, labels = {}, digits.targets
    images /= torch.max(images)
    bound = int(0.9 * len(images))
    loaders = [DataLoader(TensorDataset(images[part], labels[part])) for part in (slice(bound), slice(bound, None))]
    first, last = images[:bound], images[bound:]
    """


def test_numbers_that_are_clamped_through_data_do_not_reach_zero() -> None:
    """Who clamps `x.data` has clamped `x`."""
    assert _codes(CLAMPED.format("pass"), "TDR210") == ["TDR210"]
    assert _codes(CLAMPED.format("shares.data.clamp_(0.01, 0.99)"), "TDR210") == []


def test_the_largest_byte_is_no_statistic_of_the_rows() -> None:
    """It is 255, whichever pictures there are."""
    assert _codes(DIVIDED.format("torch.from_numpy(np.load('images.npy'))"), "TDR707") == ["TDR707"]
    assert _codes(DIVIDED.format("digits.data.view(-1, 784).float()"), "TDR707") == []


def _codes(source: str, code: str) -> list[str]:
    written = textwrap.dedent(source).lstrip("\n").encode()
    rules = tuple(rule for rule in all_rules() if rule.code == code)
    report = scan(Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: written}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return [finding.code for finding in report.findings]
