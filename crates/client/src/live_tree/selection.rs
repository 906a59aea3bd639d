//! Selection of a row, and keyboard navigation.

use super::{LiveTree, RowKey, Scope, TreeRowKind};

impl LiveTree {
    /// Returns the selected item, which may not be visible.
    pub fn selected(&self) -> Option<&RowKey> {
        self.selected.as_ref()
    }

    /// Returns the index of the selected row. `None` if it is not visible.
    pub fn selected_index(&self) -> Option<usize> {
        self.index_of(self.selected.as_ref()?)
    }

    /// Selects an item, or clears the selection.
    pub fn select(&mut self, key: Option<RowKey>) {
        self.selected = key;
    }

    /// Selects the next row, or the first one if none is selected.
    pub fn select_next(&mut self) {
        // A filter or a collapsed folder may hide the selected item. Navigation then starts at the top.
        let next = self.selected_index().map_or(0, |index| index + 1);
        self.select_row(next.min(self.len().saturating_sub(1)));
    }

    /// Selects the previous row, or the last one if none is selected.
    pub fn select_previous(&mut self) {
        let last = self.len().saturating_sub(1);
        self.select_row(self.selected_index().map_or(last, |index| index.saturating_sub(1)));
    }

    /// Selects the first row.
    pub fn select_first(&mut self) {
        self.select_row(0);
    }

    /// Selects the last row.
    pub fn select_last(&mut self) {
        self.select_row(self.len().saturating_sub(1));
    }

    /// Expands the selected folder, or moves into it if it is expanded.
    pub fn move_in(&mut self) {
        let Some(RowKey::Folder(id)) = self.selected.clone() else { return };
        let Some(index) = self.selected_index() else { return };
        // The row knows better than the place if the folder is open, because a filter opens folders too.
        let Some(TreeRowKind::Folder(row)) = self.row(index).map(|row| row.kind) else { return };
        if row.is_expanded {
            self.select_next();
        } else if row.has_children {
            self.expand(&id);
        }
    }

    /// Collapses the selected folder, or moves to the enclosing folder.
    pub fn move_out(&mut self) {
        let Some(selected) = self.selected.clone() else { return };
        if let RowKey::Folder(id) = &selected
            && self.places.get(&Some(id.clone())).is_some_and(|place| place.is_expanded)
        {
            self.collapse(id);
        } else if let Some(parent) = self.scope_of(&selected).flatten() {
            self.select(Some(RowKey::Folder(parent)));
        }
    }

    /// Expands all folders around an item and selects it.
    pub fn reveal(&mut self, key: RowKey) {
        let above: Vec<_> = match self.scope_of(&key) {
            Some(scope) => self.ancestors(&scope).filter_map(super::Place::scope).collect(),
            None => return,
        };
        for id in above {
            self.expand(&id);
        }
        self.select(Some(key));
    }

    /// Returns the scope that contains an item. The outer `None` means that the item is unknown.
    fn scope_of(&self, key: &RowKey) -> Option<Scope> {
        match key {
            RowKey::Document(scope) | RowKey::More(scope) => Some(scope.clone()),
            RowKey::Folder(id) => self.folder(id).map(|folder| folder.parent_folder_id.clone()),
            RowKey::Thread(id) => self.place_of(id).cloned(),
        }
    }

    fn select_row(&mut self, index: usize) {
        if let Some(key) = self.row(index).map(|row| row.key()) {
            self.selected = Some(key);
        }
    }
}
