//! Programs and libraries that must be installed, and how to install them.

use std::env;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::print_status;
use crate::process::{find_on_path, is_executable, run, shown};

/// A required or recommended program or library.
struct Prerequisite {
    name: &'static str,
    needed_for: &'static str,
    found_as: Found,
    comes_with: Source,
    necessity: Necessity,
}

/// Detection of a prerequisite.
enum Found {
    /// One of these commands is on `PATH`.
    Command(&'static [&'static str]),
    /// The command is on `PATH`, or in `bin` of a version below this directory.
    CommandOrVersion {
        command: &'static str,
        versions: &'static str,
    },
    Library(&'static str),
    /// A file in one of these directories has a name containing `part`.
    File {
        directories: &'static [&'static str],
        part: &'static str,
    },
}

/// Source of a prerequisite.
enum Source {
    DebianPackage(&'static str),
    CargoInstall(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::DebianPackage(package) => write!(formatter, "apt-get install {package}"),
            Source::CargoInstall(package) => write!(formatter, "cargo install --locked {package}"),
        }
    }
}

/// Consequence of a missing prerequisite.
enum Necessity {
    Required,
    Optional { instead: &'static str },
}

/// Prerequisites of the tests.
const PREREQUISITES: &[Prerequisite] = &[
    Prerequisite {
        name: "a C compiler",
        needed_for: "building SQLite and linking",
        found_as: Found::Command(&["cc", "gcc", "clang"]),
        comes_with: Source::DebianPackage("gcc"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "a PostgreSQL server",
        needed_for: "the store's and the gateway's tests, which run on both databases",
        found_as: Found::CommandOrVersion { command: "initdb", versions: "/usr/lib/postgresql" },
        comes_with: Source::DebianPackage("postgresql"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "bubblewrap",
        needed_for: "the sandbox's tests",
        found_as: Found::Command(&["bwrap"]),
        comes_with: Source::DebianPackage("bubblewrap"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "Python",
        needed_for: "attacks on the sandbox, which a shell cannot make",
        found_as: Found::Command(&["python3"]),
        comes_with: Source::DebianPackage("python3"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "faketime",
        needed_for: "gateways whose clocks differ",
        found_as: Found::Command(&["faketime"]),
        comes_with: Source::DebianPackage("faketime"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "git",
        needed_for: "following the pages of the docs",
        found_as: Found::Command(&["git"]),
        comes_with: Source::DebianPackage("git"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "curl",
        needed_for: "following the pages of the docs",
        found_as: Found::Command(&["curl"]),
        comes_with: Source::DebianPackage("curl"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "jq",
        needed_for: "following the pages of the docs",
        found_as: Found::Command(&["jq"]),
        comes_with: Source::DebianPackage("jq"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "cargo-nextest",
        needed_for: "running tests side by side, each with a time limit",
        found_as: Found::Command(&["cargo-nextest"]),
        comes_with: Source::CargoInstall("cargo-nextest"),
        necessity: Necessity::Optional { instead: "`cargo test` is used" },
    },
];

/// Prerequisites of the fuzz targets.
const OF_FUZZING: &[Prerequisite] = &[Prerequisite {
    name: "a C++ compiler",
    needed_for: "building libFuzzer",
    found_as: Found::Command(&["c++", "g++", "clang++"]),
    comes_with: Source::DebianPackage("g++"),
    necessity: Necessity::Required,
}];

/// Directories with one folder per font family.
const FONTS: &[&str] = &["/usr/share/fonts/truetype", "/usr/share/fonts/opentype"];

/// Prerequisites of the native application: libraries, a software graphics driver, fonts and a virtual screen.
const OF_DESKTOP: &[Prerequisite] = &[
    of_desktop("pkg-config", "finding libraries", Found::Command(&["pkg-config"]), "pkg-config"),
    of_desktop("XCB", "windows on X11", Found::Library("xcb"), "libxcb1-dev"),
    of_desktop("xkbcommon", "the keyboard", Found::Library("xkbcommon"), "libxkbcommon-dev"),
    of_desktop(
        "xkbcommon-x11",
        "the keyboard on X11",
        Found::Library("xkbcommon-x11"),
        "libxkbcommon-x11-dev",
    ),
    of_desktop("fontconfig", "finding fonts", Found::Library("fontconfig"), "libfontconfig-dev"),
    of_desktop("FreeType", "drawing text", Found::Library("freetype2"), "libfreetype-dev"),
    of_desktop("Wayland", "windows on Wayland", Found::Library("wayland-client"), "libwayland-dev"),
    of_desktop(
        "a Vulkan loader",
        "drawing windows",
        Found::File {
            directories: &[
                "/usr/lib/x86_64-linux-gnu",
                "/usr/lib/aarch64-linux-gnu",
                "/usr/lib64",
                "/usr/lib",
            ],
            part: "libvulkan.so.1",
        },
        "libvulkan1",
    ),
    of_desktop(
        "a Vulkan driver",
        "drawing windows without a graphics card",
        Found::File { directories: &["/usr/share/vulkan/icd.d"], part: ".json" },
        "mesa-vulkan-drivers",
    ),
    of_desktop("a font", "text", Found::File { directories: FONTS, part: "dejavu" }, "fonts-dejavu"),
    of_desktop(
        "a font of Chinese, Japanese and Korean",
        "text in those scripts",
        Found::File { directories: FONTS, part: "noto" },
        "fonts-noto-cjk",
    ),
    of_desktop("Xvfb", "real windows without a screen", Found::Command(&["Xvfb"]), "xvfb"),
    of_desktop("xdotool", "typing into real windows", Found::Command(&["xdotool"]), "xdotool"),
    of_desktop("xclip", "reading what real windows show", Found::Command(&["xclip"]), "xclip"),
    of_desktop("jq", "reading what the command prints", Found::Command(&["jq"]), "jq"),
    of_desktop("D-Bus", "a session with a keyring", Found::Command(&["dbus-run-session"]), "dbus"),
    of_desktop("a keyring", "keeping tokens", Found::Command(&["gnome-keyring-daemon"]), "gnome-keyring"),
];

const fn of_desktop(
    name: &'static str,
    needed_for: &'static str,
    found_as: Found,
    package: &'static str,
) -> Prerequisite {
    let comes_with = Source::DebianPackage(package);
    Prerequisite { name, needed_for, found_as, comes_with, necessity: Necessity::Required }
}

/// Prerequisites of the web console.
const OF_CONSOLE: &[Prerequisite] = &[
    Prerequisite {
        name: "Node",
        needed_for: "building the console",
        found_as: Found::Command(&["node"]),
        comes_with: Source::DebianPackage("nodejs"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "npm",
        needed_for: "installing the console's build tools",
        found_as: Found::Command(&["npm"]),
        comes_with: Source::DebianPackage("npm"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "Chromium",
        needed_for: "testing the console in a browser",
        found_as: Found::Command(&["chromium"]),
        comes_with: Source::DebianPackage("chromium"),
        necessity: Necessity::Required,
    },
    Prerequisite {
        name: "a font",
        needed_for: "pictures of the console",
        found_as: Found::File { directories: FONTS, part: "dejavu" },
        comes_with: Source::DebianPackage("fonts-dejavu"),
        necessity: Necessity::Required,
    },
];

/// Installs missing prerequisites of the tests as root on Debian or in CI; otherwise fails with the command to run.
pub(crate) fn ensure() -> Result<()> {
    ensure_all(PREREQUISITES)
}

pub(crate) fn ensure_for_fuzzing() -> Result<()> {
    ensure_all(OF_FUZZING)
}

pub(crate) fn ensure_for_console() -> Result<()> {
    ensure_all(OF_CONSOLE)
}

pub(crate) fn ensure_for_desktop() -> Result<()> {
    ensure_all(OF_DESKTOP)
}

fn ensure_all(prerequisites: &'static [Prerequisite]) -> Result<()> {
    for prerequisite in prerequisites {
        if let Necessity::Optional { instead } = prerequisite.necessity
            && !prerequisite.is_there()
        {
            print_status(format!("{} is not installed: {instead}", prerequisite.name));
            print_status(format!(
                "hint: `{}` gives it, for {}",
                prerequisite.comes_with, prerequisite.needed_for
            ));
        }
    }
    // All of them are listed together, so that one installation is enough.
    let missing = missing(prerequisites);
    if missing.is_empty() {
        return Ok(());
    }
    for prerequisite in &missing {
        print_status(format!("missing: {}, needed for {}", prerequisite.name, prerequisite.needed_for));
    }
    let packages: Vec<&str> =
        missing.iter().filter_map(|prerequisite| prerequisite.debian_package()).collect();
    match AptGet::allowed() {
        Some(apt_get) => apt_get.install(&packages)?,
        None => bail!(
            "install what is missing, then run this again:\n\n    {}\n\n\
             (the names of Debian's packages; other systems have their own)",
            by_hand(&packages)
        ),
    }
    // A package may have been installed without the program, if a distribution names it differently.
    match self::missing(prerequisites).first() {
        Some(still) => bail!("{} is still not found after {} was installed", still.name, packages.join(", ")),
        None => Ok(()),
    }
}

/// Installs Debian packages if permitted.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    match AptGet::allowed() {
        Some(apt_get) => apt_get.install(packages),
        None => bail!("install what is missing: {}", by_hand(packages)),
    }
}

pub(crate) fn has_nextest() -> bool {
    find_on_path("cargo-nextest").is_some()
}

/// Returns true on a build machine, which may install packages and must not skip any check.
pub(crate) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}

fn missing(prerequisites: &'static [Prerequisite]) -> Vec<&'static Prerequisite> {
    prerequisites
        .iter()
        .filter(|prerequisite| {
            matches!(prerequisite.necessity, Necessity::Required) && !prerequisite.is_there()
        })
        .collect()
}

fn by_hand(packages: &[&str]) -> String {
    format!("sudo apt-get update && sudo apt-get install -y --no-install-recommends {}", packages.join(" "))
}

impl Prerequisite {
    fn is_there(&self) -> bool {
        match &self.found_as {
            Found::Command(names) => names.iter().any(|name| find_on_path(name).is_some()),
            Found::CommandOrVersion { command, versions } => {
                find_on_path(command).is_some() || has_version(Path::new(versions), command)
            }
            Found::Library(name) => {
                let asked = Command::new("pkg-config").args(["--exists", name]).status();
                asked.is_ok_and(|status| status.success())
            }
            Found::File { directories, part } => {
                directories.iter().any(|directory| has_file(directory, part))
            }
        }
    }

    fn debian_package(&self) -> Option<&'static str> {
        match self.comes_with {
            Source::DebianPackage(package) => Some(package),
            Source::CargoInstall(_) => None,
        }
    }
}

/// Returns true if `directory/*/bin/command` exists.
// Debian installs the server's programs below its version and puts only the client's on `PATH`.
fn has_version(directory: &Path, command: &str) -> bool {
    let Ok(versions) = fs::read_dir(directory) else { return false };
    versions.flatten().any(|version| is_executable(&version.path().join("bin").join(command)))
}

/// Returns true if the name of any file in a directory contains `part`.
fn has_file(directory: &str, part: &str) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains(part))
}

/// Debian's package manager, if this program may use it.
struct AptGet {
    as_root: AsRoot,
}

enum AsRoot {
    Already,
    ThroughSudo,
}

impl AptGet {
    /// Root on Debian has asked for the installation by running the tests, and CI always may. Everyone else is only
    /// shown the command, because changing a developer's machine without being asked would be rude.
    fn allowed() -> Option<Self> {
        find_on_path("apt-get")?;
        if is_root() {
            return (Path::new("/etc/debian_version").exists() || is_ci())
                .then_some(Self { as_root: AsRoot::Already });
        }
        (is_ci() && find_on_path("sudo").is_some()).then_some(Self { as_root: AsRoot::ThroughSudo })
    }

    fn install(&self, packages: &[&str]) -> Result<()> {
        // The package lists may be missing or outdated, as in a fresh container, so they are updated first.
        let install = ["install", "-y", "--no-install-recommends"];
        for arguments in [vec!["update"], [&install, packages].concat()] {
            let mut command = self.command();
            command.args(&arguments);
            run(&mut command).map_err(|_| anyhow::anyhow!("`{}` failed", shown(&command))).with_context(
                || format!("could not install {}; by hand: {}", packages.join(", "), by_hand(packages)),
            )?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = match self.as_root {
            AsRoot::Already => Command::new("env"),
            AsRoot::ThroughSudo => {
                let mut command = Command::new("sudo");
                // Without `-n`, sudo would ask for a password and block a build machine.
                command.args(["-n", "env"]);
                command
            }
        };
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
    }
}

fn is_root() -> bool {
    // The standard library cannot ask for the user's id, and a dependency for one call would make this program build
    // longer.
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_required_can_be_installed_with_one_command() {
        for prerequisite in PREREQUISITES.iter().chain(OF_FUZZING).chain(OF_DESKTOP) {
            if matches!(prerequisite.necessity, Necessity::Required) {
                assert!(prerequisite.debian_package().is_some(), "{}", prerequisite.name);
            }
        }
        assert_eq!(
            by_hand(&["gcc", "postgresql"]),
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends gcc postgresql"
        );
    }

    #[test]
    fn a_version_directory_counts_only_with_its_command() {
        assert!(!has_version(Path::new("/nonexistent"), "initdb"));
        assert!(!has_version(Path::new(env!("CARGO_MANIFEST_DIR")), "initdb"));
    }
}
