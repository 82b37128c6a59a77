"""`python -m console.demo [run|reset]`: the whole console on this machine, for a look at it."""

import argparse
import os
import sys
from pathlib import Path

from console.demo import supervise
from console.demo.redis_server import RedisServer
from console.demo.world import ROOT, Demo


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m console.demo", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("run", "reset"), default="run")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--nodes", type=int, default=2000, help="size of the simulated fleet, when it is first made")
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
