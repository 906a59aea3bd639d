//! Full details of one skill.

use instructions::file::Bounds;
use protocol::{SkillFile, SkillOutcome, SkillReason};

use crate::activation::Activation;
use crate::skill::Skill;

impl Activation {
    /// Returns the details of the usable skill with this slug, or else of the nearest unusable one.
    pub fn details(&self, slug: &str) -> Option<protocol::Skill> {
        let meant = self.catalogue().find(slug)?;
        let (skill, outcome, reason) = self.outcomes().find(|(skill, ..)| std::ptr::eq(*skill, meant))?;
        Some(details(skill, outcome, reason))
    }
}

fn details(skill: &Skill, outcome: SkillOutcome, reason: SkillReason) -> protocol::Skill {
    let front_matter = skill.front_matter.as_ref();
    protocol::Skill {
        summary: skill.summary(outcome, reason),
        files: files(skill),
        license: front_matter.and_then(|found| found.license.clone()),
        compatibility: front_matter.and_then(|found| found.compatibility.clone()),
        allowed_tools: front_matter.and_then(|found| found.allowed_tools.clone()),
        paths: front_matter.map(|found| found.paths.clone()).unwrap_or_default(),
        requires: front_matter.map(|found| found.requires.clone()).unwrap_or_default(),
        other_keys: front_matter.map(|found| found.other_keys.clone()).unwrap_or_default(),
        body: if skill.is_usable() { skill.body().ok() } else { None },
    }
}

/// Returns the files in the folder. Empty if it cannot be read completely.
fn files(skill: &Skill) -> Vec<SkillFile> {
    let bounds = Bounds::default();
    let contents = skill.open(&bounds).ok().and_then(|folder| folder.contents().ok()).unwrap_or_default();
    let files = contents.files.iter().map(|file| SkillFile {
        path: file.path.to_string_lossy().into_owned(),
        bytes: file.content.bytes.len() as u64,
        sha256: file.content.sha256.clone(),
    });
    files.collect()
}
