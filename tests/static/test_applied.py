"""Functions that call the module that they are given."""

from __future__ import annotations

from tests.said import said


def test_the_module_has_the_name_under_which_it_is_given() -> None:
    forwards = said(
        """
        import torch
        from torch import nn
        generator = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
        nn.parallel.data_parallel(generator, torch.randn(2, 4), [0, 1])
        """,
        "forward",
    )
    assert len(forwards) == 1
    assert forwards[0].startswith("forward `generator` ")
