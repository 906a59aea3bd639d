//! Order of the selected files in the text.

use std::cmp::Reverse;

use super::chain::{Chain, ChainPosition, Origin};
use crate::fs::path;
use crate::profile::{ChainOrder, RuleFolderPlace};

impl Chain<'_> {
    /// Puts the selected files in the profile's order. They were selected root first, after the user's own.
    pub(super) fn put_in_order(&mut self) {
        let profile = self.request.settings.profile;
        match profile.render.order {
            ChainOrder::RootFirst => {}
            ChainOrder::NearestFirst => {
                self.chosen
                    .sort_by_key(|file| (file.origin == Origin::Project, Reverse(file.place.directory)));
            }
            ChainOrder::RootThenNearest => {
                // The groups, in order: the first name of the root, that of the working directory, other names of the
                // root, and all remaining files, nearest first.
                let cwd = path::chain(&self.top, self.request.cwd).len().saturating_sub(1);
                self.chosen.sort_by_key(|file| {
                    let ChainPosition { directory, name } = file.place;
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
                // The user's own files compare equal, so the stable sort keeps the order of their names.
                let key = |file: &super::chain::Candidate| {
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
        // A profile whose folders are all read last lists every rule after every other file, across directories.
        let stands_last = |place: RuleFolderPlace| place != RuleFolderPlace::EveryDirectory;
        if !profile.choose.rule_folders.is_empty()
            && profile.choose.rule_folders.iter().all(|folder| stands_last(folder.place))
        {
            self.chosen.sort_by_key(|file| file.folder.is_some());
        }
    }
}
