//! Why a provider could not reuse the beginning of a prompt.

use serde::{Deserialize, Serialize};
use tokens::{Encoding, count};

use crate::manifest::{Manifest, ManifestSection, Source};
use crate::stability::Stability;

/// What happened to a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Its text is another.
    Edited,
    /// It was not there before.
    Added,
    /// It is no longer there.
    Removed,
}

/// The first place where two prompts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// In which section.
    pub section_id: String,
    /// In which part.
    pub stability: Stability,
    /// What happened to it.
    pub change: Change,
    /// The line of the section's text, its heading being the first; absent when the texts are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The sources that differ, as they were.
    pub sources_before: Vec<Source>,
    /// The sources that differ, as they are.
    pub sources_after: Vec<Source>,
}

/// How much of a prompt can be reused, and what is to blame for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blame {
    /// Where they begin to differ; absent when they are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Difference>,
    /// Every section that differs, in the order of the text.
    pub changed_sections: Vec<String>,
    /// Tokens of the earlier prompt.
    pub tokens_before: usize,
    /// Tokens of the later prompt.
    pub tokens_after: usize,
    /// Tokens at the beginning that are the same in both.
    pub kept_tokens: usize,
    /// Tokens of the earlier prompt that can no longer be reused.
    pub lost_tokens: usize,
    /// The same for the stable and the session's part alone, which stand before the history.
    pub lost_prefix_tokens: usize,
}

/// Compares two prompts; `text_of` finds a section's text by its SHA-256, if it is kept.
pub fn blame(before: &Manifest, after: &Manifest, mut text_of: impl FnMut(&str) -> Option<String>) -> Blame {
    let tokens = |sections: &[ManifestSection]| sections.iter().map(|section| section.tokens).sum::<usize>();
    let same = before
        .sections
        .iter()
        .zip(&after.sections)
        .take_while(|(one, other)| one.id == other.id && one.sha256 == other.sha256)
        .count();
    let (old, new) = (before.sections.get(same), after.sections.get(same));
    let mut kept = tokens(&before.sections[..same]);
    let first_difference = first(old, new, before, after).map(|mut difference| {
        if let (Change::Edited, Some(old), Some(new)) = (difference.change, old, new)
            && let (Some(old), Some(new)) = (text_of(&old.sha256), text_of(&new.sha256))
        {
            let shared = common_prefix(&old, &new);
            difference.line = Some(shared.matches('\n').count() + 1);
            kept += count(Encoding::Cl100k, shared);
        }
        difference
    });
    let tokens_before = tokens(&before.sections);
    let prefix_before = before.prefix_tokens();
    Blame {
        first_difference,
        changed_sections: changed(before, after),
        tokens_before,
        tokens_after: tokens(&after.sections),
        kept_tokens: kept,
        lost_tokens: tokens_before.saturating_sub(kept),
        lost_prefix_tokens: prefix_before.saturating_sub(kept),
    }
}

/// The first difference, named after the section it is in.
fn first(
    old: Option<&ManifestSection>,
    new: Option<&ManifestSection>,
    before: &Manifest,
    after: &Manifest,
) -> Option<Difference> {
    let is_in = |manifest: &Manifest, id: &str| manifest.sections.iter().any(|section| section.id == id);
    let (section, change, old, new) = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old.id == new.id => (new, Change::Edited, Some(old), Some(new)),
        (Some(old), _) if !is_in(after, &old.id) => (old, Change::Removed, Some(old), None),
        (_, Some(new)) if !is_in(before, &new.id) => (new, Change::Added, None, Some(new)),
        // Only a compiler with another order can get here.
        (_, Some(new)) => (new, Change::Edited, None, Some(new)),
        (Some(old), None) => (old, Change::Removed, Some(old), None),
    };
    let sources = |section: Option<&ManifestSection>| section.map_or_else(Vec::new, |it| it.sources.clone());
    let (mut sources_before, mut sources_after) = (sources(old), sources(new));
    let unchanged: Vec<Source> =
        sources_before.iter().filter(|source| sources_after.contains(source)).cloned().collect();
    sources_before.retain(|source| !unchanged.contains(source));
    sources_after.retain(|source| !unchanged.contains(source));
    Some(Difference {
        section_id: section.id.clone(),
        stability: section.stability,
        change,
        line: None,
        sources_before,
        sources_after,
    })
}

fn changed(before: &Manifest, after: &Manifest) -> Vec<String> {
    let hash = |manifest: &Manifest, id: &str| {
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

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(end) {
        end -= 1;
    }
    &one[..end]
}
