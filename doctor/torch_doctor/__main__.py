"""`python -m torch_doctor` is `torch-doctor`."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; who interrupts it before it is there is not shown what it was about to import."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    from torch_doctor import cli  # noqa: PLC0415 - only now

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
