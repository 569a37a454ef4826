//! The memory of trees: one arena per thread with nodes, edges and families, and the byte budget.

pub(crate) mod huge_pages; // requests large pages from the operating system
pub(crate) mod arena_cache; // caches the buffers of dropped arenas
pub(crate) mod arena; // allocates chunks of 16-byte units in constant time
pub(crate) mod node; // the statistics of one position: N, W, P, bounds
pub(crate) mod edges; // the priors of unvisited edges
pub(crate) mod simd; // vectorised scans of priors and scores
pub(crate) mod pool; // nodes and edges in one arena, shared by the trees of a thread
pub(crate) mod family; // the visited children of a node, laid out for selection
pub(crate) mod children; // changes to families: add, remove, reorder
pub(crate) mod positions; // positions that several edges reach, and the table that finds them
pub(crate) mod infoset_edges; // the growing edge lists of information-set trees
pub(crate) mod budget; // drops the least visited subtrees when a tree is full
