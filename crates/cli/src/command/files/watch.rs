//! `foreword watch`: prints the explanation again whenever it changes.

mod changes;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use compare::{Absent, Shown};
use instructions::Resolution;
use notify::{RecursiveMode, Watcher as _};
use protocol::Timestamp;
use serde::Serialize;
use tokio::sync::mpsc;

use super::explain::explain;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::{Reader, reader};
use crate::signals::StopSignals;

/// Debounce time: an editor that replaces a file causes several events.
const GATHER: Duration = Duration::from_millis(100);
/// Polling interval for changes without events, such as those of a link's target.
const LOOK_EVERY: Duration = Duration::from_secs(2);

pub(crate) async fn run(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    // Listening starts before the first resolution, so that a signal during it is not lost.
    let mut stop = StopSignals::listen()?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Ignore read access, which our own resolution causes, and react to everything else.
        if !matches!(event, Ok(notify::Event { kind: notify::EventKind::Access(_), .. })) {
            // The receiver is only dropped when the command ends, so a failed send does not matter.
            let _ = sender.send(());
        }
    })
    .map_err(|error| Failure::caused_by(Exit::Failed, "could not watch for changes", error))?;
    let mut watched: HashSet<PathBuf> = HashSet::new();
    let mut last: Option<Resolution> = None;
    let mut last_error: Option<String> = None;
    loop {
        // The directory is resolved again as a whole: an event does not reveal which rules it affects, and
        // resolving is fast.
        match instructions::survey(&files.request(&cwd)) {
            Ok(resolution) => {
                watch(&mut watcher, &mut watched, &resolution, &files);
                let is_same = last.as_ref().is_some_and(|last| fingerprint(last) == fingerprint(&resolution));
                // After an error, even an unchanged state is worth printing.
                if !is_same || last_error.take().is_some() {
                    if tell(context, last.as_ref(), &resolution)? == Reader::Gone {
                        return Ok(Exit::Done);
                    }
                    last = Some(resolution);
                }
            }
            // At the start an error is the result of the command. Later it may pass.
            Err(error) if last.is_none() => return Err(files.failure(&error)),
            // The directory may vanish briefly, as when git switches branches.
            Err(error) => {
                let message = error.to_string();
                if last_error.as_ref() != Some(&message) {
                    context.output.warning(&message, None);
                    last_error = Some(message);
                }
            }
        }
        let wait = async {
            tokio::select! {
                _ = events.recv() => {
                    tokio::time::sleep(GATHER).await;
                    while events.try_recv().is_ok() {}
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        };
        // The wait is a future of its own, so that a signal ends it immediately, even during the pause for further
        // events.
        tokio::select! {
            () = wait => {}
            () = stop.next() => return Ok(Exit::Done),
        }
        // The reader may leave between two changes, which printing alone would notice only at the next one.
        if reader() == Reader::Gone {
            return Ok(Exit::Done);
        }
    }
}

/// Prints the full explanation first and then only differences. Programs always get everything.
fn tell(context: &Context, last: Option<&Resolution>, now: &Resolution) -> Result<Reader, Failure> {
    let at = Timestamp::now();
    let reader = context.output.data(&Watched { at, resolution: Shown::new(now) }, || match last {
        Some(last) => changes::describe(last, now, at),
        None => explain(now, Absent::LeftOut),
    })?;
    if last.is_none() {
        context.output.note("watching; stop with Ctrl-C");
    }
    Ok(reader)
}

/// Explanation with the time it was determined.
#[derive(Serialize)]
struct Watched<'a> {
    at: Timestamp,
    #[serde(flatten)]
    resolution: Shown<'a>,
}

/// Watches the relevant directories, including replaced ones.
fn watch(
    watcher: &mut notify::RecommendedWatcher,
    watched: &mut HashSet<PathBuf>,
    resolution: &Resolution,
    files: &Files,
) {
    let imports = resolution.files.iter().filter_map(|file| file.path.parent());
    let directories = resolution.directories.iter().map(PathBuf::as_path).chain(files.settings.homes.all());
    let directories = directories.chain(imports);
    // Directories are watched instead of files, so that new candidates are noticed as well as replaced ones.
    let wanted: HashSet<PathBuf> = directories.filter(|path| path.is_dir()).map(Path::to_owned).collect();
    // Failures are ignored: a directory may vanish at any time, and the regular look finds changes without
    // events.
    for gone in watched.difference(&wanted) {
        let _ = watcher.unwatch(gone);
    }
    for directory in &wanted {
        // A watch follows the inode, so a replaced directory must be watched again. Repeating the call is cheap.
        let _ = watcher.unwatch(directory);
        let _ = watcher.watch(directory, RecursiveMode::NonRecursive);
    }
    *watched = wanted;
}

/// Returns what distinguishes two explanations, ignoring timestamps.
fn fingerprint(resolution: &Resolution) -> String {
    let files: Vec<(&Path, &str)> =
        resolution.files.iter().map(|file| (file.path.as_path(), file.sha256.as_str())).collect();
    format!(
        "{:?} {files:?} {:?} {:?} {:?}",
        resolution.root, resolution.decisions, resolution.diagnostics, resolution.text
    )
}
