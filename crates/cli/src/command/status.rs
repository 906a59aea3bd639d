//! `foreword status`: what runs, and where.

use client::ClientError;
use protocol::Workspace;
use protocol::method::{Initialize, InitializeParams, InitializeResult, WorkspaceList, WorkspaceListParams};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Status {
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<Vec<Workspace>>,
    /// Turns that run in these workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_turns: Option<u64>,
    /// The three below are what the configuration says here; a gateway on another machine may have another.
    database: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    sandbox: String,
    home: String,
    data: String,
}

pub(crate) async fn run(context: &Context) -> Result<Exit, Failure> {
    let sections = context.configuration.sections();
    let mut status = Status {
        running: false,
        url: None,
        version: None,
        instance: None,
        workspaces: None,
        running_turns: None,
        database: context.database()?.to_string(),
        model: sections.default_model.clone(),
        sandbox: sandbox(context),
        home: context.directories.home.display().to_string(),
        data: context.directories.data.display().to_string(),
    };
    let target = context.target()?;
    match target.locate() {
        Ok(located) => {
            let client = client::Client::connect(&target).await?;
            let InitializeResult { server, instance, .. } =
                client.call::<Initialize>(&InitializeParams::default()).await?;
            status.running = true;
            status.url = Some(located.url);
            status.version = Some(server.version);
            status.instance = Some(instance.to_string());
            let listed = client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?;
            status.workspaces = Some(listed.workspaces);
            status.running_turns = Some(listed.running_turns.unwrap_or(0));
        }
        Err(ClientError::NotRunning { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    context.output.data(&status, || text(&status))?;
    Ok(Exit::Done)
}

/// In which sandbox commands run, or why none do.
pub(super) fn sandbox(context: &Context) -> String {
    let sections = context.configuration.sections();
    if !sections.shell_enabled {
        return "no commands (shell.enabled is false)".to_owned();
    }
    match sections.shell.level() {
        Ok(level) => level.name().to_owned(),
        Err(reason) => format!("no commands: {reason}"),
    }
}

fn text(status: &Status) -> String {
    let gateway = match (&status.url, &status.version) {
        (Some(url), Some(version)) => format!("runs at {url}, version {version}"),
        _ => "does not run; start it with `foreword serve`".to_owned(),
    };
    let workspaces = status.workspaces.as_ref().map(|workspaces| {
        let names: Vec<&str> = workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    });
    let rows = [
        ("gateway", Some(gateway)),
        ("workspaces", workspaces),
        ("turns", status.running_turns.map(|count| format!("{count} running"))),
        ("model", Some(status.model.clone().unwrap_or_else(|| "none (model.default is not set)".to_owned()))),
        ("sandbox", Some(status.sandbox.clone())),
        ("database", Some(status.database.clone())),
        ("data", Some(status.data.clone())),
        ("home", Some(status.home.clone())),
    ];
    rows.into_iter().filter_map(|(name, value)| Some(format!("{name:<11}{}\n", value?))).collect()
}
