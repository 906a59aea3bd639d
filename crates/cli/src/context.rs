//! What every command needs: directories, configuration, and a way to the gateway.

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

/// What a command works with.
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) directories: Directories,
    /// The flags that a later command needs to reach the same gateway, such as ` --data DIR`.
    pub(crate) repeated_flags: String,
    pub(crate) configuration: Configuration,
    /// The machine's file and the user's, or the one that was named instead, whether or not they are there.
    pub(crate) configuration_files: [PathBuf; 2],
}

impl Context {
    pub(crate) fn new(arguments: &Arguments, output: Output) -> Result<Self, Failure> {
        let globals = &arguments.globals;
        let here = working_directory()?;
        let directories = find_directories(globals)?;
        // What is wrong with the file is for the command to say.
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
        // A variable, too: another terminal may not have it.
        let variable = std::env::var_os(DATA_VARIABLE).filter(|value| !value.is_empty());
        let is_named = globals.data.is_some() || variable.is_some();
        let repeated_flags = if is_named {
            format!(" --data {}", shell_word(&directories.data.to_string_lossy()))
        } else {
            String::new()
        };
        Ok(Self { output, directories, repeated_flags, configuration, configuration_files })
    }

    /// Which gateway to talk to, and with which token.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        let data = || self.directories.data.clone();
        match (&self.configuration.sections().client.url, self.token()?) {
            (None, None) => Ok(Target::Local { data: data() }),
            (None, Some(token)) => Ok(Target::LocalWith { data: data(), token }),
            (Some(url), Some(token)) => Ok(Target::Address { url: url.clone(), token }),
            (Some(url), None) => {
                let message = format!("there is no token for the gateway at {url}");
                Err(Failure::usage(message)
                    .hint(format!("set {TOKEN_VARIABLE}, or client.token_file in the configuration")))
            }
        }
    }

    /// The database of a gateway with this configuration.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        let Some(address) = &self.configuration.sections().database else {
            return Ok(Database::Sqlite(self.directories.data.join(DATABASE_FILE)));
        };
        let origin = self.configuration.origin("gateway.database");
        let parsed = address.parse::<Database>();
        parsed.map_err(|error| Failure::usage(format!("{error} (from {origin})")))
    }

    /// The token that was given, if one was.
    fn token(&self) -> Result<Option<SecretString>, Failure> {
        let token = match (std::env::var(TOKEN_VARIABLE), &self.configuration.sections().client.token_file) {
            (Ok(token), _) if !token.trim().is_empty() => token,
            (_, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| Failure::file("read the token in", path, error))?,
            _ => return Ok(None),
        };
        Ok(Some(SecretString::from(token.trim().to_owned())))
    }

    /// A connection to the gateway.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.target()?).await?)
    }

    /// The workspace and folder a document command is about.
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

/// The directories that flags and variables name, or those that are used otherwise.
pub(crate) fn find_directories(globals: &Globals) -> Result<Directories, Failure> {
    let flags = DirectoryFlags { home: globals.home.clone(), data: globals.data.clone() };
    Directories::find(flags, |name| std::env::var_os(name), &working_directory()?)
}

/// What relative paths count from. Where the directory is gone, the shell's word for it: what is named absolutely
/// needs none, and nothing is found below it by mistake.
fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().or_else(|error| {
        let shells = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
        shells.ok_or_else(|| Failure::caused_by(Exit::Failed, "could not find the current directory", error))
    })
}

/// A directory as the gateway wants it: absolute, and without `..`, which is taken lexically like everywhere else.
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

/// Where the project of a command is, if not here.
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
        Command::Prompt(prompt) => prompt.directory().map(PathBuf::from),
        Command::Skill(skill) => skill.directory().filter(|path| path.is_dir()).cloned(),
        Command::Sync(sync) => sync.path.clone().filter(|path| path.is_dir()),
        Command::Resolve(resolve) => where_it_is(&resolve.cwd),
        Command::Session(Session::Diff { cwd, .. }) => where_it_is(cwd),
        _ => None,
    }
}

/// The session file that a command continues.
fn session_file(command: &Command) -> Option<&Path> {
    match command {
        Command::Resolve(resolve) => Some(&resolve.session),
        Command::Session(Session::Diff { file, .. }) => Some(file),
        _ => None,
    }
}

/// What a command's flags set. A session keeps the rules it was started with.
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
    // The profile is always remembered; of the others, those that are as if nobody had set them are nobody's.
    let set =
        set.filter(|(key, value)| key.path == "agents.profile" || key.built_in().as_ref() != Some(value));
    set.map(|(key, value)| Flag { name: "--session".to_owned(), key, value }).collect()
}
