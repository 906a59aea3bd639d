//! Decides whether a call may run: by the rules, and by whoever is asked.

use std::path::PathBuf;

use instructions::Reminder;
use protocol::SandboxLevel;

use crate::{
    Access, ApprovalRequest, Arguments, Decision, Needs, Permission, ToolCall, ToolContext, ToolOutput,
};

/// What is said to be allowed when a write is not.
const READING: &str = "reading, with read_file, list_dir and search.";
/// Most characters of a call or a reason in a reminder.
const MAX_SHOWN_CHARS: usize = 200;

/// The files that a call may write, or the answer to a call that may not run.
pub(crate) async fn authorise(
    context: &ToolContext,
    call: &ToolCall,
    arguments: &Arguments,
    needs: Needs,
    sandbox: Option<SandboxLevel>,
) -> Result<Vec<PathBuf>, Box<ToolOutput>> {
    let permissions = context.permissions();
    let mut rule = Rule { permission: Permission::Allow, text: String::new(), allowed: READING.to_owned() };
    let mut paths = Vec::new();
    let touches = match needs {
        Needs::Nothing => Vec::new(),
        Needs::Paths(touches) if !touches.is_empty() => touches,
        Needs::Paths(_) | Needs::Undeclared => {
            let name = permissions.write.name();
            rule.narrow(permissions.write, || {
                format!("permissions.write = {name} (`{}` does not declare what it needs)", call.name)
            });
            Vec::new()
        }
    };
    for touch in touches.into_iter().filter(|touch| touch.access != Access::Read) {
        rule.narrow(permissions.write, || format!("permissions.write = {}", permissions.write.name()));
        if touch.access == Access::Run {
            continue;
        }
        let looked = context.clone();
        let found = tokio::task::spawn_blocking(move || {
            let place = looked.find(&touch.path)?;
            Ok::<_, crate::FileError>((place.real(), looked.protection(&place)))
        });
        let (real, protection) = match found.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Err(Box::new(ToolOutput::failed(&error))),
            Err(_) => return Err(Box::new(ToolOutput::error("the call was cancelled"))),
        };
        if let Some(what) = protection {
            let name = permissions.protected.name();
            let narrowed =
                rule.narrow(permissions.protected, || format!("permissions.protected = {name} ({what})"));
            if narrowed {
                rule.allowed = "reading it, and writing files that are not protected.".to_owned();
            }
        }
        paths.push(real);
    }
    match rule.permission {
        Permission::Allow => Ok(paths),
        Permission::Deny => Err(denial(call, arguments, rule.text, rule.allowed, None)),
        Permission::Ask => ask(context, call, arguments, rule, paths, sandbox).await,
    }
}

/// The strictest rule so far.
struct Rule {
    permission: Permission,
    text: String,
    allowed: String,
}

impl Rule {
    fn narrow(&mut self, permission: Permission, text: impl FnOnce() -> String) -> bool {
        let stricter = permission < self.permission;
        if stricter {
            self.permission = permission;
            self.text = text();
        }
        stricter
    }
}

async fn ask(
    context: &ToolContext,
    call: &ToolCall,
    arguments: &Arguments,
    rule: Rule,
    paths: Vec<PathBuf>,
    sandbox: Option<SandboxLevel>,
) -> Result<Vec<PathBuf>, Box<ToolOutput>> {
    let request = ApprovalRequest {
        call_id: call.id.clone(),
        tool: call.name.clone(),
        arguments: arguments.fields().clone(),
        paths: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        rule: rule.text.clone(),
        sandbox,
    };
    let time = context.limits().approval_time;
    let (rule_text, reason) = match tokio::time::timeout(time, context.approvals().ask(request)).await {
        Ok(Decision::Allow) => return Ok(paths),
        Ok(Decision::Deny { reason }) => (format!("{}, and the answer was no", rule.text), reason),
        Err(_) => (format!("{}, and nobody answered within {time:?}", rule.text), None),
    };
    Err(denial(call, arguments, rule_text, rule.allowed, reason))
}

fn denial(
    call: &ToolCall,
    arguments: &Arguments,
    rule: String,
    allowed: String,
    reason: Option<String>,
) -> Box<ToolOutput> {
    let what = arguments.text("path").or_else(|| arguments.text("command"));
    let shown = match what {
        Some(what) => shortened(&format!("{}({what:?})", call.name)),
        None => call.name.clone(),
    };
    let mut text = format!("{shown} was not allowed and did not run, by the rule {rule}");
    if let Some(reason) = reason {
        text.push_str(&format!("\nreason: {}", shortened(&reason)));
    }
    let reminder = Reminder::PermissionDecision { call: shown, rule, allowed };
    Box::new(ToolOutput::error(text).with_reminder(reminder))
}

/// How a call is named in an answer to it.
pub(crate) fn called(call: &ToolCall) -> String {
    format!("`{}`", call.name)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((position, _)) => format!("{}…", &text[..position]),
        None => text.to_owned(),
    }
}
