//! Explains which change made a provider's cached prefix unusable.

use protocol::prompt::{
    PromptBlame, PromptChange, PromptDifference, PromptManifest, PromptManifestSection, PromptSource,
};
use protocol::{ContentHash, common_prefix};
use tokens::{Encoding, count};

use crate::section::{DYNAMIC_CONTEXT, FilledBy, MEMORY_RECALL, SELECTED_SKILLS, SectionKind};

/// Compares two prompts; `text_of` finds a section's text by its SHA-256, if it is kept.
///
/// Only what is sent costs something: a section that an earlier turn sent counts in none of the sums, and its absence is
/// not a difference.
pub fn blame(
    before: &PromptManifest,
    after: &PromptManifest,
    mut text_of: impl FnMut(&ContentHash) -> Option<String>,
) -> PromptBlame {
    let before = &without_retold(before, after);
    let tokens = |sections: &[PromptManifestSection]| sections.iter().map(sent_tokens).sum::<u64>();
    let same = before
        .sections
        .iter()
        .zip(&after.sections)
        .take_while(|(one, other)| one.id == other.id && one.sha256 == other.sha256)
        .count();
    let old = before.sections.get(same);
    let new = after.sections.get(same);
    // A section that was sent before and is now left out as repeated is neither reused nor lost, so the two sums are
    // kept apart: one over the tokens of `after`, one over those of `before`.
    let mut reused = tokens(&after.sections[..same]);
    let mut kept = tokens(&before.sections[..same]);
    let first_difference = first(old, new, before, after).map(|mut difference| {
        if let (PromptChange::Edited, Some(old), Some(new)) = (difference.change, old, new)
            && let (Some(old), Some(new)) = (text_of(&old.sha256), text_of(&new.sha256))
        {
            // Providers cache by prefix, so within the first changed section everything before the change is still reused.
            let shared = common_prefix(&old, &new);
            difference.line = Some(shared.matches('\n').count() as u64 + 1);
            let shared = count(Encoding::Cl100k, shared) as u64;
            reused += shared;
            kept += shared;
        }
        difference
    });
    let tokens_before = before.sent_tokens();
    let prefix_before = before.prefix_tokens();
    PromptBlame {
        first_difference,
        changed_sections: changed(before, after),
        tokens_before,
        tokens_after: after.sent_tokens(),
        kept_tokens: reused,
        // Counting a part of a section and a whole one may differ by a token at the cut, so the sums could cross zero.
        lost_tokens: tokens_before.saturating_sub(kept),
        lost_prefix_tokens: prefix_before.saturating_sub(kept),
    }
}

/// Returns the earlier prompt without those sections of one message that the later one lacks.
///
/// Notes, memories and context belong to one message of one turn. Later requests repeat that message in the history, at the
/// same position, so that the absence of the section from a later turn loses nothing.
fn without_retold(before: &PromptManifest, after: &PromptManifest) -> PromptManifest {
    let is_known = |id: &str| after.sections.iter().any(|section| section.id == id);
    let belongs_to_message = |id: &str| {
        [MEMORY_RECALL, DYNAMIC_CONTEXT, SELECTED_SKILLS].contains(&id)
            || SectionKind::find(id).is_some_and(|kind| kind.filled_by == FilledBy::Note)
    };
    let mut compared = before.clone();
    compared.sections.retain(|section| !belongs_to_message(&section.id) || is_known(&section.id));
    compared
}

fn sent_tokens(section: &PromptManifestSection) -> u64 {
    if section.said_earlier { 0 } else { section.tokens }
}

/// The first difference, named after the section it is in.
fn first(
    old: Option<&PromptManifestSection>,
    new: Option<&PromptManifestSection>,
    before: &PromptManifest,
    after: &PromptManifest,
) -> Option<PromptDifference> {
    let is_in =
        |manifest: &PromptManifest, id: &str| manifest.sections.iter().any(|section| section.id == id);
    let (section, change, old, new) = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old.id == new.id => (new, PromptChange::Edited, Some(old), Some(new)),
        (Some(old), _) if !is_in(after, &old.id) => (old, PromptChange::Removed, Some(old), None),
        (_, Some(new)) if !is_in(before, &new.id) => (new, PromptChange::Added, None, Some(new)),
        // The compiler keeps the order of the table, so only a manifest of another compiler version gets here.
        (_, Some(new)) => (new, PromptChange::Edited, None, Some(new)),
        (Some(old), None) => (old, PromptChange::Removed, Some(old), None),
    };
    let sources =
        |section: Option<&PromptManifestSection>| section.map_or_else(Vec::new, |it| it.sources.clone());
    let mut sources_before = sources(old);
    let mut sources_after = sources(new);
    // Sources that both versions share cannot explain the difference, so only those that are new or gone are reported.
    let unchanged: Vec<PromptSource> =
        sources_before.iter().filter(|source| sources_after.contains(source)).cloned().collect();
    sources_before.retain(|source| !unchanged.contains(source));
    sources_after.retain(|source| !unchanged.contains(source));
    Some(PromptDifference {
        section_id: section.id.clone(),
        stability: section.stability,
        change,
        line: None,
        sources_before,
        sources_after,
    })
}

fn changed(before: &PromptManifest, after: &PromptManifest) -> Vec<String> {
    let hash = |manifest: &PromptManifest, id: &str| {
        manifest.sections.iter().find(|section| section.id == id).map(|section| section.sha256.clone())
    };
    let mut ids: Vec<&str> = Vec::new();
    for section in before.sections.iter().chain(&after.sections) {
        if !ids.contains(&section.id.as_str()) && hash(before, &section.id) != hash(after, &section.id) {
            ids.push(&section.id);
        }
    }
    ids.into_iter().map(str::to_owned).collect()
}
