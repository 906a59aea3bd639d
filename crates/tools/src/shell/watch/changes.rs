//! Reports of changes to protected files.

use std::path::{Path, PathBuf};

use protocol::{FileChange, ProtectedChange};

use crate::files::list_dir::one_line;

/// Most changes named to a model.
const MAX_NAMED: usize = 20;

/// Changes of protected files.
#[derive(Debug)]
pub(in crate::shell) struct ProtectedChanges {
    pub(super) changes: Vec<(PathBuf, FileChange, bool)>,
    pub(in crate::shell) is_partial: bool,
    /// Locations of the command's versions of restored files.
    pub(super) set_aside: Vec<PathBuf>,
}

impl ProtectedChanges {
    pub(super) fn unknown() -> Self {
        Self { changes: Vec::new(), is_partial: true, set_aside: Vec::new() }
    }

    /// Returns the directories of changed files.
    pub(in crate::shell) fn directories(&self, root: &Path) -> Vec<PathBuf> {
        let holding = self.changes.iter().filter_map(|(path, ..)| path.parent());
        holding.map(|directory| root.join(directory)).collect()
    }

    pub(in crate::shell) fn to_protocol(&self) -> Vec<ProtectedChange> {
        let changes = self.changes.iter().map(|(path, change, undone)| ProtectedChange {
            path: path.to_string_lossy().into_owned(),
            change: *change,
            undone: *undone,
        });
        changes.collect()
    }

    /// Returns the notes for the model.
    pub(in crate::shell) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(named) = self.named(true) {
            let mut note = format!("the command changed protected files, and that was undone: {named}.");
            if !self.set_aside.is_empty() {
                let places = self.set_aside.iter().take(MAX_NAMED).map(|place| one_line(place.as_os_str()));
                let places = places.collect::<Vec<_>>().join(", ");
                note.push_str(&format!(" The command's versions are in {places}."));
            }
            notes.push(format!("{note} Tell the user"));
        }
        if let Some(named) = self.named(false) {
            notes.push(format!("protected files are different now: {named}. Tell the user"));
        }
        if self.is_partial {
            notes.push("the workspace is large: not all protected files were watched".to_owned());
        }
        notes
    }

    fn named(&self, undone: bool) -> Option<String> {
        let changes: Vec<_> = self.changes.iter().filter(|change| change.2 == undone).collect();
        let named = changes.iter().take(MAX_NAMED).map(|(path, change, undone)| {
            let path = one_line(path.as_os_str());
            if *undone {
                format!("{path} ({}, {})", change.name(), change.undoing())
            } else {
                format!("{path} ({})", change.name())
            }
        });
        let mut named = named.collect::<Vec<_>>().join(", ");
        if changes.len() > MAX_NAMED {
            named.push_str(&format!(" and {} more", changes.len() - MAX_NAMED));
        }
        (!named.is_empty()).then_some(named)
    }
}
