//! Titles of files, for agents that sort files by title and read one of each.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::chain::{Candidate, Chain, Origin};
use crate::profile::{HeaderReading, Titles};
use crate::resolve::decision::Outcome;
use crate::resolve::reason::DecisionReason;
use crate::text::decode;
use crate::text::header::{self, Fence};
use crate::text::rule_header;

/// Punctuation and symbols in the order of the Unicode collation.
const MARKS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

impl Chain<'_> {
    /// Gives the selected files their titles, drops all but the last of each title, and sorts them.
    pub(super) fn set_titles(&mut self) {
        let titles @ Titles::Named { .. } = self.request.settings.profile.choose.titles else { return };
        let mut files = std::mem::take(&mut self.chosen);
        // Files of the user come last, so that they replace those of the project.
        files.sort_by_key(|file| file.origin == Origin::Home);
        let mut last: HashMap<String, usize> = HashMap::new();
        let mut titled: Vec<Option<Candidate>> = Vec::with_capacity(files.len());
        for mut file in files {
            let title = match self.title(&file, titles) {
                Ok(title) => title,
                Err((outcome, reason)) => {
                    self.decisions[file.decision].outcome = outcome;
                    self.decisions[file.decision].reasons = vec![reason];
                    continue;
                }
            };
            if let Some(replaced) = last.insert(title.to_lowercase(), titled.len())
                && let Some(replaced) = titled[replaced].take()
            {
                let decision = &mut self.decisions[replaced.decision];
                decision.outcome = Outcome::Shadowed;
                decision.by = Some(file.path.clone());
                decision.add(DecisionReason::SameTitle);
            }
            file.title = Some(title);
            titled.push(Some(file));
        }
        self.chosen = titled.into_iter().flatten().collect();
        self.chosen.sort_by(|one, other| {
            let title = |file: &Candidate| file.title.clone().unwrap_or_default();
            collate(&title(one), &title(other))
        });
    }

    /// Returns the title of a file, or the reason why it is not read.
    fn title(&self, file: &Candidate, titles: Titles) -> Result<String, (Outcome, DecisionReason)> {
        let Titles::Named { file: known, in_project, of_user } = titles else { return Ok(String::new()) };
        let text = decode(&file.content.bytes, self.request.settings.profile.text.byte_order_mark).text;
        let header = header::find(&text, Fence::Exact);
        let values = match header {
            Some(header) => rule_header::values(header.yaml, HeaderReading::Strict)
                .ok_or((Outcome::NotApplicable, DecisionReason::InvalidFrontMatter))?,
            None => Value::Null,
        };
        if header.map_or(&*text, |header| header.body).trim().is_empty() {
            return Err((Outcome::Blank, DecisionReason::Blank));
        }
        if values["disabled"] == true || values["disabled"].is_null() && values["enabled"] == false {
            return Err((Outcome::NotApplicable, DecisionReason::DisabledByHeader));
        }
        if let Some(name) = values["name"].as_str().map(str::trim).filter(|name| !name.is_empty()) {
            return Ok(name.to_owned());
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.rfind('.').filter(|at| *at > 0).map_or(name.as_str(), |at| &name[..at]);
        // Only the file itself has the special title, not one of its name in a folder of rules.
        let title = match (name.eq_ignore_ascii_case(known) && file.folder.is_none(), file.origin) {
            (true, Origin::Project) => in_project,
            (true, Origin::Home) => of_user,
            _ => stem,
        };
        Ok(title.to_owned())
    }
}

/// Compares two texts as people sort them: marks before digits before letters, accents and letter case last.
fn collate(one: &str, other: &str) -> Ordering {
    let primary = |text: &str| -> Vec<(u8, u32)> {
        let bare = text.nfd().filter(|letter| !unicode_normalization::char::is_combining_mark(*letter));
        bare.flat_map(char::to_lowercase).map(weight).collect()
    };
    let accents = |text: &str| text.nfd().collect::<String>().to_lowercase();
    // Small letters come before capitals.
    let cases = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    primary(one)
        .cmp(&primary(other))
        .then_with(|| accents(one).cmp(&accents(other)))
        .then_with(|| cases(one).cmp(&cases(other)))
}

fn weight(letter: char) -> (u8, u32) {
    if letter.is_whitespace() {
        (0, u32::from(letter))
    } else if let Some(at) = MARKS.find(letter) {
        (1, u32::try_from(at).unwrap_or(u32::MAX))
    } else if letter.is_numeric() {
        (3, u32::from(letter))
    } else if letter.is_alphabetic() {
        (4, u32::from(letter))
    } else {
        (2, u32::from(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_sort_as_people_do() {
        let sorted =
            [" ", "_u", "z a", "10", "9", "a", "B", "b", "é", "Global", "r", "Workspace", "z", "z a"];
        let mut titles = vec!["z", "Workspace", "é", "b", "B", "a", "9", "10", "_u", "Global", "r"];
        titles.sort_by(|one, other| collate(one, other));
        let expected: Vec<&str> = vec!["_u", "10", "9", "a", "b", "B", "é", "Global", "r", "Workspace", "z"];
        assert_eq!(titles, expected);
        assert!(collate(sorted[0], sorted[1]).is_lt());
    }
}
