"""Batches with fewer of their rows."""

from __future__ import annotations

import torch

from torch_doctor.probe.agent.stand_ins.batches.cutting import cut


def test_all_tensors_of_a_batch_have_its_first_rows() -> None:
    batch = [torch.arange(8), {"masks": torch.ones(8, 2)}]
    numbers, named = cut(batch, 8, 3, torch)
    assert numbers.tolist() == [0, 1, 2]
    assert named["masks"].shape == (3, 2)


def test_a_batch_with_anything_else_in_it_stays_whole() -> None:
    for other in (torch.arange(5), ["a"] * 8, torch.tensor(1)):
        batch = [torch.arange(8), other]
        assert cut(batch, 8, 3, torch) is batch
