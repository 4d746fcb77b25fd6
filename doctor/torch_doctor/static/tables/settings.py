"""Switches of the whole process: attributes, functions, contexts and environment variables."""

from __future__ import annotations

ATTRIBUTES: frozenset[str] = frozenset(("torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic"))
"""Attributes of torch's modules that switch something by being assigned."""

VARIABLES: frozenset[str] = frozenset(("CUDA_LAUNCH_BLOCKING",))
"""Environment variables: on, unless they are empty or 0."""

ANOMALY = "torch.autograd.set_detect_anomaly"

SWITCHES: dict[str, str] = {
    "torch.autograd.set_detect_anomaly": "mode",
    "torch.autograd.anomaly_mode.set_detect_anomaly": "mode",
}
"""Functions that switch at once, by the name of their first parameter; as a context they switch back when it is left."""

CONTEXTS: dict[str, str] = {
    "torch.autograd.detect_anomaly": ANOMALY,
    "torch.autograd.anomaly_mode.detect_anomaly": ANOMALY,
    "torch.profiler.profile": "torch.profiler.profile",
    "torch.profiler.profiler.profile": "torch.profiler.profile",
    "torch.autograd.profiler.profile": "torch.profiler.profile",
}
"""Contexts that switch something on, and what."""

BEGINNINGS: dict[str, bool] = {"start": True, "__enter__": True, "stop": False, "__exit__": False}
"""Methods of such a context that do the same without `with`."""
