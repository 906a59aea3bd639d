//! The command line of `foreword skill` and `foreword trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills of a directory, which of them are used there, and why not the others
    List {
        /// The directory; the present one when absent
        path: Option<PathBuf>,
    },
    /// Print one skill: what it says about itself, its files and its text
    Show {
        /// Its slug
        slug: String,
        /// The directory; the present one when absent
        path: Option<PathBuf>,
    },
    /// Look for what is wrong with the skills of a directory, or with one skill; exit with 1 when something is
    Check {
        /// The directory, or a skill's folder; the present directory when absent
        path: Option<PathBuf>,
    },
}

impl SkillCommand {
    /// The directory it is about.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::List { path } | Self::Show { path, .. } | Self::Check { path } => path.as_ref(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The project, a directory in it, or one skill
    #[arg(required_unless_present = "list")]
    pub(crate) path: Option<PathBuf>,
    /// Trust without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only show how they differ from what was trusted
    #[arg(long, conflicts_with = "yes")]
    pub(crate) diff: bool,
    /// List what is trusted; below a path where one is named
    #[arg(long, conflicts_with_all = ["yes", "diff"])]
    pub(crate) list: bool,
}
