//! Parsing of one TOML file into keys and values.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{self, Key, Refused};
use super::layers::{Assignment, Layer, Origin};
use super::table::KEYS;
use super::value::describe;
use crate::failure::{Exit, Failure};

/// Size limit of a configuration file, so that a wrong path does not exhaust memory.
pub(crate) const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The text of a configuration file.
#[derive(Debug)]
pub(crate) struct ConfigurationFile {
    layer: Layer,
    path: PathBuf,
    text: String,
}

/// A key and value of a file, not yet checked against the key's kind.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) key: &'static Key,
    /// Path of the key in the file, with user-chosen names.
    pub(crate) path: String,
    pub(crate) origin: Origin,
    value: &'a DeValue<'a>,
    directory: &'a Path,
}

/// Opens a file. Rejects pipes, because reading one could block forever, except those that a shell passes in `/dev`.
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    if path.starts_with("/dev") {
        return File::open(path);
    }
    // `NONBLOCK` keeps the call from waiting for a writer if the path is a pipe. It has no effect on a regular
    // file.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is a pipe, not a file"));
    }
    Ok(file)
}

impl ConfigurationFile {
    /// Reads a file. `None` if it does not exist.
    pub(crate) fn read(layer: Layer, path: &Path) -> Result<Option<Self>, Failure> {
        let path = path.to_owned();
        let mut bytes = Vec::new();
        // One byte above the limit distinguishes a file that is too long from one that just fits.
        let read = open(&path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        match read {
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => {
                let what = format!("cannot read the configuration file {}", path.display());
                return Err(Failure::caused_by(Exit::Failed, &what, error));
            }
            Ok(_) if bytes.len() as u64 > MAX_FILE_BYTES => {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "the configuration file {path} has more than {MAX_FILE_BYTES} bytes"
                )));
            }
            Ok(_) => {}
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(ConfigurationFile { layer, path, text })),
            Err(_) => Err(Failure::usage(format!("the configuration file {} is not UTF-8", path.display()))),
        }
    }

    /// Calls `visit` with every statement in file order, until one fails.
    pub(crate) fn visit(
        &self,
        mut visit: impl FnMut(Statement<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let document = DeTable::parse(&self.text).map_err(|error| {
            let place = self.place(error.span().map_or(0, |span| span.start));
            Failure::usage(format!("{place} is not valid TOML: {}", error.message()))
        })?;
        let mut problems = Vec::new();
        let mut statements = Vec::new();
        self.collect("", document.get_ref(), &mut statements, &mut problems);
        // The parser sorts keys by name, but users read a file from top to bottom and expect its first problem.
        problems.sort_by_key(|(position, _)| *position);
        if let Some((_, error)) = problems.into_iter().next() {
            return Err(error);
        }
        statements.sort_by_key(|(position, _)| *position);
        statements.into_iter().try_for_each(|(_, statement)| visit(statement))
    }

    /// Returns the values of a file that may set every key.
    pub(crate) fn assignments(&self) -> Result<Vec<Assignment>, Failure> {
        let mut assignments = Vec::new();
        self.visit(|statement| {
            assignments.push(statement.assignment()?);
            Ok(())
        })?;
        Ok(assignments)
    }

    /// Walks a table. Keys and problems are collected with their positions, because the parser sorts by name.
    fn collect<'a>(
        &'a self,
        prefix: &str,
        table: &'a DeTable<'a>,
        statements: &mut Vec<(usize, Statement<'a>)>,
        problems: &mut Vec<(usize, Failure)>,
    ) {
        for (name, value) in table {
            let position = name.span().start;
            let place = self.place(position);
            let path = join(prefix, name);
            // A known key comes first, even if its value is a table, such as the headers of a provider.
            if let Some(key) = Key::find(&path) {
                let directory = self.path.parent().unwrap_or(Path::new(""));
                let statement = Statement { key, path, origin: place, value: value.get_ref(), directory };
                statements.push((position, statement));
            } else if let Some(refused) = Refused::find(&path) {
                let message = format!("{place}: `{path}` {}", refused.problem);
                problems.push((position, Failure::usage(message).hint(refused.instead)));
            } else if key::holds_names(prefix) && !key::is_name(name.get_ref()) {
                let message = format!("{place}: {:?} is not a valid name in `{prefix}`", name.get_ref());
                let hint = "names consist of letters, digits, `_` and `-`";
                problems.push((position, Failure::usage(message).hint(hint)));
            } else if !key::is_section(&path) {
                problems.push((position, unknown_key(&place, path, value.get_ref())));
            } else if let DeValue::Table(inner) = value.get_ref() {
                // An empty table has no effect, which its author certainly did not intend.
                if key::holds_names(prefix) && inner.is_empty() {
                    let failure = Failure::usage(format!("{place}: the table `{path}` is empty"));
                    problems.push((position, failure.hint("set something in it, or remove its heading")));
                    continue;
                }
                self.collect(&path, inner, statements, problems);
            } else {
                let found = describe(value.get_ref());
                let message = format!("{place}: `{path}` must be a table, found {found}");
                problems.push((position, Failure::usage(message)));
            }
        }
    }

    fn place(&self, position: usize) -> Origin {
        let before = self.text.as_bytes().iter().take(position);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        Origin::File { layer: self.layer, path: self.path.clone(), line }
    }
}

impl Statement<'_> {
    /// Returns the value if it fits the key's kind. Relative paths resolve against the file's directory.
    pub(crate) fn assignment(self) -> Result<Assignment, Failure> {
        let Statement { key, path, origin, value, directory } = self;
        match key.kind_in_files().read_toml(value) {
            Ok(value) => Ok(Assignment { key, path: path.into(), value: value.below(directory), origin }),
            Err(found) => Err(origin.wrong_value(&path, key, &found)),
        }
    }
}

/// Returns true if the file does not exist, or its parent is a file.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Joins a key path. A name with a dot keeps its quotes, so that it cannot equal a nested key.
fn join(prefix: &str, name: &Spanned<std::borrow::Cow<'_, str>>) -> String {
    let name = name.get_ref();
    let name = if key::is_name(name) { name.to_string() } else { format!("{name:?}") };
    if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
}

/// Reports the first key below an unknown table, because that is what the user wanted to set.
fn unknown_key(place: &Origin, path: String, value: &DeValue<'_>) -> Failure {
    let first = value.as_table().and_then(|table| table.iter().min_by_key(|(name, _)| name.span().start));
    if let Some((name, value)) = first {
        return unknown_key(place, join(&path, name), value.get_ref());
    }
    let known: Vec<&'static str> = match value {
        DeValue::Table(_) => key::sections(),
        _ => KEYS.iter().map(|key| key.path).collect(),
    };
    // Suggestions contain the user's own names instead of the placeholder, so that they can be copied.
    let known: Vec<String> = known.into_iter().map(|known| key::with_name_of(known, &path)).collect();
    let failure = Failure::usage(format!("{place}: unknown key `{path}`"));
    match protocol::plausible(&path, known.iter().map(String::as_str)) {
        Some(nearest) => {
            failure.hint(format!("the nearest known key is `{nearest}`; `foreword config` lists all"))
        }
        None => failure.hint("`foreword config` lists all keys"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::Value;

    #[test]
    fn misspelled_keys_suggest_the_intended_one() {
        let cases = [
            ("gatway.listen", "gateway.listen"),
            ("gateway.lisen", "gateway.listen"),
            ("Gateway.Listen", "gateway.listen"),
            ("max_bytes", "agents.initial.max_bytes"),
            ("agents.max_files", "agents.initial.max_files"),
            ("agents.markers", "agents.root.markers"),
            ("agents.fallback_file_names", "agents.fallback_filenames"),
            ("gateway.database_url", "gateway.database"),
        ];
        for (wanted, expected) in cases {
            let nearest = protocol::plausible(wanted, KEYS.iter().map(|key| key.path));
            assert_eq!(nearest, Some(expected), "for {wanted}");
        }
        assert_eq!(protocol::plausible("bogus", KEYS.iter().map(|key| key.path)), None);
    }

    /// Keys and values, or an error message and its hint.
    type Outcome = Result<Vec<(String, Value)>, (String, Option<String>)>;

    fn check(text: &str) -> Outcome {
        let path = PathBuf::from("/etc/config.toml");
        let file = ConfigurationFile { layer: Layer::System, path, text: text.to_owned() };
        match file.assignments() {
            Ok(assignments) => {
                Ok(assignments.into_iter().map(|one| (one.path.into_owned(), one.value)).collect())
            }
            Err(error) => Err((error.to_string(), error.hints.first().cloned())),
        }
    }

    #[track_caller]
    fn check_error(text: &str, message: &str) {
        assert_eq!(check(text).map_err(|(message, _)| message), Err(format!("/etc/config.toml{message}")));
    }

    #[test]
    fn tables_and_dotted_keys_are_equivalent_and_ordered() {
        let expected = vec![
            ("gateway.listen".to_owned(), Value::from("[::1]:0")),
            ("agents.root.markers".to_owned(), Value::List(vec![".git".into()])),
            ("agents.initial.max_bytes".to_owned(), Value::Integer(4096)),
            ("client.token_file".to_owned(), Value::Path("/etc/t".into())),
        ];
        let settings = check(
            "gateway.listen = \"[::1]:0\"\n[agents]\nroot = { markers = [\".git\"] }\n\
             [agents.initial]\nmax_bytes = 0x10_00\n[client]\ntoken_file = \"t\"",
        );
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn a_byte_order_mark_and_crlf_are_accepted() {
        let settings = check("\u{feff}[gateway]\r\nallow_remote = true\r\n");
        assert_eq!(settings, Ok(vec![("gateway.allow_remote".to_owned(), Value::Switch(true))]));
    }

    #[test]
    fn an_unknown_key_reports_line_and_nearest_key() {
        let error = check("[gateway]\n\nlisen = \"x\"\n").unwrap_err();
        assert_eq!(error.0, "/etc/config.toml:3: unknown key `gateway.lisen`");
        assert_eq!(
            error.1.unwrap(),
            "the nearest known key is `gateway.listen`; `foreword config` lists all"
        );
    }

    #[test]
    fn an_unknown_table_is_reported_by_its_key() {
        check_error("[gatway]\nlisten = \"x\"", ":1: unknown key `gatway.listen`");
        let error = check("[agents.intial]").unwrap_err();
        assert!(error.1.unwrap().starts_with("the nearest known key is `agents.initial`"));
    }

    #[test]
    fn a_quoted_name_with_a_dot_is_one_name() {
        check_error("\"gateway.listen\" = \"x\"", ":1: unknown key `\"gateway.listen\"`");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        check_error("\"\\u001b[2J\" = 1", ":1: unknown key `\"\\u{1b}[2J\"`");
        check_error(
            "agents.resolver.delivery = \"\\u001b\"",
            ":1: `agents.resolver.delivery` must be one of `pointer`, `inline`, `auto`, found the string \
             \"\\u{1b}\"",
        );
    }

    #[test]
    fn wrong_types_report_expected_and_actual() {
        let cases = [
            ("gateway.listen = 4670", "gateway.listen` must be a non-empty string, found the integer 4670"),
            (
                "gateway.allow_remote = \"yes\"",
                "gateway.allow_remote` must be true or false, found the string \"yes\"",
            ),
            (
                "gateway.allowed_hosts = \"a\"",
                "gateway.allowed_hosts` must be a list of strings, found the string \"a\"",
            ),
            (
                "gateway.allowed_hosts = [1]",
                "gateway.allowed_hosts` must be a list of strings, found a list with the integer 1",
            ),
            (
                "agents.initial.max_files = -1",
                "agents.initial.max_files` must be a positive integer, found the integer -1",
            ),
            (
                "gateway.slow_client_seconds = 0",
                "gateway.slow_client_seconds` must be a positive integer, found the integer 0",
            ),
            (
                "client.token_file = \"\"",
                "client.token_file` must be a path in a string, found the string \"\"",
            ),
            ("gateway.listen.port = 1", "gateway.listen` must be a non-empty string, found a table"),
            ("gateway = 1", "gateway` must be a table, found the integer 1"),
            ("[[gateway]]", "gateway` must be a table, found a list"),
        ];
        for (text, message) in cases {
            check_error(text, &format!(":1: `{message}"));
        }
    }

    #[test]
    fn the_first_problem_of_a_file_is_the_one_reported() {
        check_error("[client]\nurrl = 1\n[agents]\nenabeld = 1", ":2: unknown key `client.urrl`");
    }

    #[test]
    fn invalid_toml_reports_line_and_message() {
        let (message, _) = check("[gateway]\nlisten = \n").unwrap_err();
        assert!(message.starts_with("/etc/config.toml:2 is not valid TOML: "), "{message}");
        check_error("[gateway]\nlisten = \"a\"\nlisten = \"b\"", ":3 is not valid TOML: duplicate key");
    }

    #[test]
    fn unreadable_files_have_distinct_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("large"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
        std::fs::write(path("binary"), b"\xff").unwrap();
        let read = |name: &str| ConfigurationFile::read(Layer::User, &path(name));
        assert!(read("absent").unwrap().is_none());
        assert!(read("binary/below").unwrap().is_none());
        let refused = |name: &str| read(name).unwrap_err().to_string();
        assert!(refused("large").ends_with("has more than 1048576 bytes"));
        assert!(refused("binary").ends_with("is not UTF-8"));
        assert!(refused("").starts_with("cannot read the configuration file "));
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        // Opening this pipe in the usual way would block the test forever.
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(refused("pipe").ends_with("it is a pipe, not a file"), "{}", refused("pipe"));
    }
}
