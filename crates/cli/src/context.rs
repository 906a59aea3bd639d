//! State shared by all commands: directories, configuration, and the connection to the gateway.

mod folder;
mod names;
mod thread;
mod workspace;

pub(crate) use folder::PastScope;
pub(crate) use thread::{find_thread, find_turn};

use std::path::{Path, PathBuf};

use client::{Client, Target};
use gateway::Database;
use instructions::path::normalise;
use instructions::{FileSettings, Session as StoredSession, SessionFile};
use protocol::local::DATABASE_FILE;
use protocol::{FolderId, WorkspaceId};
use secrecy::SecretString;

use crate::arguments::{Arguments, Command, Globals, InScope, Session};
use crate::config::directories::{Directories, DirectoryFlags, system_file};
use crate::config::flag::Flag;
use crate::config::table::{KEYS, Sections};
use crate::config::variable::{DATA_VARIABLE, TOKEN_VARIABLE};
use crate::config::{Configuration, Sources};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::shell_quote::shell_word;

/// State shared by all commands.
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) directories: Directories,
    /// Flags that a suggested command needs to reach the same gateway, such as ` --data DIR`.
    pub(crate) repeated_flags: String,
    pub(crate) configuration: Configuration,
    /// The system and user configuration files, whether or not they exist.
    pub(crate) configuration_files: [PathBuf; 2],
    /// Number of `--verbose` flags.
    pub(crate) verbose: u8,
}

impl Context {
    pub(crate) fn new(arguments: &Arguments, output: Output) -> Result<Self, Failure> {
        let globals = &arguments.globals;
        let here = working_directory()?;
        let directories = find_directories(globals)?;
        let makes_home = matches!(arguments.command, Command::Serve(_) | Command::Init(_));
        if let Some(home) = globals.home.as_deref().filter(|home| !makes_home && !home.is_dir()) {
            output.warning(&format!("--home: there is no directory {}", home.display()), None);
        }
        // The command itself reports an unreadable session file, so ignore errors here.
        let session =
            session_file(&arguments.command).and_then(|path| SessionFile::peek(path).ok().flatten());
        let user_file = globals.config.as_ref().map(|named| here.join(named));
        let configuration_files = [system_file(), user_file.unwrap_or_else(|| directories.user_file())];
        let sources = Sources {
            system: system_file(),
            user: directories.user_file(),
            named: globals.config.clone(),
            project_start: project_start(&arguments.command, session.as_ref())
                .unwrap_or_else(|| here.clone()),
            working_directory: here,
            environment: std::env::vars_os(),
            flags: command_flags(&arguments.command, session.as_ref()),
        };
        let (configuration, warnings) = Configuration::load(sources)?;
        for warning in warnings {
            output.warning(&warning.message, warning.hint.as_deref());
        }
        // A directory from the environment counts too: another terminal may lack the variable.
        let variable = std::env::var_os(DATA_VARIABLE).filter(|value| !value.is_empty());
        let is_named = globals.data.is_some() || variable.is_some();
        let repeated_flags = if is_named {
            format!(" --data {}", shell_word(&directories.data.to_string_lossy()))
        } else {
            String::new()
        };
        let verbose = globals.verbose;
        Ok(Self { output, directories, repeated_flags, configuration, configuration_files, verbose })
    }

    /// Returns the gateway to connect to and the token to use.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        let data = || self.directories.data.clone();
        match (&self.configuration.sections().client.url, self.token()?) {
            (None, None) => Ok(Target::Local { data: data() }),
            (None, Some(token)) => Ok(Target::LocalWith { data: data(), token }),
            (Some(url), Some(token)) => Ok(Target::Address { url: url.clone(), token }),
            (Some(url), None) => {
                let message = format!("no token is set for the gateway at {url}");
                Err(Failure::usage(message)
                    .hint(format!("set {TOKEN_VARIABLE}, or client.token_file in the configuration")))
            }
        }
    }

    /// Returns the database of a gateway with this configuration.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        let Some(address) = &self.configuration.sections().database else {
            return Ok(Database::Sqlite(self.directories.data.join(DATABASE_FILE)));
        };
        let origin = self.configuration.origin("gateway.database");
        let parsed = address.parse::<Database>();
        parsed.map_err(|error| Failure::usage(format!("{error} (from {origin})")))
    }

    /// Returns the configured token, if any.
    fn token(&self) -> Result<Option<SecretString>, Failure> {
        let token = match (std::env::var(TOKEN_VARIABLE), &self.configuration.sections().client.token_file) {
            // The variable takes precedence over the file, but an empty one counts as unset.
            (Ok(token), _) if !token.trim().is_empty() => token,
            (_, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| Failure::file("read the token in", path, error))?,
            _ => return Ok(None),
        };
        Ok(Some(SecretString::from(token.trim().to_owned())))
    }

    /// Connects to the gateway.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.target()?).await?)
    }

    /// Returns the workspace and folder that a document command works on.
    pub(crate) async fn scope(
        &self,
        client: &Client,
        scope: &InScope,
    ) -> Result<(WorkspaceId, Option<FolderId>), Failure> {
        let workspace = self.workspace(client, &scope.workspace).await?;
        let folder = match &scope.folder {
            Some(named) => self.folder_or_root(client, &workspace.id, named).await?,
            None => None,
        };
        Ok((workspace.id, folder))
    }
}

/// Returns the directories from flags, variables and defaults.
pub(crate) fn find_directories(globals: &Globals) -> Result<Directories, Failure> {
    let flags = DirectoryFlags { home: globals.home.clone(), data: globals.data.clone() };
    Directories::find(flags, |name| std::env::var_os(name), &working_directory()?)
}

/// Returns the base of relative paths. If the current directory was deleted, falls back to the shell's `PWD`, so that
/// commands with absolute paths still work and relative paths are not found in the wrong place.
fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().or_else(|error| {
        let shells = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
        shells.ok_or_else(|| Failure::caused_by(Exit::Failed, "could not find the current directory", error))
    })
}

/// Returns a directory as the gateway needs it: absolute, with `..` resolved lexically.
pub(crate) fn absolute_directory(path: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(path).map_err(|error| Failure::file("find", path, error))?;
    let absolute = normalise(&absolute, Path::new(""));
    if !absolute.is_dir() {
        return Err(Failure::usage(format!("{} is not a directory", absolute.display())));
    }
    absolute
        .into_os_string()
        .into_string()
        .map_err(|path| Failure::usage(format!("{} is not valid UTF-8", PathBuf::from(path).display())))
}

/// Returns the project directory of a command, if it differs from the current one.
fn project_start(command: &Command, session: Option<&StoredSession>) -> Option<PathBuf> {
    let where_it_is =
        |cwd: &Option<PathBuf>| cwd.clone().or_else(|| session.map(|session| session.cwd.clone()));
    match command {
        Command::Show { path, .. } | Command::Explain { path, .. } | Command::Watch { path, .. } => {
            path.clone()
        }
        Command::Check(check) => check.path.clone(),
        Command::Compare(compare) => compare.path.clone(),
        Command::Map(map) => map.path.clone(),
        Command::Why(why) => why.path.clone(),
        Command::Guard(guard) => guard.directory().cloned(),
        Command::Prompt(prompt) => prompt.directory().map(PathBuf::from),
        // The path of a skill may be a file, which cannot be the start of a search for the project.
        Command::Skill(skill) => skill.directory().filter(|path| path.is_dir()).cloned(),
        Command::Sync(sync) => sync.path.clone().filter(|path| path.is_dir()),
        Command::Resolve(resolve) => where_it_is(&resolve.cwd),
        Command::Session(Session::Diff { cwd, .. }) => where_it_is(cwd),
        _ => None,
    }
}

/// Returns the session file that a command continues.
fn session_file(command: &Command) -> Option<&Path> {
    match command {
        Command::Resolve(resolve) => Some(&resolve.session),
        Command::Session(Session::Diff { file, .. }) => Some(file),
        _ => None,
    }
}

/// Returns the settings given by a command's flags. A session keeps the rules it was started with.
fn command_flags(command: &Command, session: Option<&StoredSession>) -> Vec<Flag> {
    let of_session = session.map(session_flags).unwrap_or_default();
    let flags = match command {
        Command::Serve(serve) => serve.flags.0.clone(),
        Command::Show { files, .. } | Command::Explain { files, .. } | Command::Watch { files, .. } => {
            files.0.clone()
        }
        Command::Resolve(resolve) => resolve.files.0.clone(),
        Command::Session(Session::Diff { files, .. }) => files.0.clone(),
        _ => Vec::new(),
    };
    of_session.into_iter().chain(flags).collect()
}

fn session_flags(session: &StoredSession) -> Vec<Flag> {
    let remembered = Sections {
        profile: session.profile.clone(),
        files: session.overlay_on(FileSettings::default()),
        ..Sections::default()
    };
    let keys = KEYS.iter().filter(|key| key.path.starts_with("agents."));
    let set = keys.filter_map(|key| Some((key, key.load(&remembered, key.path)?)));
    // The profile is always stored in a session. Other settings that equal their default count as unset, so that other
    // layers can still set them.
    let set =
        set.filter(|(key, value)| key.path == "agents.profile" || key.built_in().as_ref() != Some(value));
    set.map(|(key, value)| Flag { name: "--session".to_owned(), key, value }).collect()
}
