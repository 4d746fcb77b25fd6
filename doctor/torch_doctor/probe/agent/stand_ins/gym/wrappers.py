"""The wrappers that come with gym."""

from __future__ import annotations

from collections import deque
from typing import Any

from .core import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper
from .spaces import Box, flatdim, flatten


class TimeLimit(Wrapper):
    """Ends an episode after some steps."""

    def __init__(self, env: Any, max_episode_steps: Any = None, *_: Any, **__: Any) -> None:
        super().__init__(env)
        self._max_episode_steps = max_episode_steps or getattr(env, "_max_episode_steps", 20)
        self._elapsed_steps = 0


class RecordEpisodeStatistics(Wrapper):
    """Tells return and length of an episode when it ends."""

    def __init__(self, env: Any, *_: Any, **__: Any) -> None:
        super().__init__(env)
        self.return_queue: deque[float] = deque(maxlen=100)
        self.length_queue: deque[int] = deque(maxlen=100)
        self._sum, self._length = 0.0, 0

    def step(self, action: Any) -> Any:
        """With the statistics among what is told besides."""
        observed, reward, *ends, info = self.env.step(action)
        self._sum, self._length = self._sum + float(reward), self._length + 1
        if any(ends):
            info = {**info, "episode": {"r": self._sum, "l": self._length, "t": 0.0}}
            self.return_queue.append(self._sum)
            self.length_queue.append(self._length)
            self._sum, self._length = 0.0, 0
        return (observed, reward, *ends, info)


class Monitor(Wrapper):
    """Records nothing."""


RecordVideo = OrderEnforcing = PassiveEnvChecker = AutoResetWrapper = Autoreset = HumanRendering = Monitor


class TransformObservation(ObservationWrapper):
    """Observations through a function."""

    def __init__(self, env: Any, f: Any = None, *_: Any, func: Any = None, **__: Any) -> None:
        super().__init__(env)
        self._function = f or func

    def observation(self, observation: Any) -> Any:
        """What the function makes of it."""
        return self._function(observation)


class TransformReward(RewardWrapper):
    """Rewards through a function."""

    def __init__(self, env: Any, f: Any = None, *_: Any, func: Any = None, **__: Any) -> None:
        super().__init__(env)
        self._function = f or func

    def reward(self, reward: Any) -> Any:
        """What the function makes of it."""
        return self._function(reward)


class FlattenObservation(ObservationWrapper):
    """Observations as flat arrays."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = Box(-float("inf"), float("inf"), (flatdim(env.observation_space),))

    def observation(self, observation: Any) -> Any:
        """The flat array."""
        return flatten(self.env.observation_space, observation)


class GrayScaleObservation(ObservationWrapper):
    """Pictures without colours."""

    def __init__(self, env: Any, keep_dim: bool = False, *_: Any, **__: Any) -> None:  # noqa: FBT001, FBT002 - as gym has it
        super().__init__(env)
        self._keep = keep_dim
        shape = env.observation_space.shape[:2]
        self.observation_space = Box(0, 255, (*shape, 1) if keep_dim else shape, "uint8")

    def observation(self, observation: Any) -> Any:
        """The mean of the colours."""
        gray = observation.mean(axis=-1).astype("uint8")
        return gray[..., None] if self._keep else gray


GrayscaleObservation = GrayScaleObservation


class ResizeObservation(ObservationWrapper):
    """Pictures of another size."""

    def __init__(self, env: Any, shape: Any, *_: Any, **__: Any) -> None:
        super().__init__(env)
        self._size = (shape, shape) if isinstance(shape, int) else tuple(shape)
        self.observation_space = Box(0, 255, (*self._size, *env.observation_space.shape[2:]), "uint8")

    def observation(self, observation: Any) -> Any:
        """The nearest pixels."""
        import numpy as np

        rows, columns = (
            np.arange(size) * length // size
            for size, length in zip(self._size, observation.shape)  # noqa: B905 - two
        )
        return observation[rows][:, columns]


class AtariPreprocessing(ResizeObservation):
    """Small pictures without colours."""

    def __init__(self, env: Any, *_: Any, screen_size: int = 84, scale_obs: bool = False, **__: Any) -> None:
        super().__init__(GrayScaleObservation(env), screen_size)
        self._scale = scale_obs

    def observation(self, observation: Any) -> Any:
        """Scaled, where it was asked for."""
        small = super().observation(observation)
        return small.astype("float32") / 255 if self._scale else small


class FrameStack(ObservationWrapper):
    """The last observations, one upon the other."""

    def __init__(self, env: Any, num_stack: int = 4, *_: Any, **keywords: Any) -> None:
        super().__init__(env)
        count = keywords.get("stack_size", num_stack)
        self.frames: deque[Any] = deque(maxlen=count)
        inner = env.observation_space
        self.observation_space = Box(inner.low.min(), inner.high.max(), (count, *inner.shape), inner.dtype)

    def reset(self, **keywords: Any) -> Any:
        """Forgets the episode before."""
        self.frames.clear()
        return super().reset(**keywords)

    def observation(self, observation: Any) -> Any:
        """All of them in one array."""
        import numpy as np

        self.frames.append(observation)
        while len(self.frames) < (self.frames.maxlen or 0):
            self.frames.append(observation)
        return np.stack(list(self.frames))


FrameStackObservation = FrameStack


class ClipAction(ActionWrapper):
    """Actions within their bounds."""

    def action(self, action: Any) -> Any:
        """The nearest that is allowed."""
        import numpy as np

        return np.clip(action, self.action_space.low, self.action_space.high)


class RescaleAction(ActionWrapper):
    """Actions between other bounds."""

    def __init__(self, env: Any, min_action: Any = -1.0, max_action: Any = 1.0, *_: Any, **__: Any) -> None:
        super().__init__(env)
        inner = env.action_space
        self._least, self._most = min_action, max_action
        self.action_space = Box(min_action, max_action, inner.shape, inner.dtype)

    def action(self, action: Any) -> Any:
        """Between the bounds of the environment inside."""
        inner = self.env.action_space
        return inner.low + (inner.high - inner.low) * (action - self._least) / (self._most - self._least)


class NormalizeObservation(ObservationWrapper):
    """Observations as they are: they are random."""


class NormalizeReward(RewardWrapper):
    """Rewards as they are: they are random."""
