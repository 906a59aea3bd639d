//! `[skills]` of the configuration.

use std::path::PathBuf;

use crate::activation::Implicit;

/// Whether skills are used, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// Whether there are any at all.
    pub enabled: bool,
    /// Whether those are offered that nothing asks for.
    pub implicit: bool,
    /// More folders of skills, which are the user's own.
    pub folders: Vec<PathBuf>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self { enabled: true, implicit: true, folders: Vec::new() }
    }
}

impl SkillSettings {
    /// Whether those are offered that nothing asks for.
    pub fn implicit(&self) -> Implicit {
        if self.implicit { Implicit::Offered } else { Implicit::LeftOut }
    }
}
