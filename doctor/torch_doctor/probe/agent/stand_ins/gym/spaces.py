"""Spaces of observations and actions."""

from __future__ import annotations

from typing import Any


class Space:
    """What observations and actions are of.

    Attributes:
        shape: the shape of one, None where it has none.
        dtype: the numpy type of its numbers.
    """

    def __init__(self, shape: Any = None, dtype: Any = None, seed: Any = None) -> None:
        import numpy as np

        self.shape = None if shape is None else tuple(shape)
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.np_random = np.random.default_rng(0 if seed is None else seed)

    def seed(self, seed: Any = None) -> list[Any]:
        """Begins anew."""
        import numpy as np

        self.np_random = np.random.default_rng(0 if seed is None else seed)
        return [seed]

    def sample(self, *_: Any, **__: Any) -> Any:
        """One that is drawn."""
        raise NotImplementedError

    def contains(self, _: Any) -> bool:
        """Whether a value is one of the space."""
        return True

    def __contains__(self, value: Any) -> bool:
        return self.contains(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"


class Box(Space):
    """Arrays between two bounds."""

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = "float32", seed: Any = None) -> None:
        import numpy as np

        whole = tuple(shape) if shape is not None else np.broadcast(np.asarray(low), np.asarray(high)).shape
        super().__init__(whole, dtype, seed)
        self.low = np.broadcast_to(np.asarray(low, self.dtype), whole).copy()
        self.high = np.broadcast_to(np.asarray(high, self.dtype), whole).copy()

    def sample(self, *_: Any, **__: Any) -> Any:
        """Uniform between the bounds, normal where there are none."""
        import numpy as np

        if self.dtype is not None and self.dtype.kind in "iu":
            return self.np_random.integers(self.low, self.high.astype("int64") + 1).astype(self.dtype)
        finite = np.isfinite(self.low) & np.isfinite(self.high) & (self.high < 1e6)  # noqa: PLR2004 - physics' infinity
        low, high = np.where(finite, self.low, -1.0), np.where(finite, self.high, 1.0)
        drawn = np.where(finite, self.np_random.uniform(low, high), self.np_random.standard_normal(self.shape))
        return drawn.astype(self.dtype)

    def contains(self, value: Any) -> bool:
        """Whether an array lies between the bounds."""
        import numpy as np

        given = np.asarray(value)
        return given.shape == self.shape and bool(((given >= self.low) & (given <= self.high)).all())

    def is_bounded(self, *_: Any) -> bool:
        """Whether all bounds are finite."""
        import numpy as np

        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


class Discrete(Space):
    """Whole numbers from a first one on."""

    def __init__(self, n: int, seed: Any = None, start: int = 0) -> None:
        super().__init__((), "int64", seed)
        self.n, self.start = int(n), int(start)

    def sample(self, *_: Any, **__: Any) -> Any:
        """One of them."""
        return int(self.np_random.integers(self.n)) + self.start

    def contains(self, value: Any) -> bool:
        """Whether it is one of them."""
        return self.start <= int(value) < self.start + self.n


class MultiDiscrete(Space):
    """Several whole numbers, each below one of `nvec`."""

    def __init__(self, nvec: Any, dtype: Any = "int64", seed: Any = None) -> None:
        import numpy as np

        self.nvec = np.asarray(nvec)
        super().__init__(self.nvec.shape, dtype, seed)

    def sample(self, *_: Any, **__: Any) -> Any:
        """One of each."""
        return self.np_random.integers(self.nvec)


class MultiBinary(Space):
    """Zeros and ones."""

    def __init__(self, n: Any, seed: Any = None) -> None:
        self.n = n
        super().__init__((n,) if isinstance(n, int) else n, "int8", seed)

    def sample(self, *_: Any, **__: Any) -> Any:
        """Zeros and ones."""
        return self.np_random.integers(0, 2, self.shape).astype("int8")


class Tuple(Space):
    """One of each of several spaces."""

    def __init__(self, spaces: Any, seed: Any = None) -> None:
        super().__init__(seed=seed)
        self.spaces = tuple(spaces)

    def sample(self, *_: Any, **__: Any) -> Any:
        """One of each."""
        return tuple(each.sample() for each in self.spaces)

    def __getitem__(self, place: int) -> Any:
        return self.spaces[place]

    def __len__(self) -> int:
        return len(self.spaces)


class Dict(Space):
    """One of each of several spaces, by name."""

    def __init__(self, spaces: Any = None, seed: Any = None, **named: Any) -> None:
        super().__init__(seed=seed)
        self.spaces = {**dict(spaces or {}), **named}

    def sample(self, *_: Any, **__: Any) -> Any:
        """One of each."""
        return {name: each.sample() for name, each in self.spaces.items()}

    def __getitem__(self, name: str) -> Any:
        return self.spaces[name]

    def __iter__(self) -> Any:
        return iter(self.spaces)

    def keys(self) -> Any:
        """The names."""
        return self.spaces.keys()

    def items(self) -> Any:
        """Names and spaces."""
        return self.spaces.items()


def flatdim(space: Any) -> int:
    """How many numbers one has when it is flattened."""
    import math

    if isinstance(space, Discrete):
        return space.n
    parts = space.spaces.values() if isinstance(space, Dict) else getattr(space, "spaces", None)
    return sum(map(flatdim, parts)) if parts is not None else math.prod(space.shape)


def flatten(space: Any, value: Any) -> Any:
    """One as a flat array."""
    import numpy as np

    if isinstance(space, Discrete):
        return np.eye(space.n, dtype="float32")[int(value) - space.start]
    if isinstance(space, Dict):
        return np.concatenate([flatten(each, value[name]) for name, each in space.spaces.items()])
    if isinstance(space, Tuple):
        return np.concatenate([flatten(each, part) for each, part in zip(space.spaces, value)])  # noqa: B905 - as long
    return np.asarray(value, "float32").ravel()
