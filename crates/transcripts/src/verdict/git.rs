//! Reads files of a repository as Git had them. Nothing of the repository is run: no hooks, filters or helpers.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use protocol::Timestamp;

/// Most bytes of an answer that are read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A repository.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// Top of the worktree; `None` for a bare repository.
    top: Option<PathBuf>,
    directory: Option<PathBuf>,
}

impl Repository {
    /// Returns the repository around a directory.
    pub(crate) fn around(directory: &Path) -> Option<Self> {
        let top = directory.ancestors().find(|above| above.join(".git").exists())?;
        Some(Self { top: Some(top.to_owned()), directory: None })
    }

    /// Returns a repository without a worktree.
    pub(crate) fn bare(directory: &Path) -> Self {
        Self { top: None, directory: Some(directory.to_owned()) }
    }

    /// Returns the top of the worktree.
    pub(crate) fn top(&self) -> Option<&Path> {
        self.top.as_deref()
    }

    /// Returns the text of a file in a commit or tree. `None` if it is not in it.
    pub(crate) fn text(&self, tree: &str, path: &Path) -> Option<String> {
        if !is_object(tree) {
            return None;
        }
        let name = format!("{tree}:{}", path.to_str()?);
        let bytes = self.run(&["cat-file", "blob", &name])?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the first parent of a commit, or the commit itself if it has none.
    pub(crate) fn parent(&self, commit: &str) -> String {
        let found = self.run(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")]);
        found.and_then(|found| object(&found)).unwrap_or_else(|| commit.to_owned())
    }

    /// Returns true if an object exists.
    pub(crate) fn has(&self, object: &str) -> bool {
        is_object(object) && self.run(&["cat-file", "-e", object]).is_some()
    }

    /// Returns the last commit before a time that the current branch contains.
    pub(crate) fn commit_at(&self, time: Timestamp) -> Option<String> {
        // Seconds are exact enough, because commit times have no fractions.
        let before = format!("--before={}", time.milliseconds() / 1000);
        let found = self.run(&["rev-list", "--max-count=1", &before, "HEAD", "--"])?;
        object(&found)
    }

    /// Returns the newest commits that changed the number of occurrences of a text in a file.
    pub(crate) fn commits_with(&self, text: &str, path: &Path) -> Vec<String> {
        let search = format!("-S{text}");
        let Some(path) = path.to_str() else { return Vec::new() };
        let format = "--format=%H";
        let arguments =
            ["log", "--max-count=20", format, "--no-textconv", "--no-ext-diff", &search, "--", path];
        let found = self.run(&arguments).unwrap_or_default();
        String::from_utf8_lossy(&found).lines().filter(|line| is_object(line)).map(str::to_owned).collect()
    }

    /// Returns the newest commits that changed a file.
    pub(crate) fn commits_of(&self, path: &Path, most: usize) -> Vec<String> {
        let Some(path) = path.to_str() else { return Vec::new() };
        let most = format!("--max-count={most}");
        let found = self.run(&["rev-list", &most, "HEAD", "--", path]).unwrap_or_default();
        String::from_utf8_lossy(&found).lines().filter(|line| is_object(line)).map(str::to_owned).collect()
    }

    fn run(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let mut command = Command::new("git");
        // A configuration in the repository could name programs. None of the commands here would run them, but these
        // settings make sure of it.
        command.args(["--no-pager", "--literal-pathspecs"]).args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "diff.external=",
            "-c",
            "protocol.allow=never",
        ]);
        for variable in
            ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_EXTERNAL_DIFF"]
        {
            command.env_remove(variable);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1");
        if let Some(directory) = &self.directory {
            command.arg("--git-dir").arg(directory);
        }
        command.current_dir(self.top.as_deref().or(self.directory.as_deref())?);
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut output = Vec::new();
        let read = child.stdout.take()?.take(MAX_BYTES + 1).read_to_end(&mut output);
        // More would not be an instruction file, and the process must not wait for a reader.
        if output.len() as u64 > MAX_BYTES {
            let _ = child.kill();
        }
        let status = child.wait().ok()?;
        (read.is_ok() && status.success()).then_some(output)
    }
}

fn object(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    is_object(text).then(|| text.to_owned())
}

/// Returns true for the name of an object, so that no option can be mistaken for one.
fn is_object(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
