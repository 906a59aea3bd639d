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

    /// Settings that cannot be read are not a reason not to start; the file is left as it is until something is changed.
    pub fn load(state: &Path) -> Result<Self, FileError> {
        Ok(files::read(&Self::path(state))?.unwrap_or_default())
    }

    pub fn store(&self, state: &Path) -> Result<(), FileError> {
        files::write(&Self::path(state), self)
    }
}
