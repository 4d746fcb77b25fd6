"""gym and gymnasium, where they are not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

LEARN = """
import torch
import {library} as gym
environment = gym.make("CartPole-v1")
policy = torch.nn.Linear(environment.observation_space.shape[0], environment.action_space.n)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for episode in range(2):
    state = {reset}
    done, losses, rewards = False, [], []
    while not done:
        distribution = torch.distributions.Categorical(logits=policy(torch.as_tensor(state, dtype=torch.float32)))
        action = distribution.sample()
        {step}
        losses.append(-distribution.log_prob(action))
        rewards.append(reward)
    assert 5 < len(rewards) <= 20
    optimizer.zero_grad()
    (torch.stack(losses) * sum(rewards)).sum().backward()
    optimizer.step()
"""
OLD = {"reset": "environment.reset()", "step": "state, reward, done, info = environment.step(action.item())"}
NEW = {
    "reset": "environment.reset(seed=1)[0]",
    "step": "state, reward, ended, late, _ = environment.step(action.item())\n        done = ended or late",
}
WHOLE = {
    "reset": "environment.reset(seed=1)[0]",
    "step": "whole = environment.step(action.item())\n        state, reward, ended, late, _ = whole\n        done = ended or late",
}


@pytest.mark.parametrize(
    ("library", "version"),
    [("gym", OLD), ("gym", NEW), ("gym", WHOLE), ("gymnasium", NEW)],
    ids=["old", "new", "whole", "gymnasium"],
)
def test_a_step_gives_as_many_values_as_the_script_takes(
    run: Any, write: Callable[..., Any], library: str, version: dict[str, str]
) -> None:
    write("train.py", LEARN.format(library=library, **version))
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 2 optimizer steps" in err
    assert f"environments with synthetic observations and rewards instead of `{library}`" in err


SPACES = """
import gym
import numpy as np
import torch
from gym import spaces
from gym.envs.registration import register
from gym.wrappers import AtariPreprocessing, FrameStack

class Own(gym.Env):
    def __init__(self, size=3):
        self.observation_space = spaces.Box(low=-1, high=1, shape=(size,), dtype=np.float32)
        self.action_space = spaces.MultiDiscrete([2, 3])

    def reset(self):
        return self.observation_space.sample()

    def step(self, action):
        assert self.action_space.contains(action)
        return self.reset(), 1.0, True, {}

class Doubled(gym.RewardWrapper):
    def reward(self, reward):
        return 2 * reward

register(id="Own-v0", entry_point=Own, kwargs={"size": 5})
own = Doubled(gym.make("Own-v0"))
assert own.reset().shape == (5,) and own.unwrapped.__class__ is Own
state, reward, done, info = own.step(own.action_space.sample())
assert reward == 2.0 and isinstance(own.observation_space, spaces.Box)
pendulum = gym.make("Pendulum-v0")
assert pendulum.action_space.high[0] == 2.0 and pendulum.reset().shape == (3,)
pong = FrameStack(AtariPreprocessing(gym.make("PongNoFrameskip-v4")), 4)
assert pong.reset().shape == pong.observation_space.shape == (4, 84, 84) and pong.action_space.n == 6
several = gym.vector.make("HalfCheetah-v2", num_envs=2)
assert several.reset().shape == (2, 17) and several.step(several.action_space.sample())[1].shape == (2,)
torch.zeros(1)
"""


def test_spaces_wrappers_and_own_environments_behave(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", SPACES)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "synthetic observations" in err
