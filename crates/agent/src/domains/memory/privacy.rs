//! Private memory: items that belong to one user, in threads that others use as well.

use std::collections::BTreeSet;

use protocol::Redaction;
use protocol::message::TurnMessage;
use protocol::prompt::PromptManifest;
use protocol::round::ExplainedRound;

/// Replacements for items of other users.
const HIDDEN: Redaction = Redaction {
    note: "[foreword: left out: what was recalled here includes what another user has remembered for themselves]",
    result: "[foreword: left out: this includes what another user has remembered for themselves]",
};

/// Returns true if an item of `owner` must be hidden from `reader`.
pub(crate) fn is_hidden(owner: Option<&str>, reader: Option<&str>) -> bool {
    owner.is_some() && owner != reader
}

/// Hides the private memory of everyone but `reader` in a turn's messages. The model's own words about it stay.
pub(crate) fn hide_memory_of_others(entries: &mut [TurnMessage], reader: Option<&str>) {
    let is_hidden = |owner: &Option<String>| is_hidden(owner.as_deref(), reader);
    let effects = entries.iter().flat_map(|entry| &entry.effects);
    let calls: BTreeSet<String> = effects
        .filter(|attached| is_hidden(&attached.effects.memory_owner))
        .map(|attached| attached.call_id.clone())
        .collect();
    let has_hidden = |entry: &TurnMessage| entry.notes.iter().any(|note| is_hidden(&note.owner));
    // Redacting rewrites a message, so leave alone the many that have nothing private.
    for entry in entries.iter_mut().filter(|entry| !calls.is_empty() || has_hidden(entry)) {
        entry.redact(HIDDEN, |note| is_hidden(&note.owner), |call_id| calls.contains(call_id));
    }
}

/// Hides the private memory of everyone but `reader` in the notes of rounds.
pub fn hide_notes_of_others(rounds: &mut [ExplainedRound], reader: Option<&str>) {
    let notes = rounds.iter_mut().flat_map(|round| &mut round.notes);
    for note in notes.filter(|note| is_hidden(note.owner.as_deref(), reader)) {
        note.text = HIDDEN.note.to_owned();
    }
}

/// Returns the owner of private memory in a prompt that `reader` may not see, if there is any.
pub fn memory_of_another<'a>(manifest: &'a PromptManifest, reader: Option<&str>) -> Option<&'a str> {
    let sources = manifest.sections.iter().flat_map(|section| &section.sources);
    sources.filter_map(|source| source.owner.as_deref()).find(|owner| is_hidden(Some(owner), reader))
}
