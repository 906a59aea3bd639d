//! What is put back, without a command that did it.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;
use crate::{Permissions, ToolLimits};

struct Workspace {
    directory: tempfile::TempDir,
    context: ToolContext,
    baselines: Arc<Baselines>,
}

impl Workspace {
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
        ProtectedFiles::begin(&self.context, level, &self.baselines).await
    }

    /// The same files as a workspace of its own that begins further down.
    fn below(&self, path: &str) -> ToolContext {
        let root = self.path(path);
        let context = ToolContext::open(&root, &root).unwrap();
        context.with_permissions(self.context.permissions())
    }
}

fn told(changes: &Changes) -> Vec<(&str, FileChange, bool)> {
    let all = changes.changes.iter();
    all.map(|(path, change, undone)| (path.to_str().unwrap(), *change, *undone)).collect()
}

#[tokio::test]
async fn what_one_command_planted_is_not_put_back_by_another_beside_it() {
    let workspace = Workspace::new(&[("AGENTS.md", "genuine"), ("sub/AGENTS.md", "below")]);
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
    assert_eq!(told(&changes), [], "the second one has changed nothing");
    assert_eq!(
        (workspace.read("AGENTS.md"), workspace.read("sub/AGENTS.md")),
        ("genuine".into(), "below".into())
    );
    assert!(!workspace.path("AGENTS.override.md").exists());
}

#[tokio::test]
async fn the_second_of_two_commands_puts_back_what_the_first_one_did() {
    let workspace = Workspace::new(&[("AGENTS.md", "genuine")]);
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
async fn commands_of_workspaces_one_inside_the_other_share_what_was_there_before() {
    let workspace = Workspace::new(&[("sub/AGENTS.md", "genuine"), ("sub/b/AGENTS.md", "deeper")]);
    let outer = workspace.begin(SandboxLevel::Confined).await;
    fs::write(workspace.path("sub/AGENTS.md"), "evil").unwrap();
    fs::write(workspace.path("sub/AGENTS.override.md"), "evil").unwrap();
    let inner =
        ProtectedFiles::begin(&workspace.below("sub"), SandboxLevel::Confined, &workspace.baselines).await;
    fs::write(workspace.path("sub/b/AGENTS.md"), "evil").unwrap();
    assert_eq!(told(&outer.end().await).len(), 3);
    assert_eq!(told(&inner.end().await), []);
    let found = ["sub/AGENTS.md", "sub/b/AGENTS.md"].map(|path| workspace.read(path));
    assert_eq!(found, ["genuine", "deeper"]);
    assert!(!workspace.path("sub/AGENTS.override.md").exists());
}

/// A link cannot be mounted over.
#[tokio::test]
async fn an_isolated_command_cannot_replace_a_link() {
    let workspace = Workspace::new(&[("AGENTS.md", "genuine"), ("other", "evil")]);
    symlink("AGENTS.md", workspace.path("AGENTS.override.md")).unwrap();
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    assert_eq!(watch.mounts(), [workspace.context.root().unwrap().join("AGENTS.md")]);
    fs::remove_file(workspace.path("AGENTS.override.md")).unwrap();
    symlink("other", workspace.path("AGENTS.override.md")).unwrap();
    assert_eq!(told(&watch.end().await), [("AGENTS.override.md", FileChange::Changed, true)]);
    assert_eq!(fs::read_link(workspace.path("AGENTS.override.md")).unwrap(), PathBuf::from("AGENTS.md"));
}

#[tokio::test]
async fn what_is_past_the_limit_of_mounts_is_put_back_and_the_nearest_are_mounted() {
    let files = &[
        ("z/AGENTS.md", "near"),
        ("a/b/AGENTS.md", "far"),
        ("a/b/.vscode/tasks.json", "{}"),
        ("a/b/c/.git/hooks/pre-commit", "genuine"),
    ];
    let limits = ToolLimits { mounts: 1, ..ToolLimits::default() };
    let workspace = Workspace::with_limits(files, limits);
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    assert_eq!(watch.mounts(), [workspace.context.root().unwrap().join("z/AGENTS.md")]);
    // Many new ones that are nearer, so that another choice would be made now.
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

/// What is in a mounted directory was not looked at, and must not be taken for new when more is looked at later.
#[tokio::test]
async fn a_mounted_directory_stays_as_it_is_whatever_else_appears() {
    let limits = ToolLimits { mounts: 1, ..ToolLimits::default() };
    let workspace = Workspace::with_limits(&[(".git/config", "genuine"), (".git/hooks/x", "")], limits);
    let watch = workspace.begin(SandboxLevel::Isolated).await;
    fs::write(workspace.path("AGENTS.md"), "evil").unwrap();
    assert_eq!(told(&watch.end().await), [("AGENTS.md", FileChange::New, true)]);
    assert_eq!(workspace.read(".git/config"), "genuine");
}

#[tokio::test]
async fn a_directory_that_became_a_link_is_a_directory_again() {
    let workspace = Workspace::new(&[(".vscode/tasks.json", "{}"), ("other/tasks.json", "evil")]);
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

/// Time was over before all directories were listed; the root was.
#[tokio::test]
async fn new_files_are_found_where_the_first_look_was_not_complete() {
    let workspace = Workspace::new(&[("a/AGENTS.md", "genuine"), ("b/file", "")]);
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
async fn without_any_time_nothing_is_taken_for_new() {
    let limits = ToolLimits { watch_time: Duration::ZERO, ..ToolLimits::default() };
    let workspace = Workspace::with_limits(&[("AGENTS.md", "genuine")], limits);
    let mut watch = workspace.begin(SandboxLevel::Confined).await;
    watch.context = watch.context.clone().with_limits(ToolLimits::default());
    let changes = watch.end().await;
    assert!(told(&changes).is_empty() && changes.is_partial && workspace.path("AGENTS.md").exists());
}
