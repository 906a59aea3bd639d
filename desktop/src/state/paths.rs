//! Paths of the gateway's data directory and of this program's own state.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;
use etcetera::base_strategy::choose_native_strategy;

/// Names of the gateway's directory and of this program's below those of the platform.
const GATEWAY: &str = "foreword";
const OWN: &str = "foreword-desktop";

/// Environment variables that only this program reads.
pub const STATE_VARIABLE: &str = "FOREWORD_DESKTOP_STATE";
pub const PROGRAM_VARIABLE: &str = "FOREWORD_PROGRAM";

/// Directories and programs that the application uses.
#[derive(Debug, Clone)]
pub struct Paths {
    /// Data directory of the gateway on this machine.
    pub data: PathBuf,
    /// Directory for settings, drafts, and tokens if there is no keyring.
    pub state: PathBuf,
    /// The command `foreword`. `None` to search beside this program and on the PATH.
    pub program: Option<PathBuf>,
}

/// Options of the command line.
#[derive(Debug, Default)]
pub struct DesktopArguments {
    pub data: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub program: Option<PathBuf>,
}

/// Error of the command line or the environment.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error(
        "`{0}` is not an option of this program\nhint: the options are --data DIR, --state DIR and --foreword FILE"
    )]
    Unknown(String),
    #[error("`{0}` needs a path")]
    NoValue(&'static str),
    #[error(
        "cannot find your home directory\nhint: set HOME, or name the directories with --data and --state"
    )]
    NoHome,
}

impl DesktopArguments {
    pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut parsed = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let (name, place) = match argument.to_str() {
                Some("--data") => ("--data", &mut parsed.data),
                Some("--state") => ("--state", &mut parsed.state),
                Some("--foreword") => ("--foreword", &mut parsed.program),
                _ => return Err(UsageError::Unknown(argument.to_string_lossy().into_owned())),
            };
            let value = arguments.next().filter(|value| !value.is_empty());
            *place = Some(PathBuf::from(value.ok_or(UsageError::NoValue(name))?));
        }
        Ok(parsed)
    }
}

impl Paths {
    /// Finds the directories through flags, then variables, then the platform.
    pub fn find(
        arguments: DesktopArguments,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, UsageError> {
        // An empty variable counts as unset, as in the command. Both must find the same data directory, or
        // the window would not see the gateway that `foreword serve` started.
        let named = |name| variable(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        let platform = || choose_native_strategy().map_err(|_| UsageError::NoHome);
        let data = match arguments.data.or_else(|| named("FOREWORD_DATA")) {
            Some(data) => data,
            None => platform()?.data_dir().join(GATEWAY),
        };
        let state = match arguments.state.or_else(|| named(STATE_VARIABLE)) {
            Some(state) => state,
            None => {
                let platform = platform()?;
                platform.state_dir().unwrap_or_else(|| platform.data_dir()).join(OWN)
            }
        };
        let program = arguments.program.or_else(|| named(PROGRAM_VARIABLE));
        // A relative path would change its meaning with the working directory of the gateway that is started
        // later.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Ok(Self { data: absolute(data), state: absolute(state), program: program.map(absolute) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<DesktopArguments, UsageError> {
        DesktopArguments::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn flags_win_over_variables() {
        let arguments = parse(&["--data", "/d", "--foreword", "/f"]).unwrap();
        let variable = |name: &str| (name == "FOREWORD_DESKTOP_STATE").then(|| OsString::from("/s"));
        let paths = Paths::find(arguments, variable).unwrap();
        assert_eq!((paths.data, paths.state), ("/d".into(), "/s".into()));
        assert_eq!(paths.program, Some("/f".into()));
    }

    #[test]
    fn unknown_options_are_refused() {
        assert!(matches!(parse(&["--date", "/d"]), Err(UsageError::Unknown(word)) if word == "--date"));
        assert!(matches!(parse(&["--state"]), Err(UsageError::NoValue("--state"))));
    }
}
