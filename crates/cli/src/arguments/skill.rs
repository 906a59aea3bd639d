//! The command line of `foreword skill` and `foreword trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills of a directory, with the reasons why some are not used
    List {
        /// Directory [default: the current one]
        path: Option<PathBuf>,
    },
    /// Print a skill's metadata, files and text
    Show {
        /// Slug of the skill
        slug: String,
        /// Directory [default: the current one]
        path: Option<PathBuf>,
    },
    /// Check the skills of a directory, or one skill
    ///
    /// Exits with 1 on findings.
    Check {
        /// Directory or skill folder [default: the current directory]
        path: Option<PathBuf>,
    },
}

impl SkillCommand {
    /// Returns the directory that the command works on.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::List { path } | Self::Show { path, .. } | Self::Check { path } => path.as_ref(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Project, directory in it, or skill
    #[arg(required_unless_present = "list")]
    pub(crate) path: Option<PathBuf>,
    /// Trust without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only show the changes since the skills were trusted
    #[arg(long, conflicts_with = "yes")]
    pub(crate) diff: bool,
    /// List trusted skills, optionally below a path
    #[arg(long, conflicts_with_all = ["yes", "diff"])]
    pub(crate) list: bool,
}
