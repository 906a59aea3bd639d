//! Starts a gateway on this machine.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::state::files;
use crate::state::paths::{self, Paths};
use crate::strings::link as words;

/// Last lines of a gateway's log to show: the error, its hints, and the context.
const LAST_LINES: usize = 4;

/// Error of starting a gateway.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{}", words::NOT_FOUND)]
    NotFound,
    #[error("could not start {}: {source}", program.display())]
    Failed { program: PathBuf, source: io::Error },
}

/// Finds the command beside this program or on the PATH.
pub fn find(own: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let name = format!("foreword{EXE_SUFFIX}");
    // The command beside this program comes from the same build or archive, so its protocol fits. One on the
    // PATH may be older.
    let beside = own.and_then(Path::parent).map(|directory| directory.join(&name));
    let on_path =
        path.map(std::env::split_paths).into_iter().flatten().map(|directory| directory.join(&name));
    beside.into_iter().chain(on_path).find(|candidate| candidate.is_file())
}

/// Runs `foreword serve` on a data directory. The gateway outlives this program, because others may use it by
/// then.
pub fn start(program: &Path, data: &Path, log: &Path) -> Result<Child, StartError> {
    let failed = |source| StartError::Failed { program: program.to_owned(), source };
    if let Some(directory) = log.parent() {
        files::make_directory(directory).map_err(failed)?;
    }
    // The log of the previous start is replaced, so the last lines always belong to this one. It may contain
    // paths and names, so it is private.
    let log = files::private_file(log).map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("--data").arg(data).arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // The command warns about unknown `FOREWORD_` variables, and these belong to this program.
    for variable in [paths::STATE_VARIABLE, paths::PROGRAM_VARIABLE] {
        command.env_remove(variable);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // In a process group of its own, Ctrl+C in the terminal that started this program does not stop the
        // gateway.
        command.process_group(0);
    }
    command.spawn().map_err(failed)
}

/// Returns the log file of a gateway that was started by this program.
pub fn log(paths: &Paths) -> PathBuf {
    paths.state.join("gateway.log")
}

/// Finds the command and starts it.
pub fn find_and_start(paths: &Paths) -> Result<Child, StartError> {
    let own = std::env::current_exe().ok();
    let found = || find(own.as_deref(), std::env::var_os("PATH").as_deref());
    let program = paths.program.clone().or_else(found).ok_or(StartError::NotFound)?;
    start(&program, &paths.data, &log(paths))
}

/// Returns the last lines of the log, which explain why the gateway ended.
pub fn last_words(paths: &Paths) -> String {
    let text = fs::read(log(paths)).unwrap_or_default();
    // The log may end in the middle of a character if the process was killed.
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn program_beside_the_application_comes_first() {
        let beside = tempfile::tempdir().unwrap();
        let on_path = tempfile::tempdir().unwrap();
        let name = format!("foreword{EXE_SUFFIX}");
        let own = beside.path().join("foreword-desktop");
        let path = std::env::join_paths([on_path.path()]).unwrap();
        assert_eq!(find(Some(&own), Some(&path)), None);
        File::create(on_path.path().join(&name)).unwrap();
        assert_eq!(find(Some(&own), Some(&path)), Some(on_path.path().join(&name)));
        File::create(beside.path().join(&name)).unwrap();
        assert_eq!(find(Some(&own), Some(&path)), Some(beside.path().join(&name)));
    }
}
