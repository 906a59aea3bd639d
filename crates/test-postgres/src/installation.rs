//! PostgreSQL's programs: their location, and how to run them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Location of the programs in distributions, with one directory for each major version.
const VERSIONS_DIRECTORY: &str = "/usr/lib/postgresql";
/// System user for the server if we are root, because PostgreSQL refuses to run as root.
const SYSTEM_USER: &str = "postgres";
/// Programs that switch to [`SYSTEM_USER`], with their arguments.
const USER_SWITCHES: &[(&str, &[&str])] = &[
    ("setpriv", &["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--init-groups"]),
    ("runuser", &["-u", SYSTEM_USER, "--"]),
];

#[derive(Debug, Clone)]
pub(crate) struct Installation {
    /// Directory of the programs; `None` if they are on the path.
    programs: Option<PathBuf>,
    /// Program that switches to another user, if that is needed.
    user_switch: Option<(PathBuf, &'static [&'static str])>,
}

impl Installation {
    /// Finds the programs on the path, or those of the newest version in the distribution's location.
    pub(crate) fn find() -> Option<Self> {
        // The watchdog needs a shell, and Windows has none.
        if cfg!(not(unix)) {
            return None;
        }
        let programs = match on_path("initdb").and(on_path("pg_ctl")) {
            Some(_) => None,
            None => Some(newest_version(Path::new(VERSIONS_DIRECTORY))?),
        };
        Some(Self { programs, user_switch: None })
    }

    /// Prepares for a server in a directory of ours. If we are root, another user runs the server and owns the
    /// directory.
    pub(crate) fn for_directory(mut self, directory: &Path) -> anyhow::Result<Self> {
        if is_ours_as_root(directory)? {
            let found = USER_SWITCHES.iter().find_map(|(name, args)| Some((on_path(name)?, *args)));
            let Some(switch) = found else {
                bail!(
                    "PostgreSQL does not run as root, and there is no setpriv or runuser to become another user"
                )
            };
            // The server checks that its data directory belongs to the user that runs it, so the directory changes its
            // owner.
            self.user_switch = Some(switch);
            finish(Command::new("chown").arg(SYSTEM_USER).arg(directory))?;
        }
        Ok(self)
    }

    /// Returns a command for one of the server's programs, to be run in its directory.
    pub(crate) fn server_program(&self, name: &str, directory: &Path) -> Command {
        let mut command = match &self.user_switch {
            Some((switch, arguments)) => {
                let mut command = Command::new(switch);
                command.args(*arguments).arg(self.program(name));
                command
            }
            None => Command::new(self.program(name)),
        };
        command.current_dir(directory);
        command
    }

    /// Runs a statement on a server.
    pub(crate) fn psql(&self, url: &str, statement: &str) -> anyhow::Result<()> {
        psql(&self.program("psql"), url, statement)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.as_ref().map_or_else(|| PathBuf::from(name), |directory| directory.join(name))
    }
}

/// Runs a statement on a server with a given `psql`.
pub(crate) fn psql(program: &Path, url: &str, statement: &str) -> anyhow::Result<()> {
    let mut psql = Command::new(program);
    psql.args([
        "--no-psqlrc",
        "--quiet",
        "--set",
        "ON_ERROR_STOP=1",
        "--dbname",
        url,
        "--command",
        statement,
    ]);
    finish(&mut psql)
}

/// Runs a command to completion. Its output becomes the error.
pub(crate) fn finish(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_owned();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {}", name.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    bail!("{} {} failed ({}): {}", name.display(), arguments.join(" "), output.status, said.trim())
}

fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

fn newest_version(versions: &Path) -> Option<PathBuf> {
    let version = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    versions
        .read_dir()
        .ok()?
        .flatten()
        .filter(|entry| entry.path().join("bin/initdb").is_file())
        .max_by_key(version)
        .map(|entry| entry.path().join("bin"))
}

/// Returns true if we are root, judging by the owner of a directory that we have just made.
#[cfg(unix)]
fn is_ours_as_root(directory: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(directory.metadata()?.uid() == 0)
}

#[cfg(not(unix))]
fn is_ours_as_root(_: &Path) -> std::io::Result<bool> {
    Ok(false)
}
