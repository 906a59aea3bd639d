//! Shell completion: the shell's script runs this program to get candidates.
//!
//! Names are requested from the gateway. Pressing a key must not hang or print errors, so late or missing answers are
//! silently left out.

use std::time::Duration;

use clap::{Command, Parser as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use client::{Client, LiveTree};
use protocol::WorkspaceId;
use protocol::method::{ThreadTree, ThreadTreeParams, WorkspaceList, WorkspaceListParams};

use crate::arguments::{Arguments, InWorkspace, command_line};
use crate::config::variable::COMPLETE_VARIABLE;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Output, print};

/// Maximum time to answer a completion request.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum number of threads to offer.
const THREADS: u32 = 200;
const NAME: &str = "foreword";

/// Returns the candidates for an argument.
type Candidates = fn() -> Vec<CompletionCandidate>;

/// Completable arguments by id, optionally preceded by their command, with their candidates. The first matching row wins.
const CANDIDATES: &[(&str, Candidates)] = &[
    ("workspace restore workspace", archived_workspaces),
    ("folder restore folder", deleted_folders),
    ("agent", profiles),
    ("agents", profiles),
    ("profile", profiles),
    ("section", sections),
    ("workspace", workspaces),
    ("folder", folders),
    ("parent", folders),
    ("to", folders),
    ("thread", threads),
    ("turn", || vec![CompletionCandidate::new("last").help(Some("the newest turn".into()))]),
];

/// Answers a completion request and exits, if the shell made one.
pub(crate) fn answer_if_asked() {
    if std::env::var_os(COMPLETE_VARIABLE).is_some_and(|shell| !shell.is_empty()) {
        CompleteEnv::with_factory(|| with_candidates(command_line(), "")).var(COMPLETE_VARIABLE).complete();
    }
}

/// Prints the completion script of a shell.
pub(crate) fn script(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let shell = shell.to_string();
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell) else {
        return Err(Failure::usage(format!("no completions are available for {shell}")));
    };
    completer
        .write_registration(COMPLETE_VARIABLE, NAME, NAME, NAME, &mut script)
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not write the script", error))?;
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Adds candidates to a command's arguments; `path` is the names of its parent commands.
fn with_candidates(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let id = arg.get_id().as_str();
        let full = format!("{path}{id}");
        // A row with a command must precede the general row of its argument, so that `restore` offers deleted
        // items only.
        let found = CANDIDATES.iter().find(|(row, _)| *row == full || *row == id);
        match found {
            Some((_, candidates)) => arg.add(ArgValueCandidates::new(*candidates)),
            None => arg,
        }
    });
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path}{name} ");
        command.mut_subcommand(name, |command| with_candidates(command, &path))
    })
}

fn profiles() -> Vec<CompletionCandidate> {
    instructions::PROFILES.iter().map(|profile| CompletionCandidate::new(profile.name)).collect()
}

fn sections() -> Vec<CompletionCandidate> {
    prompt::SECTIONS.iter().map(|section| CompletionCandidate::new(section.id)).collect()
}

fn workspaces() -> Vec<CompletionCandidate> {
    ask(async |client: Client, _| {
        let listed = client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?;
        Ok(listed.workspaces.into_iter().map(|workspace| candidate(&workspace.name)).collect())
    })
}

fn archived_workspaces() -> Vec<CompletionCandidate> {
    ask(async |client: Client, _| {
        let listed = client.call::<WorkspaceList>(&WorkspaceListParams { archived: true }).await?;
        Ok(listed.workspaces.into_iter().map(|workspace| candidate(&workspace.name)).collect())
    })
}

fn deleted_folders() -> Vec<CompletionCandidate> {
    ask(async |client: Client, context: Context| {
        let workspace_id = workspace(&context, &client).await?;
        let folders = context.deleted_folders(&client, &workspace_id).await?;
        Ok(folders.iter().map(|(_, path)| candidate(path)).collect())
    })
}

fn folders() -> Vec<CompletionCandidate> {
    ask(async |client: Client, context: Context| {
        let params = ThreadTreeParams::without_threads(workspace(&context, &client).await?);
        let tree = LiveTree::of(client.call::<ThreadTree>(&params).await?, None);
        let mut paths: Vec<String> = tree.folders().map(|folder| tree.folder_path(&folder.id)).collect();
        // Sorted paths keep the folders of one parent together.
        paths.sort();
        Ok(paths.iter().map(|path| candidate(path)).collect())
    })
}

fn threads() -> Vec<CompletionCandidate> {
    ask(async |client: Client, context: Context| {
        let workspace_id = workspace(&context, &client).await?;
        let params =
            // More titles than fit a screen would not help, and loading them could exceed the time limit.
            ThreadTreeParams { thread_limit: Some(THREADS), ..ThreadTreeParams::whole(workspace_id) };
        let tree = LiveTree::of(client.call::<ThreadTree>(&params).await?, None);
        let titles = tree.threads().map(|(thread, _)| candidate(&thread.title));
        let last = CompletionCandidate::new("last").help(Some("the thread with the latest turn".into()));
        Ok(std::iter::once(last).chain(titles).collect())
    })
}

/// Returns the workspace given on the command line, or the default one.
async fn workspace(context: &Context, client: &Client) -> Result<WorkspaceId, Failure> {
    let named = InWorkspace { workspace: flag_value(&["-w", "--workspace"]) };
    Ok(context.workspace(client, &named).await?.id)
}

/// Queries the gateway selected by the command line.
fn ask(
    question: impl AsyncFnOnce(Client, Context) -> Result<Vec<CompletionCandidate>, Failure>,
) -> Vec<CompletionCandidate> {
    // The line being completed is usually incomplete, so only the flags that locate the gateway are parsed.
    let mut words = vec![NAME.to_owned()];
    for flag in ["--config", "--home", "--data"] {
        words.extend(flag_value(&[flag]).into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    words.push("status".to_owned());
    let Ok(arguments) = Arguments::try_parse_from(words) else { return Vec::new() };
    let Ok(context) = Context::new(&arguments, Output::silent()) else { return Vec::new() };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let asked = async {
        let client = context.connect().await?;
        question(client, context).await
    };
    let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    // An answer that is late must not keep the shell waiting, so the runtime is abandoned instead of joined.
    runtime.shutdown_background();
    answer.ok().and_then(Result::ok).unwrap_or_default()
}

/// Returns the value of a flag on the line being completed, which follows `--`.
fn flag_value(names: &[&str]) -> Option<String> {
    // The shell passes the words of its line after `--`. The words before it belong to the completion request
    // itself.
    let words: Vec<String> = std::env::args().skip_while(|word| word != "--").skip(1).collect();
    let value = words.iter().enumerate().find_map(|(index, word)| {
        if names.contains(&word.as_str()) {
            return words.get(index + 1).cloned();
        }
        let (name, value) = word.split_once('=')?;
        names.contains(&name).then(|| value.to_owned())
    });
    // The words arrive as typed, with quotes and backslashes. Removing all of them is imprecise but sufficient
    // for a suggestion.
    value.map(|value| value.replace(['\\', '\'', '"'], ""))
}

/// Returns a candidate, escaped if necessary: other shells quote what they insert, bash does not.
fn candidate(name: &str) -> CompletionCandidate {
    // Only the script for bash sets this variable.
    let is_bash = std::env::var_os("_CLAP_COMPLETE_COMP_TYPE").is_some();
    if is_bash { CompletionCandidate::new(escaped(name)) } else { CompletionCandidate::new(name) }
}

fn escaped(name: &str) -> String {
    let mut word = String::with_capacity(name.len());
    for character in name.chars().filter(|character| !character.is_control()) {
        if character.is_whitespace() || "\\'\"`$&|;<>()[]{}*?!#~".contains(character) {
            word.push('\\');
        }
        word.push(character);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_escaped_for_bash() {
        assert_eq!(escaped("services/billing"), "services/billing");
        assert_eq!(escaped("it's $HOME\n"), "it\\'s\\ \\$HOME");
    }

    #[test]
    fn every_row_completes_an_argument() {
        fn ids(command: &Command, path: &str, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                found.extend([arg.get_id().to_string(), format!("{path}{}", arg.get_id())]);
            }
            for command in command.get_subcommands() {
                ids(command, &format!("{path}{} ", command.get_name()), found);
            }
        }
        let mut found = Vec::new();
        ids(&command_line(), "", &mut found);
        for (id, _) in CANDIDATES {
            assert!(found.iter().any(|found| found == id), "no argument is called {id}");
        }
    }
}
