//! Rules, encodings and exact solvers of the games that Sylvan knows.
