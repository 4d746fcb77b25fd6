"""Ignite: engines that call a function for every batch (https://docs.pytorch.org/ignite/engine.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package, members
from torch_doctor.static.tables.framework import LOOP, Framework, Method

IGNITE = Framework(
    name="ignite",
    owners=frozenset({"ignite.engine.Engine"}),  # its first argument is called for every batch: (engine, batch)
    methods={
        "run": LOOP,
        **dict.fromkeys(("add_event_handler", "on", "state_dict", "terminate"), Method()),
    },
    factories={
        "ignite.engine.create_supervised_trainer": "ignite.engine.Engine",
        "ignite.engine.create_supervised_evaluator": "ignite.engine.Engine",
        "ignite.contrib.engines.create_supervised_tbptt_trainer": "ignite.engine.Engine",
    },
)

LIBRARY = Library(
    packages={"ignite.engine": Package()},
    harmless=("ignite.metrics",),
    tallies=("ignite.metrics.",),
    frameworks=(IGNITE,),
    engine_steps={"ignite.engine.Engine": 0},
    engine_trainers=members(
        "ignite", "engine.create_supervised_trainer contrib.engines.create_supervised_tbptt_trainer"
    ),
    engine_evaluators=members("ignite.engine", "create_supervised_evaluator"),
)
