"""Planning: searches, their settings and what they find.

| file | idea |
|------|------|
| `keywords` | the settings as keyword arguments, for type checkers |
| `config`  | every setting of a search |
| `roots`   | what is asked of the states that a search starts from |
| `forest`  | many trees, one batch: ask and tell |
| `leaves`  | the batch, and the check of what an evaluator says of it |
| `search`  | one tree, one call |
| `latent`  | the same over a learned model, whose states are numbers of rows |
| `model_arrays` | what such a model gives, in memory or on a device |
| `result`  | what a search found |
| `tree`    | a lazy view of the tree behind it |
| `display` | how results are shown, filled in by `sylvan.views` |
"""

from sylvan.planning.config import SearchConfig
from sylvan.planning.forest import Forest
from sylvan.planning.keywords import Limits, SearchSettings
from sylvan.planning.latent import LatentModel, LatentSearch, LatentState, ModelOutput
from sylvan.planning.leaves import Leaves
from sylvan.planning.result import SearchResult
from sylvan.planning.search import Search, Status, search
from sylvan.planning.tree import EdgeView, NodeView, TreeView

__all__ = [
    "EdgeView",
    "Forest",
    "LatentModel",
    "LatentSearch",
    "LatentState",
    "Leaves",
    "Limits",
    "ModelOutput",
    "NodeView",
    "Search",
    "SearchConfig",
    "SearchResult",
    "SearchSettings",
    "Status",
    "TreeView",
    "search",
]
