"""What an object has that a constructor of its class gives it."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import torch
    from unseen import Settings, settings
    {decorator}
    class Own{base}:
        device: str = "cpu"
        seeds: bool = True
        note = "x"
    {made}
    if own.seeds:
        torch.manual_seed(0)
"""
UNSEEN = [("@settings", ""), ("@settings(frozen=True)", ""), ("", "(Settings)")]


@pytest.mark.parametrize(("decorator", "base"), UNSEEN)
@pytest.mark.parametrize("given", ["seeds=False", "'cuda', False", "**read()", "*read()"])
def test_a_constructor_out_of_sight_may_give_what_the_class_annotates(decorator: str, base: str, given: str) -> None:
    script = SCRIPT.format(decorator=decorator, base=base, made=f"from unseen import read; own = Own({given})")
    assert any("[if" in line for line in said(script, "seed random numbers"))


@pytest.mark.parametrize(("decorator", "base"), UNSEEN)
@pytest.mark.parametrize("given", ["", "device='cuda'"])
def test_what_a_call_does_not_give_is_what_the_class_has(decorator: str, base: str, given: str) -> None:
    seeds = said(SCRIPT.format(decorator=decorator, base=base, made=f"own = Own({given})"), "seed random numbers")
    assert seeds
    assert not any("[if" in line for line in seeds)
