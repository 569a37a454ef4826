"""The search in plain, readable Python: the specification of the Rust core.

To try an idea, pass a selection rule, a function `(node, search) -> child`, as
`Search(..., rule=...)`. In the order in which data flows:

`node`          a node of the tree, and its arithmetic
`deviation`     exploration by the deviation of values
`selection`     PUCT and UCT
`gumbel`        Gumbel search: sequential halving, completed Q
`proofs`        proven results and bounds
`graph`         transpositions: one node per position
`priors`        options of priors: temperature, floor, bonus
`decided`       stopping early
`search`        the loop: walk, evaluate, expand, back up
`endings`       the shortest win
`outcome`       policy target and choice of the action
`deals`         information-set search, for hidden information
`determinised`  one tree per sampled deal, values merged
`latent`        states of a learned model
"""

from sylvan.reference import latent
from sylvan.reference.deals import DealSearch
from sylvan.reference.determinised import DeterminisedSearch
from sylvan.reference.node import Node
from sylvan.reference.outcome import best, pick, policy
from sylvan.reference.search import Search

__all__ = [
    "DealSearch",
    "DeterminisedSearch",
    "Node",
    "Search",
    "best",
    "latent",
    "pick",
    "policy",
]
