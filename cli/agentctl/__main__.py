"""Where the process begins: `agentctl`, and `python -m agentctl`."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Run the command line of this process, and end the process.

    Collecting garbage while modules load, and once more at the end, would cost a fifth of the time
    of a short command. Driving a run turns it on again.
    """
    gc.disable()
    # Outside of driving, which has its own handlers, nothing is half done: Ctrl-C just ends the process.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from agentctl.app import main as command_line

    try:
        command_line()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
