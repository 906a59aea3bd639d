//! `foreword turn start`.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use protocol::limits::MAX_TURN_CONTEXT_CHARACTERS;
use protocol::method::{ThreadGet, ThreadGetParams, TurnStartParams};
use protocol::{Hint as _, ThreadMode};
use provider::ModelName;

use super::approval::{Policy, is_attended};
use super::follow::TurnFollower;
use crate::arguments::TurnStart;
use crate::config::providers::known_names;
use crate::context::{Context, find_thread};
use crate::failure::{Exit, Failure};
use crate::signals::StopSignals;

pub(super) async fn run(context: Context, arguments: TurnStart) -> Result<Exit, Failure> {
    // The model's name is checked before standard input is read, so that a typing error is reported
    // immediately.
    check_model(&context, arguments.model.as_deref())?;
    if arguments.context.as_deref() == Some(Path::new("-"))
        && arguments.text.as_deref().is_none_or(|text| text == "-")
    {
        let message = "standard input cannot be both the text and the context";
        return Err(Failure::usage(message).hint("give the text as an argument"));
    }
    let context_text = arguments.context.as_deref().map(read_context).transpose()?;
    let input = read_input(arguments.text.as_deref())?;
    let policy = match (arguments.allow_writes, arguments.deny_writes) {
        (true, _) => Policy::Allow,
        (_, true) => Policy::Deny,
        _ if arguments.wait => Policy::Elsewhere,
        // Programs cannot answer questions, so their calls are denied unless a flag decides about them.
        _ if context.output.is_json() || !is_attended() => Policy::Nobody,
        _ => Policy::Terminal,
    };
    // Listen before connecting, so that a signal during setup is not lost.
    let mut stop = StopSignals::listen()?;
    let begin = async {
        let client = context.connect().await?;
        let workspace = context.workspace(&client, &arguments.scope).await?;
        let thread_id = find_thread(&client, &workspace.id, &arguments.thread).await?;
        if workspace.root_path.is_none() {
            let params = ThreadGetParams { workspace_id: workspace.id.clone(), thread_id: thread_id.clone() };
            let is_agent = client.call::<ThreadGet>(&params).await?.thread.mode == ThreadMode::Agent;
            let hint = format!("`foreword workspace update {} --root DIR` gives it one", workspace.name);
            if is_agent {
                let message =
                    "the workspace has no directory, so the model has no tools for files and commands";
                context.output.warning(message, Some(&hint));
            }
        }
        Ok::<_, Failure>((client, workspace, thread_id))
    };
    // No turn has been started yet, so a signal simply ends the command.
    let (client, workspace, thread_id) = tokio::select! {
        begun = begin => begun?,
        () = stop.next() => return Err(Failure::new(Exit::Failed, "stopped before the turn began")),
    };
    let params = TurnStartParams {
        workspace_id: workspace.id.clone(),
        thread_id,
        input,
        cwd: arguments.cwd.clone(),
        model: arguments.model.clone(),
        skills: arguments.skills.clone(),
        mcp: arguments.mcp.clone(),
        context: context_text,
    };
    let follower =
        TurnFollower::new(&context, client, stop, policy, workspace.id, workspace.root_path).await?;
    follower.start(&params).await
}

/// Checks the form of a model's name locally. Only the gateway knows whether its provider exists.
fn check_model(context: &Context, model: Option<&str>) -> Result<(), Failure> {
    let Some(Err(error)) = model.map(str::parse::<ModelName>) else { return Ok(()) };
    let sections = context.configuration.sections();
    let known = known_names(sections).join(", ");
    let failure = Failure::usage(error.to_string()).hints(error.hint().as_deref());
    let failure = failure.hint(format!("the providers configured here are {known}"));
    Err(match &sections.default_model {
        Some(model) => failure.hint(format!("without --model, {model} is asked (model.default)")),
        None => failure,
    })
}

/// Reads the context of a turn from a file, or from standard input.
pub(in crate::command::turns) fn read_context(path: &Path) -> Result<String, Failure> {
    let limit = MAX_TURN_CONTEXT_CHARACTERS;
    // A character has at most four bytes. One byte more shows that there are too many.
    let most = limit as u64 * 4 + 1;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::file("read", path, error))?;
    let text = String::from_utf8_lossy(&bytes);
    let characters = text.chars().count();
    if characters > limit {
        let message = format!("the context in {} has more than {limit} characters", path.display());
        return Err(Failure::usage(message).hint("shorten it, or name the file in the text"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{} is not UTF-8", path.display())))
}

/// Reads the input from the argument or standard input.
fn read_input(text: Option<&str>) -> Result<String, Failure> {
    let nothing = || {
        Failure::usage("there is nothing to ask").hint(
            "give the text as an argument, or on standard input: echo 'Hello' | foreword turn start THREAD",
        )
    };
    let input = match text {
        Some(text) if text != "-" => text.to_owned(),
        None if std::io::stdin().is_terminal() => return Err(nothing()),
        _ => {
            // Stop reading once the input exceeds the size of a message, because it would be rejected anyway.
            let max_read = protocol::limits::MAX_MESSAGE_BYTES as u64;
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(max_read).read_to_end(&mut bytes);
            read.map_err(|error| Failure::caused_by(Exit::Failed, "could not read standard input", error))?;
            if bytes.len() as u64 == max_read {
                return Err(Failure::usage(format!("standard input has more than {max_read} bytes")));
            }
            String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8"))?
        }
    };
    let input = input.trim_end();
    if input.is_empty() { Err(nothing()) } else { Ok(input.to_owned()) }
}
