"""The search in plain, readable Python: the specification that the Rust core equals.

Read `search` (the loop), `selection` (PUCT, UCT), `gumbel`, `proofs`, `outcome`, `node`; for hidden
information `deals` and `determinised`, for learned models `latent`. To try an idea, pass a
selection rule, a function `(node, search) -> child`, as `Search(..., rule=...)`.
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
