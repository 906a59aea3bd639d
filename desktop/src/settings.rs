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
    pub fn change(state: &Path, change: impl FnOnce(&mut Self)) -> Result<Self, FileError> {
        let mut settings = match Self::load(state) {
            Ok(settings) => settings,
            Err(_) => {
                files::set_aside(&Self::path(state))?;
                Self::default()
            }
        };
        change(&mut settings);
        files::write(&Self::path(state), &settings)?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_keep_each_others_changes() {
        let state = tempfile::tempdir().unwrap();
        Settings::change(state.path(), |settings| settings.zoom = 2).unwrap();
        let (first, second) = (Settings::load(state.path()).unwrap(), Settings::load(state.path()).unwrap());
        Settings::change(state.path(), |settings| {
            settings.gateways.add_address("team", "https://team.example").map(drop).unwrap();
        })
        .unwrap();
        assert_eq!((first.zoom, second.zoom), (2, 2));
        let changed = Settings::change(state.path(), |settings| settings.zoom = 3).unwrap();
        assert_eq!((changed.zoom, changed.gateways.iter().count()), (3, 1));
    }

    #[test]
    fn damaged_settings_are_kept_aside() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("settings.json"), "{").unwrap();
        assert!(Settings::load(state.path()).is_err());
        Settings::change(state.path(), |settings| settings.zoom = 1).unwrap();
        assert_eq!(Settings::load(state.path()).unwrap().zoom, 1);
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 2);
    }
}
