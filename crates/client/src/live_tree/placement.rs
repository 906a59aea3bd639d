//! Putting folders and threads into their scope, and removing them from it.

use protocol::{Folder, FolderId, ThreadId};

use super::place::Place;
use super::{LiveTree, Scope};

impl LiveTree {
    pub(super) fn place_thread(&mut self, id: ThreadId, scope: &Scope) {
        // A thread is in one place only; without this it would be shown in both after a move.
        if let Some(before) = self.thread_places.insert(id.clone(), scope.clone())
            && &before != scope
            && let Some(place) = self.places.get_mut(&before)
        {
            place.remove_thread(&id);
        }
    }

    pub(super) fn drop_thread(&mut self, id: &ThreadId) {
        if let Some(scope) = self.thread_places.remove(id)
            && let Some(place) = self.places.get_mut(&scope)
        {
            place.remove_thread(id);
        }
    }

    /// Stores a folder without listing it in its parent.
    pub(super) fn put_folder(&mut self, folder: Folder) {
        let scope = Some(folder.id.clone());
        let before = self.places.get(&scope).map(Place::parent);
        if let Some(before) = before.filter(|before| *before != folder.parent_folder_id)
            && let Some(parent) = self.places.get_mut(&before)
        {
            parent.folders.retain(|id| *id != folder.id);
        }
        match self.places.get_mut(&scope) {
            Some(place) => place.folder = Some(folder),
            None => {
                self.places.insert(scope, Place::of(folder));
            }
        }
    }

    pub(super) fn list_folder(&mut self, id: &FolderId, parent: &Scope) {
        if let Some(place) = self.places.get_mut(parent)
            && !place.folders.contains(id)
        {
            place.folders.push(id.clone());
        }
        self.sort_folders(parent);
    }

    pub(super) fn sort_folders(&mut self, scope: &Scope) {
        let Some(place) = self.places.get(scope) else { return };
        let mut folders = place.folders.clone();
        // Names may repeat, so the id keeps the order stable.
        folders.sort_by_cached_key(|id| {
            let name = self.folder(id).map(|folder| folder.name.to_lowercase());
            (name.unwrap_or_default(), id.clone())
        });
        if let Some(place) = self.places.get_mut(scope) {
            place.folders = folders;
        }
    }

    /// Removes a folder and everything below it.
    pub(super) fn drop_folder(&mut self, id: &FolderId) {
        if let Some(parent) = self.places.get(&Some(id.clone())).map(Place::parent)
            && let Some(parent) = self.places.get_mut(&parent)
        {
            parent.folders.retain(|listed| listed != id);
        }
        // A stack instead of recursion, because folders may be nested deeply.
        let mut waiting = vec![id.clone()];
        while let Some(id) = waiting.pop() {
            let Some(place) = self.places.remove(&Some(id.clone())) else { continue };
            for thread in &place.threads {
                // A newer answer may already have placed the thread elsewhere.
                if self.thread_places.get(&thread.id) == Some(&Some(id.clone())) {
                    self.thread_places.remove(&thread.id);
                }
            }
            waiting.extend(place.folders);
        }
    }
}
