//! Verdicts: the line of a rule, the texts that a transcript lacks, and the relation between them.

mod advice;
mod completion;
mod git;
mod judge;
pub(crate) mod missed;
pub(crate) mod rule;
mod rule_text;
pub(crate) mod thread;
pub(crate) mod why;
