"""What a call at the top level of a file does that is of no use to those who import it, as far as its name tells."""

from __future__ import annotations

import sys

from torch_doctor.static.tables import libraries, words
from torch_doctor.static.tables.canonical import canonical

LIBRARIES = {
    "jax": "numpy",
    "matplotlib": "pyplot.py",
    "networkx": "algorithms",
    "numpy": "linalg",
    "pandas": "core",
    "scipy": "optimize",
    "sklearn": "linear_model",
    "sympy": "core",
    "tensorflow": "python",
    "torch": "autograd",
    "torchaudio": "functional",
    "torchvision": "transforms",
    "tqdm": "std.py",
    "transformers": "modeling_utils.py",
}
"""Libraries whose names mean them wherever their sources lie, each with a part of it that no other package of its name has."""
NAMES_OF_PROJECTS = frozenset({"transformers"})
"""Those of them whose name projects give to modules of their own, too."""
DESCRIBED = {
    "accelerate": "accelerator.py",
    "datasets": "arrow_dataset.py",
    "diffusers": "pipelines",
    "kornia": "geometry",
    "lightning": "fabric",
    "monai": "networks",
    "peft": "tuners",
    "pytorch_lightning": "trainer",
    "segmentation_models_pytorch": "decoders",
    "timm": "models",
    "torch_geometric": "nn",
    "torchmetrics": "metric.py",
    "trl": "trainer",
}
"""Libraries of which the tables describe what others use: their own files are executed for each other, and for nobody else."""
QUIET_FUNCTIONS = words(
    """
    random.Random torch.Size torch.arange torch.as_tensor torch.compile torch.cuda.device_count
    torch.cuda.get_device_capability torch.cuda.get_device_name torch.device torch.enable_grad torch.eye torch.finfo torch.full
    torch.fx.wrap torch.iinfo torch.inference_mode torch.jit. torch.library. torch.linspace torch.no_grad torch.ones
    torch.serialization. torch.tensor torch.utils._pytree. torch.zeros
    """
)
"""How the names of functions of torch begin that leave no trace, neither in its state nor in what is trained."""
LOUD_FUNCTIONS = frozenset(
    words(
        """
        bisect.insort bisect.insort_left bisect.insort_right builtins.__import__ builtins.delattr builtins.eval builtins.exec
        builtins.setattr heapq.heapify heapq.heappop heapq.heappush importlib.import_module importlib.reload operator.delitem
        operator.iadd operator.iconcat operator.ior operator.setitem runpy.run_module runpy.run_path
        """
    )
)
"""Functions of Python that may do anything."""
SETTING = ("seed", "manual_seed", "set_", "use_", "enable", "disable", "init")
"""How the names of functions begin that change the state of a library."""
CHANGING = frozenset(
    words(
        """
        __delattr__ __delitem__ __iadd__ __init__ __ior__ __setattr__ __setitem__ add append clear discard extend insert pop
        popitem register remove reverse setdefault sort update
        """
    )
)
"""Methods that change an object for all who have it."""
ENTERING = frozenset(words("__enter__ __exit__ enter_context push"))
"""Methods that enter a context, which stays entered."""
LOOKING = frozenset(words("getattr globals locals next vars"))
"""Functions of Python that return what others have, too."""
SAYING = frozenset(words("critical debug error exception info log warn warning warning_once"))
"""Methods that write a message."""
READING = frozenset(
    words("copy count endswith format get index items join keys lower replace split startswith strip upper values")
)
"""Methods of texts and containers that change nothing."""
_CALLING = words(
    "builtins.filter builtins.map builtins.max builtins.min builtins.sorted concurrent. functools.reduce itertools. "
    "multiprocessing. threading. timeit. asyncio."
)
"""How the names of functions of Python begin that call what they are given, or what comes of it."""
_ANSWERING = ("get_logger", "getLogger", "is_", "has_")
"""How the functions of any library begin that only answer."""


def is_quiet(name: str, *, decorates: bool = False) -> bool:
    """Tell whether a call of a library's function changes no state, and builds nothing that takes part in training."""
    name = canonical(name)
    first, _, rest = name.partition(".")
    last = name.rpartition(".")[2]
    if name in LOUD_FUNCTIONS:
        return False
    if decorates or name.startswith(QUIET_FUNCTIONS) or last.startswith(_ANSWERING):
        return True
    if first == "torch" or "random" in name.split(".") or last.startswith(SETTING):
        return False
    return first in sys.stdlib_module_names or (libraries.harmless(name) and not last[:1].isupper() and bool(rest))


def calls_back(name: str) -> bool:
    """Tell whether a library's function calls the functions that it is given."""
    return name.startswith(_CALLING) or name in ("re.sub", "re.subn")


def is_quiet_module(name: str) -> bool:
    """Tell whether setting an attribute or an item of a library's module changes nothing for a training script."""
    return name.partition(".")[0] in sys.stdlib_module_names
