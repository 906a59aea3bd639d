//! `foreword status`: what runs, and where.

use client::ClientError;
use protocol::Workspace;
use protocol::method::{Initialize, InitializeParams, InitializeResult, WorkspaceList, WorkspaceListParams};
use serde::Serialize;

use crate::config::{Configuration, providers};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::terminal::{self, wrap};

/// Indentation of values.
const INDENT: usize = 11;

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
    /// Running turns in these workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_turns: Option<u64>,
    /// The following four fields come from the local configuration; a remote gateway may have another.
    database: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Possible providers in a model's name.
    providers: Vec<NamedProvider>,
    sandbox: String,
    home: String,
    data: String,
}

#[derive(Serialize)]
struct NamedProvider {
    name: String,
    /// Variable of the missing key, if the provider cannot be used without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_key: Option<String>,
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
        providers: named_providers(&context.configuration),
        sandbox: sandbox(context),
        home: context.directories.home.display().to_string(),
        data: context.directories.data.display().to_string(),
    };
    let target = context.target()?;
    match target.locate() {
        Ok(located) => {
            // Locating only proves that a gateway holds the lock, so an answer is awaited before it is reported as
            // running.
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
        // A gateway that is not running is a state to report, not a failure.
        Err(ClientError::NotRunning { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    context.output.data(&status, || text(&status))?;
    if status.running {
        context.output.note(
            "model, sandbox and database are those configured here; a gateway started with other settings keeps its own",
        );
    }
    Ok(Exit::Done)
}

fn named_providers(configuration: &Configuration) -> Vec<NamedProvider> {
    let names = providers::known_names(configuration.sections()).into_iter();
    let missing_key =
        |name: &str| providers::missing_key(configuration, name, |variable| std::env::var(variable).ok());
    names.map(|name| NamedProvider { name: name.to_owned(), missing_key: missing_key(name) }).collect()
}

/// Returns the sandbox level of commands, or the reason why none run.
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
        _ => "not running; start it with `foreword serve`".to_owned(),
    };
    let workspaces = status.workspaces.as_ref().map(|workspaces| {
        let names: Vec<&str> = workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    });
    let providers: Vec<String> = status
        .providers
        .iter()
        .map(|provider| match &provider.missing_key {
            Some(variable) => format!("{} ({variable} is not set)", provider.name),
            None => provider.name.clone(),
        })
        .collect();
    // A running gateway may have been started with a model that is not in this configuration.
    let no_model = if status.running {
        "none configured here (model.default)"
    } else {
        "none (model.default is not set)"
    };
    let rows = [
        ("gateway", Some(gateway)),
        ("workspaces", workspaces),
        ("turns", status.running_turns.map(|count| format!("{count} running"))),
        ("model", Some(status.model.clone().unwrap_or_else(|| no_model.to_owned()))),
        ("providers", Some(providers.join(", "))),
        ("sandbox", Some(status.sandbox.clone())),
        ("database", Some(status.database.clone())),
        ("data", Some(status.data.clone())),
        ("home", Some(status.home.clone())),
    ];
    let columns = terminal::columns();
    let lines = rows.into_iter().filter_map(|(name, value)| Some(format!("{name:<INDENT$}{}", value?)));
    lines.map(|line| format!("{}\n", wrap(&line, columns, INDENT))).collect()
}
