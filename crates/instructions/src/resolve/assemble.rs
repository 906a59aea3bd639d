//! Turns the selected files into the answer: shares the limit, transforms the texts and renders them.

use std::ops::Range;
use std::path::PathBuf;

use super::chain::{Candidate, Chain, Origin, Survey};
use crate::profile::{NormalForm, Profile, Rendering};
use crate::resolve::budget::{self, ChainLimit, Share, SharedFile};
use crate::resolve::decision::Outcome;
use crate::resolve::reason::{DecisionReason, LimitEffect};
use crate::resolve::render::{self, Part};
use crate::resolve::resolution::{FileScope, InstructionFile, Resolution};
use crate::resolve::root::Root;
use crate::settings::MAX_BYTES;
use crate::text;
use crate::text::headings_after;
use crate::text::transform::composed;

impl Chain<'_> {
    pub(super) fn finish(
        mut self,
        root: Root,
        markers: Vec<String>,
        directories: Vec<PathBuf>,
        max_bytes: u64,
    ) -> Resolution {
        let profile = self.request.settings.profile;
        let chosen = std::mem::take(&mut self.chosen);
        if self.survey == Survey::Everything {
            self.note_repetitions(&chosen);
        }
        let shares = self.shares(&chosen, max_bytes);
        let mut files = Vec::with_capacity(chosen.len());
        let mut parts_of = Vec::with_capacity(chosen.len());
        // Only profiles with forms of their own transform texts, so the others do not pay for it.
        let is_rewritten = matches!(profile.render.form, Rendering::Forms(_));
        for (chosen, share) in chosen.iter().zip(shares) {
            let kept = self.keep(chosen, share, max_bytes);
            let Some((kept, mark)) = kept else { continue };
            let start = chosen.content.markup(profile).start;
            let mut text = self.text(profile, chosen, start.min(kept)..kept);
            let mut imported = Vec::new();
            // Texts are transformed after the cut. All profiles that do so have no known limit, so only our own
            // cap cuts their files.
            if is_rewritten {
                match self.rewrite(chosen, text, &mut imported) {
                    Some(rewritten) if !self.is_repeated(chosen, &rewritten, &files) => text = rewritten,
                    _ => continue,
                }
            }
            parts_of.push((files.len(), chosen, mark));
            files.push(instruction_file(chosen, text, kept, start));
            files.extend(imported);
        }
        let parts: Vec<Part<'_>> = parts_of
            .into_iter()
            .map(|(index, chosen, mark)| Part {
                path: &chosen.path,
                home: chosen.origin == Origin::Home,
                text: &files[index].text,
                mark,
                is_rule: chosen.folder.is_some(),
                is_private: chosen.is_private,
                title: chosen.title.as_deref().unwrap_or_default(),
            })
            .collect();
        let place = render::AgentLocation {
            cwd: self.request.cwd,
            root: &self.root,
            user_home: self.request.settings.homes.user(),
        };
        // An agent may send several messages, such as its own files in one and the project's in another. The whole text
        // joins them for display.
        let mut blocks = render::render(profile, place, &parts, &self.waiting);
        if let Some(named) = self.named {
            blocks.iter_mut().for_each(|block| named.name_in_heading(&mut block.text, profile));
        }
        if profile.text.normal_form == NormalForm::Composed {
            // Paths are part of the text, too.
            blocks.iter_mut().for_each(|block| block.text = composed(std::mem::take(&mut block.text)));
        }
        let text = match blocks.as_slice() {
            [block] => block.text.clone(),
            blocks => blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n\n"),
        };
        self.drop_too_deep_if_used(&files);
        if self.survey == Survey::Everything {
            self.drop_ignored_if_imported();
        }
        Resolution {
            profile: profile.name,
            cwd: self.request.cwd.to_owned(),
            root: root.directory,
            root_reason: root.reason,
            root_is_fallback: root.is_fallback,
            markers,
            directories,
            limit_bytes: max_bytes,
            switched_off: self.switched_off,
            files,
            decisions: self.decisions,
            diagnostics: self.diagnostics,
            text: (!blocks.is_empty()).then_some(text),
            blocks,
        }
    }

    /// Returns each file's share of the limit. The user's own files do not count.
    fn shares(&self, chosen: &[Candidate], max_bytes: u64) -> Vec<Share> {
        let profile = self.request.settings.profile;
        let files: Vec<SharedFile<'_>> = chosen
            .iter()
            .filter(|chosen| chosen.origin == Origin::Project)
            .map(|chosen| SharedFile {
                bytes: &chosen.content.bytes,
                size: chosen.size(),
                imported: chosen.depth > 0,
            })
            .collect();
        let limit = ChainLimit {
            bytes: max_bytes,
            files: self.request.settings.max_files(),
            over: profile.budget.over_limit,
            mark: profile.text.byte_order_mark,
            blank: profile.choose.blank,
        };
        let mut project = budget::share(&files, limit).into_iter();
        chosen
            .iter()
            .map(|chosen| match chosen.origin {
                // Home files have a cap of their own, far above real files, so that a huge one cannot exhaust
                // memory.
                Origin::Home if chosen.content.whole => Share::Whole,
                Origin::Home => Share::Cut(text::cut(&chosen.content.bytes, chosen.content.bytes.len())),
                Origin::Project => project.next().unwrap_or(Share::Nothing),
            })
            .collect()
    }

    /// Returns how many bytes of a file are kept, and the mark of a cut. `None` if the file is dropped.
    fn keep(&mut self, chosen: &Candidate, share: Share, max_bytes: u64) -> Option<(usize, Option<String>)> {
        let marked =
            self.request.settings.profile.budget.over_limit == crate::profile::OverLimit::NearestFirst;
        let profile = self.request.settings.profile;
        // Agents without a known limit still meet our cap; the advice must not name a setting that they do not
        // have.
        let limit = |effect| DecisionReason::Limit {
            effect,
            max_bytes,
            setting: profile.has_limit().then(|| profile.setting_name(MAX_BYTES)),
        };
        let decision = &mut self.decisions[chosen.decision];
        let size = chosen.size();
        let kept = match share {
            Share::Whole => return Some((chosen.content.bytes.len(), None)),
            Share::Blank => {
                decision.outcome = Outcome::Blank;
                decision.reasons = vec![DecisionReason::BlankAfterCut];
                return None;
            }
            Share::Cut(kept) => {
                decision.outcome = Outcome::Truncated;
                decision.add(limit(LimitEffect::Cut));
                kept
            }
            Share::Nothing | Share::DoesNotFit | Share::Stopped | Share::TooMany => {
                decision.outcome = Outcome::OverBudget;
                decision.add(match share {
                    Share::DoesNotFit => limit(LimitEffect::TooLarge),
                    Share::Stopped => limit(LimitEffect::Stopped),
                    Share::TooMany => DecisionReason::TooManyFiles,
                    _ => limit(LimitEffect::Spent),
                });
                if !marked {
                    return None;
                }
                0
            }
        };
        if !marked {
            return Some((kept, None));
        }
        let start = chosen.content.markup(self.request.settings.profile).start;
        let omitted = headings_after(&chosen.content.bytes[start..], kept.saturating_sub(start));
        // The mark must not claim that an unread part has no headings, so it contains the number of bytes that were not
        // read.
        let unread = size.saturating_sub(chosen.content.bytes.len() as u64);
        Some((kept, Some(render::mark(&chosen.path, kept, size, &omitted, unread))))
    }

    /// Returns a file's text as the profile decodes it, and reports problems in it.
    fn text(&mut self, profile: &Profile, chosen: &Candidate, kept: Range<usize>) -> String {
        let text = text::decode::read_content(
            &chosen.content,
            kept,
            &chosen.path,
            profile,
            self.request.settings.unsafe_text(),
            &mut self.diagnostics,
        );
        match profile.choose.home {
            Some(home) if home.trimmed && chosen.scope == FileScope::Home => text.trim().to_owned(),
            _ => text,
        }
    }
}

/// Returns the public record of a file that is included, in full or truncated.
pub(super) fn instruction_file(
    chosen: &Candidate,
    text: String,
    kept: usize,
    start: usize,
) -> InstructionFile {
    InstructionFile {
        path: chosen.path.clone(),
        scope: chosen.scope,
        bytes: chosen.size(),
        kept_bytes: kept as u64,
        sha256: chosen.content.sha256.clone(),
        mtime_ms: chosen.stamp.modified_ms(),
        truncated: (kept as u64) < chosen.size(),
        text,
        lines_before: text::decode::count_lines(&chosen.content.bytes[..start]) as u64,
        limited: chosen.origin == Origin::Project,
        imported_by: chosen.imported_by.clone(),
    }
}
