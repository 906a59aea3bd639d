//! Selection of the skills for a turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::Target;
use protocol::{SkillOutcome, SkillReason, SkillSummary};

use crate::catalogue::Catalogue;
use crate::skill::Skill;

/// Treatment of skills that nothing selects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Implicit {
    /// Usable skills without paths are offered.
    #[default]
    Offered,
    /// Only skills that a turn names or a path matches are offered.
    LeftOut,
}

/// Facts about a turn that select skills.
#[derive(Debug, Clone, Copy, Default)]
pub struct Situation<'a> {
    /// Slugs that the turn names.
    pub selected: &'a [String],
    /// Working directory of the turn.
    pub cwd: Option<&'a Path>,
    /// Files that were touched in the thread.
    pub touched: &'a [PathBuf],
    /// Treatment of skills that nothing selects.
    pub implicit: Implicit,
}

/// Every skill with its outcome in a turn.
#[derive(Debug, Clone)]
pub struct Activation {
    catalogue: Arc<Catalogue>,
    outcomes: Vec<(SkillOutcome, SkillReason)>,
}

impl Catalogue {
    /// Determines the outcome of every skill in a turn.
    pub fn activate(self: &Arc<Self>, situation: &Situation<'_>) -> Activation {
        let decide = |skill: &Skill| skill.verdict().unwrap_or_else(|| decide(skill, situation));
        Activation { catalogue: Arc::clone(self), outcomes: self.skills().iter().map(decide).collect() }
    }
}

fn decide(skill: &Skill, situation: &Situation<'_>) -> (SkillOutcome, SkillReason) {
    // A skill that the turn names is active whatever its other rules are, also if it is explicit or its paths do not
    // match.
    if situation.selected.contains(&skill.slug) {
        return (SkillOutcome::Active, SkillReason::Selected);
    }
    let Some(front_matter) = &skill.front_matter else {
        return (SkillOutcome::Disabled, SkillReason::NotImplicit);
    };
    if front_matter.is_explicit {
        return (SkillOutcome::Disabled, SkillReason::NotImplicit);
    }
    match (&front_matter.applies_to, situation.implicit) {
        (Some(globs), _) => {
            let matches = |target| skill.base.as_deref().is_some_and(|base| globs.matches(target, base));
            let is_matched = situation.cwd.is_some_and(|cwd| matches(Target::Directory(cwd)))
                || situation.touched.iter().any(|file| matches(Target::File(file)));
            if is_matched {
                (SkillOutcome::Active, SkillReason::PathMatched)
            } else {
                (SkillOutcome::Disabled, SkillReason::NoPathMatched)
            }
        }
        (None, Implicit::Offered) => (SkillOutcome::Active, SkillReason::Implicit),
        (None, Implicit::LeftOut) => (SkillOutcome::Disabled, SkillReason::NotImplicit),
    }
}

impl Activation {
    /// Returns the catalogue that was used.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Returns every skill with its outcome, nearest first.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Skill, SkillOutcome, SkillReason)> {
        let skills = self.catalogue.skills().iter();
        skills.zip(&self.outcomes).map(|(skill, (outcome, reason))| (skill, *outcome, *reason))
    }

    /// Returns the skills for the model: named ones first, then those that match a path, then the others.
    pub fn active(&self) -> Vec<(&Skill, SkillReason)> {
        let active = self.outcomes().filter(|(_, outcome, _)| *outcome == SkillOutcome::Active);
        let mut active: Vec<(&Skill, SkillReason)> =
            active.map(|(skill, _, reason)| (skill, reason)).collect();
        // The sort is stable, so skills with the same reason stay nearest first. The text is cut at the end, where the
        // least specific ones are.
        active.sort_by_key(|(_, reason)| match reason {
            SkillReason::Selected => 0,
            SkillReason::PathMatched => 1,
            _ => 2,
        });
        active
    }

    /// Returns up to `limit` inactive skills, and the number of further ones.
    pub fn inactive(&self, limit: usize) -> (Vec<SkillSummary>, usize) {
        let inactive = || self.outcomes().filter(|(_, outcome, _)| *outcome != SkillOutcome::Active);
        let more = inactive().skip(limit).count();
        (
            inactive().take(limit).map(|(skill, outcome, reason)| skill.summary(outcome, reason)).collect(),
            more,
        )
    }

    /// Returns summaries of all skills, nearest first.
    pub fn summaries(&self) -> Vec<SkillSummary> {
        self.outcomes().map(|(skill, outcome, reason)| skill.summary(outcome, reason)).collect()
    }
}
