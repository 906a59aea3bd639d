//! A page as a list of blocks, each with what it is for.

use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::REPOSITORY;

pub(super) struct Page {
    /// Below the repository.
    pub(super) path: String,
    pub(super) blocks: Vec<Block>,
}

pub(super) struct Block {
    /// Offset of its text.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) role: Role,
}

/// Role of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    Run {
        exit: i32,
    },
    Serve,
    UntilInterrupted,
    NotRun(String),
    Console,
    Output(Precision),
    NotChecked(String),
    UserConfiguration,
    ProjectConfiguration,
    Json,
    /// An example in a language that nothing here can check.
    Prose,
}

/// Precision of comparing output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Exact,
    Like,
}

impl Page {
    pub(super) fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect(path);
        Self { path: path.to_owned(), blocks: blocks(path, &text) }
    }
}

impl Role {
    /// Returns true if the block contains commands that run.
    pub(super) fn is_run(&self) -> bool {
        matches!(self, Self::Run { .. } | Self::Serve | Self::UntilInterrupted | Self::Console)
    }

    /// Returns the reason why the block does not run.
    pub(super) fn left_out(&self) -> Option<&str> {
        match self {
            Self::NotRun(why) | Self::NotChecked(why) => Some(why),
            _ => None,
        }
    }

    /// Reads what comes after the three backticks.
    fn parse(info: &str) -> Result<Self, String> {
        let (words, reason) = match info.split_once(": ") {
            Some((words, reason)) => (words, Some(reason.to_owned())),
            None => (info, None),
        };
        Ok(match (words, reason) {
            ("sh", None) => Self::Run { exit: 0 },
            ("sh serve", None) => Self::Serve,
            ("sh until-interrupted", None) => Self::UntilInterrupted,
            ("sh not-run", Some(reason)) => Self::NotRun(reason),
            ("console", None) => Self::Console,
            ("text output", None) => Self::Output(Precision::Exact),
            ("text output-like", None) => Self::Output(Precision::Like),
            ("text not-checked", Some(reason)) => Self::NotChecked(reason),
            ("toml", None) => Self::UserConfiguration,
            ("toml project", None) => Self::ProjectConfiguration,
            ("json", None) => Self::Json,
            ("markdown" | "mermaid" | "python" | "rust" | "ini", None) => Self::Prose,
            (words, None) => match words.strip_prefix("sh exits-").and_then(|code| code.parse().ok()) {
                Some(exit) => Self::Run { exit },
                None => return Err(format!("a block `{info}`; pages.rs lists what there is")),
            },
            (words, Some(_)) => return Err(format!("a block `{words}` with a reason it does not need")),
        })
    }
}

fn blocks(path: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let line = text[..range.start].lines().count() + 1;
                // An indented block has no info string, so nothing would decide if it is run or compared.
                let CodeBlockKind::Fenced(info) = kind else {
                    panic!("{path}, line {line}: an indented block; use backticks");
                };
                let role = Role::parse(&info).unwrap_or_else(|error| panic!("{path}, line {line}: {error}"));
                open = Some(Block { line: line + 1, text: String::new(), role });
            }
            Event::Text(part) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// The Markdown files below a directory, as paths below the root.
pub(super) fn below(root: &Path, directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(directory)).expect(directory) {
        let entry = entry.expect(directory);
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().expect("a type").is_dir() {
            found.extend(below(root, &path));
        } else if path.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_block_states_its_purpose() {
    let page =
        "```sh\na\nb\n```\n\ntext\n\n```sh not-run: it takes long\nc\n```\n\n```text output-like\nd\n```\n";
    let found: Vec<(usize, String, Role)> =
        blocks("page", page).into_iter().map(|it| (it.line, it.text, it.role)).collect();
    assert_eq!(
        found,
        [
            (2, "a\nb\n".to_owned(), Role::Run { exit: 0 }),
            (9, "c\n".to_owned(), Role::NotRun("it takes long".to_owned())),
            (13, "d\n".to_owned(), Role::Output(Precision::Like)),
        ]
    );
    // A typo in an info string must fail the test. Otherwise a block would silently stop being run.
    for unclear in ["text", "sh not-run", "bash", "sh exits-one", "console: why"] {
        assert!(Role::parse(unclear).is_err(), "{unclear}");
    }
    assert_eq!(Role::parse("sh exits-3"), Ok(Role::Run { exit: 3 }));
}
