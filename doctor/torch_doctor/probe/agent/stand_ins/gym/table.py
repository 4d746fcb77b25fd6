"""What environments observe and take: shapes of observations, and numbers or sizes of actions.

Source: https://gymnasium.farama.org, its environments and those of ALE; https://pybullet.org for `…BulletEnv`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """One environment: a number stands for discrete values, a tuple for a box of that shape.

    Attributes:
        observation: what it shows.
        action: what it takes.
        bound: the largest value of an action, where actions are a box.
        pixels: whether observations are pictures.
    """

    observation: int | tuple[int, ...]
    action: int | tuple[int, ...]
    bound: float = 1.0
    pixels: bool = False


KNOWN = {
    "CartPole": Kind((4,), 2),
    "MountainCar": Kind((2,), 3),
    "MountainCarContinuous": Kind((2,), (1,)),
    "Acrobot": Kind((6,), 3),
    "Pendulum": Kind((3,), (1,), 2.0),
    "LunarLander": Kind((8,), 4),
    "LunarLanderContinuous": Kind((8,), (2,)),
    "BipedalWalker": Kind((24,), (4,)),
    "BipedalWalkerHardcore": Kind((24,), (4,)),
    "CarRacing": Kind((96, 96, 3), (3,), pixels=True),
    "FrozenLake": Kind(16, 4),
    "FrozenLake8x8": Kind(64, 4),
    "Taxi": Kind(500, 6),
    "CliffWalking": Kind(48, 4),
    "HalfCheetah": Kind((17,), (6,)),
    "Hopper": Kind((11,), (3,)),
    "Walker2d": Kind((17,), (6,)),
    "Ant": Kind((27,), (8,)),
    "Humanoid": Kind((376,), (17,), 0.4),
    "HumanoidStandup": Kind((376,), (17,), 0.4),
    "Swimmer": Kind((8,), (2,)),
    "Reacher": Kind((11,), (2,)),
    "Pusher": Kind((23,), (7,), 2.0),
    "InvertedPendulum": Kind((4,), (1,), 3.0),
    "InvertedDoublePendulum": Kind((11,), (1,)),
    "HalfCheetahBulletEnv": Kind((26,), (6,)),
    "AntBulletEnv": Kind((28,), (8,)),
    "HopperBulletEnv": Kind((15,), (3,)),
    "Walker2DBulletEnv": Kind((22,), (6,)),
    "HumanoidBulletEnv": Kind((44,), (17,)),
    "RoboschoolHalfCheetah": Kind((26,), (6,)),
    "RoboschoolAnt": Kind((28,), (8,)),
    "RoboschoolHopper": Kind((15,), (3,)),
    "RoboschoolWalker2d": Kind((22,), (6,)),
    "SuperMarioBros": Kind((240, 256, 3), 256, pixels=True),
}
ATARI = {
    "Alien": 18,
    "Amidar": 10,
    "Assault": 7,
    "Asterix": 9,
    "Atlantis": 4,
    "BeamRider": 9,
    "Boxing": 18,
    "Breakout": 4,
    "Centipede": 18,
    "Enduro": 9,
    "Freeway": 3,
    "Frostbite": 18,
    "Hero": 18,
    "Kangaroo": 18,
    "MontezumaRevenge": 18,
    "MsPacman": 9,
    "Pong": 6,
    "Qbert": 6,
    "Riverraid": 18,
    "RoadRunner": 18,
    "Seaquest": 18,
    "SpaceInvaders": 6,
    "Tennis": 18,
    "VideoPinball": 9,
}
MEANINGS = ("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT")
NAME = re.compile(r"(?:.*[/:])?(.*?)(-ram)?(?:NoFrameskip|Deterministic)?(?:-v\d+)?$")


def kind_of(name: str) -> Kind | None:
    """The environment of a name, whatever its version."""
    found = NAME.match(name)
    plain, memory = (found[1], found[2]) if found else (name, None)
    if plain in ATARI:
        return Kind((128,), ATARI[plain]) if memory else Kind((210, 160, 3), ATARI[plain], pixels=True)
    return KNOWN.get(plain)
