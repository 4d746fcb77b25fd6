"""Batches with fewer of their rows, or with smaller pictures."""

from __future__ import annotations

import torch

from torch_doctor.probe.agent.stand_ins.batches.cutting import cut, sides, thinned


def test_all_tensors_of_a_batch_have_its_first_rows() -> None:
    batch = [torch.arange(8), {"masks": torch.ones(8, 2)}]
    numbers, named = cut(batch, 8, 3, torch)
    assert numbers.tolist() == [0, 1, 2]
    assert named["masks"].shape == (3, 2)


def test_a_batch_with_anything_else_in_it_stays_whole() -> None:
    for other in (torch.arange(5), ["a"] * 8, torch.tensor(1)):
        batch = [torch.arange(8), other]
        assert cut(batch, 8, 3, torch) is batch


def test_pictures_and_what_has_their_sides_become_smaller() -> None:
    batch = [torch.rand(2, 3, 256, 128), {"masks": torch.ones(2, 256, 128), "classes": torch.arange(2)}]
    assert sides(batch, torch) == (256, 128)
    pictures, named = thinned(batch, (256, 128), 2, torch)
    assert pictures.shape == (2, 3, 128, 64)
    assert named["masks"].shape == (2, 128, 64)
    assert named["classes"].shape == (2,)


def test_small_pictures_and_rows_of_numbers_stay() -> None:
    for batch in (torch.rand(2, 3, 64, 256), torch.rand(200, 300), [torch.arange(200 * 300).view(1, 200, 300)]):
        assert sides(batch, torch) is None
