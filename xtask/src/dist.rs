//! `cargo xtask dist`: what is passed on to others, in one archive, tried as they would try it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::failure::check_failed;
use crate::process::{cargo, run as run_command, shown};
use crate::{metadata, print_status};

/// Files that go into the archive as they are, and where they go.
const FILES: &[(&str, &str)] = &[
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("examples/systemd/foreword.service", "systemd/foreword.service"),
];
/// Shells that completions are written for, and the names under which they look for them.
const COMPLETIONS: &[(&str, &str)] =
    &[("bash", "foreword.bash"), ("zsh", "_foreword"), ("fish", "foreword.fish")];

/// How the README says that it is installed.
const INSTALL: &[&str] = &["install", "--locked", "--path", "crates/cli"];

/// How long a gateway may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the command comes from.
pub(crate) enum Program {
    /// `cargo install` with this profile.
    Install { profile: String },
    /// It is built already.
    Built(PathBuf),
}

/// Makes the archive in the target directory, unpacks it elsewhere, and uses what is in it from an empty home.
pub(crate) fn run(root: &Path, program: Program) -> Result<()> {
    let directory = metadata::read()?.target_directory.join("archives");
    let name = format!("foreword-{}-{}", env!("CARGO_PKG_VERSION"), host()?);
    let staged = directory.join(&name);
    empty(&staged)?;
    let command = staged.join("foreword");
    match program {
        Program::Built(built) => {
            fs::copy(&built, &command).with_context(|| format!("could not copy {}", built.display()))?;
        }
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
        fs::copy(root.join(from), &to).with_context(|| format!("could not copy {from}"))?;
    }
    write_completions(&command, &staged)?;
    write_man_pages(&command, &staged)?;

    let archive = directory.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive).arg("-C").arg(&directory).arg(&name);
    run_command(&mut tar)?;
    fs::remove_dir_all(&staged)?;
    let elsewhere = directory.join("unpacked");
    empty(&elsewhere)?;
    run_command(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&elsewhere))?;
    try_out(&elsewhere.join(&name).join("foreword"), &elsewhere.join("home"))?;
    fs::remove_dir_all(&elsewhere)?;

    let bytes = fs::metadata(&archive)?.len();
    print_status(format!("{}, {:.1} MB", archive.display(), bytes as f64 / 1e6));
    Ok(())
}

/// The machine that the command is for.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("could not start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.context("`rustc -vV` does not name this machine")
}

fn empty(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::create_dir_all(directory).with_context(|| format!("could not make {}", directory.display()))
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().context("no parent")?;
    fs::create_dir_all(parent).with_context(|| format!("could not make {}", parent.display()))
}

fn write_completions(command: &Path, staged: &Path) -> Result<()> {
    for (shell, name) in COMPLETIONS {
        let path = staged.join("completions").join(name);
        make_parent(&path)?;
        let text = said(Command::new(command).args(["completions", shell]))?;
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

fn write_man_pages(command: &Path, staged: &Path) -> Result<()> {
    let directory = staged.join("man");
    fs::create_dir_all(&directory)?;
    said(Command::new(command).arg("man").arg(&directory))?;
    let pages = fs::read_dir(&directory)?.count();
    if pages == 0 {
        return Err(check_failed("`foreword man` wrote no page"));
    }
    print_status(format!("{pages} man pages"));
    Ok(())
}

/// Uses a command the way its new owner does, in a home with nothing in it.
fn try_out(command: &Path, home: &Path) -> Result<()> {
    let project = home.join("project");
    fs::create_dir_all(&project)?;
    fs::write(project.join("AGENTS.md"), "Use British spelling.\n")?;
    let foreword = |words: &str| {
        let mut started = Command::new(command);
        started
            .args(words.split(' '))
            .env_clear()
            .env("HOME", home)
            .current_dir(&project)
            .stdin(Stdio::null());
        started
    };
    said(&mut foreword("--version"))?;
    expect(&said(&mut foreword("show"))?, "Use British spelling.")?;
    let mut serve = foreword("serve --listen 127.0.0.1:0");
    let mut gateway = serve.spawn().with_context(|| format!("could not start `{}`", shown(&serve)))?;
    let tried = try_with_gateway(&mut gateway, foreword);
    // It must end by itself when it is asked to, whatever came of the rest.
    let asked = Command::new("kill").arg(gateway.id().to_string()).status();
    let ended = within_patience("the gateway to end", || Ok(gateway.try_wait()?));
    if ended.is_err() {
        let _ = gateway.kill();
    }
    tried?;
    asked.context("could not start kill")?;
    match ended?.success() {
        true => Ok(()),
        false => Err(check_failed("the gateway did not end well")),
    }
}

fn try_with_gateway(gateway: &mut Child, foreword: impl Fn(&str) -> Command) -> Result<()> {
    within_patience("the gateway to start", || {
        if let Some(status) = gateway.try_wait()? {
            return Err(check_failed(format!("the gateway ended at once ({status})")));
        }
        let status = said(&mut foreword("status --format json"))?;
        Ok(status.contains("\"running\":true").then_some(()))
    })?;
    said(&mut foreword("workspace create tried --root ."))?;
    said(&mut foreword("doc save AGENTS.md"))?;
    expect(&said(&mut foreword("doc get"))?, "Use British spelling.")?;
    said(&mut foreword("thread create tried"))?;
    expect(&said(&mut foreword("prompt show tried"))?, "<AGENTS_MD>")
}

fn expect(text: &str, part: &str) -> Result<()> {
    if text.contains(part) { Ok(()) } else { Err(check_failed(format!("there is no `{part}` in:\n{text}"))) }
}

/// What a command prints; one that fails is a failed check.
fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("could not start `{}`", shown(command)))?;
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
    bail!("waited in vain for {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_goes_into_an_archive_is_there() {
        for (from, _) in FILES {
            assert!(crate::root().join(from).is_file(), "{from}");
        }
        assert!(host().unwrap().contains('-'));
    }

    #[test]
    fn it_is_installed_as_the_readme_says() {
        let readme = fs::read_to_string(crate::root().join("README.md")).unwrap();
        let command = format!("\ncargo {}\n", INSTALL.join(" "));
        assert!(readme.contains(&command), "the README has no line{command}");
    }

    /// Installing builds everything anew where the tests built other features; so cargo is only asked what it would build.
    #[test]
    fn what_the_readme_installs_is_a_program_whose_versions_are_locked() {
        let at = INSTALL.iter().position(|word| *word == "--path").unwrap();
        let manifest = crate::root().join(INSTALL[at + 1]).join("Cargo.toml");
        let mut asked = cargo();
        asked.args(["metadata", "--locked", "--offline", "--format-version", "1", "--manifest-path"]);
        // What only other machines need may never have been loaded.
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
