//! Finding, starting and stopping other programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::failure::check_failed;
use crate::{print_status, root};

/// Variables that `cargo run` sets for this program. A nested cargo must not inherit them: some build scripts run again
/// when they change, and everything that depends on them would be compiled twice.
const OF_CARGO_RUN: &[&str] = &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_NAME", "CARGO_CRATE_NAME"];

/// Returns a command for the cargo that started this program, run in the repository's directory.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(cargo_path());
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if OF_CARGO_RUN.iter().any(|prefix| name_text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

fn cargo_path() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Prints a command and runs it. A non-zero exit status is a failed check.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    print_status(shown(command));
    let status = command.status().with_context(|| format!("failed to start `{}`", shown(command)))?;
    judge(command, status)
}

/// Like [`run`], with a time limit.
pub(crate) fn run_at_most(command: &mut Command, time: Duration) -> Result<()> {
    print_status(shown(command));
    own_group(command);
    let mut child = command.spawn().with_context(|| format!("failed to start `{}`", shown(command)))?;
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return judge(command, status);
        }
        if Instant::now() >= deadline {
            // The children first: they hold ports and locks, and after the parent's end nothing would stop them.
            end_group(child.id());
            let _ = child.kill();
            child.wait()?;
            bail!("`{}` did not finish within {} seconds", shown(command), time.as_secs());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Turns a non-zero exit status into a failed check.
pub(crate) fn judge(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    Err(check_failed(format!("`{}` failed ({status})", shown(command))))
}

/// Returns the command line for display.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // The file name only, so that messages are the same on every machine.
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy()];
    let cargo = cargo_path();
    words.extend(
        command.get_args().map(|word| if word == cargo { "cargo".into() } else { word.to_string_lossy() }),
    );
    words.join(" ")
}

/// Returns the path of an executable on `PATH`.
pub(crate) fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
        .find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Starts the program in its own process group, so that its children can be stopped with it.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

/// Stops a process group by the id of its leader.
fn end_group(leader: u32) {
    // Not KILL, so that programs such as PostgreSQL can end their own processes and remove their files.
    let _ = Command::new("kill").args(["-TERM", "--", &format!("-{leader}")]).status();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::failure::is_check_failure;

    #[test]
    fn failing_programs_are_failed_checks_and_missing_ones_are_not() {
        assert!(run(&mut Command::new("true")).is_ok());
        assert!(is_check_failure(&run(&mut Command::new("false")).unwrap_err()));
        assert!(!is_check_failure(&run(&mut Command::new("/nonexistent/program")).unwrap_err()));
    }

    #[test]
    fn timeouts_stop_the_program_and_its_children() {
        let marker = env::temp_dir().join(format!("xtask-{}-too-long", std::process::id()));
        // The shell waits for a child of its own, because ending only the direct child is not enough: tests start
        // servers.
        let script = format!("sleep 100 & echo $! > {}; wait", marker.display());
        let started = Instant::now();
        let error =
            run_at_most(Command::new("sh").args(["-c", &script]), Duration::from_millis(300)).unwrap_err();
        assert!(!is_check_failure(&error), "{error}");
        let child = std::fs::read_to_string(&marker).unwrap();
        std::fs::remove_file(&marker).unwrap();
        let lives = || {
            let mut kill = Command::new("sh");
            kill.args(["-c", "kill -0 \"$1\" 2> /dev/null", "kill", child.trim()]).status().unwrap().success()
        };
        while lives() {
            assert!(
                started.elapsed() < Duration::from_secs(50),
                "the child of the stopped program still runs"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/usr/bin/env");
        command.args(["cargo", "fmt", "--check"]);
        assert_eq!(shown(&command), "env cargo fmt --check");
    }
}
