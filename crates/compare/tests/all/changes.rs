//! Changes between two states of a repository, in unusual repositories too.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use compare::{Changes, ChangesError, Names, Revisions};
use git::GitError;
use instructions::{CLAUDE_CODE, CODEX, FileSettings, HomeDirectories, Profile};

use crate::support::{Fixture, git};

fn repository(lines: &str) -> Fixture {
    let fixture = Fixture::new(lines);
    git(&fixture.path(""), &["init", "--quiet"]);
    commit(&fixture);
    fixture
}

fn commit(fixture: &Fixture) {
    git(&fixture.path(""), &["add", "--all"]);
    git(&fixture.path(""), &["commit", "--quiet", "--allow-empty", "--message", "x"]);
}

fn changes_in(directory: &Path, named: &str, agent: &'static Profile) -> Result<Changes, ChangesError> {
    let homes = HomeDirectories::of_user(Some("/nowhere".into()));
    let settings = FileSettings { homes, ..FileSettings::default() };
    let revisions = Revisions::find(directory, Some(named))?;
    compare::changes(&revisions, &[agent], &settings, &Names::new([]))
}

/// Returns a line for each change: directories, added, removed, edited, newly lost.
fn found(fixture: &Fixture, named: &str) -> Vec<String> {
    let changes = changes_in(&fixture.path(""), named, &CODEX).unwrap();
    let lines = changes.agents[0].changes.iter().map(|change| {
        let lost: Vec<String> =
            change.newly_lost.iter().map(|lost| format!("{}:{}", lost.path, lost.bytes)).collect();
        format!(
            "{} +{} -{} ~{} !{}",
            change.directories.join(","),
            change.added.join(","),
            change.removed.join(","),
            change.edited.join(","),
            lost.join(",")
        )
    });
    lines.collect()
}

#[test]
fn untracked_files_of_the_work_tree_count() {
    let fixture = repository("AGENTS.md = Root.\\n\nservices/billing/main.rs");
    assert!(found(&fixture, "HEAD").is_empty());
    fixture.make("services/AGENTS.md = Services.\\n");
    fixture.make("new/deep/file");
    assert_eq!(found(&fixture, "HEAD"), ["services,services/billing +services/AGENTS.md - ~ !"]);
    let changes = changes_in(&fixture.path("services"), "HEAD", &CODEX).unwrap();
    let change = &changes.agents[0].changes[0];
    assert_eq!((change.before.bytes, change.after.bytes, change.count), (6, 16, 2));
    assert_eq!(change.first_changed_token, Some(change.before.tokens));
    assert_eq!(changes.head, "worktree");
    assert_eq!(changes.summary.tokens_added, (change.after.tokens - change.before.tokens).cast_signed());
}

#[test]
fn removed_edited_and_renamed_files() {
    let fixture =
        repository("AGENTS.md = Root.\\n\na/AGENTS.md = A.\\n\nb/AGENTS.md = B.\\n\nc/AGENTS.md = C.\\n");
    fs::remove_dir_all(fixture.path("a")).unwrap();
    fs::write(fixture.path("b/AGENTS.md"), "Better.\n").unwrap();
    fs::rename(fixture.path("c/AGENTS.md"), fixture.path("c/agents.md")).unwrap();
    commit(&fixture);
    let expected = ["a + -a/AGENTS.md ~ !", "c + -c/AGENTS.md ~ !", "b + - ~b/AGENTS.md !"];
    assert_eq!(found(&fixture, "HEAD~1..HEAD"), expected);
    assert_eq!(found(&fixture, "HEAD~1"), expected);
    assert!(found(&fixture, "HEAD..").is_empty());
}

#[test]
fn text_pushed_over_the_limit_is_newly_lost() {
    let fixture = repository("AGENTS.md * 32000\nsub/AGENTS.md * 800");
    fs::write(fixture.path("AGENTS.md"), "x".repeat(32_760) + "\n").unwrap();
    assert_eq!(found(&fixture, "HEAD")[0], "sub + - ~AGENTS.md !sub/AGENTS.md:761");
    assert!(changes_in(&fixture.path(""), "HEAD", &CODEX).unwrap().lose_text());
}

#[test]
fn parts_that_no_agent_sees_are_no_change() {
    let fixture = repository("AGENTS.md = Root.\\n\nother.md = One.");
    fs::write(fixture.path("other.md"), "Two.").unwrap();
    fixture.make("deep/empty/file");
    assert!(found(&fixture, "HEAD").is_empty());
}

#[test]
fn nothing_of_the_repository_runs() {
    let fixture = repository("AGENTS.md = Root.\\n");
    let top = fixture.path("");
    let program = fixture.path(".git/spy");
    fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", fixture.path(".git/ran").display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let spy = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.spy.textconv",
        "diff.spy.command",
        "filter.spy.smudge",
        "filter.spy.clean",
        "filter.spy.process",
        "uploadpack.packObjectsHook",
    ] {
        git(&top, &["config", key, spy]);
    }
    git(&top, &["config", "core.hooksPath", fixture.path(".git").to_str().unwrap()]);
    fs::write(fixture.path(".gitattributes"), "*.md diff=spy filter=spy\n").unwrap();
    fs::write(fixture.path("AGENTS.md"), "Another root.\n").unwrap();
    let index = fs::read(fixture.path(".git/index")).unwrap();
    assert_eq!(found(&fixture, "HEAD"), [". + - ~AGENTS.md !"]);
    assert!(found(&fixture, "HEAD..HEAD").is_empty());
    assert!(!fixture.path(".git/ran").exists(), "a program of the repository ran");
    assert_eq!(fs::read(fixture.path(".git/index")).unwrap(), index);
}

#[test]
fn submodules_and_nested_repositories_are_left_out() {
    let inner = repository("AGENTS.md = Inner.\\n");
    let fixture = repository("AGENTS.md = Root.\\n");
    let top = fixture.path("");
    git(&top, &["submodule", "--quiet", "add", inner.path("").to_str().unwrap(), "lib/inner"]);
    commit(&fixture);
    assert!(found(&fixture, "HEAD").is_empty(), "a submodule that is checked out");
    assert!(found(&fixture, "HEAD~1..HEAD").is_empty(), "an empty directory");
    git(&top, &["worktree", "add", "--quiet", "--detach", "trees/one"]);
    fs::write(fixture.path("trees/one/AGENTS.md"), "Other.\n").unwrap();
    assert!(found(&fixture, "HEAD").is_empty(), "a work tree inside the work tree");
    let changes = changes_in(&fixture.path("trees/one"), "HEAD", &CODEX).unwrap();
    assert_eq!(changes.agents[0].changes[0].edited, ["AGENTS.md"]);
}

#[test]
fn sparse_checkouts_lose_nothing() {
    let fixture =
        repository("AGENTS.md = Root.\\n\na/AGENTS.md = A.\\n\nb/AGENTS.md = B.\\n\nb/c/AGENTS.md = C.\\n");
    let top = fixture.path("");
    for mode in [["--cone", "--no-sparse-index"], ["--cone", "--sparse-index"]] {
        git(&top, &["sparse-checkout", "set", mode[0], mode[1], "a"]);
        assert!(!fixture.path("b").exists());
        assert!(found(&fixture, "HEAD").is_empty(), "{mode:?}");
    }
}

#[test]
fn shallow_clones_name_the_missing_commit() {
    let fixture = repository("AGENTS.md = Root.\\n");
    commit(&fixture);
    let base = git(&fixture.path(""), &["rev-parse", "HEAD~1"]);
    let directory = tempfile::tempdir().unwrap();
    let address = format!("file://{}", fixture.path("").display());
    git(directory.path(), &["clone", "--quiet", "--depth", "1", &address, "clone"]);
    let clone = directory.path().join("clone");
    let error = Revisions::find(&clone, Some(base.trim())).unwrap_err();
    assert!(matches!(error, GitError::NoCommit { is_shallow: true, .. }), "{error}");
    assert!(error.hint().unwrap().contains("--unshallow"));
    assert!(changes_in(&clone, "HEAD", &CODEX).unwrap().is_empty());
}

#[test]
fn bare_repositories_compare_commits() {
    let fixture = repository("AGENTS.md = Root.\\n");
    fs::write(fixture.path("AGENTS.md"), "Other.\n").unwrap();
    commit(&fixture);
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["clone", "--quiet", "--bare", fixture.path("").to_str().unwrap(), "bare"]);
    let bare = directory.path().join("bare");
    let changes = changes_in(&bare, "HEAD~1..HEAD", &CODEX).unwrap();
    assert_eq!(changes.agents[0].changes[0].edited, ["AGENTS.md"]);
    assert!(matches!(Revisions::find(&bare, None), Err(GitError::NoWorkTree { .. })));
}

#[test]
fn unknown_names_are_refused() {
    let fixture = repository("AGENTS.md = Root.\\n");
    for named in ["nope", "--output=x", "HEAD~9", "HEAD:AGENTS.md", "HEAD..nope", "a\0b", "-", "HEAD^{tree}"]
    {
        let error = Revisions::find(&fixture.path(""), Some(named)).unwrap_err();
        assert!(matches!(error, GitError::NoCommit { .. }), "{named}: {error}");
    }
    let outside = tempfile::tempdir().unwrap();
    assert!(matches!(Revisions::find(outside.path(), None), Err(GitError::NoRepository { .. })));
}

#[test]
fn changes_since_the_common_ancestor() {
    let fixture = repository("AGENTS.md = Root.\\n");
    let top = fixture.path("");
    git(&top, &["checkout", "--quiet", "-b", "side"]);
    fixture.make("side/AGENTS.md = Side.\\n");
    commit(&fixture);
    git(&top, &["checkout", "--quiet", "main"]);
    fixture.make("main/AGENTS.md = Main.\\n");
    commit(&fixture);
    assert_eq!(found(&fixture, "main...side"), ["side +side/AGENTS.md - ~ !"]);
    assert_eq!(found(&fixture, "main..side").len(), 2);
}

#[test]
fn odd_names_and_links_in_circles() {
    let fixture = repository("AGENTS.md = Root.\\n\nloop/AGENTS.md -> AGENTS.md\nsrc -> .");
    let odd = "new\nline\u{1b}[31m";
    fixture.make(&format!("x/{}/AGENTS.md = Odd.\\n", "plain"));
    fs::rename(fixture.path("x/plain"), fixture.path("x").join(odd)).unwrap();
    let changes = changes_in(&fixture.path(""), "HEAD", &CODEX).unwrap();
    assert_eq!(changes.agents[0].changes[0].directories, [format!("x/{odd}")]);
    for text in [changes.text(), changes.markdown(), changes.github()] {
        assert!(!text.contains('\u{1b}') && !text.contains("new\nline"), "{text}");
    }
}

#[test]
fn a_long_comment_is_cut_and_counted() {
    let fixture = repository("AGENTS.md = Root.\\n");
    for number in 0..900 {
        fixture.make(&format!("{}/{number}/AGENTS.md = Text {number}.\\n", "d".repeat(60)));
    }
    let text = changes_in(&fixture.path(""), "HEAD", &CLAUDE_CODE).unwrap().markdown();
    assert!(text.starts_with("<!-- foreword-diff -->\n") && text.chars().count() <= 65_536);
    let last = text.lines().last().unwrap();
    assert!(last.ends_with("more changes do not fit here."), "{last}");
}
