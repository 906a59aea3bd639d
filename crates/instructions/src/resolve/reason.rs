//! Reasons of decisions as data, and their sentences.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::settings::IMPORTS;
use crate::text::front_matter::Audience;

/// Reason of a decision. Its sentence is made when it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionReason {
    /// A file imports it.
    Imported {
        /// The importing file.
        by: PathBuf,
        /// Line of the import, counted from 1.
        line: usize,
    },
    /// A file that a tool reads matches the rule's globs.
    RuleMatches {
        /// The file that is read.
        file: PathBuf,
    },
    /// A setting of the agent names it.
    NamedBySetting {
        /// Key of the setting.
        key: &'static str,
        /// File with the setting.
        file: PathBuf,
    },
    /// Settings switch the files off, for the reason in words.
    SwitchedOff(String),
    /// Settings switch imports off.
    ImportsSwitchedOff,
    /// It contains only white space, so the next name is tried.
    Blank,
    /// It contains only white space, so importing it has no effect.
    BlankImport,
    /// Only white space of it fits into the limit.
    BlankAfterCut,
    /// Nothing is left after the agent's transformations.
    BlankAfterTransform,
    /// It is not a regular file.
    NotRegular {
        /// Its file type.
        kind: &'static str,
    },
    /// It is a symlink without a target.
    DanglingLink {
        /// Text of the symlink.
        target: PathBuf,
    },
    /// It leads out of the project.
    OutsideProject,
    /// The import leads out of the project, or out of the agent's own directory.
    ImportLeadsOut {
        /// The file is imported by one of the user's own.
        home: bool,
    },
    /// The import names a path outside of a directory.
    ImportOutside {
        /// The directory.
        directory: PathBuf,
    },
    /// The import leads out of a directory through a symlink.
    ImportLinkedOutside {
        /// The directory.
        directory: PathBuf,
    },
    /// A symlink in a folder of rules leads outside the searched directories.
    LinkOutside,
    /// It holds credentials or data of the gateway.
    HoldsPrivateData,
    /// It cannot be read, for the reason of the operating system.
    Unreadable(String),
    /// Another file of the chain cannot be read, which costs all of them.
    ChainUnreadable,
    /// A file imports a path with a zero byte, which costs all of them.
    ZeroByteImport {
        /// The importing file.
        by: PathBuf,
    },
    /// The imported file is not UTF-8.
    ImportNotUtf8,
    /// It is a symlink, and the agent follows none.
    LinkNotFollowed,
    /// It is in the checkout around a worktree, which has a file of that name.
    InWorktree,
    /// An earlier or later file has the same title.
    SameTitle,
    /// Its front matter switches it off.
    DisabledByHeader,
    /// It is not UTF-8, and the agent does not read such files.
    NotUtf8,
    /// Its name counts only between the root and the working directory.
    BetweenOnly,
    /// The agent misreads a backslash in its path.
    Backslash,
    /// A file with this path was read before.
    ReadBefore,
    /// The same file was read under another name.
    SameFile,
    /// The same file was imported or read before, and each is used once.
    UsedOnce,
    /// A file with the same text was read before.
    SameText,
    /// It is meant for another audience.
    OtherAudience(Audience),
    /// It applies to other paths.
    OtherPaths {
        /// Its globs for display.
        globs: String,
        /// Directory that the globs count from.
        base: PathBuf,
        /// It is loaded once a matching path is touched.
        loaded_later: bool,
    },
    /// The rule waits for a path that matches.
    WaitsForPath {
        /// Its globs for display.
        globs: String,
    },
    /// The rule requires a key that is absent or false.
    NotAlways,
    /// The front matter of the rule is invalid.
    InvalidFrontMatter,
    /// It contains nothing but imports.
    OnlyImports(Vec<PathBuf>),
    /// It has the same content as another file.
    Repeats(PathBuf),
    /// It is nested in too many imports.
    TooDeep {
        /// Maximum depth.
        max_depth: usize,
    },
    /// The limit does not leave enough for it.
    Limit {
        /// Effect of the limit.
        effect: LimitEffect,
        /// The limit in bytes.
        max_bytes: u64,
        /// Setting that raises the limit. `None` if only Foreword's own cap applies.
        setting: Option<Cow<'static, str>>,
    },
    /// The limit of files was reached.
    TooManyFiles,
    /// The copy in a tool's result is cut.
    ToolResultCut {
        /// Maximum number of characters.
        max_characters: usize,
    },
    /// It lies above the root.
    AboveRoot {
        /// Topmost directory that is searched.
        top: PathBuf,
        /// Change that would include it, in words.
        remedy: String,
    },
    /// It is meant for another agent.
    OtherAgent {
        /// The other agent.
        agent: &'static str,
        /// Profile that does not read it.
        profile: &'static str,
        /// Change that would include it, or its relation to a file that is read, in words.
        remedy: String,
    },
    /// Its name differs from one that is read in letter case.
    OtherCase {
        /// Name that is read.
        name: String,
    },
    /// A file with the same name in another letter case is read.
    OtherCaseRead {
        /// Name that is read.
        name: String,
    },
}

/// Effect of the limit on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitEffect {
    /// It is cut.
    Cut,
    /// Nothing of the limit is left for it.
    Spent,
    /// It does not fit as a whole.
    TooLarge,
    /// An earlier file did not fit, where reading stops.
    Stopped,
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Imported { by, line } => write!(f, "imported by {}, line {line}", by.display()),
            Self::RuleMatches { file } => write!(f, "{} matches", file.display()),
            Self::NamedBySetting { key, file } => write!(f, "`{key}` in {} names it", file.display()),
            Self::SwitchedOff(reason) => f.write_str(reason),
            Self::ImportsSwitchedOff => write!(f, "imports are switched off ({IMPORTS})"),
            Self::Blank => f.write_str("it is only white space, so it counts as if it were not there"),
            Self::BlankImport => f.write_str("it is only white space"),
            Self::BlankAfterCut => {
                f.write_str("what fits of it is only white space; it still hides the names after it")
            }
            Self::BlankAfterTransform => {
                f.write_str("nothing is left of it after the agent's transformations")
            }
            Self::NotRegular { kind } => write!(f, "it is a {kind}; only regular files are read"),
            Self::DanglingLink { target } => {
                write!(
                    f,
                    "it is a link to {}, which leads nowhere; fix the link, or remove it",
                    target.display()
                )
            }
            Self::OutsideProject => f.write_str(
                "it leads out of the project; copy the file, or allow it with agents.follow_external_links",
            ),
            Self::ImportLeadsOut { home } => {
                let directory = if *home { "your own directory" } else { "the project" };
                write!(f, "it leads out of {directory}: copy the file into it")
            }
            Self::ImportOutside { directory } => write!(f, "it is outside of {}", directory.display()),
            Self::ImportLinkedOutside { directory } => write!(f, "it leads out of {}", directory.display()),
            Self::LinkOutside => f.write_str("symlink leads outside the searched directories"),
            Self::HoldsPrivateData => {
                f.write_str("it is among the keys, tokens and data that are kept from every project")
            }
            Self::Unreadable(reason) => write!(f, "it cannot be read: {reason}"),
            Self::ChainUnreadable => {
                f.write_str("another file of the chain cannot be read, which costs them all")
            }
            Self::ZeroByteImport { by } => {
                write!(f, "an import with a zero byte in {} costs all instructions", by.display())
            }
            Self::ImportNotUtf8 => {
                f.write_str("it is not UTF-8, so the agent leaves the import as it is written")
            }
            Self::LinkNotFollowed => f.write_str("it is a symlink, and the agent follows none"),
            Self::InWorktree => f.write_str("the worktree in this checkout has a file of this name"),
            Self::SameTitle => f.write_str("another file has the same title"),
            Self::DisabledByHeader => f.write_str("its front matter switches it off"),
            Self::NotUtf8 => f.write_str("it is not UTF-8, so the agent does not read it"),
            Self::BetweenOnly => f.write_str(
                "the agent reads it only in directories between the root and the working directory",
            ),
            Self::Backslash => {
                f.write_str("the agent takes the backslash in its path for a slash, and does not find it")
            }
            Self::ReadBefore => f.write_str("it was read before"),
            Self::SameFile => f.write_str("it is the same file, under another name"),
            Self::UsedOnce => f.write_str("each file is used once"),
            Self::SameText => f.write_str("it has the same text, which is passed on once"),
            Self::OtherAudience(Audience::Main) => {
                f.write_str("it is for the main agent alone (audience: main)")
            }
            Self::OtherAudience(Audience::Delegate) => {
                f.write_str("it is for agents that others give work to (audience: delegate)")
            }
            Self::OtherPaths { globs, base, loaded_later } => {
                write!(f, "it applies to {globs} below {}", base.display())?;
                if *loaded_later {
                    f.write_str("; it is brought in when a path that matches is touched")?;
                }
                Ok(())
            }
            Self::WaitsForPath { globs } => {
                write!(f, "it applies to {globs}; it is brought in when a path that matches is touched")
            }
            Self::NotAlways => f.write_str("nothing in it says that it always applies"),
            Self::InvalidFrontMatter => f.write_str("its front matter is not YAML, so it is not read"),
            Self::OnlyImports(paths) => {
                let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "it only imports {}", paths.join(", "))
            }
            Self::Repeats(path) => write!(f, "it repeats {}", path.display()),
            Self::TooDeep { max_depth } => {
                write!(f, "which is {max_depth} imports deep already; import it further up")
            }
            Self::Limit { effect, max_bytes, setting } => {
                match effect {
                    LimitEffect::Cut => {
                        write!(f, "the limit of {max_bytes} bytes leaves no more room for it")?;
                    }
                    LimitEffect::Spent => {
                        write!(f, "nothing of the limit of {max_bytes} bytes is left for it")?
                    }
                    LimitEffect::TooLarge => {
                        write!(f, "it does not fit into what is left of the limit of {max_bytes} bytes")?;
                    }
                    LimitEffect::Stopped => write!(
                        f,
                        "a file before it does not fit into the limit of {max_bytes} bytes, and reading stops there"
                    )?,
                }
                match setting {
                    Some(setting) => write!(f, "; shorten the files, or raise {setting}"),
                    None => f.write_str("; Foreword's own cap applies; the agent has no known limit"),
                }
            }
            Self::TooManyFiles => f.write_str(
                "there are as many files as the limit allows without it; raise agents.initial.max_files",
            ),
            Self::ToolResultCut { max_characters } => write!(
                f,
                "the copy in a tool's result is cut at {max_characters} characters; the model is told to read the rest"
            ),
            Self::AboveRoot { top, remedy } => {
                write!(f, "it is above the root {}; give {remedy} if it should count", top.display())
            }
            Self::OtherAgent { agent, profile, remedy } => {
                write!(f, "it is for {agent}, the profile `{profile}` does not read it; {remedy}")
            }
            Self::OtherCase { name } => {
                write!(f, "names are read exactly as they are written; rename it to {name}")
            }
            Self::OtherCaseRead { name } => {
                write!(f, "one file is read of each name; copy what should count into {name}")
            }
        }
    }
}

/// Joins reasons as one sentence, or returns `None` if there are none.
pub(crate) fn sentence(reasons: &[DecisionReason]) -> Option<String> {
    let mut text = String::new();
    for (index, reason) in reasons.iter().enumerate() {
        if index > 0 {
            // A reason that qualifies the import before it continues its clause.
            text.push_str(if matches!(reason, DecisionReason::TooDeep { .. }) { ", " } else { "; " });
        }
        text.push_str(&reason.to_string());
    }
    (!text.is_empty()).then_some(text)
}
