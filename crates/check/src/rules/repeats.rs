//! Paragraphs that an agent reads twice, because a file further up contains them.

use std::collections::{BTreeMap, HashMap};

use instructions::Profile;

use crate::document::Document;
use crate::finding::{Finding, Findings};
use crate::project::Project;
use crate::rule::RuleId;

/// Shorter paragraphs are often similar without being copies.
const MIN_CHARACTERS: usize = 100;

pub(super) fn run(project: &Project, findings: &mut Findings<'_>) {
    let mut seen: HashMap<&str, Vec<(&Document, usize)>> = HashMap::new();
    for document in project.documents.iter().filter(|document| !document.readers.is_empty()) {
        for paragraph in &document.markdown.paragraphs {
            // A paragraph is often repeated as an item of a list. White space has been collapsed by the parser already,
            // so a different wrapping does not hide a copy either.
            let text = paragraph.text.trim_start_matches(['-', '*', '+', ' ']);
            if text.len() >= MIN_CHARACTERS {
                let places = seen.entry(text).or_default();
                if places.iter().all(|(known, _)| known.path != document.path) {
                    places.push((document, paragraph.line));
                }
            }
        }
    }
    // By lower and upper file: number of paragraphs, and lines of the first.
    let mut pairs: BTreeMap<(&std::path::Path, &std::path::Path), (usize, usize, usize)> = BTreeMap::new();
    for places in seen.values().filter(|places| places.len() > 1) {
        for (lower, line) in places {
            // The nearest file that an agent reads together with it.
            let upper = places
                .iter()
                .filter(|(upper, _)| is_above(upper, lower) && !readers_of_both(upper, lower).is_empty())
                .max_by_key(|(upper, _)| upper.directory.components().count());
            if let Some((upper, upper_line)) = upper {
                let pair = pairs.entry((&lower.path, &upper.path)).or_insert((0, *line, *upper_line));
                pair.0 += 1;
                if *line < pair.1 {
                    (pair.1, pair.2) = (*line, *upper_line);
                }
            }
        }
    }
    for ((lower, upper), (count, line, upper_line)) in pairs {
        let (Some(below), Some(above)) = (project.document(lower), project.document(upper)) else { continue };
        let place = format!("{}, line {upper_line}", project.shown(upper));
        let message = match count {
            1 => format!("this paragraph is also in {place}, which is read with it"),
            count => {
                format!("this paragraph and {} more are also in {place}, which is read with it", count - 1)
            }
        };
        let finding = Finding::new(RuleId::RepeatedParagraph, lower, message).at_line(line);
        findings.push(finding.for_agents(&readers_of_both(above, below)));
    }
}

fn is_above(upper: &Document, lower: &Document) -> bool {
    upper.directory != lower.directory && lower.directory.starts_with(&upper.directory)
        // Two names of one file do not repeat each other.
        && upper.path.canonicalize().ok() != lower.path.canonicalize().ok()
}

fn readers_of_both(upper: &Document, lower: &Document) -> Vec<&'static Profile> {
    upper.at_start.iter().filter(|agent| lower.at_start.contains(agent)).copied().collect()
}
