//! `foreword serve`.

mod welcome;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use agent::AgentSettings;
use client::ClientError;
use gateway::{Gateway, GatewaySettings, StartError};
use protocol::{Hint as _, Workspace};
use provider::Providers;
use serde_json::json;

use crate::arguments::Serve;
use crate::command::gateway::proxy;
use crate::config::layers::Layer;
use crate::config::providers;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::output::shown_name;
use crate::shell_quote::shell_word;
use crate::signals::StopSignals;

/// Polling interval of `--stdio` for a gateway that holds the data directory but does not answer: it is starting or
/// stopping. One attempt takes about a second.
const LOOKS: usize = 10;

/// Startup time after which the database is probably the cause.
const STARTS_WITHIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(context: Context, arguments: Serve) -> Result<Exit, Failure> {
    let output = context.output;
    let settings = settings(&context, &arguments)?;
    let limits = settings.limits.clone();
    warn_of_useless_shell(&context).await;
    // Listen before starting, so that a signal during startup stops it cleanly.
    let mut stop = StopSignals::listen()?;
    let waits_for = settings.database.as_ref().map(|database| format!("waiting for the database {database}"));
    let mut starting = pin!(start(&context, settings, &arguments));
    let mut soon = pin!(tokio::time::sleep(STARTS_WITHIN));
    let mut has_said = waits_for.is_none();
    let started = loop {
        tokio::select! {
            started = &mut starting => break started?,
            () = &mut soon, if !has_said => {
                has_said = true;
                output.note(waits_for.as_deref().unwrap_or_default());
            }
            // No request has been accepted yet, so stopping here is an orderly end.
            () = stop.next() => return Ok(Exit::Done),
        }
    };
    match started {
        Started::Gateway(gateway) if arguments.stdio => serve_stdio(&gateway, &mut stop).await,
        Started::Gateway(gateway) => {
            // Programs learn the address from this line, because port 0 selects any free one.
            if output.is_json() {
                let listening =
                    json!({ "event": "listening", "url": gateway.url(), "pid": std::process::id() });
                output.json(&listening)?;
            }
            output.note(welcome::text(&gateway, &context).await);
            warn_of_exposed_files(&context, &gateway).await;
            // The first signal stops accepting requests. A second one, noticed by `unless_asked_again`, abandons the
            // rest.
            stop.next().await;
            output.note("stopping; finishing accepted requests (press again to stop immediately)");
            stop.unless_asked_again(gateway.shutdown()).await
        }
        Started::Beside(endpoint) => {
            let passed = proxy::run(endpoint, &limits, stop.next()).await;
            passed.map(|()| Exit::Done)
        }
    }
}

async fn serve_stdio(gateway: &Gateway, stop: &mut StopSignals) -> Result<Exit, Failure> {
    let mut serving = pin!(gateway.serve_stdio(tokio::io::stdin(), tokio::io::stdout()));
    tokio::select! {
        () = &mut serving => stop.unless_asked_again(gateway.shutdown()).await,
        () = stop.next() => {
            // Requests that the parent process has already sent are still answered.
            let ended = async { tokio::join!(gateway.shutdown(), serving) };
            stop.unless_asked_again(ended).await
        }
    }
}

/// The endpoint that serves requests.
enum Started {
    /// A gateway in this process.
    Gateway(Box<Gateway>),
    /// The gateway that already runs on the data directory.
    Beside(rpc::Endpoint),
}

async fn start(context: &Context, settings: GatewaySettings, arguments: &Serve) -> Result<Started, Failure> {
    let mut looks_left = LOOKS;
    loop {
        let error = match Gateway::start(settings.clone()).await {
            Ok(gateway) => return Ok(Started::Gateway(Box::new(gateway))),
            Err(error) if arguments.stdio && error.is_already_running() => error,
            Err(error) => return Err(failure(&error)),
        };
        // Another gateway holds the directory, but it may be starting or stopping, so both ways are tried in turn.
        match proxy::connect(&context.directories.data, &settings.limits).await {
            Ok(endpoint) => return Ok(Started::Beside(endpoint)),
            Err(unreachable) if unreachable.is_transient() && looks_left > 0 => {
                if looks_left == LOOKS {
                    context.output.note("waiting for the gateway of this data directory to respond");
                }
                looks_left -= 1;
            }
            // The directory is in use although no gateway answers, so the first error explains more.
            Err(ClientError::NotRunning { .. }) => return Err(failure(&error)),
            Err(unreachable) => return Err(unreachable.into()),
        }
    }
}

fn settings(context: &Context, arguments: &Serve) -> Result<GatewaySettings, Failure> {
    let sections = context.configuration.sections();
    let mut settings = sections.gateway.clone();
    settings.data.clone_from(&context.directories.data);
    settings.new_database = arguments.new_database;
    let listen_origin = context.configuration.origin("gateway.listen");
    if arguments.stdio && listen_origin.layer() != Layer::Flags {
        // The parent process uses stdio; the address only lets other commands find this gateway.
        settings.listen = "127.0.0.1:0".to_owned();
    }
    // Without a setting, the database is in the data directory, which the gateway finds without help.
    if sections.database.is_some() {
        settings.database = Some(context.database()?);
    }
    let providers = providers::build(&context.configuration, |name| std::env::var(name).ok())?;
    settings.agent = agent_settings(context, providers)?;
    settings.mcp = mcp::McpSettings {
        enabled: sections.mcp_enabled,
        servers: sections.mcp_servers.clone(),
        ..mcp::McpSettings::default()
    };
    settings.configured = configured(context);
    warn_of_unknown_sections(context);
    Ok(settings)
}

/// Returns the settings for the audit log, without passwords and headers.
fn configured(context: &Context) -> BTreeMap<String, serde_json::Value> {
    let entries = context.configuration.entries().into_iter();
    let set = entries.filter(|entry| entry.source.is_some());
    set.map(|entry| (entry.key, entry.value)).collect()
}

/// Returns the settings of prompts and turns.
pub(crate) fn agent_settings(context: &Context, providers: Providers) -> Result<AgentSettings, Failure> {
    let sections = context.configuration.sections();
    let private_paths = private_paths(context);
    let mut files = Files::new(context)?.settings;
    files.private_paths.clone_from(&private_paths);
    Ok(AgentSettings {
        home: context.directories.home.clone(),
        private_paths,
        // The gateway fills in its data directory.
        set_aside: None,
        journal: None,
        files,
        prompt: sections.prompt.clone(),
        providers,
        default_model: sections.default_model.clone(),
        turns: agent::TurnSettings {
            shell: sections.shell_enabled.then(|| sections.shell.clone()),
            ..sections.turns.clone()
        },
        skills: sections.skills.clone(),
        memory: sections.memory,
        delegation: sections.delegation,
        retention: sections.retention,
    })
}

/// Returns the files that no tool may see and no prompt may contain: our directories, secrets and settings elsewhere.
pub(super) fn private_paths(context: &Context) -> Vec<PathBuf> {
    let sections = context.configuration.sections();
    let keys = sections.providers.values().filter_map(|provider| provider.api_key_file.clone());
    let secrets = keys.chain(sections.client.token_file.clone());
    let directories = [context.directories.data.clone(), context.directories.home.clone()];
    directories.into_iter().chain(context.configuration_files.clone()).chain(secrets).collect()
}

/// Warns about workspaces whose root now contains the gateway's files. Roots are checked when they are set, but the files
/// may have moved since. Our tools do not reach them, but other programs in that directory do.
async fn warn_of_exposed_files(context: &Context, gateway: &Gateway) {
    // If the workspaces cannot be read, the caller reports it.
    let workspaces = gateway.store().workspaces().await.unwrap_or_default();
    let private = private_paths(context);
    for (message, hint) in exposed_roots(workspaces, private).await {
        context.output.warning(&message, Some(&hint));
    }
}

/// Returns a warning and advice for each workspace whose root contains, or lies within, private files.
pub(super) async fn exposed_roots(
    workspaces: Vec<Workspace>,
    private: Vec<PathBuf>,
) -> Vec<(String, String)> {
    // The check accesses the disk, so it must not run on an async worker.
    agent::blocking(move || {
        let living = workspaces.iter().filter(|workspace| workspace.archived_at.is_none());
        let problems = living.filter_map(|workspace| {
            let problem = gateway::root_path_problem(workspace.root_path.as_deref()?, &private)?;
            let name = shown_name(&workspace.name);
            let message = format!("the root of workspace `{name}` is not safe: {problem}");
            let hint = format!(
                "move those files, or give it another directory: foreword workspace update {} --root DIR",
                shell_word(&name)
            );
            Some((message, hint))
        });
        problems.collect()
    })
    .await
}

/// Warns about unknown sections. One may come from a hook, but it is more likely misspelled.
fn warn_of_unknown_sections(context: &Context) {
    for id in &context.configuration.sections().prompt.disabled_sections {
        if prompt::SectionKind::find(id).is_none() {
            let known: Vec<&str> = prompt::SECTIONS.iter().map(|section| section.id).collect();
            let message = format!("prompt.disabled_sections: unknown section `{id}`");
            context.output.warning(&message, Some(&format!("known sections: {}", known.join(", "))));
        }
    }
}

/// Warns if commands cannot be sandboxed and thus will not run, before a model tries.
async fn warn_of_useless_shell(context: &Context) {
    let sections = context.configuration.sections();
    if !sections.shell_enabled {
        return;
    }
    let shell = sections.shell.clone();
    // The probe starts processes and waits for them, so it must not run on an async worker.
    if let Err(reason) = agent::blocking(move || shell.level()).await {
        let weakest = sections.shell.sandbox.name();
        let message = format!(
            "shell.enabled is true, but no command will run: permissions.shell_sandbox is {weakest}, and this \
             machine cannot give that: {reason}"
        );
        context.output.warning(&message, Some(sandbox_hint()));
    }
}

/// Returns advice for machines without a working sandbox.
pub(super) fn sandbox_hint() -> &'static str {
    if rustix::process::geteuid().is_root() {
        // Only `off` works on other systems.
        "run the gateway as an ordinary user: commands must not run as root, at any level that confines them"
    } else {
        "mend that, or accept a weaker level in permissions.shell_sandbox"
    }
}

fn failure(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Address { .. } | StartError::Remote { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string()).hints(error.hint().as_deref())
}
