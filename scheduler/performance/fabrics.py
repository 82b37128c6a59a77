"""What joins accelerators: links inside a node by model, and what a network of access switches costs to cross.

Constants of NCCL's cost model: NVIDIA/nccl src/graph/tuning.cc, snapshot of 2026-06-11 (Apache-2.0).  Bandwidths of
links: vendors' data sheets.  Effect of the access switch: OSDI '26 study of a shared production fleet.
"""

from dataclasses import dataclass

from scheduler.cluster.hardware import accelerator

LL, LL128, SIMPLE = range(3)
PROTOCOLS = ("LL", "LL128", "Simple")
RING, TREE, NVLS = "ring", "tree", "NVLS"
# Microseconds by protocol.
BASE_LATENCY_US = {TREE: (6.8, 14.0, 8.4), RING: (6.6, 14.0, 8.4)}
HOP_LATENCY_US = {
    "NVLINK": {TREE: (0.6, 1.25, 4.0), RING: (0.6, 1.9, 3.4)},
    "PCI": {TREE: (1.0, 1.9, 4.0), RING: (1.0, 2.5, 5.7)},
    "NET": {TREE: (5.0, 8.5, 14.0), RING: (2.7, 4.0, 14.0)},
}
PLATEAU = 1.4  # latency of a ring over several nodes with large messages
TREE_SHARE = 0.92  # of the bus that a tree reaches
NET_GB_PER_S = 12.0  # of a network interface of 100 Gb/s
PCI_GB_PER_S = 12.0
LINK_GB_PER_S = {60: 18.0, 70: 20.0, 80: 20.0, 90: 20.6, 100: 40.1}  # one NVLink, by compute capability
NVLS_EFFICIENCY = {90: 0.85, 100: 0.74}
MOST_TREE_GB_PER_S = {80: (24.0, 23.6, 17.8), 90: (38.7, 41.4, 36.0)}  # a channel; on 1, 2 and from 4 nodes
LINK_EFFICIENCY = 0.838  # of what the table above counts for a link: calibrated on one node of 8 A100, see calibration
SAME_SWITCH_GAIN = 0.27  # all-reduce bandwidth under one access switch, above that of GPUs which cross it
DEFAULT_NIC_GBIT = 400.0  # of each GPU, where nobody says: 8 ConnectX-7 of a DGX H100


@dataclass(frozen=True, slots=True)
class Inside:
    """How the GPUs of a node are joined.  ``links`` NVLinks of each GPU, 0: PCI alone."""

    links: int
    capability: int  # compute capability x 10, as in the tables above


# Links of each GPU: bandwidth of the data sheet both ways over 50 GB/s (NVLink 2 to 4) or 100 (NVLink 5).
_INSIDE = {
    "P100": Inside(0, 60),
    "V100": Inside(6, 70),
    "V100 PCIe": Inside(0, 70),
    "T4": Inside(0, 70),
    "A10": Inside(0, 80),
    "A30": Inside(0, 80),
    "A100": Inside(12, 80),
    "A100 PCIe 40 GB": Inside(0, 80),
    "A800": Inside(8, 80),
    "H20": Inside(18, 90),
    "H800": Inside(8, 90),
    "H100": Inside(18, 90),
    "H200": Inside(18, 90),
    "L20": Inside(0, 80),
    "L40S": Inside(0, 80),
    "B200": Inside(18, 100),
}

_SEVERAL_FORMS = ("V100", "A100", "A100 40 GB", "A100 80 GB", "H100")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """``nic_gbit`` of each GPU; ``link_efficiency`` of what NCCL counts for a link, 1 as its own tables have it."""

    inside: Inside
    nic_gbit: float = DEFAULT_NIC_GBIT
    link_efficiency: float = 1.0
    crossing: float = 1 / (1 + SAME_SWITCH_GAIN)  # share of the bandwidth that is left across switches
    assumed: tuple[str, ...] = ()  # what nobody has said of this cluster

    @property
    def node_gb_per_s(self) -> float:
        """Bus bandwidth that one GPU has towards the others of its node."""
        if not self.inside.links:
            return PCI_GB_PER_S
        return self.inside.links * LINK_GB_PER_S[self.inside.capability] * self.link_efficiency


def fabric_of(model: str, nic_gbit: float | None = None) -> Fabric | None:
    """The fabric of nodes with GPUs of this model name; None where nobody knows how they are joined.

    A name that does not tell the form (plain "A100") is taken for the one with links, which is said in ``assumed``.
    """
    known = accelerator(model)
    named = [] if known is None else [n for n in _INSIDE if known.model == n or known.model.startswith(n + " ")]
    if known is None or not named:
        return None
    inside = _INSIDE[max(named, key=len)]
    if inside.links and "PCIE" in model.upper():
        inside = Inside(0, inside.capability)
    assumed = (*(("form",) if known.model in _SEVERAL_FORMS and inside.links and "SXM" not in model.upper() else ()),
               *(("nic_gbit",) if nic_gbit is None else ()))  # fmt: skip
    nic = DEFAULT_NIC_GBIT if nic_gbit is None else nic_gbit
    return Fabric(inside=inside, nic_gbit=nic, link_efficiency=LINK_EFFICIENCY, assumed=assumed)
