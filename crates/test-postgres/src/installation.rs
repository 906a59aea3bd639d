//! PostgreSQL's programs: where they are and how they are run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Where distributions put the server's programs, one directory for each major version.
const VERSIONS_DIRECTORY: &str = "/usr/lib/postgresql";
/// The system user that runs the server when we are root, which PostgreSQL refuses to be.
const SYSTEM_USER: &str = "postgres";
/// Programs that run another one as [`SYSTEM_USER`], and their arguments before it.
const USER_SWITCHES: &[(&str, &[&str])] = &[
    ("setpriv", &["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--init-groups"]),
    ("runuser", &["-u", SYSTEM_USER, "--"]),
];

#[derive(Debug, Clone)]
pub(crate) struct Installation {
    /// The directory of its programs; none where they are found on the path.
    programs: Option<PathBuf>,
    /// What runs the server's programs as another user, where that is needed.
    user_switch: Option<(PathBuf, &'static [&'static str])>,
}

impl Installation {
    /// The programs on the path, or those of the newest version where distributions put them.
    pub(crate) fn find() -> Option<Self> {
        // The watchdog needs a shell, and PostgreSQL on Windows is another story.
        if cfg!(not(unix)) {
            return None;
        }
        let programs = match on_path("initdb").and(on_path("pg_ctl")) {
            Some(_) => None,
            None => Some(newest_version(Path::new(VERSIONS_DIRECTORY))?),
        };
        Some(Self { programs, user_switch: None })
    }

    /// The same, able to run a server in a directory of ours: as another user, who then owns it, when we are root.
    pub(crate) fn for_directory(mut self, directory: &Path) -> anyhow::Result<Self> {
        if is_ours_as_root(directory)? {
            let found = USER_SWITCHES.iter().find_map(|(name, args)| Some((on_path(name)?, *args)));
            let Some(switch) = found else {
                bail!(
                    "PostgreSQL does not run as root, and there is no setpriv or runuser to become another user"
                )
            };
            self.user_switch = Some(switch);
            finish(Command::new("chown").arg(SYSTEM_USER).arg(directory))?;
        }
        Ok(self)
    }

    /// A command for one of the server's programs, run in its directory.
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

/// Runs a statement on a server with one particular `psql`.
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

/// Runs a command to its end; what it said becomes the error.
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

/// Whether we are root, told by the owner of what we have just made.
#[cfg(unix)]
fn is_ours_as_root(directory: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(directory.metadata()?.uid() == 0)
}

#[cfg(not(unix))]
fn is_ours_as_root(_: &Path) -> std::io::Result<bool> {
    Ok(false)
}
