//! Compares the table in SECURITY.md with the attacks that are tested.

use std::fmt::Write as _;
use std::path::Path;

use sandbox::SandboxLevel;

use crate::attacks::{ATTACKS, Holds};
use crate::{endings, ordinary};

const BEGIN: &str = "<!-- attacks: written by a test -->\n";
const END: &str = "<!-- end of attacks -->\n";

fn table() -> String {
    let mut table = String::from("| attack | `isolated` | `confined` |\n| --- | --- | --- |\n");
    let word = |holds| if holds == Holds::Yes { "held" } else { "**not held**" };
    for attack in ATTACKS {
        let isolated = word(attack.isolated);
        let confined = word(attack.confined);
        let _ = writeln!(table, "| {} | {isolated} | {confined} |", attack.shown);
    }
    for (shown, levels) in
        [(endings::SHOWN, &endings::LEVELS[..]), (ordinary::WITHOUT_ROOT_SHOWN, &ordinary::WITHOUT_ROOT[..])]
    {
        let tried = |level| if levels.contains(&level) { Holds::Yes } else { Holds::No };
        let [isolated, confined] =
            [SandboxLevel::Isolated, SandboxLevel::Confined].map(|level| word(tried(level)));
        let _ = writeln!(table, "| {shown} | {isolated} | {confined} |");
    }
    table
}

// `UPDATE_DOCS=1` rewrites the table.
#[test]
fn security_md_lists_the_tested_attacks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("SECURITY.md has a place for the table");
    let (found, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
    }
    assert_eq!(found, table(), "run this test with UPDATE_DOCS=1");
}
