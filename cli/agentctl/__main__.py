"""Where the process begins: `agentctl`, and `python -m agentctl`."""

from __future__ import annotations

import gc


def main() -> None:
    """Run the command line of this process, and end the process.

    Collecting garbage while modules load, and once more at the end, would cost a fifth of the time
    of a short command. Driving a run turns it on again.
    """
    gc.disable()
    from agentctl.app import main as command_line

    try:
        command_line()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
