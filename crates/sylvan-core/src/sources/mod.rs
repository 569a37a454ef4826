//! The three sources of states.

pub(crate) mod rules; // real states, derived by applying actions or stored
pub(crate) mod deals; // deals sampled from views, and the priors per view
pub(crate) mod latent; // slot numbers for the states of a learned model
