//! Tests of restoring, with changes made directly instead of by a command.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;
use crate::{Permissions, ToolLimits};

struct TestWorkspace {
    directory: tempfile::TempDir,
    context: ToolContext,
    baselines: Arc<Baselines>,
}

impl TestWorkspace {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_limits(files, ToolLimits::default())
    }

    fn with_limits(files: &[(&str, &str)], limits: ToolLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let permissions = Permissions { protected: Permission::Deny, ..Permissions::default() };
        let context = ToolContext::open(&root, &root).unwrap();
        let context = context.with_permissions(permissions).with_limits(limits);
        Self { directory, context, baselines: Arc::default() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    async fn begin(&self, level: SandboxLevel) -> ProtectedFiles {
        ProtectedFiles::begin(&self.context, level, &self.baselines).await.unwrap()
    }

    /// Opens a subdirectory as a workspace of its own.
    fn below(&self, path: &str) -> ToolContext {
        let root = self.path(path);
        let context = ToolContext::open(&root, &root).unwrap();
        context.with_permissions(self.context.permissions())
    }
}

fn told(changes: &ProtectedChanges) -> Vec<(&str, FileChange, bool)> {
    let all = changes.changes.iter();
    all.map(|(path, change, undone)| (path.to_str().unwrap(), *change, *undone)).collect()
}

#[tokio::test]
async fn planted_file_is_not_restored_by_a_parallel_command() {
    let workspace = TestWorkspace::new(&[("AGENTS.md", "genuine"), ("sub/AGENTS.md", "below")]);
    // The second command starts while the first one's changes are on disk, so its own reading of the files is wrong.
    let first = workspace.begin(SandboxLevel::Confined).await;
    fs::write(workspace.path("AGENTS.md"), "evil").unwrap();
    fs::remove_file(workspace.path("sub/AGENTS.md")).unwrap();
    fs::write(workspace.path("AGENTS.override.md"), "evil").unwrap();
    let second = workspace.begin(SandboxLevel::Confined).await;
    let changes = first.end().await;
    assert_eq!(
        told(&changes),
        [
            ("AGENTS.md", FileChange::Changed, true),
            ("AGENTS.override.md", FileChange::New, true),
            ("sub/AGENTS.md", FileChange::Removed, true),
        ]
    );
    let changes = second.end().await;
    assert_eq!(told(&changes), [], "the second command changed nothing");
    assert_eq!(
        (workspace.read("AGENTS.md"), workspace.read("sub/AGENTS.md")),
        ("genuine".into(), "below".into())
    );
    assert!(!workspace.path("AGENTS.override.md").exists());
}

#[tokio::test]
async fn second_command_restores_changes_of_the_first() {
    let workspace = TestWorkspace::new(&[("AGENTS.md", "genuine")]);
    let first = workspace.begin(SandboxLevel::Confined).await;
    fs::write(workspace.path("AGENTS.md"), "evil").unwrap();
    let second = workspace.begin(SandboxLevel::Confined).await;
    assert_eq!(told(&second.end().await), [("AGENTS.md", FileChange::Changed, true)]);
    assert_eq!(workspace.read("AGENTS.md"), "genuine");
    fs::write(workspace.path("AGENTS.md"), "evil again").unwrap();
    assert_eq!(told(&first.end().await), [("AGENTS.md", FileChange::Changed, true)]);
    assert_eq!(workspace.read("AGENTS.md"), "genuine");
}

#[tokio::test]
async fn nested_workspaces_share_baselines() {
    let workspace = TestWorkspace::new(&[("sub/AGENTS.md", "genuine"), ("sub/b/AGENTS.md", "deeper")]);
    let outer = workspace.begin(SandboxLevel::Confined).await;
    fs::write(workspace.path("sub/AGENTS.md"), "evil").unwrap();
    fs::write(workspace.path("sub/AGENTS.override.md"), "evil").unwrap();
    let inner = ProtectedFiles::begin(&workspace.below("sub"), SandboxLevel::Confined, &workspace.baselines)
        .await
        .unwrap();
    fs::write(workspace.path("sub/b/AGENTS.md"), "evil").unwrap();
    assert_eq!(told(&outer.end().await).len(), 3);
    assert_eq!(told(&inner.end().await), []);
    let found = ["sub/AGENTS.md", "sub/b/AGENTS.md"].map(|path| workspace.read(path));
    assert_eq!(found, ["genuine", "deeper"]);
    assert!(!workspace.path("sub/AGENTS.override.md").exists());
}

// A link cannot be mounted over, so it must be restored instead.
#[tokio::test]
async fn isolated_command_cannot_replace_a_link() {
    let workspace = TestWorkspace::new(&[("AGENTS.md", "genuine"), ("other", "evil")]);
    symlink("AGENTS.md", workspace.path("AGENTS.override.md")).unwrap();
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    assert_eq!(watch.mounts(), [workspace.context.root().unwrap().join("AGENTS.md")]);
    fs::remove_file(workspace.path("AGENTS.override.md")).unwrap();
    symlink("other", workspace.path("AGENTS.override.md")).unwrap();
    assert_eq!(told(&watch.end().await), [("AGENTS.override.md", FileChange::Changed, true)]);
    assert_eq!(fs::read_link(workspace.path("AGENTS.override.md")).unwrap(), PathBuf::from("AGENTS.md"));
}

#[tokio::test]
async fn files_beyond_the_mount_limit_are_restored() {
    let files = &[
        ("z/AGENTS.md", "near"),
        ("a/b/AGENTS.md", "far"),
        ("a/b/.vscode/tasks.json", "{}"),
        ("a/b/c/.git/hooks/pre-commit", "genuine"),
    ];
    let limits = ToolLimits { mounts: 1, ..ToolLimits::default() };
    let workspace = TestWorkspace::with_limits(files, limits);
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    assert_eq!(watch.mounts(), [workspace.context.root().unwrap().join("z/AGENTS.md")]);
    // New files nearer to the root: the choice of mounts would be different now, and must not be made again.
    for index in 0..3 {
        fs::create_dir(workspace.path(&format!("{index}"))).unwrap();
        fs::write(workspace.path(&format!("{index}/AGENTS.md")), "evil").unwrap();
    }
    fs::write(workspace.path("a/b/AGENTS.md"), "evil").unwrap();
    fs::write(workspace.path("a/b/.vscode/tasks.json"), "evil").unwrap();
    fs::write(workspace.path("a/b/c/.git/hooks/pre-commit"), "evil").unwrap();
    let changes = watch.end().await;
    assert_eq!(told(&changes).len(), 6);
    assert!(told(&changes).iter().all(|(.., undone)| *undone), "{changes:?}");
    assert_eq!(workspace.read("a/b/AGENTS.md"), "far");
    assert_eq!(workspace.read("a/b/.vscode/tasks.json"), "{}");
    assert_eq!(workspace.read("a/b/c/.git/hooks/pre-commit"), "genuine");
}

// The content of a mounted directory is not in the first snapshot. A second one that reads it must not see it as new.
#[tokio::test]
async fn mounted_directory_is_never_restored() {
    let limits = ToolLimits { mounts: 1, ..ToolLimits::default() };
    let workspace = TestWorkspace::with_limits(&[(".git/config", "genuine"), (".git/hooks/x", "")], limits);
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    fs::write(workspace.path("AGENTS.md"), "evil").unwrap();
    assert_eq!(told(&watch.end().await), [("AGENTS.md", FileChange::New, true)]);
    assert_eq!(workspace.read(".git/config"), "genuine");
}

#[tokio::test]
async fn directory_replaced_by_a_link_is_restored() {
    let workspace = TestWorkspace::new(&[(".vscode/tasks.json", "{}"), ("other/tasks.json", "evil")]);
    let watch = workspace.begin(SandboxLevel::Confined).await;
    fs::remove_dir_all(workspace.path(".vscode")).unwrap();
    symlink("other", workspace.path(".vscode")).unwrap();
    let changes = watch.end().await;
    assert_eq!(
        told(&changes),
        [(".vscode", FileChange::Changed, true), (".vscode/tasks.json", FileChange::Removed, true)]
    );
    assert!(!workspace.path(".vscode").is_symlink());
    assert_eq!(workspace.read(".vscode/tasks.json"), "{}");
}

// Time ran out after the root was listed and before all other directories were.
#[tokio::test]
async fn new_files_are_found_after_a_partial_snapshot() {
    let workspace = TestWorkspace::new(&[("a/AGENTS.md", "genuine"), ("b/file", "")]);
    let watch = workspace.begin(SandboxLevel::Confined).await;
    watch.baseline.forget_below(Path::new("a"));
    fs::write(workspace.path("AGENTS.override.md"), "evil").unwrap();
    fs::write(workspace.path("b/AGENTS.md"), "evil").unwrap();
    let changes = watch.end().await;
    assert_eq!(
        told(&changes),
        [("AGENTS.override.md", FileChange::New, true), ("b/AGENTS.md", FileChange::New, true)]
    );
    assert!(changes.is_partial && workspace.path("a/AGENTS.md").exists());
}

#[tokio::test]
async fn nothing_counts_as_new_without_a_snapshot() {
    let limits = ToolLimits { watch_time: Duration::ZERO, ..ToolLimits::default() };
    let workspace = TestWorkspace::with_limits(&[("AGENTS.md", "genuine")], limits);
    // Only the second snapshot gets time. Comparing it with an empty first one would report every file as new.
    let mut watch = workspace.begin(SandboxLevel::Confined).await;
    watch.context = watch.context.clone().with_limits(ToolLimits::default());
    let changes = watch.end().await;
    assert!(told(&changes).is_empty() && changes.is_partial && workspace.path("AGENTS.md").exists());
}

/// A workspace with a journal and a place for replaced versions, both outside of it.
fn journaled(files: &[(&str, &str)]) -> (TestWorkspace, tempfile::TempDir) {
    let mut workspace = TestWorkspace::new(files);
    let data = tempfile::tempdir().unwrap();
    let context = workspace.context.clone();
    workspace.context =
        context.with_journal(data.path().join("journal")).with_set_aside(data.path().join("undone"));
    (workspace, data)
}

fn restart(data: &tempfile::TempDir) -> Vec<RestoredFiles> {
    restore_after_kill(&data.path().join("journal"), &data.path().join("undone"))
}

#[tokio::test]
async fn next_start_restores_what_a_killed_gateway_left() {
    let files =
        &[("AGENTS.md", "genuine"), (".git/hooks/x", "genuine"), ("sub/AGENTS.md", "below"), ("a", "")];
    let (workspace, data) = journaled(files);
    let mut command = workspace.begin(SandboxLevel::Confined).await;
    fs::write(workspace.path("AGENTS.md"), "evil").unwrap();
    fs::write(workspace.path(".git/hooks/pre-commit"), "evil").unwrap();
    fs::write(workspace.path(".git/hooks/x"), b"evil \xff").unwrap();
    fs::remove_file(workspace.path("sub/AGENTS.md")).unwrap();
    fs::write(workspace.path("a"), "ordinary").unwrap();
    // Killed: nothing compares or removes anything.
    std::mem::forget(command.journal.take());
    drop(command);
    let [restored] = &restart(&data)[..] else { panic!("one workspace") };
    let paths = [".git/hooks/pre-commit", ".git/hooks/x", "AGENTS.md", "sub/AGENTS.md"].map(PathBuf::from);
    assert_eq!((&restored.restored[..], &restored.left[..]), (&paths[..], &[][..]));
    assert_eq!(workspace.read("AGENTS.md"), "genuine");
    assert_eq!(workspace.read(".git/hooks/x"), "genuine");
    assert_eq!(workspace.read("sub/AGENTS.md"), "below");
    assert!(!workspace.path(".git/hooks/pre-commit").exists());
    assert_eq!(workspace.read("a"), "ordinary");
    assert_eq!(fs::read_to_string(restored.set_aside[0].join("AGENTS.md")).unwrap(), "evil");
    assert_eq!(restart(&data), [], "only once");
}

#[tokio::test]
async fn next_start_leaves_what_the_user_wrote_later() {
    let (workspace, data) = journaled(&[("AGENTS.md", "genuine")]);
    let command = workspace.begin(SandboxLevel::Confined).await;
    let entry = command.journal().unwrap();
    let before = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, format!("{before}ended 1000 0\n")).unwrap();
    fs::write(workspace.path("AGENTS.md"), "edited by the user").unwrap();
    std::mem::forget(command);
    let restored = restart(&data);
    assert_eq!(
        (&restored[0].restored[..], &restored[0].left[..]),
        (&[][..], &[PathBuf::from("AGENTS.md")][..])
    );
    assert_eq!(workspace.read("AGENTS.md"), "edited by the user");
}

#[tokio::test]
async fn ended_command_leaves_no_journal() {
    let (workspace, data) = journaled(&[("AGENTS.md", "genuine")]);
    let command = workspace.begin(SandboxLevel::Confined).await;
    assert!(command.journal().unwrap().exists());
    command.end().await;
    assert_eq!(fs::read_dir(data.path().join("journal")).unwrap().count(), 0);
}

#[tokio::test]
async fn command_does_not_run_without_its_journal() {
    let (mut workspace, data) = journaled(&[("AGENTS.md", "genuine")]);
    fs::write(data.path().join("file"), "").unwrap();
    workspace.context = workspace.context.clone().with_journal(data.path().join("file/journal"));
    let begun = ProtectedFiles::begin(&workspace.context, SandboxLevel::Confined, &workspace.baselines).await;
    assert!(begun.is_err());
}

#[tokio::test]
async fn commands_cannot_change_what_protected_links_lead_to() {
    let workspace = TestWorkspace::new(&[
        ("cfg/claude/settings.json", "genuine"),
        ("bare/HEAD", "ref"),
        ("bare/objects/x", ""),
        ("bare/refs/x", ""),
        ("bare/config", "genuine"),
    ]);
    fs::create_dir(workspace.path("z")).unwrap();
    // Listed after its target, which the first walk has passed by then.
    symlink("../cfg/claude", workspace.path("z/.claude")).unwrap();
    let watch = workspace.begin(SandboxLevel::Confined).await;
    for path in ["cfg/claude/settings.json", "cfg/claude/new", "bare/config"] {
        fs::write(workspace.path(path), "evil").unwrap();
    }
    fs::create_dir(workspace.path("bare/hooks")).unwrap();
    // A repository that the command makes is its own.
    for directory in ["new/objects", "new/refs"] {
        fs::create_dir_all(workspace.path(directory)).unwrap();
    }
    fs::write(workspace.path("new/HEAD"), "ref").unwrap();
    fs::write(workspace.path("new/config"), "own").unwrap();
    let changes = watch.end().await;
    assert_eq!(
        told(&changes),
        [
            ("bare/config", FileChange::Changed, true),
            ("bare/hooks", FileChange::New, true),
            ("cfg/claude/new", FileChange::New, true),
            ("cfg/claude/settings.json", FileChange::Changed, true),
        ]
    );
    assert_eq!(workspace.read("cfg/claude/settings.json"), "genuine");
    assert_eq!(workspace.read("new/config"), "own");
}
