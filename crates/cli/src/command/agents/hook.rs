//! `foreword hook`: answers another agent's command hook.
//!
//! The exit code of any failure is 1, never 2: agents interpret 2 as "block this tool call".

use std::io::{Read as _, Write as _};
use std::time::Duration;

use bridge::Connected;
use bridge::hook::{Hook, MAX_INPUT_BYTES, answer};
use instructions::FOREWORD;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};

use super::install::{profile_name, unknown_agent};

/// Directory of sessions in the data directory.
const SESSIONS: &str = "hook-sessions";

/// Time limit of a whole hook. The agent waits for it after each of its tool calls, and the files that decide how long it takes
/// belong to the repository. Shorter than the limit that `install` writes into the agent's settings.
const TIME: Duration = Duration::from_secs(5);

pub(crate) fn run(context: &Context, agent: &str) -> Result<Exit, Failure> {
    end_in_time();
    let known: Vec<&str> = Connected::names_with_hooks().collect();
    let agent = Connected::find(profile_name(agent))
        .filter(|agent| agent.hooks.is_some())
        .ok_or_else(|| unknown_agent(agent, "command hooks", &known))?;
    // One byte more than allowed is read, so that a longer input is noticed instead of being cut.
    let mut input = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut input)
        .map_err(|error| Failure::caused_by(Exit::CheckFailed, "could not read standard input", error))?;
    if input.len() as u64 > MAX_INPUT_BYTES {
        let message = format!("the hook's input has more than {MAX_INPUT_BYTES} bytes");
        return Err(Failure::new(Exit::CheckFailed, message));
    }
    let mut rules = Files::new(context)?.settings;
    // The profile configured for our own commands does not apply to another agent's model.
    rules.profile = &FOREWORD;
    let hook = Hook {
        agent,
        rules: &rules,
        sessions: &context.directories.data.join(SESSIONS),
        cwd: &directory(None)?,
        variable: &|name| std::env::var(name).ok(),
    };
    answer(&hook, &input, &mut std::io::stdout().lock())
        .map_err(|error| Failure::new(Exit::CheckFailed, error.to_string()))?;
    Ok(Exit::Done)
}

/// Ends the process when its time is over. Nothing less ends a thread that is stuck in a read or a pattern.
fn end_in_time() {
    std::thread::spawn(|| {
        std::thread::sleep(TIME);
        let seconds = TIME.as_secs();
        let _ = writeln!(std::io::stderr(), "error: the hook was not done after {seconds} s and was stopped");
        // The code of every failure of a hook.
        std::process::exit(1);
    });
}
