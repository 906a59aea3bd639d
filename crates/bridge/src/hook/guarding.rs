//! Decides about a tool call by the guards that hold where it works.

use std::path::{Path, PathBuf};

use guards::{Action, Decision, Guarded, Verdict};
use instructions::{FileSettings, Profile};
use serde_json::{Value, json};

use super::event::{HookInput, ToolUse};
use super::{Hook, HookError, touched};
use crate::agent::{Asking, DenialForm, Hooks};

/// Parts of the names of tools that write files.
const WRITING: &[&str] =
    &["write", "edit", "replace", "create", "patch", "delete", "remove", "move", "rename", "insert"];
/// Keys of a directory in which a command runs.
const DIRECTORIES: &[&str] = &["workdir", "working_directory", "directory", "dir_path", "cwd"];
/// Most commands of one call.
const MAX_COMMANDS: usize = 16;

/// Returns the answer to a call that must not run as it is, or `None`.
pub(super) fn answer(
    hook: &Hook<'_>,
    hooks: &Hooks,
    is_borrowed: bool,
    input: &HookInput,
    reader: &'static Profile,
    cwd: &Path,
) -> Result<Option<String>, HookError> {
    let Some(tool) = &input.tool else { return Ok(None) };
    let own = FileSettings { homes: hook.rules.homes.clone(), ..FileSettings::of(reader) };
    let decision = decide(&[hook.rules.clone(), own], tool, cwd)?;
    let Some(reason) = decision.reason() else { return Ok(None) };
    let (word, reason) = match (decision.verdict, hooks.asking) {
        (Verdict::Ask, Asking::Supported) => ("ask", reason),
        (Verdict::Ask, Asking::Denied) => (
            "deny",
            format!("{reason}; ask the user to run it, because this agent cannot ask for approval here"),
        ),
        _ => ("deny", reason),
    };
    let answer = match hooks.denial {
        DenialForm::OfEvent => {
            let event = input.name.as_deref().unwrap_or("PreToolUse");
            let mut answer = json!({ "hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": word,
                "permissionDecisionReason": reason,
            } });
            // An agent that borrows these hooks may know only its own form.
            if is_borrowed {
                answer["permissionDecision"] = json!(word);
                answer["permissionDecisionReason"] = json!(reason);
            }
            answer
        }
        DenialForm::Decision => json!({ "decision": word, "reason": reason }),
        DenialForm::Permission => json!({ "permissionDecision": word, "permissionDecisionReason": reason }),
    };
    Ok(Some(format!("{answer}\n")))
}

fn decide(settings: &[FileSettings], tool: &ToolUse, cwd: &Path) -> Result<Decision, HookError> {
    let mut strongest = Decision::default();
    let lines = commands(&tool.input);
    if !lines.is_empty() {
        let directory = directory(&tool.input, cwd);
        let guarded = Guarded::at(&directory, None, settings, None)?;
        for line in &lines {
            strongest = strongest.or_stronger(guarded.decide(&Action::Command(line)));
        }
    }
    // The words of a command are only guesses at paths.
    if lines.is_empty() || touched::is_patch(&tool.input) {
        let name = tool.name.to_lowercase();
        let writes = touched::is_patch(&tool.input) || WRITING.iter().any(|word| name.contains(word));
        for path in touched::paths(tool, cwd) {
            let directory = path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(cwd);
            let guarded = Guarded::at(directory, Some(&path), settings, None)?;
            let action = if writes { Action::Write(&path) } else { Action::Read(&path) };
            strongest = strongest.or_stronger(guarded.decide(&action));
        }
    }
    Ok(strongest)
}

/// Returns the shell lines of a call.
fn commands(input: &Value) -> Vec<String> {
    let Value::Object(fields) = input else { return Vec::new() };
    let values = touched::COMMANDS.iter().filter_map(|key| fields.get(*key));
    let lines = values.filter_map(|value| match value {
        Value::String(text) if touched::is_patch_text(text) => None,
        Value::String(text) => Some(text.clone()),
        // A list of words is one command without a shell. Quoting keeps its words apart.
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            Some(words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    });
    lines.take(MAX_COMMANDS).collect()
}

fn directory(input: &Value, cwd: &Path) -> PathBuf {
    let named = DIRECTORIES.iter().find_map(|key| input.get(*key)?.as_str());
    let named = named.map(|named| instructions::path::normalise(Path::new(named), cwd));
    named.filter(|named| named.is_dir()).unwrap_or_else(|| cwd.to_owned())
}
