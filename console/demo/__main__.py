"""`python -m console.demo [run|reset]`: the whole console on this machine, for a look at it."""

import argparse
import os
import sys
from pathlib import Path

from console.demo import supervise
from console.demo.redis_server import RedisServer
from console.demo.world import ROOT, Demo

LARGEST_PORT = 65_535


def _port(text: str) -> int:
    return _within(text, "PORT", LARGEST_PORT)


def _nodes(text: str) -> int:
    return _within(text, "NODES", None)


def _within(text: str, name: str, most: int | None) -> int:
    """The number that ``text`` says; refused in the words of the one who typed it at make."""
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if number < 1 or (most is not None and number > most):
        span = "of 1 or more" if most is None else f"from 1 to {most}"
        raise argparse.ArgumentTypeError(f"{name}={text} is no whole number {span}: make demo PORT=8001 NODES=2000")
    return number


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m console.demo", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("run", "reset"), default="run")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument("--nodes", type=_nodes, default=2000, help="size of the simulated fleet, when it is first made")
    return parser.parse_args()


def main() -> int:
    wish = _arguments()
    data = Path(os.environ.get("SLACKLINE_DATA_DIR") or ROOT / "var").resolve()
    if wish.action == "reset":
        return supervise.reset(data)
    server = None if os.environ.get("REDIS_URL") else RedisServer.plan(data)
    return supervise.run(Demo(wish.port, wish.nodes, data, server))


if __name__ == "__main__":
    sys.exit(main())
