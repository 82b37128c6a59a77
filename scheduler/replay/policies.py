"""The published policies that every new one is measured against, by the rules of their own simulator.

Each scores the nodes that can run a request with a whole number from 0 to 100, and the highest wins.  The rules are
those of the simulator published with FGD (Weng et al., ATC '23); it truncates where it could compare, and that is kept,
since a policy that is compared with the published figures has to be the published one.
"""

from enum import IntEnum


class Policy(IntEnum):
    """Numbers are what the kernel compares; words are what people and files say."""

    RANDOM = 0
    DOT_PRODUCT = 1
    CLUSTERING = 2
    PACKING = 3
    BEST_FIT = 4
    GRADIENT = 5

    @property
    def word(self) -> str:
        return WORDS[self]

    @property
    def meaning(self) -> str:
        return MEANINGS[self]


WORDS = {
    Policy.RANDOM: "random",
    Policy.DOT_PRODUCT: "dot-product",
    Policy.CLUSTERING: "clustering",
    Policy.PACKING: "packing",
    Policy.BEST_FIT: "best-fit",
    Policy.GRADIENT: "fgd",
}
MEANINGS = {
    Policy.RANDOM: "any node and device that fit, drawn by the seed",
    Policy.DOT_PRODUCT: "the node whose free CPU and GPUs are least like what is asked for",
    Policy.CLUSTERING: "a node that runs requests of the same size already, then the fullest",
    Policy.PACKING: "devices that are shared already, then free ones of a node in use, then an empty node",
    Policy.BEST_FIT: "the node with the least left over",
    Policy.GRADIENT: "the node whose statistical fragmentation grows least (FGD)",
}
BY_WORD = {word: policy for policy, word in WORDS.items()}
