"""The command line: gped status results/<run>"""

import argparse
import sys
import time
from pathlib import Path


def main() -> None:
    """Run a command; what goes wrong is told in a sentence."""
    parser = argparse.ArgumentParser(prog="gped", description="Posterior expectation distillation.")
    commands = parser.add_subparsers(dest="command", required=True)
    status = commands.add_parser("status", help="how far a run of the workflow is")
    status.add_argument("run", type=Path, help="its folder, results/<run>")
    status.add_argument("--watch", type=float, nargs="?", const=5.0, metavar="SECONDS", help="tell again and again")
    arguments = parser.parse_args()
    try:
        tell_status(arguments.run, arguments.watch)
    except (OSError, ValueError) as error:
        sys.exit(f"gped {arguments.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def tell_status(run: Path, every: float | None) -> None:
    """Print how far a run is, once or again and again."""
    from gped.status import status

    while True:
        text = status(run)
        print(f"\033[H\033[J{text}" if every and sys.stdout.isatty() else text, flush=True)
        if not every:
            return
        time.sleep(every)


if __name__ == "__main__":
    main()
