//! Shared results of a tree equal those of resolving each directory alone.

use compare::{Names, Tree, effective, lost_in};
use instructions::{CODEX, FileSettings, HomeDirectories, PROFILES, Request};

use crate::support::Fixture;

/// Trees with everything that a result can depend on.
const TREES: &[&str] = &[
    "
    .git/
    AGENTS.md = A
    src/deep/er/x
    src/AGENTS.md = S
    src/CLAUDE.md = C
    docs/plain/er/x
    ",
    // No root at all.
    "
    AGENTS.md = A
    a/b/c/x
    a/b/GEMINI.md = G
    a/QWEN.md = Q
    ",
    // Files that version control ignores and agents read.
    "
    .git/
    .gitignore = a/AGENTS.md\\n.claude/\\n*.local.md
    AGENTS.md = R
    a/AGENTS.md = ignored
    a/deep/x
    b/x
    c/.claude/rules/r.md = rule
    c/.claude/CLAUDE.md = own
    c/d/x
    e/AGENTS.local.md = mine
    e/f/x
    ",
    // Repositories in one another, one that Git does not accept.
    "
    .git/
    AGENTS.md = A
    inner/.git/
    inner/AGENTS.md = I
    inner/deep/x
    broken/.git = gitdir: nowhere
    broken/deep/er/x
    ",
    // Imports that are bound to the working directory, and rules that apply to some directories.
    "
    .git/
    CLAUDE.md = @src/more.md\\n@other.md\\n
    other.md = other
    src/more.md = more
    src/deep/x
    lib/deep/x
    AGENTS.md = ---\\napplies_to: src/**\\n---\\nonly there
    ",
    // Rules and names that count in the root and in the working directory.
    "
    .git/
    .github/copilot-instructions.md = root
    .github/instructions/all.instructions.md = all
    a/.github/copilot-instructions.md = a
    a/.github/instructions/here.instructions.md = here
    a/.claude/rules/r.md = rule
    a/b/c/x
    a/AGENTS.md = A
    a/b/c/.cursor/rules/r.mdc = ---\\nalwaysApply: true\\n---\\nr
    ",
    // Limits.
    "
    .git/
    AGENTS.md * 20000
    a/AGENTS.md * 20000
    a/b/AGENTS.md * 20000
    a/b/c/d/x
    e/f/x
    ",
    // Pipes, links and directories in the place of files.
    "
    .git/
    AGENTS.md |
    GEMINI.md |
    a/AGENTS.md -> ../../outside
    a/CLAUDE.md -> a
    b/AGENTS.md/
    b/c/x
    ",
];

#[test]
fn shared_results_equal_individual_ones() {
    for lines in TREES {
        let fixture = Fixture::new(lines);
        let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
        for profile in PROFILES {
            // With the home directory inside the tree, it must not share the result of its parent.
            let homes = HomeDirectories::of_user(Some(fixture.path("a")));
            let settings = FileSettings { homes, ..FileSettings::of(profile) };
            let effective = effective(&tree, &settings).unwrap();
            assert_eq!(
                effective.sets.iter().map(|set| set.directories).sum::<usize>(),
                tree.directories().len()
            );
            for (directory, set) in tree.directories().iter().zip(&effective.of_directories) {
                let request = Request { cwd: &directory.path, settings: &settings };
                let alone = instructions::resolve(&request, None).unwrap();
                let set = &effective.sets[set.unwrap()];
                let kept = |resolution: &instructions::Resolution| {
                    let files = resolution.files.iter();
                    files.map(|file| (file.path.clone(), file.kept_bytes)).collect::<Vec<_>>()
                };
                let place = format!("{} in {}\n{lines}", profile.name, directory.path.display());
                assert_eq!(kept(&set.resolution), kept(&alone), "{place}");
                assert_eq!(set.lost, lost_in(&alone, &settings), "{place}");
            }
        }
    }
}

#[test]
fn plain_directories_share_one_resolution() {
    let mut lines = ".git/\nAGENTS.md = A\n".to_owned();
    for number in 0..200 {
        lines.push_str(&format!("d{number}/e/f/x\n"));
    }
    let fixture = Fixture::new(&lines);
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    let effective = effective(&tree, &FileSettings::of(&CODEX)).unwrap();
    // The root and its 600 subdirectories have one chain, so a map of a large repository costs hardly more than the
    // walk.
    assert_eq!(effective.sets.len(), 1);
    assert_eq!(effective.sets[0].directories, 601);
}

#[test]
fn an_agent_that_would_not_start_is_reported() {
    let fixture = Fixture::new(".git/\nhome/config.toml = this is = not toml\n");
    let tree = Tree::walk(&fixture.path(""), &Names::new([])).unwrap();
    let homes = HomeDirectories::default().with(&CODEX, fixture.path("home"));
    let settings = FileSettings { homes, ..FileSettings::of(&CODEX) };
    let error = effective(&tree, &settings).unwrap_err().to_string();
    assert!(error.contains("config.toml"), "{error}");
}
