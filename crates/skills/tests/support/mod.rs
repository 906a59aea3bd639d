//! A home directory and a project in a temporary directory.

#![allow(clippy::allow_attributes, dead_code, reason = "each test program uses a part")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protocol::SkillSummary;
use skills::{Activation, Catalogue, Situation, SkillCache, SkillRequest, TrustFile, candidates, resolve};

pub(crate) struct Tree {
    _directory: tempfile::TempDir,
    root: PathBuf,
    pub(crate) folders: Vec<PathBuf>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self::in_directory(tempfile::tempdir().unwrap())
    }

    /// Uses a file system in memory if there is one, for tests with very many files.
    pub(crate) fn in_memory() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        Self::in_directory(memory.or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn in_directory(directory: tempfile::TempDir) -> Self {
        let root = directory.path().canonicalize().unwrap();
        let tree = Self { _directory: directory, root, folders: Vec::new() };
        fs::create_dir_all(tree.path("project/src")).unwrap();
        fs::create_dir_all(tree.path("home")).unwrap();
        tree
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a skill with a name, a description and more lines of front matter.
    pub(crate) fn skill(&self, folder: &str, name: &str, more: &str) {
        let text = format!("---\nname: {name}\ndescription: Does {name}\n{more}---\nDo {name}.\n");
        self.write(&format!("{folder}/SKILL.md"), text);
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, link: &str) {
        let link = self.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }

    /// Waits until the files are old enough for the cache to trust their times.
    pub(crate) fn rest(&self) {
        fn newest(path: &Path) -> i64 {
            let metadata = fs::symlink_metadata(path).unwrap();
            let below = metadata.is_dir().then(|| fs::read_dir(path).unwrap());
            let below = below.into_iter().flatten().map(|entry| newest(&entry.unwrap().path()));
            below.max().unwrap_or(i64::MIN).max(metadata.ctime())
        }
        // One second more than the required two, because some file systems store whole seconds.
        let until = UNIX_EPOCH + Duration::from_secs(newest(&self.root).unsigned_abs() + 3);
        while let Ok(left) = until.duration_since(SystemTime::now()) {
            std::thread::sleep(left + Duration::from_millis(1));
        }
    }

    pub(crate) fn resolve(&self) -> Arc<Catalogue> {
        self.resolve_in("project", None)
    }

    pub(crate) fn resolve_in(&self, cwd: &str, cache: Option<&SkillCache>) -> Arc<Catalogue> {
        let home = self.path("home");
        let root = self.path("project");
        let cwd = self.path(cwd);
        let request = SkillRequest {
            root: Some(&root),
            cwd: Some(&cwd),
            folders: &self.folders,
            ..SkillRequest::new(&home)
        };
        resolve(&request, cache)
    }

    pub(crate) fn activate(&self, situation: &Situation<'_>) -> Activation {
        self.resolve().activate(situation)
    }

    pub(crate) fn trust(&self, path: &str) {
        let file = self.trust_file();
        let (found, _) = candidates(&self.path(path), &file.read().unwrap()).unwrap();
        let chosen: Vec<_> = found.iter().filter(|candidate| candidate.problem.is_none()).collect();
        assert!(!chosen.is_empty(), "{path}");
        file.trust(&chosen).unwrap();
    }

    pub(crate) fn trust_file(&self) -> TrustFile {
        TrustFile::new(&self.path("home"))
    }

    /// Returns a line with the outcome of each skill.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        lines(&self.activate(&Situation::default()).summaries())
    }
}

pub(crate) fn lines(summaries: &[SkillSummary]) -> Vec<String> {
    let line = |skill: &SkillSummary| {
        let reason = skill.reason.map(|reason| reason.to_string()).unwrap_or_default();
        format!("{} {} {reason}", skill.slug, skill.outcome)
    };
    summaries.iter().map(line).collect()
}
