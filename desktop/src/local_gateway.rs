//! Starts a gateway on this machine.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::files;
use crate::places::{self, Places};
use crate::strings::link as words;

/// Lines of a gateway's log that say why it ended: the error, its hints, and what it was doing.
const LAST_LINES: usize = 4;

/// Why no gateway was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{}", words::NOT_FOUND)]
    NotFound,
    #[error("could not start {}: {source}", program.display())]
    Failed { program: PathBuf, source: io::Error },
}

/// The command: beside this program, or the first on the PATH.
pub fn find(own: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let name = format!("foreword{EXE_SUFFIX}");
    let beside = own.and_then(Path::parent).map(|directory| directory.join(&name));
    let on_path =
        path.map(std::env::split_paths).into_iter().flatten().map(|directory| directory.join(&name));
    beside.into_iter().chain(on_path).find(|candidate| candidate.is_file())
}

/// Runs `foreword serve` on a data directory. It goes on when this program ends: others may have come to use it.
pub fn start(program: &Path, data: &Path, log: &Path) -> Result<Child, StartError> {
    let failed = |source| StartError::Failed { program: program.to_owned(), source };
    if let Some(directory) = log.parent() {
        files::make_directory(directory).map_err(failed)?;
    }
    let log = files::private_file(log).map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("--data").arg(data).arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // They are ours, and it warns of variables that it does not know.
    for variable in [places::STATE_VARIABLE, places::PROGRAM_VARIABLE] {
        command.env_remove(variable);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // Ctrl+C in the terminal that started this program is not for it.
        command.process_group(0);
    }
    command.spawn().map_err(failed)
}

/// Where a gateway that was started here writes what it has to say.
pub fn log(places: &Places) -> PathBuf {
    places.state.join("gateway.log")
}

/// Finds the command and starts it.
pub fn find_and_start(places: &Places) -> Result<Child, StartError> {
    let own = std::env::current_exe().ok();
    let found = || find(own.as_deref(), std::env::var_os("PATH").as_deref());
    let program = places.program.clone().or_else(found).ok_or(StartError::NotFound)?;
    start(&program, &places.data, &log(places))
}

/// What a gateway that ended said last, which is why it ended.
pub fn last_words(places: &Places) -> String {
    let text = fs::read(log(places)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_one_beside_this_program_is_taken_first() {
        let (beside, on_path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
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
