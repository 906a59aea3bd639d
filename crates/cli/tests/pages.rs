//! README and docs, followed as a reader follows them: every block of every page, in order, in a home that was empty before.
//!
//! A page is followed twice in the same home: it must work again after itself, so it must put everything back at its end.
//! Then it is followed in a home that already has a configuration, skills and backups, which it must leave unchanged.
//! The purpose of a block follows its language, which readers of the page do not see:
//!
//! | block | what happens |
//! | --- | --- |
//! | `sh` | runs in the page's shell; every command must end with 0 |
//! | `sh exits-1` | the same, but its last command must end with 1 |
//! | `sh serve` | runs in a terminal of its own until the next such block or the end; the one before it gets Ctrl-C |
//! | `sh until-interrupted` | runs in a terminal of its own, gets Ctrl-C after its first output |
//! | `sh not-run: why` | is not run |
//! | `console` | `$` begins a command, and its output follows |
//! | `text output` | the output of the previous block; `…` is anything in a line, and a line of it alone any lines |
//! | `text output-like` | the same, where figures, dates, bars and the width of columns may be others |
//! | `text not-checked: why` | is not looked at |
//! | `toml`, `toml project` | must be a configuration file that is accepted |
//! | `json` | must be JSON |
//!
//! In a command, `…` is what a reader fills in. The reader of a page is called ada and lives in `/home/ada`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what it has followed, and what it left out"
)]

mod home;
mod links;
mod page;
mod shown;
mod terminal;

use std::path::Path;

use self::home::Home;
use self::page::{Page, Role};
pub(crate) use self::shown::without_figures;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A test for each page, and the list of them.
macro_rules! pages {
    ($($name:ident $path:literal)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(#[test]
        fn $name() {
            follow($path);
        })*
    };
}

pages! {
    readme "README.md"
    check "docs/check.md"
    compare "docs/compare.md"
    concepts "docs/concepts.md"
    configuration "docs/configuration.md"
    console "docs/console.md"
    delegation "docs/delegation.md"
    desktop "docs/desktop.md"
    diff "docs/diff.md"
    files "docs/files.md"
    guards "docs/guards.md"
    guide "docs/guide.md"
    how_to "docs/how-to.md"
    memory "docs/memory.md"
    what_goes_into_a_prompt "docs/what-goes-into-a-prompt.md"
    mcp "docs/mcp.md"
    operations "docs/operations.md"
    prompts "docs/prompts.md"
    protocol "docs/protocol.md"
    sandbox "docs/sandbox.md"
    skills "docs/skills.md"
    turns "docs/turns.md"
    why "docs/why.md"
    with_your_agent "docs/with-your-agent.md"
}

/// Pages that something else holds to what is true.
const RECORDED: &[(&str, &str)] = &[
    ("docs/agents.md", "written from the profiles, and held against them by a test of `instructions`"),
    ("docs/benchmarks.md", "figures of one machine, printed by `cargo xtask bench`"),
    ("docs/explain.md", "recorded by transcript.rs, which fails when the commands say something else"),
    ("docs/rules.md", "written from the table of rules by a test of `check`, like all pages in docs/rules"),
    ("docs/reliability.md", "counts of one run, printed by commands that take minutes"),
    ("docs/SUMMARY.md", "a list of the pages, held against the directory by links.rs"),
];

fn follow(path: &str) {
    let page = Page::read(path);
    let mut home = Home::new();
    for time in ["the first time", "again in the same home"] {
        eprintln!("{path}, {time}");
        home.follow(&page);
    }
    // Examples once removed ~/backups, all skills of the user and config.toml, which no empty home can show.
    eprintln!("{path}, in a home that has files of its own");
    Home::with_readers_files().follow(&page);
    let ran = page.blocks.iter().filter(|block| block.role.is_run()).count();
    let left: Vec<&str> = page.blocks.iter().filter_map(|block| block.role.left_out()).collect();
    println!("{path}: {ran} blocks of commands ran, three times; {} blocks were left out", left.len());
    left.iter().for_each(|why| println!("  {why}"));
}

#[test]
fn every_page_is_followed_or_recorded() {
    // The list is compared in both directions: a new page cannot be forgotten, and a removed one leaves no
    // stale entry.
    let mut known: Vec<&str> = PAGES.iter().copied().chain(RECORDED.iter().map(|(path, _)| *path)).collect();
    known.sort_unstable();
    let mut found = vec!["README.md".to_owned()];
    found.extend(page::below(Path::new(REPOSITORY), "docs"));
    found.retain(|path| !path.starts_with("docs/rules/"));
    found.sort_unstable();
    assert_eq!(known, found, "a new page needs a line in `pages!`");
}

/// Skipped commands must remain the exception, each with a reason beside it.
#[test]
fn most_commands_of_the_pages_are_run() {
    let pages: Vec<Page> = PAGES.iter().map(|path| Page::read(path)).collect();
    let roles = || pages.iter().flat_map(|page| &page.blocks).map(|block| &block.role);
    let ran = roles().filter(|role| role.is_run()).count();
    let not_run = roles().filter(|role| matches!(role, Role::NotRun(_))).count();
    println!("{ran} blocks of commands run, {not_run} do not");
    // Every skipped block has a reason, but reasons are easy to find. The ratio keeps them from becoming
    // the rule.
    assert!(not_run * 5 <= ran, "{not_run} blocks do not run, {ran} do");
}
