//! `cargo xtask console` and `cargo xtask test --console`: the web console, its built files, and its tests in a browser.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result};

use crate::failure::check_failed;
use crate::process::{self, cargo};
use crate::{prerequisites, print_status, test};

/// Built files, which the command contains.
const ASSETS: &str = "crates/console/assets";
/// File in `node_modules` that npm rewrites with each installation.
const INSTALLED: &str = "node_modules/.package-lock.json";
/// Time limit of the tests in a browser, generous for slow machines.
const AT_MOST: Duration = Duration::from_secs(900);

/// Build of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    Write,
    /// Fails if a fresh build differs from the committed files.
    Check,
}

/// Builds the console's files.
pub(crate) fn build(root: &Path, build: Build) -> Result<()> {
    install(root)?;
    match build {
        Build::Write => {
            process::run(npm(root).args(["run", "build"]))?;
            print_status(format!("wrote {ASSETS}"));
            Ok(())
        }
        Build::Check => {
            let fresh = env::temp_dir().join(format!("xtask-{}-console", std::process::id()));
            let built =
                process::run(npm(root).args(["run", "build", "--", "--emptyOutDir", "--outDir"]).arg(&fresh));
            let compared = built.and_then(|()| compare(&root.join(ASSETS), &fresh));
            let _ = fs::remove_dir_all(&fresh);
            compared
        }
    }
}

/// Tests the console: types, state machines, the committed files, and every view in a real browser. With arguments, runs
/// only the browser tests they select.
pub(crate) fn run_tests(root: &Path, arguments: &[OsString]) -> Result<()> {
    let started = Instant::now();
    prerequisites::ensure_for_console()?;
    install(root)?;
    if arguments.is_empty() {
        process::run(npm(root).args(["run", "check"]))?;
        process::run(npm(root).args(["run", "test"]))?;
        build(root, Build::Check)?;
    }
    let programs = build_programs(root)?;
    let mut tests = Command::new("node");
    tests.arg("tests/run.mjs").args(arguments).current_dir(root.join("console"));
    tests.env("FOREWORD_PROGRAM", &programs.foreword).env("SCRIPTED_MODEL", &programs.model);
    process::run_at_most(&mut tests, AT_MOST)?;
    print_status(format!("passed in {} seconds: the web console", started.elapsed().as_secs()));
    Ok(())
}

struct Programs {
    foreword: PathBuf,
    model: PathBuf,
}

/// Builds the command and the scripted model that answers its turns.
fn build_programs(root: &Path) -> Result<Programs> {
    let mut command = cargo();
    let mut model = cargo();
    command.arg("build");
    model.args(["build", "--example", "scripted-model"]);
    if prerequisites::is_ci() {
        // The same features as in the main test run; otherwise most of the workspace would be compiled again.
        command.args(test::EVERYTHING).args(test::TARGETS);
        model.args(test::EVERYTHING);
    } else {
        command.args(["-p", "foreword"]);
        model.args(["-p", "scripted-model"]);
    }
    process::run(&mut command)?;
    process::run(&mut model)?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(Programs {
        foreword: target.join("debug/foreword"),
        model: target.join("debug/examples/scripted-model"),
    })
}

fn npm(root: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root.join("console"));
    command
}

/// Installs the packages of the lock file, unless they are installed.
fn install(root: &Path) -> Result<()> {
    let console = root.join("console");
    let modified = |path: &str| fs::metadata(console.join(path)).and_then(|it| it.modified()).ok();
    let is_installed = modified(INSTALLED)
        .is_some_and(|installed| modified("package-lock.json").is_some_and(|it| it <= installed));
    if is_installed {
        return Ok(());
    }
    process::run(npm(root).arg("ci"))
}

/// Fails if two directories have different files.
fn compare(committed: &Path, fresh: &Path) -> Result<()> {
    let committed = files(committed)?;
    let fresh = files(fresh)?;
    let names = committed.keys().chain(fresh.keys()).collect::<std::collections::BTreeSet<_>>();
    let different: Vec<_> =
        names.into_iter().filter(|name| committed.get(*name) != fresh.get(*name)).collect();
    if different.is_empty() {
        print_status(format!("{} files of the console are up to date", fresh.len()));
        return Ok(());
    }
    for name in &different {
        print_status(format!("{ASSETS}/{}: differs from a fresh build", name.display()));
    }
    Err(check_failed(format!(
        "{} files of the console differ\nhint: run `cargo xtask console`",
        different.len()
    )))
}

fn files(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        let entries = fs::read_dir(&next).with_context(|| format!("could not list {}", next.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap_or(&path).to_owned();
                let bytes = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
                found.insert(name, bytes);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_missing_file_is_a_difference() {
        let root = env::temp_dir().join(format!("xtask-{}-assets", std::process::id()));
        let (old, fresh) = (root.join("old"), root.join("fresh"));
        for (directory, text) in [(&old, "a"), (&fresh, "a")] {
            fs::create_dir_all(directory.join("assets")).unwrap();
            fs::write(directory.join("assets/x.js"), text).unwrap();
        }
        compare(&old, &fresh).unwrap();
        fs::write(fresh.join("assets/x.js"), "b").unwrap();
        assert!(compare(&old, &fresh).is_err());
        fs::remove_file(fresh.join("assets/x.js")).unwrap();
        assert!(compare(&old, &fresh).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
