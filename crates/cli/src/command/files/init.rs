//! `foreword init`: creates a workspace for the directory and proposes a first AGENTS.md.

mod finding;
mod survey;
mod workflow;

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use client::{Client, ClientError};
use protocol::method::{WorkspaceCreate, WorkspaceCreateParams, WorkspaceList, WorkspaceListParams};
use protocol::{ErrorKind, Workspace};
use serde::Serialize;

use self::finding::proposal;
use self::survey::survey;
use crate::arguments::Init;
use crate::confirm::confirm;
use crate::context::{Context, absolute_directory};
use crate::failure::{Exit, Failure};
use crate::output::{print, shown};
use crate::shell_quote::shell_word;

const FILE: &str = "AGENTS.md";

#[derive(Serialize)]
struct Initialised {
    root: String,
    /// Absent if no gateway is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<Workspace>,
    workspace_made: bool,
    agents_md: AgentsFile,
}

#[derive(Serialize)]
struct AgentsFile {
    path: String,
    /// Absent if the file exists or there is nothing to propose.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<String>,
    existed: bool,
    written: bool,
}

pub(crate) async fn run(context: &Context, arguments: Init) -> Result<Exit, Failure> {
    let root = absolute_directory(arguments.directory.as_deref().unwrap_or(Path::new(".")))?;
    // Reading the directory now reports a missing permission before a workspace has been created.
    std::fs::read_dir(&root).map_err(|error| Failure::file("look into", Path::new(&root), error))?;
    let directory_name = Path::new(&root).file_name().map(|name| name.to_string_lossy().into_owned());
    // The root of the file system has no name.
    let title = directory_name.unwrap_or_else(|| "project".to_owned());
    let name = arguments.name.unwrap_or_else(|| title.clone());
    // Create the workspace first, because it may be rejected, and then no file has been written.
    let (workspace, workspace_made) = match workspace(context, &root, name).await? {
        Some((workspace, made)) => (Some(workspace), made),
        None => (None, false),
    };
    let path = Path::new(&root).join(FILE);
    // A broken link also belongs to the user and is not overwritten.
    let existed = path.symlink_metadata().is_ok();
    let mut file = AgentsFile { path: path.display().to_string(), proposal: None, existed, written: false };
    let exit = if existed {
        context.output.note(format!("{} already exists and was not changed", path.display()));
        Exit::Done
    } else {
        file.proposal = propose(context, Path::new(&root), &title);
        let consent = if arguments.yes { Consent::Given } else { Consent::Ask };
        offer(context, &path, &mut file, consent)?
    };
    if context.output.is_json() {
        context.output.json(&Initialised { root, workspace, workspace_made, agents_md: file })?;
    }
    Ok(exit)
}

/// Returns the workspace with this root and whether it was created. `None` if no gateway is running.
async fn workspace(
    context: &Context,
    root: &str,
    name: String,
) -> Result<Option<(Workspace, bool)>, Failure> {
    let client = match Client::connect(&context.target()?).await {
        Ok(client) => client,
        // Proposing an AGENTS.md needs no gateway, so a missing one only means that no workspace is created.
        Err(ClientError::NotRunning { .. }) => {
            context.output.note(
                "no gateway runs, so no workspace was made; start one with `foreword serve`, then run \
                 `foreword init` again",
            );
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let there = client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.workspaces;
    // A second workspace with the same root would make every command in this directory ambiguous.
    if let Some(taken) = there.into_iter().find(|workspace| workspace.root_path.as_deref() == Some(root)) {
        context.output.note(format!("workspace `{}` already has the root {root}", taken.name));
        return Ok(Some((taken, false)));
    }
    let params = WorkspaceCreateParams { name, root_path: Some(root.to_owned()), agents: None };
    match client.call::<WorkspaceCreate>(&params).await {
        Ok(result) => {
            context
                .output
                .note(format!("created workspace `{}` with the root {root}", result.workspace.name));
            Ok(Some((result.workspace, true)))
        }
        Err(error) if error.kind() == Some(ErrorKind::AlreadyExists) => {
            let mut failure = Failure::from(error);
            let other = shell_word(&params.name);
            // The general hint would only suggest another name, but adopting the existing workspace may be what the
            // user wants.
            failure.hints = vec![
                "choose another name with --name".to_owned(),
                format!(
                    "`foreword workspace update {other} --root .` gives that workspace this root instead"
                ),
            ];
            Err(failure)
        }
        Err(error) => Err(error.into()),
    }
}

fn propose(context: &Context, root: &Path, title: &str) -> Option<String> {
    let survey = survey(root);
    for problem in &survey.problems {
        context.output.warning(&format!("skipped {problem}"), None);
    }
    proposal(title, &survey.findings)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Ask,
}

/// Shows the proposal and writes it if the user agrees.
fn offer(context: &Context, path: &Path, file: &mut AgentsFile, consent: Consent) -> Result<Exit, Failure> {
    let output = context.output;
    let Some(text) = &file.proposal else {
        output.note(format!(
            "no manifest or CI file here says how to build or test, so there is no {FILE} to propose"
        ));
        return Ok(Exit::Done);
    };
    if !output.is_json() {
        print(&shown(text))?;
    }
    let answer = match consent {
        Consent::Given => Some(true),
        // Programs cannot see the proposal, so they cannot agree to it.
        Consent::Ask if output.is_json() || !io::stdout().is_terminal() => None,
        Consent::Ask => confirm(&format!("\nWrite this to {}?", path.display())),
    };
    match answer {
        Some(true) => {
            write_new(path, text)?;
            file.written = true;
            output.note(format!("wrote {}; `foreword show` prints what an agent now reads", path.display()));
            Ok(Exit::Done)
        }
        Some(false) => {
            output.note(format!("{FILE} was not written"));
            Ok(Exit::CheckFailed)
        }
        None => {
            output.note(format!("{FILE} was not written; `foreword init --yes` writes it"));
            Ok(Exit::Done)
        }
    }
}

/// Writes the file unless it has appeared meanwhile.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::file("write", path, error))
}
