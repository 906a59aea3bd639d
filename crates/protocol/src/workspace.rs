//! Contents of a workspace: the thread tree, documents, access tokens, the audit log.

pub mod audit;
pub mod compare;
pub mod document;
pub mod text;
pub mod token;
pub mod tree;
