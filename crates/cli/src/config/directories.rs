//! Directories of a user: configuration and data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use etcetera::base_strategy::choose_native_strategy;

use super::variable::{DATA_VARIABLE, HOME_VARIABLE};
use crate::failure::Failure;

/// Name of our directory inside the platform's base directories.
const DIRECTORY: &str = "foreword";

/// Absolute paths of a user's directories, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directories {
    /// Configuration and the user's own instruction files.
    pub(crate) home: PathBuf,
    /// The database, the owner's token and the running gateway's address.
    pub(crate) data: PathBuf,
}

/// Directories given on the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectoryFlags {
    /// `--home`.
    pub(crate) home: Option<PathBuf>,
    /// `--data`.
    pub(crate) data: Option<PathBuf>,
}

/// Flag, variable and default of a directory.
struct Choice {
    what: &'static str,
    flag: &'static str,
    variable: &'static str,
    platform: fn() -> Option<PathBuf>,
}

const HOME: Choice =
    Choice { what: "configuration", flag: "--home", variable: HOME_VARIABLE, platform: platform_home };
const DATA: Choice =
    Choice { what: "data", flag: "--data", variable: DATA_VARIABLE, platform: platform_data };

impl Directories {
    /// Finds the directories by flag, variable and platform default. Relative paths resolve against `working_directory`; an
    /// empty variable counts as unset.
    pub(crate) fn find(
        flags: DirectoryFlags,
        variable: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Result<Self, Failure> {
        Ok(Directories {
            home: HOME.find(flags.home, &variable, working_directory)?,
            data: DATA.find(flags.data, &variable, working_directory)?,
        })
    }

    /// Returns the path of the user's configuration file.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.home.join("config.toml")
    }
}

/// Returns the path of the system's configuration file.
pub(crate) fn system_file() -> PathBuf {
    let base = if cfg!(windows) { std::env::var_os("ProgramData") } else { None };
    base.map_or_else(|| PathBuf::from("/etc"), PathBuf::from).join(DIRECTORY).join("config.toml")
}

impl Choice {
    fn find(
        &self,
        flag: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Result<PathBuf, Failure> {
        // An empty flag is usually an unset variable in a script. The default would silently be the user's own
        // data.
        if flag.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            let flag = self.flag;
            return Err(Failure::usage(format!("`{flag}` needs a directory, found an empty string")));
        }
        let named = || variable(self.variable).filter(|text| !text.is_empty()).map(PathBuf::from);
        match flag.or_else(named).or_else(self.platform) {
            // Collecting the components drops `.` and trailing slashes, so that the same directory is always shown
            // alike.
            Some(path) => Ok(working_directory.join(path).components().collect()),
            None => {
                let Choice { what, flag, variable, .. } = self;
                let message =
                    format!("cannot find your home directory, which is needed for the {what} directory");
                Err(Failure::usage(message)
                    .hint(format!("set HOME, or name the directory with `{flag}` or {variable}")))
            }
        }
    }
}

fn platform_home() -> Option<PathBuf> {
    choose_native_strategy().ok().map(|platform| platform.config_dir().join(DIRECTORY))
}

fn platform_data() -> Option<PathBuf> {
    choose_native_strategy().ok().map(|platform| platform.data_dir().join(DIRECTORY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(flag: Option<&str>, variable: Option<&str>) -> Result<PathBuf, Failure> {
        let choice = Choice { platform: || Some("/home/me/.config/foreword".into()), ..HOME };
        choice.find(flag.map(PathBuf::from), |_| variable.map(OsString::from), Path::new("/somewhere"))
    }

    #[test]
    fn flags_override_variables_and_variables_the_platform() {
        assert_eq!(find(Some("/flag"), Some("/variable")).unwrap(), Path::new("/flag"));
        assert_eq!(find(None, Some("/variable")).unwrap(), Path::new("/variable"));
        assert_eq!(find(None, None).unwrap(), Path::new("/home/me/.config/foreword"));
    }

    #[test]
    fn relative_directories_resolve_against_the_working_directory() {
        assert_eq!(find(Some("./a/"), None).unwrap(), Path::new("/somewhere/a"));
        assert_eq!(find(None, Some("b")).unwrap(), Path::new("/somewhere/b"));
    }

    #[test]
    fn an_empty_variable_is_unset_but_an_empty_flag_fails() {
        assert_eq!(find(None, Some("")).unwrap(), Path::new("/home/me/.config/foreword"));
        let error = find(Some(""), None).unwrap_err();
        assert_eq!(error.to_string(), "`--home` needs a directory, found an empty string");
    }

    #[test]
    fn a_missing_home_directory_has_a_hint() {
        let choice = Choice { platform: || None, ..DATA };
        let error = choice.find(None, |_| None, Path::new("/")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot find your home directory, which is needed for the data directory"
        );
        assert_eq!(error.hints[0], "set HOME, or name the directory with `--data` or FOREWORD_DATA");
    }

    #[cfg(unix)]
    #[test]
    fn the_system_file_is_in_etc() {
        assert_eq!(system_file(), Path::new("/etc/foreword/config.toml"));
    }

    #[test]
    fn each_directory_has_its_own_variable() {
        let variable = |name: &str| Some(OsString::from(format!("/{name}")));
        let found = Directories::find(DirectoryFlags::default(), variable, Path::new("/")).unwrap();
        assert_eq!(found.user_file(), Path::new("/FOREWORD_HOME/config.toml"));
        assert_eq!(found.data, Path::new("/FOREWORD_DATA"));
    }
}
