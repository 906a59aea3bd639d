//! Settings of the user, kept between runs.

use std::path::{Path, PathBuf};

use client::GatewayList;
use serde::{Deserialize, Serialize};

use crate::state::files::{self, FileError};

/// Light, dark, or the system's choice.
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
// Missing fields get their defaults, so that files of earlier versions stay valid.
#[serde(default)]
pub struct Settings {
    /// Gateways besides the one of this machine.
    pub gateways: GatewayList,
    /// Name of the gateway in use. `None` for this machine's.
    pub gateway: Option<String>,
    pub appearance: Appearance,
    /// Text size in steps of ten percent around the system's.
    pub zoom: i8,
}

impl Settings {
    fn path(state: &Path) -> PathBuf {
        state.join("settings.json")
    }

    /// Loads the settings, or the defaults if there is no file.
    pub fn load(state: &Path) -> Result<Self, FileError> {
        Ok(files::read(&Self::path(state))?.unwrap_or_default())
    }

    /// Changes the stored settings. Returns the new settings, even if they could not be stored.
    pub fn change(&self, state: &Path, change: impl FnOnce(&mut Self)) -> (Self, Result<(), FileError>) {
        // The file is read again, because another window may have changed it since this one opened. Writing
        // this window's copy would undo that change.
        let path = Self::path(state);
        let (mut settings, readable) = match Self::load(state) {
            Ok(settings) => (settings, Ok(())),
            // A damaged file is set aside and replaced by what this window knows. After any other error the
            // file may be intact, so it is not overwritten and the change lasts only until the window closes.
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
        let first = Settings::default();
        let second = Settings::default();
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
        assert_eq!((kept.zoom, kept.appearance), (2, Appearance::Dark), "the window's own settings are kept");
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 2);
    }

    #[test]
    fn failed_writes_keep_the_change_and_the_file() {
        let state = tempfile::tempdir().unwrap();
        std::fs::create_dir(state.path().join("settings.json")).unwrap();
        let (changed, stored) = Settings::default().change(state.path(), |settings| settings.zoom = 1);
        assert_eq!((changed.zoom, stored.is_err()), (1, true));
        assert!(state.path().join("settings.json").is_dir());
    }
}
