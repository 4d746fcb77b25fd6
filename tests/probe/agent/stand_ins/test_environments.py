"""Environments as they were before gym 0.26, environments that cannot be made, and packages that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("farm", "records")

GYM = {
    "gym/error.py": "class Error(Exception):\n    pass\n",
    "gym/spaces.py": """
import numpy as np

class Box:
    def __init__(self, low, high, shape, dtype):
        self.shape, self.dtype = shape, dtype

    def sample(self):
        return np.zeros(self.shape, self.dtype)

class Discrete:
    def __init__(self, n):
        self.n = n

    def sample(self):
        return 0
""",
    "gym/envs/__init__.py": "",
    "gym/wrappers/__init__.py": "",
    "gym/envs/registration.py": "registry = {'Cart-v1': None}\n",
    "gym/__init__.py": """
import numpy as np
from . import envs, error, spaces, wrappers
from .envs import registration

class Env:
    np_random = np.random.default_rng(0)

class Wrapper(Env):
    def __init__(self, env):
        self.env = env
        self.action_space = env.action_space

    def reset(self, **given):
        return self.env.reset(**given)

    def step(self, action):
        return self.env.step(action)

class Cart(Env):
    observation_space = spaces.Box(0, 1, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, seed=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, False, True, {}

class Wrapper(Env):
    def __init__(self, env):
        self.env = env
        self.action_space = env.action_space
        self.observation_space = env.observation_space

    def reset(self, **keywords):
        return self.env.reset(**keywords)

    def step(self, action):
        return self.env.step(action)

class ObservationWrapper(Wrapper):
    def reset(self, **keywords):
        given = self.env.reset(**keywords)
        return self.observation(given[0]), given[1]

    def step(self, action):
        seen, *others = self.env.step(action)
        return self.observation(seen), *others

def make(name, disable_env_checker=False):
    if name not in registration.registry:
        raise error.Error(f"no {name}")
    return Cart()
""",
}
SETUP = """
import gym
import torch
from torch import nn

def learn(observation, outputs):
    policy = nn.Linear(observation.shape[-1], outputs)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        policy(torch.as_tensor(observation).float()).sum().backward()
        optimizer.step()
"""


@pytest.fixture
def probe(run: Callable[..., Any], write: Callable[[str, str], Path]) -> Callable[[str], Any]:
    """Probes a script that is written first; gives what the command left behind."""

    def probed(script: str) -> Any:
        write("train.py", script)
        return run("scan", "train.py", "--probe", "--isolated")

    return probed


@pytest.fixture
def gym(write: Callable[[str, str], Path]) -> None:
    for name, text in GYM.items():
        write(name, text)


@pytest.mark.usefixtures("gym")
def test_what_gym_has_changed_is_as_the_script_takes_it(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
env = gym.make("Cart-v0")
env.seed(3)
state = env.reset()
state, reward, done, info = env.step(env.action_space.sample())
assert state.shape == (4,) and done is True
learn(state, env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err
    assert "Cart-v1 instead of `Cart-v0` (not in this version)" in outcome.err
    assert "instead of `env.seed()`" in outcome.err
    assert "instead of `env.step()`" in outcome.err


@pytest.mark.usefixtures("gym")
def test_a_mode_that_is_no_longer_given_where_a_screen_is_shown(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
class Shown(type(gym.make("Cart-v1"))):
    def render(self):
        return "shown"

class Moded(Shown):
    def render(self, mode="human"):
        return mode

gym.Cart = Shown
env = gym.make("Cart-v1")
assert env.render() == "shown" and env.render(mode="human") is None
assert env.render(mode="rgb_array").shape[2] == 3
gym.Cart = Moded
assert gym.make("Cart-v1").render(mode="rgb_array") == "rgb_array"
learn(torch.zeros(4), 2)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err


@pytest.mark.usefixtures("gym")
def test_what_the_script_puts_around_an_environment_is_like_that(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
class Counting(gym.Wrapper):
    def step(self, action):
        state, reward, done, info = self.env.step(action)
        return state, reward, done, info

env = Counting(gym.Wrapper(gym.make("Cart-v1")))
state = env.reset()
assert state.shape == (4,)
state, reward, done, info = env.step(env.action_space.sample())
learn(state, env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err


@pytest.mark.usefixtures("gym")
def test_who_takes_five_values_gets_them(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
env = gym.make("Cart-v1")
state, info = env.reset(seed=3)
state, reward, terminated, truncated, info = env.step(0)
start = env.reset()
assert len(start) == 2 and truncated
learn(state, env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err
    assert "instead of" not in outcome.err


@pytest.mark.usefixtures("gym")
def test_a_game_that_cannot_be_made_has_buttons_and_lives(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
env = gym.wrappers.Monitor(gym.make("PongNoFrameskip-v4"), "videos", force=True)
assert env.get_action_meanings()[1] == "FIRE" and env.ale.lives() > 0
assert "NoFrameskip" in env.spec.id
env.reset()
state, reward, done, info = env.step(1)
learn(state[:, 0, 0], env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err
    assert "nothing is recorded instead of `gym.wrappers.Monitor`" in outcome.err


@pytest.mark.usefixtures("gym")
def test_an_environment_that_cannot_be_made_is_made_up(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
env = gym.make("Walker-v3")
state = env.reset()
state, reward, done, info = env.step(env.action_space.sample())
learn(state, env.action_space.shape[0])
"""
    )
    assert "reached 2 optimizer steps" in outcome.err
    assert "an environment with random observations (8) and actions of 2 numbers instead of `Walker-v3`" in outcome.err


@pytest.mark.usefixtures("gym")
def test_a_made_up_game_has_what_wrappers_for_games_ask(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
env = gym.make("PongNoFrameskip-v4")
assert "FIRE" in env.get_action_meanings() and env.ale.lives() > 0
assert env.spec.id == "PongNoFrameskip-v4" and "atari" in env.spec.entry_point.lower()
state = env.reset()
state, reward, done, info = env.step(0)
learn(state, env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err, outcome.err


@pytest.mark.usefixtures("gym")
def test_wrappers_as_they_were_fit_into_those_of_the_library(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
class Lives(gym.Wrapper):
    def reset(self, **keywords):
        return self.env.reset(**keywords)

    def step(self, action):
        state, reward, done, info = self.env.step(action)
        return state, reward, done, info

class Halved(gym.ObservationWrapper):
    def observation(self, state):
        return state[:2]

class Doubled(gym.ObservationWrapper):
    def observation(self, state):
        return state.repeat(2)

class Stacked(gym.Wrapper):
    def reset(self):
        return self.env.reset()

    def step(self, action):
        state, reward, done, info = self.env.step(action)
        return state, reward, done, info

env = Stacked(Doubled(Halved(Lives(gym.make("Cart-v0")))))
state = env.reset()
assert state.shape == (4,)
state, reward, done, info = env.step(0)
assert state.shape == (4,) and done is True
env = Halved(Lives(gym.make("Cart-v0")))
state = env.reset()
state, reward, done, info = env.step(0)
assert state.shape == (2,)
learn(state, env.action_space.n)
"""
    )
    assert "reached 2 optimizer steps" in outcome.err, outcome.err


def test_a_package_that_does_not_fit_counts_as_not_installed(
    probe: Callable[..., Any], write: Callable[[str, str], Path]
) -> None:
    write("lib/site-packages/oldtext/__init__.py", "from oldtext.extension import load\n")
    write("lib/site-packages/oldtext/extension.py", "raise OSError('libold.so: undefined symbol')\n")
    outcome = probe(f"""
import os
import sys
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "site-packages"))
import oldtext
from oldtext.data import Field
Field(lower=True)
import numpy as np
{SETUP.replace("import gym", "")}
learn(np.zeros(4), 2)
""")
    assert "reached 2 optimizer steps" in outcome.err
    assert "oldtext is installed but does not fit (OSError: libold.so: undefined symbol)" in outcome.err


def test_an_import_that_the_script_does_without_still_fails(
    probe: Callable[..., Any], write: Callable[[str, str], Path]
) -> None:
    write("lib/site-packages/oldtext/__init__.py", "raise ImportError('libold.so: undefined symbol')\n")
    outcome = probe(f"""
import os
import sys
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "site-packages"))
try:
    import oldtext
except ImportError:
    oldtext = None
assert oldtext is None
import numpy as np
{SETUP.replace("import gym", "")}
learn(np.zeros(4), 2)
""")
    assert "reached 2 optimizer steps" in outcome.err
    assert "does not fit" not in outcome.err


@pytest.mark.usefixtures("gym")
def test_environments_in_processes_talk_through_pipes(probe: Callable[..., Any]) -> None:
    outcome = probe(
        SETUP
        + """
import numpy as np
from multiprocessing import Pipe, Process

class Worker(Process):
    def __init__(self, ours, theirs):
        super().__init__(daemon=True)
        self.ours, self.theirs = ours, theirs

    def start(self):
        super().start()
        self.theirs.close()

    def run(self):
        self.ours.close()
        env = gym.make("Cart-v1")
        while True:
            command, given = self.theirs.recv()
            if command == "close":
                break
            if command == "reset":
                self.theirs.send(env.reset())
            else:
                state, reward, done, info = env.step(given)
                self.theirs.send((state, reward, done, info))

if __name__ == "__main__":
    workers = [Worker(*Pipe()) for _ in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.ours.send(("reset", None))
    states = np.stack([each.ours.recv() for each in workers])
    for each in workers:
        each.ours.send(("step", 0))
    state, reward, done, info = workers[0].ours.recv()
    learn(states[0], 2)
    for each in workers:
        each.ours.send(("close", None))
"""
    )
    assert "reached 2 optimizer steps" in outcome.err
