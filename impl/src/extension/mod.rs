//! What a user of this crate implements: traits, and the views they are given. Nothing here
//! reaches storage or a socket; the runtime decides what is true, an extension does the work.
//! ROUTE-03

pub mod executor;
pub mod hint;
pub mod request;
pub mod route;
