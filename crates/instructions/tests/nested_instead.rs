//! Files that Claude Code loads when a tool reads a file, as recorded from version 2.1.325.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::path::Path;

use instructions::{CLAUDE_CODE, FileSettings, Request, survey_reading};

#[track_caller]
fn check(files: &[&str], expected: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{name}\n")).unwrap();
    }
    let settings = FileSettings::of(&CLAUDE_CODE);
    let request = Request { cwd: &root, settings: &settings };
    let resolution = survey_reading(&request, &root.join("sub/deep/x.txt")).unwrap().unwrap();
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let found: Vec<String> = resolution.files.iter().map(|file| name(&file.path)).collect();
    assert_eq!(found, expected, "{files:?}");
}

#[test]
fn agents_files_come_where_the_start_had_no_claude_file() {
    let nested = ["sub/AGENTS.md", "sub/deep/AGENTS.md"];
    check(&nested, &nested);
    check(&["AGENTS.md", "sub/AGENTS.md", "sub/deep/AGENTS.md"], &nested);
    check(&["CLAUDE.md", "AGENTS.md", "sub/AGENTS.md", "sub/deep/AGENTS.md"], &[]);
    check(&["CLAUDE.local.md", "sub/AGENTS.md"], &[]);
}

#[test]
fn a_claude_file_hides_the_agents_file_beside_it_alone() {
    check(
        &["AGENTS.md", "sub/AGENTS.md", "sub/deep/CLAUDE.md", "sub/deep/AGENTS.md"],
        &["sub/deep/CLAUDE.md", "sub/AGENTS.md"],
    );
    check(&["AGENTS.md", "sub/CLAUDE.md", "sub/deep/AGENTS.md"], &["sub/CLAUDE.md", "sub/deep/AGENTS.md"]);
}
