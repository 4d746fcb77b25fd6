"""Environments, wrappers around them, and several side by side."""

from __future__ import annotations

from typing import Any, ClassVar


class Env:
    """What an agent acts in.

    Attributes:
        new: whether `step` gives five values and `reset` two, as since gym 0.26.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["rgb_array", "human"],
        "render.modes": ["rgb_array", "human"],
    }
    reward_range = (-float("inf"), float("inf"))
    new: ClassVar[bool] = True
    spec: Any = None
    render_mode: Any = None
    observation_space: Any = None
    action_space: Any = None
    _np_random: Any = None

    @property
    def unwrapped(self) -> Any:
        """Itself."""
        return self

    @property
    def np_random(self) -> Any:
        """The generator that it draws from."""
        import numpy as np

        if self._np_random is None:
            self._np_random = np.random.default_rng(0)
        return self._np_random

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self._np_random = value

    def seed(self, seed: Any = None) -> list[Any]:
        """Begins anew."""
        import numpy as np

        self._np_random = np.random.default_rng(0 if seed is None else seed)
        return [seed]

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Seeds it, where it is asked to; environments begin an episode."""
        del options
        if seed is not None:
            Env.seed(self, seed)

    def render(self, *_: Any, **__: Any) -> Any:
        """A black picture."""
        import numpy as np

        return np.zeros((64, 64, 3), "uint8")

    def close(self) -> None:
        """Nothing."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Wrapper(Env):
    """An environment around another."""

    def __init__(self, env: Any, *_: Any, **__: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def __getattribute__(self, name: str) -> Any:
        """What the environment inside has, where the wrapper has nothing of its own."""
        value = object.__getattribute__(self, name)
        inside = ("observation_space", "action_space", "spec", "metadata", "reward_range", "render_mode")
        if name in inside and value is getattr(Env, name, None):
            return getattr(object.__getattribute__(self, "env"), name)
        return value

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def step(self, action: Any) -> Any:
        """As the environment inside."""
        return self.env.step(action)

    def reset(self, **keywords: Any) -> Any:
        """As the environment inside."""
        return self.env.reset(**keywords)

    def seed(self, seed: Any = None) -> Any:
        """As the environment inside."""
        return self.env.seed(seed)

    def render(self, *arguments: Any, **keywords: Any) -> Any:
        """As the environment inside."""
        return self.env.render(*arguments, **keywords)

    def close(self) -> None:
        """As the environment inside."""
        self.env.close()


class ObservationWrapper(Wrapper):
    """Changes observations, by its method `observation`."""

    def reset(self, **keywords: Any) -> Any:
        """The changed observation."""
        found = self.env.reset(**keywords)
        return (self.observation(found[0]), found[1]) if self.new else self.observation(found)

    def step(self, action: Any) -> Any:
        """With the changed observation."""
        observed, *rest = self.env.step(action)
        return (self.observation(observed), *rest)

    def observation(self, observation: Any) -> Any:
        """The observation as it is."""
        return observation


class RewardWrapper(Wrapper):
    """Changes rewards, by its method `reward`."""

    def step(self, action: Any) -> Any:
        """With the changed reward."""
        observed, reward, *rest = self.env.step(action)
        return (observed, self.reward(reward), *rest)

    def reward(self, reward: Any) -> Any:
        """The reward as it is."""
        return reward


class ActionWrapper(Wrapper):
    """Changes actions, by its method `action`."""

    def step(self, action: Any) -> Any:
        """With the changed action."""
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """The action as it is."""
        return action


class VectorEnv:
    """Several environments side by side, each begun anew when it ends."""

    def __init__(self, env_fns: Any, *_: Any, **__: Any) -> None:
        from .spaces import Box, Discrete, MultiDiscrete

        self.envs = [make() for make in env_fns]
        self.num_envs = len(self.envs)
        first = self.envs[0]
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.new = bool(getattr(first, "new", True))
        observed, action, count = first.observation_space, first.action_space, self.num_envs
        self.observation_space = observed
        if isinstance(observed, Box):
            self.observation_space = Box(
                _repeated(observed.low, count), _repeated(observed.high, count), dtype=observed.dtype
            )
        if isinstance(action, Discrete):
            self.action_space: Any = MultiDiscrete([action.n] * count)
        else:
            self.action_space = Box(_repeated(action.low, count), _repeated(action.high, count), dtype=action.dtype)
        self.spec = first.spec

    def reset(self, **keywords: Any) -> Any:
        """The first observations."""
        import numpy as np

        seed = keywords.pop("seed", None)
        found = [
            each.reset(**({} if seed is None else {"seed": seed + number if isinstance(seed, int) else seed[number]}))
            for number, each in enumerate(self.envs)
        ]
        return (np.stack([each[0] for each in found]), {}) if self.new else np.stack(found)

    def step(self, actions: Any) -> Any:
        """What each environment gives, one array for each of the values."""
        import numpy as np

        rows = []
        for env, action in zip(self.envs, actions):  # noqa: B905 - as many
            observed, *rest, _ = env.step(action)
            if any(rest[1:]):
                begun = env.reset()
                observed = begun[0] if self.new else begun
            rows.append((observed, *rest))
        arrays = [np.stack(column) for column in zip(*rows)]  # noqa: B905 - as long
        return (*arrays, {} if self.new else [{} for _ in self.envs])

    def seed(self, seed: Any = None) -> None:
        """Begins anew."""
        for each in self.envs:
            each.seed(seed)

    def close(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    close_extras = call = set_attr = render = close


def _repeated(bound: Any, count: int) -> Any:
    import numpy as np

    return np.stack([bound] * count)
