from __future__ import annotations

import pytest

from torch_doctor.trace import ArrayRead, TensorFact, Tri
from torch_doctor_rules.device.cuda_tensor_to_numpy import CudaTensorToNumpy

from .conftest import Script

READ = "scores.numpy()"


def read(script: Script, *, gpu: Tri = None, graph: Tri = False) -> None:
    """An array is made of a tensor."""
    script.add(
        ArrayRead,
        READ,
        function="numpy",
        value=TensorFact(name="scores", graph=graph),
        gpu=gpu,
        since=script.at("model.cuda()") if gpu else None,
        at=script.at("scores"),
    )


@pytest.mark.parametrize(
    ("gpu", "graph", "mended"),
    [(True, False, "{}.cpu()"), (True, None, "{}.detach().cpu()"), (None, True, "{}.detach()")],
)
def test_numpy_reads_memory_of_the_cpu_without_a_graph(script: Script, gpu: Tri, graph: Tri, mended: str) -> None:
    read(script, gpu=gpu, graph=graph)
    assert script.found(CudaTensorToNumpy) == [READ]
    [finding] = script.findings(CudaTensorToNumpy)
    assert [(edit.site, edit.code) for edit in finding.edits] == [(script.at("scores"), mended)]  # type: ignore[union-attr]


@pytest.mark.parametrize(("gpu", "graph"), [(None, False), (False, False), (None, None)])
def test_what_is_not_known_to_be_refused_is_left_alone(script: Script, gpu: Tri, graph: Tri) -> None:
    read(script, gpu=gpu, graph=graph)
    assert script.found(CudaTensorToNumpy) == []


def test_callers_out_of_sight_may_have_switched_autograd_off() -> None:
    script = Script(begins_outside=True)
    read(script, graph=True)
    assert script.found(CudaTensorToNumpy) == []
