//! Where states come from.

pub(crate) mod rules; // states derived by applying actions, or kept where that is slow
pub(crate) mod deals; // views completed to deals, and the priors of views
pub(crate) mod latent; // states of a learned model, which are slot numbers
