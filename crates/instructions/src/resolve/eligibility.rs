//! Decides which readable files apply: duplicates and files with unmet conditions do not.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;

use super::chain::{Candidate, Chain, Origin};
use crate::fs::file::Stamp;
use crate::profile::SameFile;
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::FileScope;

/// Result for a file that can be read.
pub(super) enum Eligibility {
    Taken(Box<Candidate>),
    Duplicate,
    NotApplicable,
}

/// Result of the conditions in a file, with the reason if they are not met.
enum Applicability {
    Always,
    /// It has globs, and the target matches.
    Rule,
    OtherPaths(DecisionReason),
    OtherAudience(DecisionReason),
}

impl Chain<'_> {
    /// Returns a key that is equal for files that the profile treats as one.
    pub(super) fn identity(&self, path: &Path, stamp: Stamp) -> (u64, u64) {
        // Device and inode cost nothing here, but hard links share them. Agents that resolve paths read both
        // names.
        if self.request.settings.profile.choose.same_file != SameFile::OncePerRealPath {
            return (stamp.device, stamp.inode);
        }
        let mut hasher = DefaultHasher::new();
        self.source().canonicalize(path).unwrap_or_else(|_| path.to_owned()).hash(&mut hasher);
        (0, hasher.finish())
    }

    /// Decides about a readable file. `via` describes the import that led to it.
    pub(super) fn check_eligibility(
        &mut self,
        mut file: Candidate,
        via: Option<&DecisionReason>,
    ) -> Eligibility {
        let profile = self.request.settings.profile;
        let identity = self.identity(&file.path, file.stamp);
        if profile.choose.same_file.goes_by_path() && !self.is_first_of_its_path(&file) {
            let why = via.cloned().unwrap_or(DecisionReason::ReadBefore);
            self.decisions.push(Decision::new(file.path, Outcome::Duplicate).because(why));
            return Eligibility::Duplicate;
        }
        if matches!(profile.choose.same_file, SameFile::UsedOnce | SameFile::OncePerRealPath)
            && let Some(first) = self.seen.get(&identity)
        {
            let first = self.decisions[*first].path.clone();
            let mut decision = Decision::new(file.path, Outcome::Duplicate).by(first);
            decision.reasons = match via {
                Some(via) => vec![via.clone(), DecisionReason::UsedOnce],
                None => vec![DecisionReason::SameFile],
            };
            self.decisions.push(decision);
            return Eligibility::Duplicate;
        }
        file.decision = self.decisions.len();
        match self.applicability(&file) {
            Applicability::Always => {}
            Applicability::Rule => file.scope = FileScope::Rule,
            Applicability::OtherPaths(why) => {
                let decision = Decision::new(file.path.clone(), Outcome::NotApplicable).because(why);
                self.decisions.push(decision.waiting());
                self.dormant.push(file);
                return Eligibility::NotApplicable;
            }
            Applicability::OtherAudience(why) => {
                let decision = Decision::new(file.path, Outcome::NotApplicable).because(why);
                self.decisions.push(decision.waiting());
                return Eligibility::NotApplicable;
            }
        }
        // Only files that apply are recorded. A rule that does not match must not hide another name of the same file.
        self.seen.insert(identity, file.decision);
        let mut decision = Decision::new(file.path.clone(), Outcome::Used);
        decision.reasons.extend(via.cloned());
        self.decisions.push(decision);
        Eligibility::Taken(Box::new(file))
    }

    /// Returns true if no file with this path was read before. Rules are compared by real path, and only with other
    /// rules.
    fn is_first_of_its_path(&mut self, file: &Candidate) -> bool {
        match file.folder {
            Some(_) => {
                let real = self.source().canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
                self.seen_rules.insert(real)
            }
            None => self.seen_paths.insert(file.path.clone()),
        }
    }

    /// Evaluates the conditions in the front matter of a file.
    fn applicability(&self, file: &Candidate) -> Applicability {
        let settings = self.request.settings;
        let Some(conditions) = &file.content.markup(settings.profile).conditions else {
            return Applicability::Always;
        };
        // The audience is checked before the globs, because it never changes during a session, while a path may still
        // match later.
        if let Some(audience) = conditions.audience.filter(|audience| *audience != settings.audience) {
            return Applicability::OtherAudience(DecisionReason::OtherAudience(audience));
        }
        let Some(rule) = &conditions.applies_to else { return Applicability::Always };
        // The user's own directory contains no sources, so its globs count from the top of the project. Those of an
        // import count from the file that imports it.
        let owner = file.imported_by.as_deref().unwrap_or(&file.path);
        let base = match file.origin {
            Origin::Home => self.top.as_path(),
            Origin::Project => owner.parent().unwrap_or(owner),
        };
        if rule.matches(self.target, base) {
            return Applicability::Rule;
        }
        Applicability::OtherPaths(DecisionReason::OtherPaths {
            globs: rule.describe(),
            base: base.to_owned(),
            loaded_later: settings.resolver_enabled(),
        })
    }
}
