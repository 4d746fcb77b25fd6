"""Environments by their names: a cart that balances a pole, others with random observations and rewards of the right kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .table import Kind

LONGEST = 20  # steps of an episode: short ones are enough to learn from


def made(name: str, kind: Kind, base: Any, spaces: Any, *, new: bool) -> Any:
    """An environment of a kind, of the classes `Env` and spaces of the library that it stands in for."""
    body = {"new": new, "reset": _reset, "step": _step, "_observe": _observe, "get_action_meanings": _meanings}
    cls = type("MadeUp", (base,), body)
    environment = cls()
    environment.name, environment.kind = name, kind
    environment.observation_space = _space(kind.observation, math.inf, spaces, pixels=kind.pixels)
    environment.action_space = _space(kind.action, kind.bound, spaces, pixels=False)
    environment.spec = _Spec(name)
    environment._max_episode_steps = LONGEST
    environment.steps = 0
    environment.state = None
    environment.ale = _Lives()
    return environment


class _Spec:
    """What is known of an environment."""

    def __init__(self, name: str) -> None:
        self.id = self.name = name
        self.max_episode_steps = LONGEST
        self.reward_threshold = 100.0
        self.entry_point = ""
        self.kwargs: dict[str, Any] = {}
        self.timestep_limit = LONGEST
        self.tags: dict[str, Any] = {}


class _Lives:
    """The lives that a game has left."""

    def lives(self) -> int:
        """None."""
        return 0

    def getScreenRGB2(self) -> Any:  # noqa: N802 - as the emulator has it
        """A black picture."""
        import numpy as np

        return np.zeros((210, 160, 3), "uint8")


def _space(kind: Any, bound: float, spaces: Any, *, pixels: bool) -> Any:
    if isinstance(kind, int):
        return spaces.Discrete(kind)
    import numpy as np

    if pixels:
        return spaces.Box(low=0, high=255, shape=kind, dtype=np.uint8)
    return spaces.Box(low=-bound, high=bound, shape=kind, dtype=np.float32)


def _reset(self: Any, *, seed: Any = None, options: Any = None, **_: Any) -> Any:
    """Begins an episode."""
    del options
    import numpy as np

    if seed is not None:
        self._np_random = np.random.default_rng(seed)
    self.steps = 0
    self.state = self.np_random.uniform(-0.05, 0.05, 4)
    observed = self._observe()
    return (observed, {}) if self.new else observed


def _step(self: Any, action: Any) -> Any:
    """One step; the episode ends when the pole falls, or after some steps."""
    import numpy as np

    self.steps += 1
    ended = False
    reward = 1.0
    if self.name.startswith("CartPole"):
        self.state, ended = _balanced(self.state, int(action))
    else:
        reward = float(self.np_random.normal())
    late = self.steps >= LONGEST
    observed = self._observe()
    done = np.bool_(ended).item()
    return (observed, reward, done, late, {}) if self.new else (observed, reward, done or late, {})


def _observe(self: Any) -> Any:
    import numpy as np

    kind = self.kind
    if self.name.startswith("CartPole"):
        return np.asarray(self.state, "float32")
    if isinstance(kind.observation, int):
        return int(self.np_random.integers(kind.observation))
    if kind.pixels:
        return self.np_random.integers(0, 256, kind.observation).astype("uint8")
    return self.np_random.standard_normal(kind.observation).astype("float32")


def _meanings(self: Any) -> list[str]:
    from .table import MEANINGS

    return [MEANINGS[number % len(MEANINGS)] for number in range(int(self.kind.action))]


def _balanced(state: Any, action: int) -> tuple[Any, bool]:
    """The next state of a cart with a pole, and whether that has fallen (Barto, Sutton and Anderson, 1983)."""
    import numpy as np

    place, speed, angle, turning = state
    force = 10.0 if action == 1 else -10.0
    pushed = (force + 0.05 * turning**2 * math.sin(angle)) / 1.1
    turned = (9.8 * math.sin(angle) - math.cos(angle) * pushed) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
    moved = pushed - 0.05 * turned * math.cos(angle) / 1.1
    following = np.array([place + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turning, turning + 0.02 * turned])
    return following, bool(abs(following[0]) > 2.4 or abs(following[2]) > 12 * math.pi / 180)  # noqa: PLR2004 - as the task has it
