//! The verdict: the relation between a rule and what was in front of the model.

use std::path::Path;

use instructions::{FileScope, Outcome};
use protocol::{RuleDelivery, TranscriptEvidence, Verdict, WhySession};

use crate::digest::DigestEntry;
use crate::event::Origin;
use crate::verdict::advice;
use crate::verdict::completion::Completed;
use crate::verdict::rule::{Rule, RuleFile};
use crate::verdict::rule_text::{essence, has_line, plain_line, similarity, without_line_number};

/// Separator between the user's own text and the project's in a joined text.
const PROJECT: &str = "--- project-doc ---";
/// Default limit of a joined text, in bytes.
const CODEX_LIMIT: u64 = 32_768;
/// Share of common lines from which a text without a path is a version of a file.
const LEAST_SIMILARITY: f64 = 0.5;

/// Judges a completed session. `searched` is true if a violation was searched for.
pub(crate) fn judge(completed: &Completed, rule: &Rule, searched: bool) -> WhySession {
    Judge { completed, rule, searched }.session()
}

struct Judge<'a> {
    completed: &'a Completed,
    rule: &'a Rule,
    searched: bool,
}

/// Index of a text, and the part of it that is a version of the rule's file.
type Part = (usize, String);

/// A verdict with its grounds.
struct Finding {
    verdict: Verdict,
    reason: Option<String>,
    /// Text that the verdict rests on.
    text: Option<usize>,
    dropped_at: Option<u64>,
    diff: Option<String>,
}

impl Finding {
    fn new(verdict: Verdict, text: Option<usize>) -> Self {
        Self { verdict, reason: None, text, dropped_at: None, diff: None }
    }
}

impl Judge<'_> {
    fn session(&self) -> WhySession {
        let digest = &self.completed.digest;
        let header = &digest.header;
        let found = digest.violation.as_ref();
        let mut finding = if self.searched && found.is_none() {
            let reason = Some("no tool call or answer in this session matches".to_owned());
            Finding { reason, ..Finding::new(Verdict::Unknown, None) }
        } else {
            self.finding(found.map_or(digest.entries.len(), |found| found.position))
        };
        let evidence = self.evidence(&finding);
        if let Some(note) = finding.text.and_then(|text| self.completed.note(text)) {
            finding.reason.get_or_insert_with(|| note.to_owned());
        } else if evidence != TranscriptEvidence::Recorded
            && finding.verdict == Verdict::NeverLoaded
            && let (Some(reason), Some(basis)) = (&mut finding.reason, &self.completed.basis)
        {
            reason.push_str("; ");
            reason.push_str(basis);
        }
        let distance = found.filter(|_| finding.verdict == Verdict::Delivered).zip(finding.text);
        let messages_before =
            distance.map(|(found, text)| found.violation.message.saturating_sub(digest.texts[text].message));
        let tokens_before = distance.and_then(|(found, text)| self.tokens_between(text, found.position));
        let advice = advice::advice(self.completed, self.rule, finding.verdict, finding.reason.as_deref());
        let deliveries = if finding.verdict == Verdict::Unknown { Vec::new() } else { self.deliveries() };
        WhySession {
            agent: digest.agent.name().to_owned(),
            version: header.version.clone(),
            id: header.id.clone(),
            parent: header.parent.clone(),
            title: header.title.clone(),
            started_at: header.started_at.unwrap_or(protocol::Timestamp::from_milliseconds(0)),
            cwd: header.cwd.as_deref().unwrap_or(Path::new("")).to_string_lossy().into_owned(),
            verdict: finding.verdict,
            reason: finding.reason,
            evidence,
            deliveries,
            dropped_at: finding.dropped_at,
            violation: found.map(|found| found.violation.clone()),
            messages_before,
            tokens_before,
            diff: finding.diff,
            advice,
        }
    }

    fn finding(&self, position: usize) -> Finding {
        let digest = &self.completed.digest;
        let visible = digest.visible(position);
        let parts: Vec<Part> = visible.iter().filter_map(|text| Some((*text, self.part(*text)?))).collect();
        let loaded: Vec<&Part> =
            parts.iter().filter(|(text, _)| digest.texts[*text].origin != Origin::Tool).collect();
        if let Some((old, new)) = self.two_versions(&loaded) {
            let diff = Some(unified(&old.1, &new.1, "earlier in the context", "later in the context"));
            return Finding { diff, ..Finding::new(Verdict::Conflicting, Some(new.0)) };
        }
        // The nearest delivery counts for the distance.
        if let Some(text) = visible.iter().rev().find(|text| self.contains(**text)) {
            if self.completed.note(*text).is_some() && self.is_uncertain() {
                return self.uncertain();
            }
            return Finding::new(Verdict::Delivered, Some(*text));
        }
        if let Some((text, part)) = loaded.last().or(parts.last().as_ref()) {
            return self.without_line(*text, part);
        }
        if self.is_uncertain() {
            return self.uncertain();
        }
        if let Some(finding) = self.dropped(position) {
            return finding;
        }
        let later =
            self.entered(position..digest.entries.len()).into_iter().find(|text| self.contains(*text));
        if let Some(text) = later {
            return Finding::new(Verdict::TooLate, Some(text));
        }
        self.never_loaded()
    }

    /// Judges a part of the file that does not have the line.
    fn without_line(&self, text: usize, part: &str) -> Finding {
        if self.is_uncertain() {
            return self.uncertain();
        }
        let file = &self.rule.file;
        let mut full = versions(file);
        let limit = self.limit(text);
        if full.any(|full| is_cut(part, full, limit) && has_line(full, &self.rule.plain)) {
            return Finding::new(Verdict::Truncated, Some(text));
        }
        let part_lines = essence(part);
        let all = essence(&file.text);
        // Agents leave out comments and front matter, so a text can be current although the line is missing.
        if !self.rule.is_gone
            && part_lines.len() < all.len()
            && part_lines.iter().all(|line| all.contains(line))
        {
            let is_hidden = is_hidden(&file.text, self.rule.line.line);
            if is_hidden {
                let reason = Some("hidden: the agent leaves out comments and front matter".to_owned());
                return Finding { reason, ..Finding::new(Verdict::NeverLoaded, Some(text)) };
            }
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let diff = unified(part, &file.text, "in front of the model", &name);
        Finding { diff: Some(diff), ..Finding::new(Verdict::Outdated, Some(text)) }
    }

    /// Returns whether a text is as long as the agent allows.
    fn limit(&self, text: usize) -> Limit {
        let digest = &self.completed.digest;
        if digest.texts[text].origin != Origin::Joined {
            let path = digest.texts[text].path.as_ref();
            let files = self.completed.resolution.iter().flat_map(|resolution| &resolution.files);
            let is_cut = files.filter(|file| file.truncated).any(|file| Some(&file.path) == path);
            return if is_cut { Limit::Reached } else { Limit::Unknown };
        }
        let body = digest.body(text);
        let separator = format!("\n\n{PROJECT}\n\n");
        let project = body.split_once(&separator).map_or(body, |(_, project)| project);
        let limit = self.completed.resolution.as_ref().map_or(CODEX_LIMIT, |found| found.limit_bytes);
        // The end of a character can be missing, and the white space at the end of the text.
        let is_reached = |limit: u64| (limit.saturating_sub(4)..=limit).contains(&(project.len() as u64));
        if is_reached(limit) || is_reached(CODEX_LIMIT) { Limit::Reached } else { Limit::Unknown }
    }

    fn dropped(&self, position: usize) -> Option<Finding> {
        let digest = &self.completed.digest;
        let texts = self.entered(0..position);
        let text = texts.into_iter().rev().find(|text| self.contains(*text))?;
        let mut was_there = false;
        let mut dropped_at = None;
        for (index, entry) in digest.entries.iter().enumerate().take(position) {
            let is_there = digest.visible(index + 1).contains(&text);
            if was_there && !is_there {
                dropped_at = match entry {
                    DigestEntry::Compaction { message, .. } => Some(*message),
                    _ => self.message_at(index),
                };
            }
            was_there = is_there;
        }
        Some(Finding { dropped_at, ..Finding::new(Verdict::Dropped, Some(text)) })
    }

    /// Returns the number of the last message that is known before an entry.
    fn message_at(&self, position: usize) -> Option<u64> {
        let digest = &self.completed.digest;
        let messages = digest.entries.iter().take(position).filter_map(|entry| match entry {
            DigestEntry::Text(text) => Some(digest.texts[*text].message),
            DigestEntry::Compaction { message, .. } | DigestEntry::Announced { message, .. } => {
                Some(*message)
            }
            _ => None,
        });
        messages.max()
    }

    fn never_loaded(&self) -> Finding {
        let recorded = self.completed.digest.header.recorded;
        let is_recorded = if self.rule.file.is_home { recorded.home } else { recorded.start };
        if let Some(missing) = self.completed.missing.as_ref().filter(|_| !is_recorded) {
            return Finding { reason: Some(missing.clone()), ..Finding::new(Verdict::Unknown, None) };
        }
        Finding { reason: Some(self.decision()), ..Finding::new(Verdict::NeverLoaded, None) }
    }

    /// Returns the decision of the agent's profile about the file.
    fn decision(&self) -> String {
        let file = &self.rule.file;
        let Some(resolution) = &self.completed.resolution else { return "unknown_directory".to_owned() };
        let names = || [&file.path].into_iter().chain(&file.links);
        let decided = resolution.decisions.iter().filter(|decision| {
            decision.outcome != Outcome::Absent && names().any(|name| *name == decision.path)
        });
        // A file can be ignored under one name and used under another.
        let best =
            decided.min_by_key(|decision| !matches!(decision.outcome, Outcome::Used | Outcome::Truncated));
        let directory = file.path.parent().unwrap_or(&file.path);
        let cwd = &resolution.cwd;
        match best.map(|decision| decision.outcome) {
            Some(Outcome::Used | Outcome::Truncated | Outcome::Duplicate) => {
                if self.completed.digest.header.parent.is_some() { "subagent" } else { "absent" }.to_owned()
            }
            Some(outcome) => serde_json::to_value(outcome)
                .ok()
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default(),
            None if directory != cwd && directory.starts_with(cwd) => "below_cwd".to_owned(),
            None if resolution
                .root
                .as_ref()
                .is_some_and(|root| root.starts_with(directory) && root != directory) =>
            {
                "above_root".to_owned()
            }
            None if cwd.starts_with(directory) => "ignored".to_owned(),
            None if file.is_home => "ignored".to_owned(),
            None => "not_on_chain".to_owned(),
        }
    }

    /// Returns true if the verdict depends on whether the agent was started again after the file changed.
    fn is_uncertain(&self) -> bool {
        let file = &self.rule.file;
        let has = |text: &str| has_line(text, &self.rule.plain);
        self.completed.changed.iter().any(|changed| {
            (changed.path == file.path || file.links.contains(&changed.path))
                && has(&changed.start) != has(&changed.end)
        })
    }

    fn uncertain(&self) -> Finding {
        let digest = &self.completed.digest;
        let name = self.rule.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let reason = format!(
            "{name} changed during the session, and {} does not record when it was started again",
            digest.agent.title()
        );
        Finding { reason: Some(reason), ..Finding::new(Verdict::Unknown, None) }
    }

    /// Returns the texts that entered the context in a range of entries, in order.
    fn entered(&self, range: std::ops::Range<usize>) -> Vec<usize> {
        let mut texts = Vec::new();
        for entry in self.completed.digest.entries.get(range).into_iter().flatten() {
            match entry {
                DigestEntry::Text(text) => texts.push(*text),
                DigestEntry::Replaced(all) | DigestEntry::System(all) => texts.extend(all),
                _ => {}
            }
        }
        texts
    }

    fn contains(&self, text: usize) -> bool {
        has_line(self.completed.digest.body(text), &self.rule.plain)
    }

    /// Returns the part of a text that is a version of the rule's file.
    fn part(&self, text: usize) -> Option<String> {
        let digest = &self.completed.digest;
        let loaded = &digest.texts[text];
        let body = digest.body(text);
        let file = &self.rule.file;
        match (&loaded.path, loaded.origin) {
            (Some(path), _) => {
                is_same_file(path, file, digest.header.cwd.as_deref()).then(|| body.to_owned())
            }
            (None, Origin::Joined) => self.joined_part(body),
            (None, Origin::Tool) => None,
            (None, _) => {
                let best = versions(file).map(|version| similarity(version, body)).fold(0.0, f64::max);
                (best >= LEAST_SIMILARITY).then(|| body.to_owned())
            }
        }
    }

    /// Returns the part of the file in the text of several files without their paths.
    fn joined_part(&self, body: &str) -> Option<String> {
        let file = &self.rule.file;
        let (home, project) = match body.split_once(&format!("\n\n{PROJECT}\n\n")) {
            Some((home, project)) => (home, project),
            None if file.is_home => (body, ""),
            None => ("", body),
        };
        if file.is_home {
            return (!home.is_empty()).then(|| home.to_owned());
        }
        // A version that is known to the end needs no guess about the others.
        if let Some(known) =
            versions(file).map(|text| text.trim()).find(|text| !text.is_empty() && project.contains(text))
        {
            return Some(known.to_owned());
        }
        let resolution = self.completed.resolution.as_ref()?;
        let chain = resolution.files.iter().filter(|found| found.scope != FileScope::Home);
        let cwd = self.completed.digest.header.cwd.as_deref();
        let mut rest = project.to_owned();
        let mut is_on_chain = false;
        for found in chain {
            if is_same_file(&found.path, file, cwd) {
                is_on_chain = true;
            } else if let Some(start) = rest.find(found.text.trim()) {
                rest.replace_range(start..start + found.text.trim().len(), "");
            }
        }
        let rest = rest.trim_matches('\n');
        (is_on_chain && !rest.trim().is_empty()).then(|| rest.to_owned())
    }

    /// Returns two versions of the file that are both in front of the model.
    fn two_versions<'b>(&self, parts: &[&'b Part]) -> Option<(&'b Part, &'b Part)> {
        let texts = &self.completed.digest.texts;
        let (newest, earlier) = parts.split_last()?;
        let is_excerpt = |part: &Part| texts[part.0].origin == Origin::Excerpt;
        let differs = |one: &Part, other: &Part| match (is_excerpt(one), is_excerpt(other)) {
            (false, false) => !is_same_version(&one.1, &other.1),
            (true, false) => has_other_lines(&one.1, &other.1),
            (false, true) => has_other_lines(&other.1, &one.1),
            (true, true) => false,
        };
        let old = earlier.iter().rev().find(|old| differs(old, newest))?;
        Some((*old, *newest))
    }

    fn evidence(&self, finding: &Finding) -> TranscriptEvidence {
        if let Some(text) = finding.text {
            return self.completed.evidence(text);
        }
        let recorded = self.completed.digest.header.recorded;
        let is_recorded = if self.rule.file.is_home { recorded.home } else { recorded.start };
        match (is_recorded, finding.verdict) {
            (false, Verdict::NeverLoaded) if self.completed.digest.header.snapshots.is_some() => {
                TranscriptEvidence::Recovered
            }
            (false, Verdict::NeverLoaded) => TranscriptEvidence::Inferred,
            _ => TranscriptEvidence::Recorded,
        }
    }

    fn deliveries(&self) -> Vec<RuleDelivery> {
        let digest = &self.completed.digest;
        let mut deliveries: Vec<RuleDelivery> = Vec::new();
        for text in self.entered(0..digest.entries.len()) {
            let is_delivery = self.contains(text)
                || (digest.texts[text].origin != Origin::Tool && self.part(text).is_some());
            if is_delivery {
                let loaded = &digest.texts[text];
                let path = loaded.path.as_ref().unwrap_or(&self.rule.file.path);
                let path = path.to_string_lossy().into_owned();
                let delivery = RuleDelivery { message: loaded.message, when: loaded.when, path };
                if !deliveries.contains(&delivery) {
                    deliveries.push(delivery);
                }
            }
        }
        deliveries
    }

    /// Returns the growth of the requests between the first one with a text and the one at a position.
    fn tokens_between(&self, text: usize, position: usize) -> Option<u64> {
        let entries = &self.completed.digest.entries;
        let entered = entries.iter().position(|entry| match entry {
            DigestEntry::Text(found) => *found == text,
            DigestEntry::Replaced(all) | DigestEntry::System(all) => all.contains(&text),
            _ => false,
        })?;
        let size = |from: usize| {
            entries.iter().skip(from).find_map(|entry| match entry {
                DigestEntry::Usage { input_tokens } => Some(*input_tokens),
                _ => None,
            })
        };
        Some(size(position)?.saturating_sub(size(entered)?))
    }
}

fn versions(file: &RuleFile) -> impl Iterator<Item = &str> {
    [&file.text].into_iter().chain(&file.versions).map(String::as_str)
}

/// Returns true if a recorded path leads to a file.
fn is_same_file(path: &Path, file: &RuleFile, cwd: Option<&Path>) -> bool {
    let path = instructions::path::normalise(path, cwd.unwrap_or(Path::new("")));
    if path == file.path || file.links.contains(&path) {
        return true;
    }
    match path.canonicalize() {
        Ok(real) => file.path.canonicalize().is_ok_and(|other| other == real),
        Err(_) => false,
    }
}

/// Returns true if two texts are the same version, one of which may be cut.
fn is_same_version(one: &str, other: &str) -> bool {
    let (first, second) = (essence(one), essence(other));
    first == second || is_cut(one, other, Limit::Unknown) || is_cut(other, one, Limit::Unknown)
}

/// Relation of a text to the agent's limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The text is as long as the agent allows.
    Reached,
    Unknown,
}

/// Returns true if a part is the beginning of a text that was cut.
fn is_cut(part: &str, full: &str, limit: Limit) -> bool {
    let (mut part, full) = (essence(part), essence(full));
    let has_note = part.last().is_some_and(|line| is_note(line));
    if has_note {
        part.pop();
    }
    let Some((last, whole)) = part.split_last() else { return has_note };
    let is_beginning =
        part.len() <= full.len() && full[..whole.len()] == *whole && full[whole.len()].starts_with(last);
    // An earlier version can also be the beginning of a later one. A cut shows in a note, in an incomplete line, or in
    // the length.
    let is_incomplete = is_beginning && full[whole.len()] != *last;
    is_beginning && (has_note || is_incomplete || (limit == Limit::Reached && part.len() < full.len()))
}

/// Returns true if a line is an agent's note that a text was cut.
fn is_note(line: &str) -> bool {
    line.starts_with("> Only the start of this file is shown") || line.starts_with("[foreword: ")
}

/// Returns true if an excerpt has lines that a text lacks.
fn has_other_lines(excerpt: &str, text: &str) -> bool {
    let known = essence(text);
    let numbered: Vec<&str> = excerpt.lines().filter(|line| without_line_number(line) != *line).collect();
    // Words of the agent around the excerpt are not a part of the file.
    let lines: Vec<&str> = match numbered.is_empty() {
        true => excerpt.lines().filter(|line| !line.starts_with('<') && !line.starts_with("Note:")).collect(),
        false => numbered,
    };
    lines
        .iter()
        .map(|line| without_line_number(line).trim())
        .any(|line| !line.is_empty() && !line.starts_with("...") && !known.contains(&line))
}

/// Returns true if a line is in a comment or in the front matter.
fn is_hidden(text: &str, line: u32) -> bool {
    let line = line as usize;
    let lines: Vec<&str> = text.lines().collect();
    let before = lines.get(..line).unwrap_or_default().join("\n");
    let last_open = before.rfind("<!--");
    let in_comment = last_open.is_some_and(|open| {
        !before[open..].contains("-->") || lines.get(line - 1).is_some_and(|line| line.contains("-->"))
    });
    let in_front = lines.first().is_some_and(|first| first.trim() == "---")
        && lines.iter().skip(1).position(|line| line.trim() == "---").is_some_and(|end| line <= end + 2);
    in_comment || in_front || plain_line(lines.get(line - 1).unwrap_or(&"")).is_empty()
}

/// Returns the difference of two texts. Agents trim texts, so white space around them does not count.
fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let [old, new] = [old, new].map(|text| format!("{}\n", text.trim()));
    diff::LineDiff::new(&old, &new).unified(old_name, new_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_differ_by_their_own_lines() {
        let text = "# Shop\n\n- Use pnpm.\n";
        assert!(has_other_lines("Note: it changed:\n     3\t- Use pnpm 9.\n", text));
        assert!(!has_other_lines("Note: it changed:\n     3\t- Use pnpm.\n", text));
        assert!(has_other_lines("<system-reminder>\n- Use pnpm 9.", text));
    }

    #[test]
    fn a_cut_shows_in_a_note_an_incomplete_line_or_the_length() {
        let full = "- one\n- two\n- three\n";
        assert!(is_cut("- one\n- tw", full, Limit::Unknown));
        assert!(is_cut("- one\n> Only the start of this file is shown. Read it.", full, Limit::Unknown));
        assert!(is_cut("- one\n- two\n", full, Limit::Reached));
        // An earlier version can be the beginning of a later one.
        assert!(!is_cut("- one\n- two\n", full, Limit::Unknown));
        assert!(!is_cut(full, full, Limit::Reached));
    }

    #[test]
    fn comments_and_front_matter_are_hidden() {
        let text = "---\na: b\n---\n<!-- one\ntwo -->\n- three\n";
        let hidden: Vec<bool> = (1..=6).map(|line| is_hidden(text, line)).collect();
        assert_eq!(hidden, [true, true, true, true, true, false]);
    }
}
