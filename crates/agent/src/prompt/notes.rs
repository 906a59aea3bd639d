//! Notes of a turn: the turn sections of the prompt that the request does not contain yet.
//!
//! Earlier turns are replayed unchanged, including their notes about the date or memory. Repeating a note would be
//! noise, and it would be unclear to a model which of two equal texts applies.

use instructions::unsafe_parts;
use prompt::{CompiledPrompt, SELECTED_SKILLS};
use protocol::message::{MessageNote, TurnMessage};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptManifest, Stability};

use crate::error::AgentError;
use crate::history::History;
use crate::turn::running::RunningTurn;
use crate::turn::tools::RoundTools;

impl RunningTurn {
    /// Returns the notes for the opening of the turn.
    pub(crate) async fn turn_notes(
        &self,
        compiled: &CompiledPrompt,
        history: &History,
        tools: &RoundTools,
    ) -> Result<Vec<MessageNote>, AgentError> {
        let mut notes = unsent_sections(compiled, history.entries());
        notes.extend(self.failed_turns_note(history, tools).await?);
        Ok(notes)
    }
}

/// Returns the turn sections whose latest version is not in the messages.
pub(crate) fn unsent_sections<'a>(
    compiled: &CompiledPrompt,
    messages: impl Iterator<Item = &'a TurnMessage> + Clone,
) -> Vec<MessageNote> {
    let mut notes = turn_sections(compiled);
    notes.retain(|note| {
        // Selecting a skill is a request of this turn, even if an earlier turn had the same.
        if note.id == SELECTED_SKILLS {
            return true;
        }
        let said = messages.clone().flat_map(|message| &message.notes).filter(|it| it.id == note.id);
        // Several versions of a note may be in the request. The model goes by the last one, so only that one counts.
        said.last().map(|it| &it.text) != Some(&note.text)
    });
    notes
}

/// Returns the turn sections of a prompt as notes.
pub(crate) fn turn_sections(compiled: &CompiledPrompt) -> Vec<MessageNote> {
    let sections = compiled.manifest.sections.iter().zip(&compiled.sections);
    let of_turn = sections.filter(|(section, _)| section.stability == Stability::Turn);
    of_turn
        .map(|(section, text)| {
            let owner = section.sources.iter().find_map(|source| source.owner.clone());
            MessageNote { owner, ..MessageNote::new(&text.id, &*text.text) }
        })
        .collect()
}

/// Marks the turn sections in the manifest that these messages do not repeat.
pub(crate) fn mark_repeated_sections(manifest: &mut PromptManifest, messages: &[TurnMessage]) {
    let own = |id: &str| messages.iter().flat_map(|message| &message.notes).any(|note| note.id == id);
    for section in manifest.sections.iter_mut().filter(|section| section.stability == Stability::Turn) {
        section.said_earlier = !own(&section.id);
    }
}

/// Returns a diagnostic if the user's input had to be changed before sending.
pub(crate) fn unsafe_input(input: &str) -> Option<PromptDiagnostic> {
    let changes = unsafe_parts(input).len();
    let message =
        format!("tags of ours or hidden characters in the user's message were made visible ({changes})");
    (changes > 0).then(|| PromptDiagnostic::new(PromptDiagnosticCode::UnsafeText, message))
}
