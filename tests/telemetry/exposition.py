"""What exporters of a small cluster export, as text that the player reads and a real Prometheus scrapes."""

DCGM = 'gpu="{gpu}",UUID="GPU-{node}-{gpu}",hostname="{node}",modelName="H100",namespace="jobs",pod="p{gpu}"'
COUNTER = "DCGM_FI_DEV_THERMAL_VIOLATION"


def _line(name: str, node: str, gpu: int, value: object, more: str = "") -> str:
    return f"{name}{{{DCGM.format(node=node, gpu=gpu)}{more}}} {value}"


def exposition(counted: float = 0.0) -> str:
    """``counted``: nanoseconds for which device 1 of node a was held back so far."""
    lines = [
        _line("DCGM_FI_PROF_SM_ACTIVE", "a", 0, 0.75),
        _line("DCGM_FI_PROF_SM_ACTIVE", "a", 1, 0.01),
        _line("DCGM_FI_PROF_SM_ACTIVE", "b", 0, "NaN"),
        _line("DCGM_FI_PROF_SM_ACTIVE", "b", 1, 0.5, ',GPU_I_ID="3"'),
        _line("DCGM_FI_DEV_FB_USED", "a", 0, 60),
        _line("DCGM_FI_DEV_FB_FREE", "a", 0, 20),
        _line("DCGM_FI_DEV_POWER_USAGE", "a", 0, 400.5),
        _line("DCGM_FI_DEV_POWER_USAGE", "a", 1, 90.1),
        _line("DCGM_FI_DEV_POWER_USAGE", "b", 0, 9223372036854775794),
        _line("DCGM_FI_DEV_XID_ERRORS", "a", 0, 0),
        _line("DCGM_FI_DEV_XID_ERRORS", "b", 0, 79),
        _line("DCGM_FI_DEV_SM_CLOCK", "a", 0, 1980),
        _line("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "a", 0, 0x4 | 0x8 | 0x100),
        _line("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "b", 0, 9223372036854775794),
        _line("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "c", 0, 0x20 | 0x4),
        _line(COUNTER, "a", 1, counted),
    ]
    kinds = [f"# TYPE {name} {'counter' if name == COUNTER else 'gauge'}" for name in _names(lines)]
    return "\n".join([*_grouped(kinds, lines)]) + "\n"


def _names(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(line.partition("{")[0] for line in lines))


def _grouped(kinds: list[str], lines: list[str]) -> list[str]:
    found = []
    for kind in kinds:
        name = kind.split(" ")[2]
        found += [kind, *(line for line in lines if line.startswith(name + "{"))]
    return found
