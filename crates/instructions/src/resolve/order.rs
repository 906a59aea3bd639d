//! The order in which chosen files stand in the text.

use std::cmp::Reverse;

use super::chain::{Chain, Origin, Place};
use crate::fs::path;
use crate::profile::{ChainOrder, RuleFolderPlace};

impl Chain<'_> {
    /// Puts the chosen files in the profile's order; they were chosen with the root first, behind the user's own.
    pub(super) fn put_in_order(&mut self) {
        let profile = self.request.settings.profile;
        match profile.render.order {
            ChainOrder::RootFirst => {}
            ChainOrder::NearestFirst => {
                self.chosen
                    .sort_by_key(|file| (file.origin == Origin::Project, Reverse(file.place.directory)));
            }
            ChainOrder::RootThenNearest => {
                let cwd = path::chain(&self.top, self.request.cwd).len().saturating_sub(1);
                self.chosen.sort_by_key(|file| {
                    let Place { directory, name } = file.place;
                    let group = match (directory, name) {
                        (0, 0) => 0,
                        (directory, 0) if directory == cwd => 1,
                        (0, _) => 2,
                        _ => 3,
                    };
                    (file.origin == Origin::Project, group, Reverse(directory))
                });
            }
            ChainOrder::ByPath => self.chosen.sort_by(|one, other| {
                // The user's own stay as their names were listed.
                let key = |file: &super::chain::Chosen| {
                    (file.origin == Origin::Project).then(|| file.path.clone().into_os_string())
                };
                key(one).cmp(&key(other))
            }),
            ChainOrder::ByName => {
                self.chosen.sort_by_key(|file| {
                    (file.place.name, file.origin == Origin::Project, file.place.directory)
                });
            }
        }
        let stands_last = |place: RuleFolderPlace| place != RuleFolderPlace::EveryDirectory;
        if !profile.choose.rule_folders.is_empty()
            && profile.choose.rule_folders.iter().all(|folder| stands_last(folder.place))
        {
            self.chosen.sort_by_key(|file| file.folder.is_some());
        }
    }
}
