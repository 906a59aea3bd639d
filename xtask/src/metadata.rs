//! Package metadata of the workspace from `cargo metadata`.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::process::cargo;

#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for normal dependencies.
    pub(crate) kind: Option<Kind>,
    /// `None` for dependencies from crates.io.
    pub(crate) path: Option<PathBuf>,
}

/// Kind of a dependency other than a normal one.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Dev,
    Build,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

pub(crate) fn read() -> Result<Metadata> {
    let mut command = cargo();
    // Without dependencies, cargo does not have to resolve or download anything.
    command.args(["metadata", "--no-deps", "--format-version", "1"]).stderr(Stdio::inherit());
    let output = command.output().context("could not start `cargo metadata`")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("could not read what `cargo metadata` says")
}
