"""Which driver runs where: a label for the nodes of generated worlds, as GPU feature discovery sets it."""

from zlib import crc32

from msgspec.structs import replace

from scheduler.cluster.records import Document, NodeRecord

LABEL = "nvidia.com/cuda.driver-version.full"
OLD, NEW = "550.54.15", "570.86.15"
OLD_OF_TEN = 3  # switches of ten whose nodes have the old one [O]; a fleet is never at one version
OTHER_VENDORS = "XPU"


def with_drivers(document: Document) -> Document:
    """The same world with a driver version on each NVIDIA node: one for all nodes under a switch."""
    return replace(document, nodes=[_labelled(node) for node in document.nodes])


def _labelled(node: NodeRecord) -> NodeRecord:
    if not node.gpu_model or node.gpu_model.startswith(OTHER_VENDORS):
        return node
    place = node.domain or node.asw or node.name
    version = OLD if crc32(f"{node.cluster}/{place}".encode()) % 10 < OLD_OF_TEN else NEW
    return replace(node, labels={**node.labels, LABEL: version})
