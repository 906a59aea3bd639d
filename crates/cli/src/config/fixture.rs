//! A system, user and project configuration in a temporary directory.

use std::ffi::OsString;
use std::path::PathBuf;

use tempfile::TempDir;

use super::flag::Flag;
use super::key::Key;
use super::value::Value;
use super::{Configuration, Sources, Warning};
use crate::failure::Failure;

/// Contains `system.toml`, `home/config.toml`, and `project` with a `.git`, which is the working directory.
pub(super) struct Fixture {
    directory: TempDir,
    /// The file of `--config`.
    pub(super) named: Option<PathBuf>,
    /// Start of the search for the project, relative to the working directory.
    pub(super) start: PathBuf,
    environment: Vec<(OsString, OsString)>,
    flags: Vec<Flag>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let named = None;
        let start = PathBuf::from(".");
        let fixture = Fixture { directory, named, start, environment: Vec::new(), flags: Vec::new() };
        // The marker makes the directory a project root, so that the search never leaves the temporary directory.
        std::fs::create_dir_all(fixture.path("project/.git")).unwrap();
        fixture
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn system(&mut self, text: &str) {
        self.write("system.toml", text);
    }

    pub(super) fn user(&mut self, text: &str) {
        self.write("home/config.toml", text);
    }

    pub(super) fn project(&mut self, text: &str) {
        self.write("project/.foreword/config.toml", text);
    }

    pub(super) fn variable(&mut self, name: &str, value: &str) {
        self.environment.push((name.into(), value.into()));
    }

    pub(super) fn flag(&mut self, name: &str, key: &str, value: impl Into<Value>) {
        let key = Key::find(key).unwrap();
        self.flags.push(Flag { name: name.to_owned(), key, value: value.into() });
    }

    pub(super) fn load(&self) -> Result<(Configuration, Vec<Warning>), Failure> {
        Configuration::load(Sources {
            system: self.path("system.toml"),
            user: self.path("home/config.toml"),
            named: self.named.clone(),
            working_directory: self.path("project"),
            project_start: self.start.clone(),
            environment: self.environment.clone().into_iter(),
            flags: self.flags.clone(),
        })
    }
}
