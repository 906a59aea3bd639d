//! Entries that a walk finds and skips.

use compare::{Names, Tree, TreeError};

use crate::support::Fixture;

/// Paths of instruction files, and of directories, from the root.
fn walk(fixture: &Fixture) -> (Vec<String>, Vec<String>) {
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    assert!(tree.problems().is_empty(), "{:?}", tree.problems());
    let shown =
        |path: &std::path::Path| path.strip_prefix(fixture.path("")).unwrap().to_string_lossy().into_owned();
    let files = tree.instruction_files().map(|path| shown(&path)).collect();
    let directories = tree.directories().iter().map(|directory| shown(&directory.path)).collect();
    (files, directories)
}

#[test]
fn instruction_files_of_every_agent_are_found() {
    let fixture = Fixture::new(
        "
        .git/
        AGENTS.md = A
        src/CLAUDE.md = C
        src/deep/main.rs
        src/deep/GEMINI.md -> ../CLAUDE.md
        .github/copilot-instructions.md = G
        .github/workflows/ci.yml
        .claude/rules/more/style.md = R
        docs/copilot-instructions.md = not one
        docs/rules/style.md = nor this
        a/agents.MD = other letters
        ",
    );
    let (files, directories) = walk(&fixture);
    assert_eq!(
        files,
        [
            "AGENTS.md",
            ".claude/rules/more/style.md",
            ".github/copilot-instructions.md",
            "a/agents.MD",
            "src/CLAUDE.md",
            "src/deep/GEMINI.md",
        ]
    );
    assert!(directories.contains(&"src/deep".to_owned()) && directories.contains(&".github".to_owned()));
    assert!(!directories.iter().any(|directory| directory.starts_with(".git/")), "{directories:?}");
}

#[test]
fn ignored_entries_are_skipped_except_local_instructions() {
    let fixture = Fixture::new(
        "
        .gitignore = target/\\n*.local.md
        AGENTS.md = A
        CLAUDE.local.md = mine
        src/AGENTS.local.md = mine
        target/AGENTS.md = built
        ",
    );
    let (files, directories) = walk(&fixture);
    assert_eq!(files, ["AGENTS.md", "CLAUDE.local.md", "src/AGENTS.local.md"]);
    assert_eq!(directories, ["", "src"]);
}

#[test]
fn ignored_instruction_files_are_found() {
    let fixture = Fixture::new(
        "
        .git/info/exclude = QWEN.md
        .gitignore = a/AGENTS.md\\n/GEMINI.md\\n.claude/\\nnode_modules/
        AGENTS.md = A
        GEMINI.md = G
        QWEN.md = Q
        a/AGENTS.md = ignored
        b/AGENTS.md = not ignored
        b/.claude/CLAUDE.md = C
        b/.claude/rules/deep/r.md = R
        b/.claude/notes.txt
        node_modules/x/AGENTS.md = theirs
        ",
    );
    let (files, directories) = walk(&fixture);
    assert_eq!(
        files,
        [
            "AGENTS.md",
            "GEMINI.md",
            "QWEN.md",
            "a/AGENTS.md",
            "b/AGENTS.md",
            "b/.claude/CLAUDE.md",
            "b/.claude/rules/deep/r.md",
        ]
    );
    assert!(!directories.iter().any(|directory| directory.starts_with("node_modules")), "{directories:?}");
}

#[test]
fn pipes_cycles_and_odd_names_are_not_followed() {
    let fixture = Fixture::new(
        "
        GEMINI.md |
        a/AGENTS.md -> AGENTS.md
        a/up -> ..
        b/AGENTS.md/
        c/CLAUDE.md -> /nowhere
        ",
    );
    // A name with a line break must stay one entry, as a list of paths by line would make two of it.
    let odd = fixture.path("line\nbreak \"quoted\"");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("AGENTS.md"), "A").unwrap();
    let (files, directories) = walk(&fixture);
    assert_eq!(
        files,
        ["GEMINI.md", "a/AGENTS.md", "b/AGENTS.md", "c/CLAUDE.md", "line\nbreak \"quoted\"/AGENTS.md"]
    );
    assert!(!directories.iter().any(|directory| directory.contains("up")), "{directories:?}");
}

#[test]
fn a_link_as_root_is_followed() {
    let fixture = Fixture::new("real/src/AGENTS.md = A\nlink -> real");
    let tree = Tree::walk(&fixture.path("link"), &Names::new([])).unwrap();
    let files: Vec<_> = tree.instruction_files().collect();
    assert_eq!(files, [fixture.path("link/src/AGENTS.md")]);
}

#[test]
fn parents_come_first_and_files_are_counted() {
    let fixture = Fixture::new("a/b/one\na/b/two\na/three\na-b/four");
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    for (index, directory) in tree.directories().iter().enumerate() {
        match directory.parent {
            Some(parent) => {
                assert!(parent < index);
                assert_eq!(directory.path.parent(), Some(tree.directories()[parent].path.as_path()));
            }
            None => assert_eq!(index, 0),
        }
    }
    let counts: Vec<(String, u64)> = tree
        .directories()
        .iter()
        .map(|directory| {
            let name = directory.path.strip_prefix(fixture.path("")).unwrap().to_string_lossy().into_owned();
            (name, directory.files)
        })
        .collect();
    let expected = [("", 0), ("a", 1), ("a/b", 2), ("a-b", 1)];
    assert_eq!(counts, expected.map(|(name, files)| (name.to_owned(), files)));
    assert_eq!(tree.files(), 4);
}

#[test]
fn non_directories_are_rejected() {
    let fixture = Fixture::new("file");
    let walk = |path: &str| Tree::walk(&fixture.path(path), &Names::new([])).unwrap_err();
    assert!(matches!(walk("file"), TreeError::NotADirectory { .. }));
    assert!(matches!(walk("nowhere"), TreeError::Directory { .. }));
}

// The walker of the `ignore` crate opens these files itself and would block on a pipe, or read `/dev/zero` without end.
#[test]
fn pipes_as_ignore_files_do_not_block() {
    for tree in [
        "AGENTS.md = A\n.gitignore |\nsrc/CLAUDE.md = C",
        "AGENTS.md = A\nsrc/.gitignore |\nsrc/CLAUDE.md = C",
        "AGENTS.md = A\n.git/info/exclude |\nsrc/CLAUDE.md = C",
        "AGENTS.md = A\n.gitignore -> /dev/zero\nsrc/CLAUDE.md = C",
        "AGENTS.md = A\n.git |\nsrc/CLAUDE.md = C",
        "AGENTS.md = A\n.git/HEAD |\n.git/objects/\n.git/refs/\nsrc/CLAUDE.md = C",
    ] {
        let fixture = Fixture::new(tree);
        let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
        assert!(tree.instruction_files().any(|path| path == fixture.path("AGENTS.md")));
        for profile in instructions::PROFILES {
            compare::effective(&tree, &instructions::FileSettings::of(profile)).unwrap();
        }
    }
}
