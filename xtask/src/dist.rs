//! `cargo xtask dist`: builds the release archive and tries it the way a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::failure::check_failed;
use crate::process::{cargo, run as run_command, shown};
use crate::{metadata, print_status};

/// Files copied into the archive, with their path in it.
const FILES: &[(&str, &str)] = &[
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("examples/systemd/foreword.service", "systemd/foreword.service"),
];
/// Shells with completions, and the file name each expects.
const COMPLETIONS: &[(&str, &str)] =
    &[("bash", "foreword.bash"), ("zsh", "_foreword"), ("fish", "foreword.fish")];

/// Installation command from the README.
const INSTALL: &[&str] = &["install", "--locked", "--path", "crates/cli"];

/// Time limit for a gateway to start or stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// Source of the packaged command.
pub(crate) enum Program {
    /// Built by `cargo install` with this profile.
    Install { profile: String },
    /// Already built.
    Built(PathBuf),
}

/// Creates the archive, unpacks it elsewhere, and uses it in an empty home directory.
pub(crate) fn run(root: &Path, program: Program) -> Result<()> {
    let directory = metadata::read()?.target_directory.join("archives");
    let name = format!("foreword-{}-{}", env!("CARGO_PKG_VERSION"), host()?);
    let staged = directory.join(&name);
    empty(&staged)?;
    let command = staged.join("foreword");
    match program {
        Program::Built(built) => {
            fs::copy(&built, &command).with_context(|| format!("failed to copy {}", built.display()))?;
        }
        // `cargo install` and not `cargo build`, because this is the command users run.
        Program::Install { profile } => {
            let installed = directory.join("installed");
            empty(&installed)?;
            let mut install = cargo();
            install.args(INSTALL).args(["--profile", &profile, "--root"]);
            run_command(install.arg(&installed))?;
            fs::rename(installed.join("bin/foreword"), &command).context("nothing was installed")?;
        }
    }
    for (from, to) in FILES {
        let to = staged.join(to);
        make_parent(&to)?;
        fs::copy(root.join(from), &to).with_context(|| format!("failed to copy {from}"))?;
    }
    write_completions(&command, &staged)?;
    write_man_pages(&command, &staged)?;

    let archive = directory.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive).arg("-C").arg(&directory).arg(&name);
    run_command(&mut tar)?;
    // Removed before the trial, so that the unpacked command cannot find any file here.
    fs::remove_dir_all(&staged)?;
    // Tried from the archive and not from the staged directory, so that a file missing in the archive is noticed.
    let elsewhere = directory.join("unpacked");
    empty(&elsewhere)?;
    run_command(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&elsewhere))?;
    try_out(&elsewhere.join(&name).join("foreword"), &elsewhere.join("home"))?;
    fs::remove_dir_all(&elsewhere)?;

    let bytes = fs::metadata(&archive)?.len();
    print_status(format!("{}, {:.1} MB", archive.display(), bytes as f64 / 1e6));
    Ok(())
}

/// Returns the target triple.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("failed to start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.context("`rustc -vV` does not name this machine")
}

fn empty(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().context("no parent")?;
    fs::create_dir_all(parent).with_context(|| format!("failed to make {}", parent.display()))
}

fn write_completions(command: &Path, staged: &Path) -> Result<()> {
    for (shell, name) in COMPLETIONS {
        let path = staged.join("completions").join(name);
        make_parent(&path)?;
        let text = output_of(Command::new(command).args(["completions", shell]))?;
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

fn write_man_pages(command: &Path, staged: &Path) -> Result<()> {
    let directory = staged.join("man");
    fs::create_dir_all(&directory)?;
    output_of(Command::new(command).arg("man").arg(&directory))?;
    let pages = fs::read_dir(&directory)?.count();
    if pages == 0 {
        return Err(check_failed("`foreword man` wrote no page"));
    }
    print_status(format!("{pages} man pages"));
    Ok(())
}

/// Uses the command like a new user, in an empty home directory.
fn try_out(command: &Path, home: &Path) -> Result<()> {
    let project = home.join("project");
    fs::create_dir_all(&project)?;
    fs::write(project.join("AGENTS.md"), "Use British spelling.\n")?;
    let foreword = |words: &str| {
        let mut started = Command::new(command);
        started
            .args(words.split(' '))
            // A user has none of the variables of this process, such as those that Cargo sets.
            .env_clear()
            .env("HOME", home)
            .current_dir(&project)
            .stdin(Stdio::null());
        started
    };
    output_of(&mut foreword("--version"))?;
    expect(&output_of(&mut foreword("show"))?, "Use British spelling.")?;
    // Port 0, because a developer's own gateway may use the default port.
    let mut serve = foreword("serve --listen 127.0.0.1:0");
    let mut gateway = serve.spawn().with_context(|| format!("failed to start `{}`", shown(&serve)))?;
    let tried = try_with_gateway(&mut gateway, foreword);
    // The gateway must stop when asked to, even if a step before failed, so that no process is left behind.
    let asked = Command::new("kill").arg(gateway.id().to_string()).status();
    let ended = within_patience("the gateway to end", || Ok(gateway.try_wait()?));
    if ended.is_err() {
        let _ = gateway.kill();
    }
    tried?;
    asked.context("failed to start kill")?;
    match ended?.success() {
        true => Ok(()),
        false => Err(check_failed("the gateway did not shut down cleanly")),
    }
}

fn try_with_gateway(gateway: &mut Child, foreword: impl Fn(&str) -> Command) -> Result<()> {
    within_patience("the gateway to start", || {
        if let Some(status) = gateway.try_wait()? {
            return Err(check_failed(format!("the gateway exited immediately ({status})")));
        }
        // Asked through the command, because that is how a user would find out.
        let status = output_of(&mut foreword("status --format json"))?;
        Ok(status.contains("\"running\":true").then_some(()))
    })?;
    output_of(&mut foreword("workspace create tried --root ."))?;
    output_of(&mut foreword("doc save AGENTS.md"))?;
    expect(&output_of(&mut foreword("doc get"))?, "Use British spelling.")?;
    output_of(&mut foreword("thread create tried"))?;
    expect(&output_of(&mut foreword("prompt show tried"))?, "<AGENTS_MD>")
}

fn expect(text: &str, part: &str) -> Result<()> {
    if text.contains(part) { Ok(()) } else { Err(check_failed(format!("missing `{part}` in:\n{text}"))) }
}

/// Runs a command and returns its output. A failing command is a failed check.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to start `{}`", shown(command)))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(check_failed(format!("`{}` failed ({}): {error}", shown(command), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn within_patience<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(found) = look()? {
            return Ok(found);
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("timed out waiting for {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archived_files_exist() {
        for (from, _) in FILES {
            assert!(crate::root().join(from).is_file(), "{from}");
        }
        assert!(host().unwrap().contains('-'));
    }

    #[test]
    fn the_readme_contains_the_installation_command() {
        let readme = fs::read_to_string(crate::root().join("README.md")).unwrap();
        let command = format!("\ncargo {}\n", INSTALL.join(" "));
        assert!(readme.contains(&command), "the README has no line{command}");
    }

    /// Installing would build everything again with different features, so this only asks cargo for its plan.
    #[test]
    fn the_installed_package_has_one_program_and_locked_versions() {
        let at = INSTALL.iter().position(|word| *word == "--path").unwrap();
        let manifest = crate::root().join(INSTALL[at + 1]).join("Cargo.toml");
        let mut asked = cargo();
        asked.args(["metadata", "--locked", "--offline", "--format-version", "1", "--manifest-path"]);
        // Dependencies of other platforms may never have been downloaded, and the test must work offline.
        let answer = asked.arg(&manifest).args(["--filter-platform", &host().unwrap()]).output().unwrap();
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let found: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
        let packages = found["packages"].as_array().unwrap();
        let package = packages
            .iter()
            .find(|package| package["manifest_path"].as_str() == Some(&manifest.to_string_lossy()))
            .expect("the package that is installed");
        let programs: Vec<&str> = package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|target| target["kind"][0] == "bin" && target["required-features"].is_null())
            .filter_map(|target| target["name"].as_str())
            .collect();
        assert_eq!(programs, ["foreword"]);
        let needed =
            format!("[Rust](https://rustup.rs) {} or newer", package["rust_version"].as_str().unwrap());
        assert!(fs::read_to_string(crate::root().join("README.md")).unwrap().contains(&needed), "{needed}");
    }
}
