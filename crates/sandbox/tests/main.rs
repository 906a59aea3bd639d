//! Commands in a sandbox: what they can do, and what they cannot.

mod endings;
mod ordinary;
mod trial;
