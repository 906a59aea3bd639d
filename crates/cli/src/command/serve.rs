//! `foreword serve`.

use gateway::{Database, Gateway, Settings, StartError};
use serde_json::json;

use crate::arguments::Serve;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::proxy;

pub(crate) async fn run(context: Context, arguments: Serve) -> Result<Exit, Failure> {
    let output = context.output;
    let settings = settings(&context, &arguments)?;
    let gateway = match Gateway::start(settings).await {
        Ok(gateway) => gateway,
        Err(error) if arguments.stdio && error.is_already_running() => {
            return proxy::run(&context.directories.data).await;
        }
        Err(error) => return Err(failure(&error)),
    };
    if arguments.stdio {
        tokio::select! {
            () = gateway.serve_stdio(tokio::io::stdin(), tokio::io::stdout()) => {}
            () = stop_asked_for() => {}
        }
    } else {
        if output.is_json() {
            output.json(&json!({ "event": "listening", "url": gateway.url(), "pid": std::process::id() }))?;
        }
        output.note(welcome(&gateway, &context));
        stop_asked_for().await;
        output.note("stopping; finishing what was accepted (once more to stop at once)");
    }
    tokio::select! {
        () = gateway.shutdown() => Ok(Exit::Done),
        () = stop_asked_for() => Err(Failure::new(Exit::Failed, "stopped before everything was finished")),
    }
}

fn settings(context: &Context, arguments: &Serve) -> Result<Settings, Failure> {
    let section = context.configuration.gateway();
    let mut settings = Settings::new(&context.directories.data);
    settings.listen.clone_from(&section.listen);
    if arguments.stdio && arguments.listen.is_none() {
        // The parent process talks over stdio; the address only lets other commands find this gateway.
        settings.listen = "127.0.0.1:0".to_owned();
    }
    if let Some(address) = &section.database {
        let origin = context.configuration.origin("gateway.database")?;
        let parsed = address.parse::<Database>();
        settings.database = Some(parsed.map_err(|error| Failure::usage(format!("{error} (from {origin})")))?);
    }
    settings.allow_remote = section.allow_remote;
    settings.allowed_hosts.clone_from(&section.allowed_hosts);
    settings.allowed_origins.clone_from(&section.allowed_origins);
    settings.rate_limit = section.rate_limit_per_second;
    settings.limits.outgoing_bytes = section.outgoing_queue_bytes;
    settings.limits.patience = section.slow_client;
    Ok(settings)
}

fn failure(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Address { .. } | StartError::Remote { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    let failure = Failure::new(exit, error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn welcome(gateway: &Gateway, context: &Context) -> String {
    let flag = &context.repeated_flags;
    let program = std::env::args().next().unwrap_or_else(|| "foreword".to_owned());
    format!(
        "foreword gateway at {url}\n  database  {database}\n  token     {token}\n\n\
         In another terminal, make a workspace and give its root an AGENTS.md:\n\n  \
         {program}{flag} workspace create demo\n  \
         echo 'Answer briefly.' | {program}{flag} doc save\n\n\
         Stop with Ctrl-C.",
        url = gateway.url(),
        database = gateway.database(),
        token = gateway.directory().owner_token().display(),
    )
}

/// Waits for Ctrl-C or a polite request to end.
async fn stop_asked_for() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
