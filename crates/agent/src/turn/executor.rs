//! The calls of one answer: what newly applies to the paths they touch is told with their results, and nothing is
//! edited before it was.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use instructions::{
    Announcement, FileRead, InlineRoom, Purpose, Reminder, ReminderFile, Resolver, SystemReminderType,
    make_harmless,
};
use protocol::message::{AttachedEffects, AttachedReminder, TurnMessage};
use protocol::{CallEffects, Hint, ToolCall};
use provider::{Message, ToolResult};
use store::TurnEvent;
use tools::{Access, CheckedCall, Router, ToolOutput, Touch};

use crate::blocking::blocking;
use crate::error::AgentError;

/// Less than this says nothing.
const MIN_OUTPUT_CHARS: usize = 1_000;

/// Runs the calls of a turn.
pub(crate) struct ToolExecutor {
    /// None where there is no directory.
    resolver: Option<Resolver>,
}

/// The results of the calls of one answer.
pub(crate) struct ToolBatch {
    /// All results in one message, in the order of the calls.
    pub(crate) entry: TurnMessage,
    pub(crate) events: Vec<TurnEvent>,
    /// Whether a call failed that the model could make better, beside others that did not fail.
    pub(crate) partly_failed: bool,
    /// The paths that calls touched.
    pub(crate) touched: Vec<PathBuf>,
    /// The places whose instructions the model was given if it did not have them: those of calls that were held back
    /// for that, too, and the directories that something was found in.
    pub(crate) places: Vec<PathBuf>,
    announcements: Vec<Announcement>,
}

/// A call that is about to run, or that is answered without.
struct Planned {
    call: CheckedCall,
    refusal: Option<Refusal>,
    reminder: Option<Reminder>,
}

/// Why a call is answered without being run.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("this call did not run: the turn has no more tool calls left")]
    Spent,
    /// The instructions for what it would write had not reached the model.
    #[error("this call did not run: instruction files apply to this path that you had not been given")]
    HeldBack,
    #[error("this call did not run: {0}")]
    Unresolved(#[source] AgentError),
}

impl Hint for Refusal {
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

impl Refusal {
    /// It may name files, and it does not come from a tool.
    fn output(&self) -> ToolOutput {
        ToolOutput::error(make_harmless(&self.with_hint()).0)
    }
}

struct Answered {
    call: ToolCall,
    output: ToolOutput,
    is_held_back: bool,
    /// What came to apply while somebody decided about the call, which did not run because of it.
    late: Option<Announcement>,
}

impl Answered {
    /// Takes out of its reminders the files whose text another result of the same message has, or its own.
    fn leave_out(&mut self, reads: &[FileRead]) {
        let is_read = |file: &ReminderFile| {
            let same = |read: &FileRead| file.path == read.path && file.sha256.as_ref() == Some(&read.sha256);
            reads.iter().any(same)
        };
        self.output.reminders.retain_mut(|reminder| match reminder {
            Reminder::AgentsResolvePaths { files, removed } => {
                files.retain(|file| !is_read(file));
                !(files.is_empty() && removed.is_empty())
            }
            _ => true,
        });
    }
}

impl ToolBatch {
    /// The message is stored: what it tells has been delivered.
    pub(crate) fn confirm(self) {
        self.announcements.into_iter().for_each(Announcement::confirm);
    }
}

impl ToolExecutor {
    pub(crate) fn new(resolver: Option<Resolver>) -> Self {
        Self { resolver }
    }

    /// Runs calls side by side; those beyond `max_calls` are answered without being run. All answers together have
    /// about `room` tokens.
    pub(crate) async fn run(
        &self,
        router: &Router,
        calls: Vec<ToolCall>,
        max_calls: usize,
        room: usize,
    ) -> ToolBatch {
        let router = router.with_output_chars(share(room, calls.len()));
        // One after the other and before any of them runs, so that each file is announced by the first call it
        // applies to, whichever ends first.
        let mut planned = Vec::new();
        let mut announcements = Vec::new();
        let mut inline_room = InlineRoom::default();
        let mut instructing = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let call = router.check(call);
            let (mut refusal, mut reminder) = ((index >= max_calls).then_some(Refusal::Spent), None);
            // In a directory that is another one by now no call does anything, and its instructions are for the next turn.
            if refusal.is_none() && is_in_place(&router).await {
                match self.announce(call.touches(), call.mentions(), &mut inline_room).await {
                    Ok(Some((is_held_back, announcement))) => {
                        refusal = is_held_back.then_some(Refusal::HeldBack);
                        reminder = announcement.reminder();
                        instructing.extend(reminder.iter().flat_map(Reminder::paths));
                        announcements.push(announcement);
                    }
                    Ok(None) => {}
                    Err(error) => refusal = Some(Refusal::Unresolved(error)),
                }
            }
            planned.push(Planned { call, refusal, reminder });
        }
        protect(&router, instructing).await;
        let touched = paths(planned.iter().filter(|planned| planned.refusal.is_none()));
        let mut places = paths(planned.iter().filter(|planned| planned.is_resolved()));
        let mut answers = join_all(planned.into_iter().map(|planned| planned.run(self, &router))).await;
        let mut reads = Vec::new();
        for answered in &mut answers {
            if let Some(late) = answered.late.take() {
                protect(&router, late.reminder().iter().flat_map(Reminder::paths).collect()).await;
                announcements.push(late);
            }
            places.extend(answered.output.found_directories.iter().cloned());
            reads.extend(self.note_read(answered).await);
            let found = self.announce_found(answered, &mut inline_room).await;
            let met = found.iter().filter_map(Announcement::reminder).flat_map(|reminder| reminder.paths());
            protect(&router, met.collect()).await;
            announcements.extend(found);
        }
        answers.iter_mut().for_each(|answered| answered.leave_out(&reads));
        let mut batch = ToolBatch { touched, places, announcements, ..collect(answers) };
        batch.entry.reads = reads;
        batch
    }

    /// An instruction file that a call read whole is delivered by that.
    async fn note_read(&self, answered: &mut Answered) -> Option<FileRead> {
        let (resolver, read) = (self.resolver.clone()?, answered.output.whole_file.take()?);
        match blocking(move || resolver.mark_read(read)).await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%error, "a file that was read could not be compared with the instruction files");
                None
            }
        }
    }

    /// What newly applies to the files that a call found or changed: nobody knew which before it ran.
    async fn announce_found(&self, answered: &mut Answered, room: &mut InlineRoom) -> Option<Announcement> {
        let directories = std::mem::take(&mut answered.output.found_directories);
        if directories.is_empty() {
            return None;
        }
        match self.resolve(directories.into_iter().collect(), Purpose::Read, room).await {
            Ok(announcement) => {
                answered.output.reminders.extend(announcement.as_ref()?.reminder());
                announcement
            }
            // The next call there fails for the same reason, and says so.
            Err(error) => {
                tracing::warn!(%error, "instruction files of what a call found could not be looked for");
                None
            }
        }
    }

    /// What newly applies to the paths that a call touches, and whether the call must wait for it.
    async fn announce(
        &self,
        touches: &[Touch],
        mentions: &[PathBuf],
        room: &mut InlineRoom,
    ) -> Result<Option<(bool, Announcement)>, AgentError> {
        if touches.is_empty() {
            return Ok(None);
        }
        // What runs somewhere may write there. A tool that declares no path is told nothing, and waits for nothing.
        let writes = touches.iter().any(|touch| touch.access != Access::Read);
        let mut paths: Vec<PathBuf> = touches.iter().map(|touch| touch.path.clone()).collect();
        if !mentions.is_empty() {
            let mentions = mentions.to_owned();
            paths.extend(blocking(move || existing(&mentions)).await);
        }
        let purpose = if writes { Purpose::Write } else { Purpose::Read };
        let resolved = self.resolve(paths, purpose, room).await?;
        Ok(resolved.map(|resolved| (writes && resolved.is_awaited(), resolved)))
    }

    async fn resolve(
        &self,
        paths: Vec<PathBuf>,
        purpose: Purpose,
        room: &mut InlineRoom,
    ) -> Result<Option<Announcement>, AgentError> {
        let Some(resolver) = self.resolver.clone() else { return Ok(None) };
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

impl Planned {
    /// Whether the instructions for its paths were looked for.
    fn is_resolved(&self) -> bool {
        matches!(self.refusal, None | Some(Refusal::HeldBack))
    }

    async fn run(self, executor: &ToolExecutor, router: &Router) -> Answered {
        let call = self.call.call().clone();
        let mut is_held_back = matches!(self.refusal, Some(Refusal::HeldBack));
        let mut late = None;
        let mut output = match self.refusal {
            None => {
                let (touches, mentions) = (self.call.touches().to_owned(), self.call.mentions().to_owned());
                let otherwise = async {
                    // Files may have changed while somebody decided.
                    let room = &mut InlineRoom::default();
                    match executor.announce(&touches, &mentions, room).await {
                        Ok(Some((true, announcement))) => {
                            late = Some(announcement);
                            Some(Refusal::HeldBack.output())
                        }
                        Ok(_) => None,
                        Err(error) => Some(Refusal::Unresolved(error).output()),
                    }
                };
                router.run_unless(self.call, Box::pin(otherwise)).await
            }
            Some(refusal) => refusal.output(),
        };
        is_held_back |= late.is_some();
        output.reminders.extend(late.as_ref().and_then(Announcement::reminder));
        output.reminders.extend(self.reminder);
        Answered { call, output, is_held_back, late }
    }
}

fn paths<'a>(planned: impl Iterator<Item = &'a Planned>) -> Vec<PathBuf> {
    planned.flat_map(|planned| planned.call.touches()).map(|touch| touch.path.clone()).collect()
}

/// The paths that are there, and for the others the directory in which they would be made.
fn existing(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let is_there = |path: &&Path| path.symlink_metadata().is_ok();
    paths.iter().filter_map(|path| path.ancestors().find(is_there)).map(Path::to_owned).collect()
}

async fn is_in_place(router: &Router) -> bool {
    let router = router.clone();
    blocking(move || router.is_in_place()).await
}

/// Protects files that a model is told to follow, whatever they are called.
async fn protect(router: &Router, paths: Vec<PathBuf>) {
    if !paths.is_empty() {
        let router = router.clone();
        blocking(move || router.protect(paths)).await;
    }
}

/// One message of all answers, and what is logged about them.
fn collect(answers: Vec<Answered>) -> ToolBatch {
    let (mut results, mut reminders, mut events, mut effects) = (vec![], vec![], vec![], vec![]);
    let (mut has_failed, mut has_succeeded) = (false, false);
    for Answered { call, output, is_held_back, late: _ } in answers {
        let was_denied =
            output.reminders.iter().any(|reminder| reminder.kind() == SystemReminderType::PermissionDecision);
        // A command that ran says itself how it ended, and that may be what it was run for.
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
    let (touched, places, announcements) = (Vec::new(), Vec::new(), Vec::new());
    let partly_failed = has_failed && has_succeeded;
    ToolBatch { entry, events, partly_failed, touched, places, announcements }
}

/// Characters that each of some calls may answer with, so that all fit: a token has three or more.
fn share(room: usize, calls: usize) -> usize {
    (room * 3 / calls.max(1)).max(MIN_OUTPUT_CHARS)
}
