//! Commits of Git repositories as snapshots of files.
//!
//! Git itself reads the objects, with plumbing commands that run no hook, filter, text conversion or file system
//! monitor of the repository, open no connection, and write nothing.
//!
//! ```
//! use git::Repository;
//! # fn git(directory: &std::path::Path, arguments: &[&str]) -> std::io::Result<()> {
//! #     std::process::Command::new("git").arg("-C").arg(directory).args(arguments).output().map(drop)
//! # }
//! # let directory = tempfile::tempdir()?;
//! # git(directory.path(), &["init", "--quiet"])?;
//! # std::fs::write(directory.path().join("AGENTS.md"), "Answer briefly.\n")?;
//! # git(directory.path(), &["add", "."])?;
//! # git(directory.path(), &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"])?;
//! let repository = Repository::around(directory.path())?;
//! let commit = repository.commit("HEAD")?;
//! let snapshot = repository.snapshot(&commit)?;
//! assert_eq!(snapshot.entries().count(), 2, "the top and AGENTS.md");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod command;
mod objects;
mod repository;

pub use repository::{Commit, GitError, Repository};
