//! Resolution of instruction files: a chain of eight directories, each with a file of 900 bytes.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use instructions::{Cache, FileSettings, Request, Resolver, Session, resolve};
use tempfile::TempDir;

struct Project {
    _directory: TempDir,
    cwd: PathBuf,
    settings: FileSettings,
}

impl Project {
    fn create() -> Result<Self, Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let mut cwd = directory.path().to_owned();
        fs::create_dir(cwd.join(".git"))?;
        for level in 0..8 {
            cwd.push(format!("level{level}"));
            fs::create_dir(&cwd)?;
            fs::write(cwd.join("AGENTS.md"), body())?;
        }
        // The cache does not trust files written within the last two seconds, because a second change in that time
        // could leave the same modification time.
        std::thread::sleep(Duration::from_millis(2_100));
        Ok(Self { _directory: directory, cwd, settings: FileSettings::default() })
    }

    fn request(&self) -> Request<'_> {
        Request { cwd: &self.cwd, settings: &self.settings }
    }
}

fn body() -> String {
    "- Run the tests before you commit, and say what failed.\n".repeat(16)
}

/// A resolution without a cache.
pub(crate) fn cold(times: usize) -> Result<(), Box<dyn Error>> {
    let project = Project::create()?;
    (0..times).try_for_each(|_| resolve(&project.request(), None).map(drop))?;
    Ok(())
}

/// A resolution with a cache, of unchanged files.
pub(crate) fn warm(times: usize) -> Result<(), Box<dyn Error>> {
    let project = Project::create()?;
    let cache = Cache::new();
    resolve(&project.request(), Some(&cache))?;
    (0..times).try_for_each(|_| resolve(&project.request(), Some(&cache)).map(drop))?;
    Ok(())
}

/// The resolution that a session makes for a tool call.
pub(crate) fn resolver(times: usize) -> Result<(), Box<dyn Error>> {
    let project = Project::create()?;
    let cache = Arc::new(Cache::new());
    let (session, _) = Session::start(&project.request(), Some(&cache))?;
    let resolver = Resolver::new(session, project.settings.clone(), cache);
    let target = project.cwd.join("file.rs");
    (0..times).try_for_each(|_| resolver.resolve(&target).map(drop))?;
    Ok(())
}

/// A text of 32 KiB made harmless.
pub(crate) fn neutralise(times: usize) -> Result<(), Box<dyn Error>> {
    let text = body().repeat(36);
    (0..times).for_each(|_| drop(std::hint::black_box(instructions::neutralise(&text))));
    Ok(())
}
