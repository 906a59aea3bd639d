//! Guards of instruction files, applied to calls.

use std::path::Path;
use std::sync::Arc;

use guards::{Action, Decision, Guarded, Verdict};
use instructions::{Cache, FileSettings};

use crate::{Access, Permission, ToolCall, ToolContext, Touch};

/// Source of the guards that hold for a turn's calls.
#[derive(Debug, Clone)]
pub struct Guarding {
    settings: Arc<[FileSettings]>,
    cache: Arc<Cache>,
}

impl Guarding {
    /// Applies the guards in the files that these settings select.
    pub fn new(settings: FileSettings, cache: Arc<Cache>) -> Self {
        Self { settings: [settings].into(), cache }
    }

    /// Returns the decision about a call.
    pub fn decide(
        &self,
        context: &ToolContext,
        call: &ToolCall,
        command: Option<&str>,
        touches: &[Touch],
    ) -> Decision {
        let mut strongest = Decision::default();
        let runs = touches.iter().any(|touch| touch.access == Access::Run);
        if let Some(command) = command.filter(|_| runs || call.name == "shell") {
            let guarded = self.at(context.cwd(), None);
            strongest = strongest.or_stronger(guarded.decide(&Action::Command(command)));
        }
        for touch in touches {
            let path = context.absolute(&touch.path);
            let action = match touch.access {
                Access::Read => Action::Read(&path),
                Access::Write => Action::Write(&path),
                Access::Run => continue,
            };
            let directory = path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(context.cwd());
            strongest = strongest.or_stronger(self.at(directory, Some(&path)).decide(&action));
        }
        strongest
    }

    fn at(&self, directory: &Path, file: Option<&Path>) -> Guarded {
        // Files that cannot be resolved have no guards. The turn reports such a problem when it starts.
        Guarded::at(directory, file, &self.settings, Some(&self.cache)).unwrap_or_default()
    }
}

/// Returns the permission that a decision demands.
pub(crate) fn permission(decision: &Decision) -> Permission {
    match decision.verdict {
        Verdict::Allow => Permission::Allow,
        Verdict::Ask => Permission::Ask,
        Verdict::Deny => Permission::Deny,
    }
}
