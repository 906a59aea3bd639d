//! Where things are: the gateway's data directory, and this program's own state.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;
use etcetera::base_strategy::choose_native_strategy;

/// Our directory below the platform's data directory, and the same for this program's own.
const GATEWAY: &str = "foreword";
const OWN: &str = "foreword-desktop";

/// Variables of this program, which the command does not know.
pub const STATE_VARIABLE: &str = "FOREWORD_DESKTOP_STATE";
pub const PROGRAM_VARIABLE: &str = "FOREWORD_PROGRAM";

/// The directories that this program looks at.
#[derive(Debug, Clone)]
pub struct Places {
    /// The data directory of the gateway on this machine.
    pub data: PathBuf,
    /// What this program itself keeps: settings, drafts, and tokens where there is no keyring.
    pub state: PathBuf,
    /// The command `foreword`; none: beside this program, or on the PATH.
    pub program: Option<PathBuf>,
}

/// What the command line said.
#[derive(Debug, Default)]
pub struct Arguments {
    pub data: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub program: Option<PathBuf>,
}

/// Why the command line cannot be used.
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

impl Arguments {
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

impl Places {
    /// Flags, then variables, then what the platform says; the data directory is found as the command finds it.
    pub fn find(
        arguments: Arguments,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, UsageError> {
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
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Ok(Self { data: absolute(data), state: absolute(state), program: program.map(absolute) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, UsageError> {
        Arguments::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn flags_win_over_variables() {
        let arguments = parse(&["--data", "/d", "--foreword", "/f"]).unwrap();
        let variable = |name: &str| (name == "FOREWORD_DESKTOP_STATE").then(|| OsString::from("/s"));
        let places = Places::find(arguments, variable).unwrap();
        assert_eq!((places.data, places.state), ("/d".into(), "/s".into()));
        assert_eq!(places.program, Some("/f".into()));
    }

    #[test]
    fn what_is_not_an_option_is_refused() {
        assert!(matches!(parse(&["--date", "/d"]), Err(UsageError::Unknown(word)) if word == "--date"));
        assert!(matches!(parse(&["--state"]), Err(UsageError::NoValue("--state"))));
    }
}
