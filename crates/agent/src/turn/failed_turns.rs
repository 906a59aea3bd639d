//! Failed and cancelled turns. They are never replayed, but their changes to files remain, so the next turn
//! receives a note about them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use instructions::make_harmless;
use instructions::path::normalise;
use prompt::UNANSWERED_TURNS;
use prompt::notes::HalfDone;
use protocol::message::{Block, MessageNote, TurnMessage};
use protocol::{ToolCall, Turn, TurnApproval, TurnErrorKind, TurnStatus};
use store::UnansweredTurn;
use tools::{Access, Needs};

use crate::blocking::blocking;
use crate::domains::delegation::DELEGATE;
use crate::error::AgentError;
use crate::history::History;
use crate::turn::message::messages;
use crate::turn::running::RunningTurn;
use crate::turn::tools::RoundTools;

/// Number of failed turns that are always described, newest first.
const MAX_TURNS: usize = 3;
/// Number of failed turns that are examined; beyond the newest, only those that may have changed something are
/// described.
const MAX_LOOKED_AT: u64 = 50;
/// Files named per turn.
const MAX_FILES: usize = 20;
/// Longest name or path, in characters.
const MAX_NAME_CHARS: usize = 200;

impl RunningTurn {
    /// Describes the failed turns since the last one in the history.
    pub(crate) async fn failed_turns_note(
        &self,
        history: &History,
        tools: &RoundTools,
    ) -> Result<Option<MessageNote>, AgentError> {
        let stored = &self.stored;
        let last = history.turns.last().map_or(history.through, |turn| turn.ordinal);
        // Ordinals count all turns of a thread, so a gap means that the turns in between failed.
        if last + 1 >= stored.ordinal {
            return Ok(None);
        }
        let store = &self.agent.store;
        let found = store
            .unanswered_turns(&stored.workspace_id, &stored.thread_id, last, stored.ordinal, MAX_LOOKED_AT)
            .await?;
        let mut sentences = Vec::new();
        let mut half_done = HalfDone::Nothing;
        let mut is_gap = false;
        for (index, unanswered) in found.iter().enumerate() {
            let (calls, effects) = self.effects_of(&unanswered.turn, tools).await?;
            if !effects.is_nothing() {
                half_done = HalfDone::Something;
            } else if index >= MAX_TURNS {
                // After a skipped turn, the next one can no longer be called the one before that.
                is_gap = true;
                continue;
            }
            let name = match index {
                0 => "The turn before this one",
                _ if is_gap => "An earlier one",
                _ => "The one before that",
            };
            sentences.push(describe(name, unanswered, calls, &effects));
        }
        let text = || prompt::notes::unanswered_turns(&sentences.join("\n"), half_done);
        Ok((!sentences.is_empty()).then(|| MessageNote::new(UNANSWERED_TURNS, text())))
    }
}

impl RunningTurn {
    /// Returns the number of tools a turn called, and the effects of these calls and of delegated turns at any depth.
    async fn effects_of(&self, turn: &Turn, tools: &RoundTools) -> Result<(usize, TurnEffects), AgentError> {
        let store = &self.agent.store;
        let mut own_calls = None;
        let mut all = TurnEffects::default();
        let mut open = vec![turn.clone()];
        while let Some(turn) = open.pop() {
            let items = store.turn_items(&turn.workspace_id, &turn.id).await?;
            let entries: Vec<TurnMessage> = messages(items).into_iter().map(|(entry, _)| entry).collect();
            let calls: Vec<&ToolCall> = entries.iter().flat_map(|entry| entry.message.tool_calls()).collect();
            let approvals = store.approvals(&turn.workspace_id, &turn.id).await?;
            let mut effects = TurnEffects::default();
            for call in &calls {
                if let Some(fate) = CallEffect::of(call, &entries, &approvals) {
                    effects.add(call, fate, tools.needs(call));
                }
            }
            all.merge(self.rebase_paths(&turn, effects).await);
            // The first iteration handles the turn itself. Calls of delegated turns do not count as its own.
            own_calls.get_or_insert(calls.len());
            if calls.iter().any(|call| call.name == DELEGATE) {
                open.extend(store.delegated_turns(&turn.workspace_id, &turn.id).await?);
            }
        }
        Ok((own_calls.unwrap_or(0), all))
    }

    /// Rebases the paths of another turn onto this turn's directory. Relative paths count from their own turn's
    /// directory, and one file can be written in many ways.
    async fn rebase_paths(&self, other: &Turn, effects: TurnEffects) -> TurnEffects {
        let Some(root) = self.subject.workspace.root_path.clone() else { return effects };
        let directory =
            |turn: &Turn| normalise(Path::new(turn.cwd.as_deref().unwrap_or(".")), Path::new(&root));
        let there = directory(other);
        let here = directory(&self.stored);
        blocking(move || {
            let named = |path: &PathBuf| {
                let path = destination(path, &there);
                path.strip_prefix(&here).map(Path::to_owned).unwrap_or(path)
            };
            let changed: BTreeSet<PathBuf> = effects.changed.iter().map(named).collect();
            let mut possibly_changed: BTreeSet<PathBuf> =
                effects.possibly_changed.iter().map(named).collect();
            possibly_changed.retain(|path| !changed.contains(path));
            TurnEffects { changed, possibly_changed, ..effects }
        })
        .await
    }
}

/// Returns the path a call refers to. Tools follow a link before they go up from it, so `..` has to be resolved on
/// the disk; a missing path is normalised as text.
fn destination(path: &Path, directory: &Path) -> PathBuf {
    let goes_up = path.components().any(|component| component == Component::ParentDir);
    let on_disk = || {
        let directory_on_disk = directory.canonicalize().ok()?;
        let holder = directory.join(path.parent()?);
        let holder = holder.canonicalize().ok()?;
        // The directory itself may have been given through a link.
        let holder =
            holder.strip_prefix(directory_on_disk).map_or(holder.clone(), |below| directory.join(below));
        Some(holder.join(path.file_name()?))
    };
    goes_up.then(on_disk).flatten().unwrap_or_else(|| normalise(path, directory))
}

/// Describes in one line how a turn ended and what it changed.
fn describe(name: &str, unanswered: &UnansweredTurn, calls: usize, effects: &TurnEffects) -> String {
    let UnansweredTurn { turn, stopped_by } = unanswered;
    let how_far = match calls {
        0 => "before it called a tool".to_owned(),
        1 => "after one tool call".to_owned(),
        count => format!("after {count} tool calls"),
    };
    let mut line = format!("{name} {} {how_far}", ending(turn, stopped_by.as_deref()));
    if !effects.changed.is_empty() {
        line += &format!(
            "; files it changed: {}",
            named(effects.changed.iter().map(|path| path.to_string_lossy()))
        );
    }
    if !effects.possibly_changed.is_empty() {
        line += &format!(
            "; files it may have changed: {}",
            named(effects.possibly_changed.iter().map(|path| path.to_string_lossy()))
        );
    }
    if !effects.other_tools.is_empty() {
        let also =
            if effects.changed.is_empty() && effects.possibly_changed.is_empty() { "" } else { "also " };
        line += &format!(
            "; it {also}called {}, which may have changed something",
            named(effects.other_tools.iter().map(|name| Cow::from(name.as_str())))
        );
    }
    if effects.is_nothing() && calls > 0 {
        line += "; it changed no files";
    }
    line + "."
}

fn ending(turn: &Turn, stopped_by: Option<&str>) -> String {
    if turn.status == TurnStatus::Cancelled {
        return match stopped_by {
            Some(name) => format!("was cancelled by {}", one_line(name)),
            None => "was cancelled".to_owned(),
        };
    }
    let reason = match turn.error.as_ref().map(|error| error.kind) {
        Some(TurnErrorKind::ProviderFailed) => "the model's provider failed",
        Some(TurnErrorKind::HookFailed) => "a hook failed",
        Some(TurnErrorKind::Interrupted) => "the gateway was interrupted",
        Some(TurnErrorKind::NoAnswer) => "no answer came",
        Some(TurnErrorKind::Refused) => "the model refused to answer",
        Some(TurnErrorKind::ToolBudgetSpent) => "the budget of tool calls was spent",
        Some(TurnErrorKind::TooLong) => "the request was too long",
        Some(TurnErrorKind::Failed) | None => "an error occurred",
    };
    format!("failed ({reason})")
}

/// Effects of the calls of a turn, as far as they are stored.
#[derive(Default)]
struct TurnEffects {
    changed: BTreeSet<PathBuf>,
    /// Files of calls without a result, which may have been stopped at any point.
    possibly_changed: BTreeSet<PathBuf>,
    /// Tools that may have changed anything.
    other_tools: BTreeSet<String>,
}

/// Effect of a call that may have changed something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallEffect {
    /// The call returned a result that is not an error.
    Succeeded,
    /// The call started, and its result is missing or inconclusive.
    Unknown,
}

impl CallEffect {
    /// Returns the effect of a call; `None` if it changed nothing.
    fn of(call: &ToolCall, entries: &[TurnMessage], approvals: &[TurnApproval]) -> Option<Self> {
        let mut blocks = entries.iter().flat_map(|entry| &entry.message.blocks);
        let has_failed = blocks.find_map(|block| match block {
            Block::ToolResult(result) if result.call_id == call.id => Some(result.is_error),
            _ => None,
        });
        let mut asked = approvals.iter().filter(|approval| approval.request.call_id == call.id);
        let is_allowed = |it: &TurnApproval| it.decision.as_ref().is_some_and(|decision| decision.allowed);
        match has_failed {
            Some(false) => Some(Self::Succeeded),
            // A command that failed did run, and its effects are recorded; a refused call has no effects.
            Some(true) => {
                let mut effects = entries.iter().flat_map(|entry| &entry.effects);
                effects.any(|attached| attached.call_id == call.id).then_some(Self::Unknown)
            }
            // The call was stopped at an unknown point, unless it was still waiting for approval.
            None => asked.all(is_allowed).then_some(Self::Unknown),
        }
    }
}

impl TurnEffects {
    fn add(&mut self, call: &ToolCall, fate: CallEffect, needs: Option<Needs>) {
        let touches = match needs {
            Some(Needs::Nothing) => return,
            Some(Needs::Paths(touches)) if !touches.is_empty() => touches,
            Some(Needs::Paths(_) | Needs::Rule { .. } | Needs::Undeclared) | None => Vec::new(),
        };
        // A command may write anywhere. Listing single files would suggest that nothing else changed.
        if touches.is_empty() || touches.iter().any(|touch| touch.access == Access::Run) {
            self.other_tools.insert(call.name.clone());
            return;
        }
        let written = touches.iter().filter(|touch| touch.access == Access::Write);
        let files =
            if fate == CallEffect::Succeeded { &mut self.changed } else { &mut self.possibly_changed };
        files.extend(written.map(|touch| touch.path.clone()));
    }

    /// Adds the effects of another turn.
    fn merge(&mut self, mut other: Self) {
        self.changed.append(&mut other.changed);
        self.possibly_changed.append(&mut other.possibly_changed);
        self.possibly_changed.retain(|path| !self.changed.contains(path));
        self.other_tools.append(&mut other.other_tools);
    }

    fn is_nothing(&self) -> bool {
        self.changed.is_empty() && self.possibly_changed.is_empty() && self.other_tools.is_empty()
    }
}

fn named<'a>(names: impl ExactSizeIterator<Item = Cow<'a, str>>) -> String {
    let more = names.len().saturating_sub(MAX_FILES);
    let shown: Vec<String> = names.take(MAX_FILES).map(|name| one_line(&name)).collect();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Sanitises a name chosen by a person or model for use inside a line of ours.
fn one_line(name: &str) -> String {
    let name: String = name.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let short: String = name.chars().take(MAX_NAME_CHARS).collect();
    make_harmless(&short).0.into_owned()
}
