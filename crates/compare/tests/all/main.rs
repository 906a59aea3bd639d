//! Comparisons of trees on disk.

#![expect(clippy::unwrap_used, reason = "what tests share fails the test that uses it")]

mod changes;
mod effective;
mod page;
mod real_checkouts;
mod side_by_side;
mod support;
mod traces;
mod walk;
