"""Functions that an engine of ignite calls beside its loop, at the end of an epoch for instance."""

from __future__ import annotations

from tests.said import said

SCRIPT = """
    import torch
    from ignite.engine import Engine, Events

    policy = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters())
    saved = []

    def act(engine, observation):
        saved.append(policy(torch.rand(4)).log_softmax(0)[0])

    trainer = Engine(act)

    {decorator}
    def learn():
        loss = -torch.stack(saved).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del saved[:]

    trainer.run(range(100), max_epochs=50)
"""


def test_what_the_step_collects_trains_in_the_handler() -> None:
    decorated = SCRIPT.format(decorator="@trainer.on(Events.EPOCH_COMPLETED)")
    assert "gradients for `policy`" in said(decorated, "backward")[0]


def test_the_engine_calls_a_handler_of_every_few_epochs_too() -> None:
    decorated = SCRIPT.format(decorator="@trainer.on(Events.EPOCH_COMPLETED(every=10))")
    assert "gradients for `policy`" in said(decorated, "backward")[0]
