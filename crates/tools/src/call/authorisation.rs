//! Decides whether a call may run: by the permissions, and by asking for approval.

use std::path::PathBuf;
use std::sync::Arc;

use instructions::Reminder;
use protocol::HowDecided;

use crate::call::approval_request::{WriteTarget, question};
use crate::call::guarding;
use crate::toolset::tool::AnyTool;
use crate::{
    Access, ApprovalDecision, ApprovalRequest, Needs, Permission, ToolArguments, ToolCall, ToolContext,
    ToolOutput, Touch,
};

/// Allowed alternatives to a denied write, for the reminder.
const READING: &str = "reading, with read_file, list_dir and search.";
/// Allowed alternatives in a turn without a directory.
const NO_CHANGES: &str = "calls that change nothing.";
/// Most characters of a call or a reason in a reminder.
const MAX_SHOWN_CHARS: usize = 200;
const UNPREPARED: &str = "the call did not run: what it would do could not be put to anybody";

/// Returns the files that a call may write, or the answer to a call that must not run.
pub(crate) async fn authorise(
    context: &ToolContext,
    call: &ToolCall,
    arguments: &ToolArguments,
    needs: Needs,
    tool: &Arc<dyn AnyTool>,
) -> Result<Vec<PathBuf>, Box<ToolOutput>> {
    let permissions = context.permissions();
    let mut rule = StrictestRule {
        permission: Permission::Allow,
        text: String::new(),
        allowed: if context.has_directory() { READING } else { NO_CHANGES }.to_owned(),
        is_about_identity: false,
    };
    if let Some(guarding) = context.guarding() {
        let (guarding, looked, asked) = (guarding.clone(), context.clone(), call.clone());
        let command = arguments.text("command").map(str::to_owned);
        let touches: Vec<Touch> = needs.touches().to_vec();
        // Reading the files that contain the guards waits for the disk.
        let decided = tokio::task::spawn_blocking(move || {
            guarding.decide(&looked, &asked, command.as_deref(), &touches)
        });
        let Ok(decision) = decided.await else {
            return Err(Box::new(ToolOutput::error("the call was cancelled")));
        };
        if let Some(reason) = decision.reason() {
            rule.narrow(guarding::permission(&decision), || reason.clone());
        }
        if rule.permission == Permission::Deny {
            let reason = rule.text.clone();
            rule.allowed = "calls that no guard denies.".to_owned();
            return Err(denial(call, arguments, rule, &reason));
        }
    }
    let mut targets = Vec::new();
    let touches = match needs {
        Needs::Nothing => Vec::new(),
        // An empty list falls through to the undeclared case: a tool that lists nothing by mistake must not run unasked.
        Needs::Paths(touches) if !touches.is_empty() => touches,
        Needs::Rule { permission, text } => {
            // A tool with a rule of its own may be more permissive than the settings, but not where they deny all
            // writes.
            if permissions.write == Permission::Deny {
                rule.narrow(Permission::Deny, || "permissions.write = deny".to_owned());
            }
            rule.narrow(permission, || text);
            Vec::new()
        }
        Needs::Paths(_) | Needs::Undeclared => {
            let name = permissions.write.name();
            rule.narrow(permissions.write, || {
                format!("permissions.write = {name} (`{}` asks as a write does)", call.name)
            });
            Vec::new()
        }
    };
    for touch in touches.into_iter().filter(|touch| touch.access != Access::Read) {
        rule.narrow(permissions.write, || format!("permissions.write = {}", permissions.write.name()));
        // A command has no single target to protect: its protected files are mounted read-only or restored afterwards.
        if touch.access == Access::Run {
            continue;
        }
        // Following a path blocks, and a workspace may be on a slow network file system.
        let looked = context.clone();
        let found = tokio::task::spawn_blocking(move || {
            let place = looked.find(&touch.path)?;
            let target = WriteTarget { path: touch.path, real: place.real() };
            Ok::<_, crate::FileError>((target, looked.protection(&place), looked.identity_rule(&place)))
        });
        let (target, protection, identity) = match found.await {
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
        if let Some((permission, text)) = identity {
            rule.is_about_identity = true;
            // If both rules require approval, the one about the identity explains it.
            if permission <= rule.permission {
                rule.permission = permission;
                rule.text = text;
                rule.allowed = "reading it.".to_owned();
            }
        }
        targets.push(target);
    }
    match rule.permission {
        Permission::Allow => Ok(real_paths(targets)),
        Permission::Deny => Err(denial(call, arguments, rule, "the rules do not allow it")),
        Permission::Ask => ask(context, call, arguments, rule, targets, tool).await,
    }
}

/// The strictest rule found so far.
struct StrictestRule {
    permission: Permission,
    text: String,
    allowed: String,
    is_about_identity: bool,
}

impl StrictestRule {
    fn narrow(&mut self, permission: Permission, text: impl FnOnce() -> String) -> bool {
        // Only a strictly stricter rule replaces the text, so the reason is the first rule of the strictest kind, and
        // its order is fixed.
        let stricter = permission < self.permission;
        if stricter {
            self.permission = permission;
            self.text = text();
        }
        stricter
    }
}

fn real_paths(targets: Vec<WriteTarget>) -> Vec<PathBuf> {
    targets.into_iter().map(|target| target.real).collect()
}

/// Asks for approval. If a file has changed when the decision arrives, asks again: the approval covers a digest of exactly
/// the state that was shown.
async fn ask(
    context: &ToolContext,
    call: &ToolCall,
    arguments: &ToolArguments,
    rule: StrictestRule,
    targets: Vec<WriteTarget>,
    tool: &Arc<dyn AnyTool>,
) -> Result<Vec<PathBuf>, Box<ToolOutput>> {
    let current = || {
        let context = context.clone();
        let call = call.clone();
        let arguments = arguments.clone();
        let text = rule.text.clone();
        let identity = rule.is_about_identity;
        let targets = targets.clone();
        let tool = Arc::clone(tool);
        let asking = move || {
            // A call that cannot succeed is answered immediately instead of being asked about.
            if let Some(answer) = tool.validate(&context, &arguments) {
                return Err(Box::new(answer));
            }
            let asked = question(&context, &call, &arguments, &*tool, &targets, &text);
            Ok(ApprovalRequest { identity, ..asked })
        };
        async {
            let prepared = tokio::task::spawn_blocking(asking).await;
            prepared.unwrap_or_else(|_| Err(Box::new(ToolOutput::error(UNPREPARED))))
        }
    };
    let time = context.limits().approval_time;
    let mut request = current().await?;
    loop {
        // The digest is compared after the decision, because hours may pass and the approval covers only what was shown.
        let allowed = request.digest.clone();
        let why = match tokio::time::timeout(time, context.approvals().ask(request)).await {
            Ok(ApprovalDecision::Allow) => {
                request = current().await?;
                if request.digest == allowed {
                    return Ok(real_paths(targets));
                }
                continue;
            }
            Ok(ApprovalDecision::Deny(how)) => why_denied(how).to_owned(),
            Ok(ApprovalDecision::Unasked { reason }) => shortened(&reason),
            Err(_) => why_denied(HowDecided::Expired).to_owned(),
        };
        return Err(denial(call, arguments, rule, &why));
    }
}

/// Explains a denial to a model. Only one of these is an actual decision about the call.
fn why_denied(how: HowDecided) -> &'static str {
    match how {
        HowDecided::Asked => "somebody was asked, and said no",
        HowDecided::Standing | HowDecided::Flag => {
            "calls like this were refused for the whole turn in advance"
        }
        HowDecided::Unattended => "nobody was there to be asked",
        HowDecided::Expired => "somebody was asked, and did not answer in time",
    }
}

fn denial(call: &ToolCall, arguments: &ToolArguments, rule: StrictestRule, why: &str) -> Box<ToolOutput> {
    let what = arguments.text("path").or_else(|| arguments.text("command"));
    let shown = match what {
        Some(what) => shortened(&format!("{}({what:?})", call.name)),
        None => call.name.clone(),
    };
    // The reminder names the call and the rule and lists what is allowed, but `turn show` prints only this text.
    let text = format!("this call was denied and did not run: {why}; do not make it again in this turn");
    let reminder = Reminder::PermissionDecision { call: shown, rule: rule.text, allowed: rule.allowed };
    Box::new(ToolOutput::error(text).with_reminder(reminder))
}

/// Returns the name of a call as its answer shows it.
pub(crate) fn called(call: &ToolCall) -> String {
    format!("`{}`", call.name)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((position, _)) => format!("{}…", &text[..position]),
        None => text.to_owned(),
    }
}
