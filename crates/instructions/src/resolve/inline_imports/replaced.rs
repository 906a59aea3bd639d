//! Imports that replace every equal mention in a text.

use std::path::{Path, PathBuf};

use super::{ExpandedText, words_around};
use crate::fs::file::Found;
use crate::fs::path;
use crate::profile::{ImportRules, InPlace};
use crate::resolve::assemble::instruction_file;
use crate::resolve::chain::{Candidate, Chain, ChainPosition};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::imports::MAX_BYTES_IN_PLACE;
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::{FileScope, InstructionFile};
use crate::text::mentions;

/// Longest text whose mentions are searched.
const MAX_TEXT_BYTES: usize = 131_072;

impl Chain<'_> {
    /// Replaces the mentions of a text by the files that they name. `way` holds the mentions that led here.
    pub(super) fn replace_mentions(
        &mut self,
        text: &str,
        host: &ExpandedText<'_>,
        rules: (&ImportRules, &InPlace),
        way: &mut Vec<String>,
        imported: &mut Vec<InstructionFile>,
    ) -> String {
        let (imports, form) = rules;
        let mut replaced = text.to_owned();
        if text.len() > MAX_TEXT_BYTES || way.len() >= imports.max_depth {
            return replaced;
        }
        for mention in mentions::find(text, imports.syntax) {
            if way.contains(&mention.path) || mention.path.starts_with('/') {
                continue;
            }
            let line = text[..mention.range.start].matches('\n').count() + 1;
            if self.limit_reached(host.path, line) || replaced.len() as u64 > MAX_BYTES_IN_PLACE {
                break;
            }
            let Some((path, own)) = self.mentioned_file(&mention.path, host, imports, line, imported) else {
                continue;
            };
            way.push(mention.path.clone());
            let below = ExpandedText {
                path: &path,
                origin: host.origin,
                owner: host.owner,
                way: Vec::new(),
                inside: host.inside.clone(),
            };
            let expanded = self.replace_mentions(&own, &below, rules, way, imported);
            way.pop();
            let (before, after) = words_around(form, &mention.path);
            // Texts that were imported earlier may hold the same mention, which is replaced as well.
            replaced = replaced.replace(&format!("@{}", mention.path), &format!("{before}{expanded}{after}"));
        }
        replaced
    }

    /// Returns the path and the text of a mentioned file.
    fn mentioned_file(
        &mut self,
        mention: &str,
        host: &ExpandedText<'_>,
        imports: &ImportRules,
        line: usize,
        imported: &mut Vec<InstructionFile>,
    ) -> Option<(PathBuf, String)> {
        let named = path::normalise(Path::new(mention), host.path.parent()?);
        let via = DecisionReason::Imported { by: host.path.to_owned(), line };
        self.imports.looks += 1;
        let real = self.source().canonicalize(&named).unwrap_or_else(|_| named.clone());
        let inside = self.source().canonicalize(&host.inside).unwrap_or_else(|_| host.inside.clone());
        if !real.starts_with(&inside) {
            let mut decision = Decision::new(named, Outcome::OutsideRoot).because(via);
            decision.add(DecisionReason::ImportOutside { directory: host.inside.clone() });
            self.decisions.push(decision);
            return None;
        }
        let Found::File { stamp, content } = self.read_inline_import(&real, host, imports.bounds) else {
            return None;
        };
        self.imports.files += 1;
        self.imports.bytes_in_place += content.bytes.len() as u64;
        let own = std::str::from_utf8(&content.bytes).unwrap_or_default().to_owned();
        let decision = self.decisions.len();
        self.decisions.push(Decision::new(real.clone(), Outcome::Used).because(via));
        let file = Candidate {
            path: real.clone(),
            scope: FileScope::Import,
            stamp,
            content,
            origin: host.origin,
            depth: 1,
            imported_by: Some(host.owner.to_owned()),
            decision,
            place: ChainPosition::default(),
            folder: None,
            imported_by_rule: None,
            waits: false,
            title: None,
            is_private: false,
        };
        if !imported.iter().any(|known| known.path == real) {
            imported.push(instruction_file(&file, own.clone(), own.len(), 0));
        }
        Some((real, own))
    }
}
