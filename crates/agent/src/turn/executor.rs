//! Runs the calls of one answer. Newly applicable instruction files are delivered with the results, and edits wait
//! until the instructions for their paths are delivered.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use instructions::{
    Announcement, FileRead, InlineBudget, Purpose, Reminder, ReminderFile, Resolver, SystemReminderType,
    make_harmless,
};
use prompt::notes::FailedCalls;
use protocol::message::{AttachedEffects, AttachedReminder, TurnMessage};
use protocol::{CallEffects, Hint, ToolCall};
use provider::{Message, ToolResult};
use store::TurnEvent;
use tools::{Access, CheckedCall, Router, ToolOutput, Touch};

use crate::blocking::blocking;
use crate::error::AgentError;

/// Shortest output limit; less would be useless.
const MIN_OUTPUT_CHARS: usize = 1_000;

/// Runs the calls of a turn.
pub(crate) struct ToolExecutor {
    /// `None` if no instruction files apply.
    resolver: Option<Resolver>,
}

/// The results of the calls of one answer.
pub(crate) struct ToolBatch {
    /// All results in one message, in call order.
    pub(crate) entry: TurnMessage,
    pub(crate) events: Vec<TurnEvent>,
    /// Share of the calls that failed in a way the model could correct; `None` if none did.
    pub(crate) failed: Option<FailedCalls>,
    /// Paths touched by calls.
    pub(crate) touched: Vec<PathBuf>,
    /// Paths for which the model has received the instructions, including those of held-back calls and directories
    /// that a call found something in.
    pub(crate) visited: Vec<PathBuf>,
    announcements: Vec<Announcement>,
}

/// A call that is about to run, or to be answered without running.
struct PlannedCall {
    call: CheckedCall,
    refusal: Option<CallRefusal>,
    reminder: Option<Reminder>,
}

/// Reason that a call is answered without running.
#[derive(Debug, thiserror::Error)]
enum CallRefusal {
    #[error("this call did not run: the turn has no more tool calls left")]
    Spent,
    /// The instructions for a path it writes had not been delivered.
    #[error("this call did not run: instruction files apply to this path that you had not been given")]
    HeldBack,
    #[error("this call did not run: {0}")]
    Unresolved(#[source] AgentError),
}

impl Hint for CallRefusal {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Spent => Some("answer with what you have".into()),
            Self::HeldBack => {
                Some("their text is among these results; read and follow it, then make the call again".into())
            }
            Self::Unresolved(error) => error.hint(),
        }
    }
}

impl CallRefusal {
    /// Returns the refusal as output. The text may contain file names and skips the sanitising of tool output.
    fn output(&self) -> ToolOutput {
        ToolOutput::error(make_harmless(&self.with_hint()).0)
    }
}

struct AnsweredCall {
    call: ToolCall,
    output: ToolOutput,
    is_held_back: bool,
    /// Instructions that became applicable during the approval and kept the call from running.
    late: Option<Announcement>,
}

impl AnsweredCall {
    /// Removes files from the reminders whose text is already in a result of the same message.
    fn leave_out(&mut self, reads: &[FileRead]) {
        let is_read = |file: &ReminderFile| {
            let same = |read: &FileRead| file.path == read.path && file.sha256.as_ref() == Some(&read.sha256);
            reads.iter().any(same)
        };
        self.output.reminders.retain_mut(|reminder| match reminder {
            Reminder::AgentsResolvePaths { files, removed, .. } => {
                files.retain(|file| !is_read(file));
                !(files.is_empty() && removed.is_empty())
            }
            _ => true,
        });
    }
}

impl ToolBatch {
    /// Marks the contents as delivered, once the message is stored.
    pub(crate) fn confirm(self) {
        self.announcements.into_iter().for_each(Announcement::confirm);
    }
}

impl ToolExecutor {
    pub(crate) fn new(resolver: Option<Resolver>) -> Self {
        Self { resolver }
    }

    /// Runs calls concurrently; calls beyond `max_calls` are answered without running. The answers share about `room`
    /// tokens.
    pub(crate) async fn run(
        &self,
        router: &Router,
        calls: Vec<ToolCall>,
        max_calls: usize,
        room: usize,
    ) -> ToolBatch {
        // Divide the space before any call runs, so that the output of one call does not depend on the others.
        let router = router.with_output_chars(share(room, calls.len()));
        // Check and announce sequentially, before any call runs. Each file is then announced by the first call it
        // applies to, whichever call ends first.
        let mut planned = Vec::new();
        let mut announcements = Vec::new();
        let mut inline_room = InlineBudget::default();
        let mut instructing = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let call = router.check(call);
            let mut refusal = (index >= max_calls).then_some(CallRefusal::Spent);
            let mut reminder = None;
            // If the directory was replaced meanwhile, no call can do anything, and the new instructions are for the
            // next turn.
            if refusal.is_none() && is_in_place(&router).await {
                match self.announce(call.touches(), call.mentions(), &mut inline_room).await {
                    Ok(Some((is_held_back, announcement))) => {
                        refusal = is_held_back.then_some(CallRefusal::HeldBack);
                        reminder = announcement.reminder();
                        instructing.extend(reminder.iter().flat_map(Reminder::paths));
                        announcements.push(announcement);
                    }
                    Ok(None) => {}
                    Err(error) => refusal = Some(CallRefusal::Unresolved(error)),
                }
            }
            planned.push(PlannedCall { call, refusal, reminder });
        }
        protect(&router, instructing).await;
        // A refused call touched nothing. A held-back call still counts for `visited`, because it caused the delivery
        // of instructions.
        let touched = paths(planned.iter().filter(|planned| planned.refusal.is_none()));
        let mut visited = paths(planned.iter().filter(|planned| planned.is_resolved()));
        // `join_all` keeps the order of the calls, which providers require of the results.
        let mut answers = join_all(planned.into_iter().map(|planned| planned.run(self, &router))).await;
        let mut reads = Vec::new();
        for answered in &mut answers {
            if let Some(late) = answered.late.take() {
                protect(&router, late.reminder().iter().flat_map(Reminder::paths).collect()).await;
                announcements.push(late);
            }
            visited.extend(answered.output.found_directories.iter().cloned());
            // Note the read first, so that the file is not announced to a model that has just read it.
            reads.extend(self.record_read(answered).await);
            let found = self.announce_found(answered, &mut inline_room).await;
            let found_paths =
                found.iter().filter_map(Announcement::reminder).flat_map(|reminder| reminder.paths());
            protect(&router, found_paths.collect()).await;
            announcements.extend(found);
        }
        // Announcements were planned before any call ran. Another call of the same answer may have read an announced
        // file since.
        answers.iter_mut().for_each(|answered| answered.leave_out(&reads));
        let mut batch = ToolBatch { touched, visited, announcements, ..collect(answers) };
        batch.entry.reads = reads;
        batch
    }

    /// Records that a call read an instruction file whole, which delivers it.
    async fn record_read(&self, answered: &mut AnsweredCall) -> Option<FileRead> {
        let resolver = self.resolver.clone()?;
        let read = answered.output.whole_file.take()?;
        match blocking(move || resolver.mark_read(read)).await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%error, "failed to compare a read file with the instruction files");
                None
            }
        }
    }

    /// Announces the files that apply to what a call found or changed, which was unknown before it ran.
    async fn announce_found(
        &self,
        answered: &mut AnsweredCall,
        room: &mut InlineBudget,
    ) -> Option<Announcement> {
        let directories = std::mem::take(&mut answered.output.found_directories);
        if directories.is_empty() {
            return None;
        }
        match self.resolve(directories.into_iter().collect(), Purpose::Read, room).await {
            Ok(announcement) => {
                answered.output.reminders.extend(announcement.as_ref()?.reminder());
                announcement
            }
            // The next call there fails for the same reason and reports it.
            Err(error) => {
                tracing::warn!(%error, "failed to resolve instruction files for what a call found");
                None
            }
        }
    }

    /// Announces the files that apply to the touched paths; true if the call must wait for them.
    async fn announce(
        &self,
        touches: &[Touch],
        mentions: &[PathBuf],
        room: &mut InlineBudget,
    ) -> Result<Option<(bool, Announcement)>, AgentError> {
        if touches.is_empty() {
            return Ok(None);
        }
        // A command may write wherever it runs. A tool without declared paths gets no announcements and never waits.
        let writes = touches.iter().any(|touch| touch.access != Access::Read);
        let mut paths: Vec<PathBuf> = touches.iter().map(|touch| touch.path.clone()).collect();
        if !mentions.is_empty() {
            let mentions = mentions.to_owned();
            paths.extend(blocking(move || existing(&mentions)).await);
        }
        let purpose = if writes { Purpose::Write } else { Purpose::Read };
        let resolved = self.resolve(paths, purpose, room).await?;
        Ok(resolved.map(|resolved| (writes && resolved.blocks_write(), resolved)))
    }

    async fn resolve(
        &self,
        paths: Vec<PathBuf>,
        purpose: Purpose,
        room: &mut InlineBudget,
    ) -> Result<Option<Announcement>, AgentError> {
        let Some(resolver) = self.resolver.clone() else { return Ok(None) };
        // Work on a copy, so that a failed attempt does not use up inline space.
        let mut left = room.clone();
        let resolving = blocking(move || {
            let resolved = resolver.resolve_for(paths.iter().map(PathBuf::as_path), purpose, &mut left);
            resolved.map(|resolved| (resolved, left))
        });
        let resolved;
        (resolved, *room) = resolving.await?;
        Ok(Some(resolved))
    }
}

impl PlannedCall {
    /// Returns true if the instructions for its paths were resolved.
    fn is_resolved(&self) -> bool {
        matches!(self.refusal, None | Some(CallRefusal::HeldBack))
    }

    async fn run(self, executor: &ToolExecutor, router: &Router) -> AnsweredCall {
        let call = self.call.call().clone();
        let mut is_held_back = matches!(self.refusal, Some(CallRefusal::HeldBack));
        let mut late = None;
        let mut output = match self.refusal {
            None => {
                let touches = self.call.touches().to_owned();
                let mentions = self.call.mentions().to_owned();
                let otherwise = async {
                    // Files may have changed during the approval, so resolve again right before the call runs.
                    let room = &mut InlineBudget::default();
                    match executor.announce(&touches, &mentions, room).await {
                        Ok(Some((true, announcement))) => {
                            late = Some(announcement);
                            Some(CallRefusal::HeldBack.output())
                        }
                        Ok(_) => None,
                        Err(error) => Some(CallRefusal::Unresolved(error).output()),
                    }
                };
                router.run_unless(self.call, Box::pin(otherwise)).await
            }
            Some(refusal) => refusal.output(),
        };
        is_held_back |= late.is_some();
        output.reminders.extend(late.as_ref().and_then(Announcement::reminder));
        output.reminders.extend(self.reminder);
        AnsweredCall { call, output, is_held_back, late }
    }
}

fn paths<'a>(planned: impl Iterator<Item = &'a PlannedCall>) -> Vec<PathBuf> {
    planned.flat_map(|planned| planned.call.touches()).map(|touch| touch.path.clone()).collect()
}

/// Returns the existing paths, and for missing ones the closest directory that exists.
fn existing(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let is_there = |path: &&Path| path.symlink_metadata().is_ok();
    paths.iter().filter_map(|path| path.ancestors().find(is_there)).map(Path::to_owned).collect()
}

async fn is_in_place(router: &Router) -> bool {
    let router = router.clone();
    blocking(move || router.is_in_place()).await
}

/// Protects instruction files from commands, whatever their names.
async fn protect(router: &Router, paths: Vec<PathBuf>) {
    if !paths.is_empty() {
        let router = router.clone();
        blocking(move || router.protect(paths)).await;
    }
}

/// Merges the answers into one message and its log events.
fn collect(answers: Vec<AnsweredCall>) -> ToolBatch {
    let mut results = vec![];
    let mut reminders = vec![];
    let mut events = vec![];
    let mut effects = vec![];
    let mut has_failed = false;
    let mut has_succeeded = false;
    for AnsweredCall { call, output, is_held_back, late: _ } in answers {
        let was_denied =
            output.reminders.iter().any(|reminder| reminder.kind() == SystemReminderType::PermissionDecision);
        // A command reports its own exit status, and a failure may be what it was run for.
        let has_run = output.effects.sandbox.is_some();
        has_failed |= output.is_error && !was_denied && !is_held_back && !has_run;
        has_succeeded |= !output.is_error || has_run;
        events.push(TurnEvent::ToolFinished {
            call_id: call.id.clone(),
            tool: call.name,
            is_error: output.is_error,
            reminders: output.reminders.iter().map(Reminder::kind).collect(),
            effects: output.effects.clone(),
        });
        if output.effects != CallEffects::default() {
            effects.push(AttachedEffects { call_id: call.id.clone(), effects: output.effects });
        }
        let attached = output.reminders.into_iter();
        reminders
            .extend(attached.map(|reminder| AttachedReminder { call_id: Some(call.id.clone()), reminder }));
        let result = ToolResult::new(call.id, output.text);
        results.push(if output.is_error { result.failed() } else { result });
    }
    let entry = TurnMessage { reminders, effects, ..TurnMessage::new(Message::results(results)) };
    let touched = Vec::new();
    let visited = Vec::new();
    let announcements = Vec::new();
    let share = if has_succeeded { FailedCalls::Some } else { FailedCalls::All };
    let failed = has_failed.then_some(share);
    ToolBatch { entry, events, failed, touched, visited, announcements }
}

/// Returns the characters each call may answer with so that all fit, at three characters per token.
fn share(room: usize, calls: usize) -> usize {
    (room * 3 / calls.max(1)).max(MIN_OUTPUT_CHARS)
}
