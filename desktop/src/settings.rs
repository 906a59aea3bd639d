//! What the user chose, kept between runs.

use std::path::{Path, PathBuf};

use client::GatewayList;
use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};

/// Light, dark, or as the system has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Appearance {
    #[default]
    System,
    Light,
    Dark,
}

/// The content of `settings.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Gateways besides the one of this machine.
    pub gateways: GatewayList,
    /// The name of the one in use; none for this machine's.
    pub gateway: Option<String>,
    pub appearance: Appearance,
    /// Text size in steps of ten per cent around the system's.
    pub zoom: i8,
}

impl Settings {
    fn path(state: &Path) -> PathBuf {
        state.join("settings.json")
    }

    /// Settings that cannot be read are not a reason not to start; when something is changed, the file is set aside.
    pub fn load(state: &Path) -> Result<Self, FileError> {
        Ok(files::read(&Self::path(state))?.unwrap_or_default())
    }

    /// Changes what is kept, not what this window read when it was opened: another window may have changed it since.
    /// Where that cannot be read, what this window knows is what is changed. The change holds here also where it cannot be kept.
    pub fn change(&self, state: &Path, change: impl FnOnce(&mut Self)) -> (Self, Result<(), FileError>) {
        let path = Self::path(state);
        let (mut settings, readable) = match Self::load(state) {
            Ok(settings) => (settings, Ok(())),
            Err(error) if error.is_damage() => (self.clone(), files::set_aside(&path).map(drop)),
            Err(error) => (self.clone(), Err(error)),
        };
        change(&mut settings);
        let stored = readable.and_then(|()| files::write(&path, &settings));
        (settings, stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_keep_each_others_changes() {
        let state = tempfile::tempdir().unwrap();
        let (first, second) = (Settings::default(), Settings::default());
        let (_, stored) = first.change(state.path(), |settings| {
            settings.gateways.add_address("team", "https://team.example").map(drop).unwrap();
        });
        stored.unwrap();
        let (changed, stored) = second.change(state.path(), |settings| settings.zoom = 3);
        stored.unwrap();
        assert_eq!((changed.zoom, changed.gateways.iter().count()), (3, 1));
    }

    #[test]
    fn damaged_settings_are_kept_aside() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("settings.json"), "{").unwrap();
        assert!(Settings::load(state.path()).is_err());
        let known = Settings { zoom: 2, ..Settings::default() };
        let (_, stored) = known.change(state.path(), |settings| settings.appearance = Appearance::Dark);
        stored.unwrap();
        let kept = Settings::load(state.path()).unwrap();
        assert_eq!((kept.zoom, kept.appearance), (2, Appearance::Dark), "what the window knew is not lost");
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_kept_holds_all_the_same_and_a_file_that_cannot_be_read_stays() {
        let state = tempfile::tempdir().unwrap();
        std::fs::create_dir(state.path().join("settings.json")).unwrap();
        let (changed, stored) = Settings::default().change(state.path(), |settings| settings.zoom = 1);
        assert_eq!((changed.zoom, stored.is_err()), (1, true));
        assert!(state.path().join("settings.json").is_dir());
    }
}
