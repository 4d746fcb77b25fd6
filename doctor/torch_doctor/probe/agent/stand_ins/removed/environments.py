"""Environments of gym: as they were before its version 0.26, and others for those that cannot be made here."""

from __future__ import annotations

import ast
import functools
import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from .names import Removed

if TYPE_CHECKING:
    from types import ModuleType

LIBRARIES = ("gym", "gymnasium")
OLD, NEW = 4, 5  # values that a step gives
START = 2  # values that a reset gives since then
FEATURES, ACTIONS, CONTINUOUS = 8, 4, 2
SCREEN, WINDOW = (210, 160, 3), (400, 600, 3)
SCREENS = ("NoFrameskip", "ALE/", "Deterministic-v", "Retro", "Mario", "MiniGrid")
LONGEST, LIVES = 50, 3  # steps of an episode, and lives of its player
MEANINGS = ("NOOP", "FIRE", "RIGHT", "LEFT")
"""What the actions of a game on a screen mean, by which wrappers for such games choose."""
WRAPPERS = {"Wrapper": "", "ObservationWrapper": "observation", "RewardWrapper": "reward", "ActionWrapper": "action"}
"""Classes of the library that others are built on, and what each changes of a step."""
MADE = frozenset({"shape", "low", "high", "sample"})
"""What is asked of the actions of an environment that takes numbers."""


class OldEnvironments(Removed):
    """Has `env.seed()`, `env.reset()` and `env.step()` do what the script expects of them."""

    def prepare(self) -> None:
        """Patches the libraries when they are imported."""
        for name in LIBRARIES:
            after(name, self._patch)
            after(f"{name}.wrappers", self._patch_wrappers)

    def _patch_wrappers(self, module: ModuleType) -> None:
        if "Monitor" not in vars(module):
            self.names(module, {"Monitor": ("the environment itself, of which nothing is recorded", lambda: _itself)})

    def _patch(self, module: ModuleType) -> None:
        library: Any = module
        make = library.make

        @functools.wraps(make)
        def made(name: Any, *arguments: Any, **keywords: Any) -> Any:
            keywords.setdefault("disable_env_checker", True)  # it uses names that NumPy has removed
            try:
                env = make(name, *arguments, **keywords)
            except (library.error.Error, ImportError) as error:
                if not self.sources.called_by_user():
                    raise
                env = self._another(library, make, str(name), error)
            if not self.sources.called_by_user():
                return env
            for each in {id(part): part for part in (env, getattr(env, "unwrapped", env))}.values():
                self._older(each)
            return env

        library.make = made
        for kind, changed in WRAPPERS.items():
            wrapper = vars(library).get(kind)
            if isinstance(wrapper, type):
                self._between(wrapper, changed)

    def _between(self, wrapper: Any, changed: str) -> None:
        """Has a wrapper of the library's get along with wrappers of the script that do as before, inside it and around it."""
        reset, step = wrapper.reset, wrapper.step

        @functools.wraps(reset)
        def resetting(self_: Any, **keywords: Any) -> Any:
            if not self._is_old:
                return reset(self_, **keywords)
            given = self_.env.reset(**keywords)
            seen, known = given if _is_start(given) else (given, {})
            seen = self_.observation(seen) if changed == "observation" else seen
            if not self.sources.called_by_user() or self._taken("reset") == START:
                return seen, known
            self.was_used("env.reset()", "the observation of `env.reset()`")
            return seen

        @functools.wraps(step)
        def stepping(self_: Any, action: Any) -> Any:
            if not self._is_old:
                return step(self_, action)
            seen, reward, ended, *rest, known = self_.env.step(self_.action(action) if changed == "action" else action)
            seen = self_.observation(seen) if changed == "observation" else seen
            reward = self_.reward(reward) if changed == "reward" else reward
            if not self.sources.called_by_user() or self._taken("step") == NEW:
                return seen, reward, ended, any(rest), known
            self.was_used("env.step()", "`env.step()` with one value for the end of an episode")
            return seen, reward, ended or any(rest), known

        wrapper.reset, wrapper.step = resetting, stepping

    def _another(self, library: Any, make: Any, name: str, error: Exception) -> Any:
        """The same in another version; a made-up one where there is none."""
        plain = name.rpartition("-v")[0]
        for known in sorted(library.envs.registration.registry, reverse=True):
            if plain and known.rpartition("-v")[0] == plain and known != name:
                self.tell(name, known, why="not in this version", voids=(told.VALUES,))
                return make(known, disable_env_checker=True)
        screen = any(word in name for word in SCREENS)
        takes_numbers = not screen and "n" not in self._asked_of_actions()
        why = " ".join(f"{type(error).__name__}: {error}".split())[:150]
        shape = SCREEN if screen else (FEATURES,)
        size = "×".join(map(str, shape))
        actions = f"{CONTINUOUS} numbers" if takes_numbers else f"{ACTIONS} choices"
        how = f"an environment with random observations ({size}) and actions of {actions}"
        self.tell(name, how, why=f"the environment cannot be made ({why})", voids=(told.VALUES, told.SHAPES))
        return _made_up(library, name, shape, takes_numbers=takes_numbers)

    def _asked_of_actions(self) -> set[str]:
        """What the script reads of the actions of an environment; "n" is the number of choices."""
        nodes = [node for tree in self.sources.project_trees() for node in ast.walk(tree)]
        read = {
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "action_space"
        }
        return read & {"n", *MADE} if "n" not in read or not read & {"shape", "low", "high"} else read - {"n"}

    def _older(self, env: Any) -> None:
        """Has the methods of an environment give what each call of the script takes."""
        reset, step = env.reset, env.step

        @functools.wraps(reset)
        def resetting(*arguments: Any, **keywords: Any) -> Any:
            given = reset(*arguments, **keywords)
            if not _is_start(given) or not self.sources.called_by_user() or not self._is_old:
                return given
            if self._taken("reset") == START:
                return given
            self.was_used("env.reset()", "the observation of `env.reset()`")
            return given[0]

        @functools.wraps(step)
        def stepping(*arguments: Any, **keywords: Any) -> Any:
            given = step(*arguments, **keywords)
            if len(given) != NEW or not self.sources.called_by_user():
                return given
            taken = self._taken("step")
            if taken == NEW or (taken != OLD and not self._is_old):
                return given
            self.was_used("env.step()", "`env.step()` with one value for the end of an episode")
            observation, reward, terminated, truncated, known = given
            return observation, reward, terminated or truncated, known

        def seed(number: int | None = None) -> list[int | None]:
            self.was_used("env.seed()", "`env.reset(seed=)`")
            reset(seed=number)
            return [number]

        env.reset, env.step = resetting, stepping
        if not _has_modes(getattr(env, "unwrapped", env)):
            env.render = self._rendering(env)
        if not hasattr(env, "seed"):
            env.seed = seed

    def _rendering(self, env: Any) -> Any:
        """`env.render(mode=)`; since then the mode is chosen where the environment is made."""
        render = env.render

        @functools.wraps(render)
        def rendering(mode: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if mode is None or not self.sources.called_by_user():
                return render(*arguments, **({"mode": mode} if mode is not None else {}), **keywords)
            if mode != "rgb_array":
                self.was_used("env.render(mode=)", "nothing to see")
                return None
            import numpy as np

            how = "×".join(map(str, WINDOW))
            self.tell("env.render(mode='rgb_array')", f"random pixels {how}", voids=(told.VERSION, told.VALUES))
            return np.random.default_rng(0).integers(0, 256, WINDOW, dtype=np.uint8)

        return rendering

    def _taken(self, method: str) -> int:
        """How many values the statement that runs takes of a method; 0 where it does not take them apart."""
        frame = self.sources.innermost()
        statements = self.sources.statements(frame)[:1] if frame is not None else []
        return next((_unpacked(each, method) for each in statements), 0)

    @functools.cached_property
    def _is_old(self) -> bool:
        """Whether the project takes four values of a step."""
        taken = {
            _unpacked(node, "step")
            for tree in self.sources.project_trees()
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
        }
        return OLD in taken and NEW not in taken


def _unpacked(statement: ast.AST, method: str) -> int:
    """How many values a statement takes of a call of a method; 0 where it does not take them apart."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return 0
    called, target = statement.value.func, statement.targets[0]
    is_method = isinstance(called, ast.Attribute) and called.attr == method
    return len(target.elts) if is_method and isinstance(target, (ast.Tuple, ast.List)) else 0


def _has_modes(env: Any) -> bool:
    """Whether a mode is given to the method that renders, as it was before."""
    render = getattr(env, "render", None)
    return render is None or "mode" in inspect.signature(render).parameters


def _itself(env: Any, *_: Any, **__: Any) -> Any:
    return env


def _is_start(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == START and isinstance(given[1], dict)


def _made_up(library: Any, name: str, shape: tuple[int, ...], *, takes_numbers: bool) -> Any:
    """An environment with random observations."""
    import numpy as np

    spaces = library.spaces
    screen = len(shape) > 1

    class Environment(library.Env):  # type: ignore[misc]
        observation_space = (
            spaces.Box(0, 255, shape, np.uint8) if screen else spaces.Box(-np.inf, np.inf, shape, np.float32)
        )
        action_space = spaces.Box(-1.0, 1.0, (CONTINUOUS,), np.float32) if takes_numbers else spaces.Discrete(ACTIONS)
        _max_episode_steps = LONGEST
        spec = SimpleNamespace(
            id=name,
            name=name.rpartition("-v")[0] or name,
            entry_point="ale_py.env:AtariEnv" if screen else "",
            max_episode_steps=LONGEST,
            reward_threshold=None,
            nondeterministic=False,
            kwargs={},
        )

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            """The start of an episode."""
            self._steps = 0
            return self.observation_space.sample(), {}

        def step(self, _: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            """The next observation."""
            self._steps += 1
            return self.observation_space.sample(), float(self.np_random.random()), self._steps >= LONGEST, False, {}

        def render(self, *_: Any, **__: Any) -> None:
            """Nothing to see."""

        if screen:
            ale = SimpleNamespace(lives=lambda: LIVES)

            def get_action_meanings(self) -> list[str]:
                """What the actions mean."""
                return list(MEANINGS[:ACTIONS])

    return Environment()
