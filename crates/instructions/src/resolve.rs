//! Resolution: from a working directory to the text that an agent gets there.
//!
//! [`resolution`] has the entry points, and [`chain`] runs the stages: [`root`] finds the beginning of the project,
//! [`choose`] and [`rules`] select files by name, each checked by [`eligibility`], [`order`] sorts them, [`imports`]
//! follows what they import, [`assemble`] shares the limit of [`budget`] among them, and [`render`] makes the text.
//! [`survey`] explains the files that were not read.

pub(crate) mod applicable;
pub(crate) mod applies_to;
mod assemble;
pub(crate) mod budget;
pub(crate) mod chain;
mod choose;
pub(crate) mod decision;
mod eligibility;
mod imports;
mod inline_imports;
mod nested;
mod order;
pub(crate) mod reason;
pub(crate) mod relation;
pub(crate) mod render;
pub(crate) mod resolution;
mod root;
mod rules;
pub(crate) mod survey;
mod titles;
