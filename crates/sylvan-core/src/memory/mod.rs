//! Where trees are stored: one arena per thread, nodes, edges and families in it, and the byte budget.

pub(crate) mod huge_pages; // asks the system for large pages
pub(crate) mod arena_cache; // memory of arenas that are gone, kept for the next
pub(crate) mod arena; // chunks of 16-byte units, cut and merged in constant time
pub(crate) mod node; // the statistics of one position: N, W, P, bounds
pub(crate) mod edges; // the priors of edges that were not tried
pub(crate) mod simd; // scans of priors and scores, several at a time
pub(crate) mod pool; // nodes and edges in one arena, shared by the trees of a thread
pub(crate) mod family; // the visited children of a node, laid out for selection
pub(crate) mod children; // changes to families: add, remove, reorder
pub(crate) mod infoset_edges; // the edges of an information-set tree, a list that grows
pub(crate) mod budget; // drops the least visited subtrees when a tree is full
