//! What a turn's opening says besides the user's words: the turn part of the prompt, as far as the request does not say it
//! already.
//!
//! Earlier turns are replayed as they were sent, and so is what they said of the date or of a memory. Said again it would be
//! noise, and two equal texts in different places make a model wonder which holds.

use instructions::unsafe_parts;
use prompt::CompiledPrompt;
use protocol::message::{MessageNote, TurnMessage};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptManifest, Stability};

use crate::error::AgentError;
use crate::history::History;
use crate::turn::running::RunningTurn;
use crate::turn::tools::RoundTools;

impl RunningTurn {
    /// What the turn's opening says of this turn alone.
    pub(crate) async fn turn_notes(
        &self,
        compiled: &CompiledPrompt,
        history: &History,
        tools: &RoundTools,
    ) -> Result<Vec<MessageNote>, AgentError> {
        let mut notes = unsent_sections(compiled, history.entries());
        notes.extend(self.unanswered_note(history, tools).await?);
        Ok(notes)
    }
}

/// What messages do not say of the turn part of a prompt, or do not say last.
pub(crate) fn unsent_sections<'a>(
    compiled: &CompiledPrompt,
    messages: impl Iterator<Item = &'a TurnMessage> + Clone,
) -> Vec<MessageNote> {
    let mut notes = turn_sections(compiled);
    notes.retain(|note| {
        let said = messages.clone().flat_map(|message| &message.notes).filter(|it| it.id == note.id);
        said.last().map(|it| &it.text) != Some(&note.text)
    });
    notes
}

/// The turn part of a prompt.
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

/// Says in a turn's manifest which sections of the turn its messages do not repeat.
pub(crate) fn mark_repeated_sections(manifest: &mut PromptManifest, messages: &[TurnMessage]) {
    let own = |id: &str| messages.iter().flat_map(|message| &message.notes).any(|note| note.id == id);
    for section in manifest.sections.iter_mut().filter(|section| section.stability == Stability::Turn) {
        section.said_earlier = !own(&section.id);
    }
}

/// What is said of a user's words that were not sent as they are.
pub(crate) fn unsafe_input(input: &str) -> Option<PromptDiagnostic> {
    let changes = unsafe_parts(input).len();
    let message =
        format!("tags of ours or hidden characters in the user's message were made visible ({changes})");
    (changes > 0).then(|| PromptDiagnostic::new(PromptDiagnosticCode::UnsafeText, message))
}
