//! A tree in one string.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Runs Git in a directory, without the settings of this machine, and returns its output.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(directory).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
    command.args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A temporary tree, removed when the value is dropped.
pub(crate) struct Fixture {
    directory: TempDir,
}

impl Fixture {
    /// Each line is `PATH`, a directory if it ends with a slash, or `PATH = TEXT`, or `PATH -> TARGET` for a link, or
    /// `PATH * COUNT` for a file of so many bytes, or `PATH |` for a pipe. `.git/` is a repository that Git accepts.
    pub(crate) fn new(lines: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Self { directory };
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            fixture.make(line);
        }
        fixture
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        let root = self.directory.path();
        if below.is_empty() { root.to_owned() } else { root.join(below) }
    }

    /// Creates what a line describes.
    pub(crate) fn make(&self, line: &str) {
        let above = |path: &Path| fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some((path, text)) = line.split_once(" = ") {
            let path = self.path(path);
            above(&path);
            fs::write(path, text.replace("\\n", "\n")).unwrap();
        } else if let Some((path, target)) = line.split_once(" -> ") {
            let path = self.path(path);
            above(&path);
            std::os::unix::fs::symlink(target, path).unwrap();
        } else if let Some((path, count)) = line.split_once(" * ") {
            let path = self.path(path);
            above(&path);
            fs::write(path, "0123456\n".repeat(count.parse::<usize>().unwrap() / 8)).unwrap();
        } else if let Some(path) = line.strip_suffix(" |") {
            let path = self.path(path);
            above(&path);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
        } else if let Some(path) = line.strip_suffix('/') {
            fs::create_dir_all(self.path(path)).unwrap();
            if path.ends_with(".git") {
                fs::create_dir_all(self.path(path).join("objects")).unwrap();
                fs::create_dir_all(self.path(path).join("refs")).unwrap();
                fs::write(self.path(path).join("HEAD"), "ref: refs/heads/main\n").unwrap();
            }
        } else {
            let path = self.path(line);
            above(&path);
            fs::write(path, "").unwrap();
        }
    }
}
