//! Project for the tests of sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::{
    Announcement, Cache, ContentHash, FileRead, FileReader, FileSettings, Reminder, Request, Resolver,
    ResumeDifference, Session,
};
use serde_json::json;

use crate::support::Tree;

/// A project with files on several levels.
pub(crate) struct Project {
    pub(crate) tree: Tree,
    pub(crate) root: PathBuf,
    pub(crate) settings: FileSettings,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Tree::new();
        let root = tree.directory("root");
        tree.fill(&root, &json!({ ".git": { "dir": true } }));
        let project = Self { tree, root, settings: FileSettings::default() };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn request<'a>(&'a self, cwd: &'a Path) -> Request<'a> {
        Request { cwd, settings: &self.settings }
    }

    pub(crate) fn session(&self, cwd: &str) -> Session {
        let cwd = self.root.join(cwd);
        fs::create_dir_all(&cwd).unwrap();
        Session::start(&self.request(&cwd), None).unwrap().0
    }

    pub(crate) fn resolver(&self, session: Session) -> Resolver {
        // Each resolver has an empty cache, like a process that continues a stored session.
        Resolver::new(session, self.settings.clone(), Arc::new(Cache::new()))
    }

    pub(crate) fn names(&self, announcement: &Announcement) -> Vec<String> {
        let relative = |path: &Path| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
        let files = announcement.resolved().files.into_iter().map(|file| relative(&file.path));
        let removed = announcement.removed().into_iter().map(|path| format!("-{}", relative(&path)));
        files.chain(removed).collect()
    }

    pub(crate) fn difference(&self, session: &Session, cwd: &str) -> ResumeDifference {
        let cwd = self.root.join(cwd);
        ResumeDifference::find(session, &self.request(&cwd), FileReader::Present, None).unwrap()
    }
}

pub(crate) fn read(path: &Path, text: &str) -> FileRead {
    FileRead { path: path.to_owned(), sha256: ContentHash::of(text), version: None }
}

/// Returns the texts of a reminder's files; `None` for a file that is only named.
pub(crate) fn texts(announcement: &Announcement) -> Vec<Option<String>> {
    match announcement.reminder() {
        Some(Reminder::AgentsResolvePaths { files, .. }) => {
            files.into_iter().map(|file| file.block).collect()
        }
        _ => Vec::new(),
    }
}
