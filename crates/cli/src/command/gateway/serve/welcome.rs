//! Welcome message of the gateway: its state and the next steps.

use gateway::Gateway;
use protocol::Workspace;
use provider::ModelName;

use crate::command::gateway::status;
use crate::config::providers;
use crate::context::Context;
use crate::output::one_line;
use crate::shell_quote::shell_word;

/// Maximum number of workspaces to name; `foreword workspace list` has all.
const NAMED_WORKSPACES: usize = 5;
/// Maximum length of a name.
const NAME_WIDTH: usize = 60;

pub(super) async fn text(gateway: &Gateway, context: &Context) -> String {
    // A failed query must not prevent serving, and other commands report the reason.
    let mut workspaces = gateway.store().workspaces().await.unwrap_or_default();
    workspaces.retain(|workspace| workspace.archived_at.is_none());
    // The suggested commands name the program as it was started, because it need not be on `PATH`.
    let program = std::env::args().next().unwrap_or_else(|| "foreword".to_owned());
    let command = format!("{}{}", shell_word(&program), context.repeated_flags);
    let (model, can_ask) = model(context);
    let mut rows = vec![
        ("database", gateway.database().to_string()),
        ("token", gateway.directory().owner_token().display().to_string()),
        ("model", model),
        ("sandbox", status::sandbox(context)),
    ];
    if context.configuration.sections().gateway.console_enabled {
        rows.push(("console", format!("{}/console/", gateway.url())));
    }
    if !workspaces.is_empty() {
        rows.insert(0, ("workspaces", names(&workspaces)));
    }
    let rows: String = rows.iter().map(|(name, value)| format!("  {name:<12}{value}\n")).collect();
    let next = next_steps(&workspaces, &command, can_ask);
    format!("foreword gateway at {}\n{rows}\n{next}\nStop with Ctrl-C.", gateway.url())
}

fn next_steps(workspaces: &[Workspace], command: &str, can_ask: CanAsk) -> String {
    if workspaces.is_empty() {
        return format!(
            "Nothing is in it yet. In another terminal, make a workspace and give its root an AGENTS.md:\n\n  \
             {command} workspace create demo\n  \
             echo 'Answer briefly.' | {command} doc save\n\n\
             or go into a project and run `{command} init`.\n"
        );
    }
    let mut text = format!("In another terminal:\n\n  {command} status\n");
    // With several workspaces, name one, because the current directory may belong to none.
    let named = match workspaces {
        [_] => String::new(),
        several => format!(" -w {}", shell_word(&several[0].name)),
    };
    text.push_str(&format!("  {command} thread tree{named}\n"));
    if can_ask == CanAsk::Yes {
        text.push_str(&format!("  {command} turn start{named} THREAD 'What does this project do?'\n"));
    }
    text
}

fn names(workspaces: &[Workspace]) -> String {
    let mut names: Vec<String> = workspaces
        .iter()
        .take(NAMED_WORKSPACES)
        .map(|workspace| one_line(&workspace.name, NAME_WIDTH))
        .collect();
    if workspaces.len() > NAMED_WORKSPACES {
        names.push(format!("and {} more", workspaces.len() - NAMED_WORKSPACES));
    }
    names.join(", ")
}

/// Returns whether a turn can be started according to the configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CanAsk {
    Yes,
    No,
}

/// Describes the default model and its missing requirements.
fn model(context: &Context) -> (String, CanAsk) {
    let Some(model) = &context.configuration.sections().default_model else {
        return ("none (model.default is not set)".to_owned(), CanAsk::No);
    };
    let missing = model.parse::<ModelName>().ok().and_then(|name| {
        providers::missing_key(&context.configuration, name.provider(), |name| std::env::var(name).ok())
    });
    match missing {
        Some(variable) => (format!("{model}, but {variable} is not set, so it cannot be asked"), CanAsk::No),
        None => (model.clone(), CanAsk::Yes),
    }
}
