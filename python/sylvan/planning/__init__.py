"""Planning: searches, their settings and their results.

The files in the order in which data flows:

| file | idea |
|------|------|
| `keywords` | the settings as keyword arguments, for type checkers |
| `config` | `SearchConfig`: every setting of a search |
| `described` | lists of the settings in docstrings |
| `roots` | checks of the states that a search starts from |
| `leaves` | `LeafBatch`: the leaves of a batch, and the check of their evaluations |
| `outcomes` | results of all trees, and of moves in them, as arrays |
| `determinised` | a forest of sampled deals with the interface of the native forest |
| `tree` | `TreeView`: the nodes of a tree, read on first use |
| `most_visited` | `MostVisited`: the most visited nodes in columns |
| `display` | how results are displayed; `sylvan.views` registers itself |
| `result` | `SearchResult`: the result of one tree |
| `trees` | `Trees`: searches that begin and end together, their limits and results |
| `moves` | positions after actions, for roots that move |
| `forest` | `Forest`: select leaves of many trees, update them with evaluations |
| `bulk` | `BulkForest`: one call moves the roots of all trees, for self-play |
| `search` | `search` and `Search`: one position |
| `model_arrays` | arrays of a learned model: NumPy, or PyTorch on a device |
| `legal` | checks of the legal actions for a search over a learned model |
| `model` | `LatentModel`, `ModelOutput`: the contract of learned models |
| `latent_forest` | `LatentForest`: many trees over a learned model, step by step |
| `latent` | `LatentSearch`: searches over a learned model |
"""

from sylvan.evaluators.protocol import Leaves
from sylvan.planning.bulk import BulkForest
from sylvan.planning.config import SearchConfig
from sylvan.planning.forest import Forest
from sylvan.planning.keywords import Limits, SearchSettings
from sylvan.planning.latent import LatentSearch
from sylvan.planning.latent_forest import LatentForest, LatentState
from sylvan.planning.leaves import LeafBatch
from sylvan.planning.model import LatentModel, ModelOutput
from sylvan.planning.result import SearchResult
from sylvan.planning.search import Search, Status, search
from sylvan.planning.tree import EdgeView, NodeView, TreeView

__all__ = [
    "BulkForest",
    "EdgeView",
    "Forest",
    "LatentForest",
    "LatentModel",
    "LatentSearch",
    "LatentState",
    "LeafBatch",
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
