"""Names of the methods that torch gives modules and optimizers."""

MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "share_memory", "xpu", "mps"])
"""Methods that return the thing itself on another device, or with another dtype."""
MODULE_METHODS = frozenset(
    [
        "train",
        "eval",
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "buffers",
        "named_buffers",
        "state_dict",
        "load_state_dict",
        "zero_grad",
        "to",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "bfloat16",
        "type",
        "requires_grad_",
        "apply",
        "register_buffer",
        "register_parameter",
        "add_module",
        "register_module",
        "append",
        "extend",
        "insert",
        "items",
        "keys",
        "values",
        "forward",
        "share_memory",
        "compile",
        "register_forward_hook",
        "register_full_backward_hook",
        "get_submodule",
        "get_parameter",
        "update",
        "pop",
        "register_forward_pre_hook",
        "register_backward_hook",
        "no_sync",
    ]
)
"""Methods of `torch.nn.Module` and its containers that are not looked up in the project's class."""
CONTAINER_METHODS = frozenset(["append", "extend", "insert", "update", "pop"])
"""Those of them that only containers have."""
TAKEN = MODULE_METHODS | {"training", "clear", "get_buffer", "ipu", "register_state_dict_pre_hook", "dump_patches", "xpu",
                          "mps", "to_empty", "set_extra_state", "get_extra_state", "extra_repr", "copy", "get", "popitem",
                          "setdefault", "fromkeys"}  # fmt: skip
"""Attributes of torch's containers: no part of one can have such a name."""
ENGINE_METHODS = frozenset(["backward", "manual_backward", "step"])
"""Methods of engines that train what they wrap (DeepSpeed's, say): no part of a module has such a name."""
