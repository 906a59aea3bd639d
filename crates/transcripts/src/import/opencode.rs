//! opencode: one SQLite database for all sessions, and a Git tree of the worktree for each step.

use std::path::{Path, PathBuf};

use protocol::DeliveryTime;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::text;
use crate::event::{InstructionText, Layer, Origin, Remainder};
use crate::model::{ReadError, RecordedTexts};
use crate::recorder::Recorder;

const REMINDER: &str = "<system-reminder>\nInstructions from: ";
const NEXT: &str = "\n\nInstructions from: ";
const CLOSE: &str = "</system-reminder>";

/// A session in the database.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) directory: String,
    pub(crate) updated: i64,
}

/// A database that is open for reading, with the copy that it is read from.
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    _copy: Option<tempfile::TempDir>,
}

impl Database {
    /// Opens a database without writing anything beside it.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Database { path: path.to_owned(), source };
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (log, shared) = (beside("-wal"), beside("-shm"));
        let has_log = log.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |path: &Path, parameter: &str| {
            // A copy is ours, and SQLite writes the index of its log.
            let flags = match parameter {
                "mode=rw" => OpenFlags::SQLITE_OPEN_READ_WRITE | flags & !OpenFlags::SQLITE_OPEN_READ_ONLY,
                _ => flags,
            };
            let connection = Connection::open_with_flags(address(path, parameter), flags)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        // Without a log nothing can be missed, and an immutable file gets no lock and no index beside it.
        if !has_log {
            let connection = open(path, "immutable=1").map_err(failed)?;
            return Ok(Self { connection, path: path.to_owned(), _copy: None });
        }
        // The index of the log exists while the agent runs. SQLite would create it otherwise, so a copy is read then.
        if shared.exists() {
            let connection = open(path, "mode=ro").map_err(failed)?;
            return Ok(Self { connection, path: path.to_owned(), _copy: None });
        }
        let copied = || -> std::io::Result<tempfile::TempDir> {
            let directory = tempfile::tempdir()?;
            std::fs::copy(path, directory.path().join("copy"))?;
            std::fs::copy(&log, directory.path().join("copy-wal"))?;
            Ok(directory)
        };
        let copy = copied().map_err(|source| ReadError::File { path: path.to_owned(), source })?;
        let connection = open(&copy.path().join("copy"), "mode=rw").map_err(failed)?;
        Ok(Self { connection, path: path.to_owned(), _copy: Some(copy) })
    }

    fn failed(&self, source: rusqlite::Error) -> ReadError {
        ReadError::Database { path: self.path.clone(), source }
    }

    /// Returns all sessions.
    pub(crate) fn sessions(&self) -> Result<Vec<Row>, ReadError> {
        let query = || {
            let mut statement =
                self.connection.prepare("SELECT id, directory, time_updated FROM session ORDER BY id")?;
            let rows = statement.query_map([], |row| {
                Ok(Row { id: row.get(0)?, directory: row.get(1)?, updated: row.get(2)? })
            })?;
            rows.collect::<Result<Vec<_>, rusqlite::Error>>()
        };
        query().map_err(|error| self.failed(error))
    }

    /// Reads a session.
    pub(crate) fn read(&self, id: &str, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
        recorder.header.recorded = RecordedTexts { start: false, home: false, nested: true };
        self.header(id, recorder).map_err(|error| self.failed(error))?;
        recorder.start(false);
        self.parts(id, recorder).map_err(|error| self.failed(error))
    }

    fn header(&self, id: &str, recorder: &mut Recorder<'_>) -> Result<(), rusqlite::Error> {
        let sql = "SELECT project_id, parent_id, directory, title, version, time_created, time_updated, agent \
                   FROM session WHERE id = ?1";
        self.connection.query_row(sql, [id], |row| {
            let project: String = row.get(0)?;
            let header = &mut recorder.header;
            header.id = id.to_owned();
            header.parent = row.get(1)?;
            header.cwd = Some(PathBuf::from(row.get::<_, String>(2)?));
            header.title = Some(row.get(3)?);
            header.version = row.get(4)?;
            header.snapshots = self.snapshots(&project);
            header.role = row.get::<_, Option<String>>(7)?.filter(|_| header.parent.is_some());
            let times: (i64, i64) = (row.get(5)?, row.get(6)?);
            recorder.at_milliseconds(Some(times.1));
            recorder.at_milliseconds(Some(times.0));
            Ok(())
        })
    }

    /// Returns the repository with the snapshots of a project.
    fn snapshots(&self, project: &str) -> Option<PathBuf> {
        // The name comes from a database that a project may have influenced.
        if project.is_empty() || project.contains('/') || project.starts_with('.') {
            return None;
        }
        let directory = self.path.parent()?.join("snapshot").join(project);
        if directory.join("HEAD").is_file() {
            return Some(directory);
        }
        let entries = std::fs::read_dir(&directory).ok()?.flatten().map(|entry| entry.path());
        let mut repositories: Vec<PathBuf> = entries.filter(|path| path.join("HEAD").is_file()).collect();
        repositories.sort();
        repositories.into_iter().next()
    }

    fn parts(&self, id: &str, recorder: &mut Recorder<'_>) -> Result<(), rusqlite::Error> {
        let sql = "SELECT m.data, p.data, p.time_created FROM part p JOIN message m ON m.id = p.message_id \
                   WHERE p.session_id = ?1 ORDER BY p.id";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([id])?;
        let mut results: Vec<Value> = Vec::new();
        while let Some(row) = rows.next()? {
            let (message, part): (String, String) = (row.get(0)?, row.get(1)?);
            recorder.at_milliseconds(row.get(2)?);
            let (Ok(message), Ok(part)) =
                (serde_json::from_str::<Value>(&message), serde_json::from_str::<Value>(&part))
            else {
                recorder.problems.broken += 1;
                continue;
            };
            take(recorder, &message, part, &mut results);
        }
        flush(recorder, &mut results);
        Ok(())
    }
}

/// Returns the address of a database with a parameter.
fn address(path: &Path, parameter: &str) -> String {
    let mut address = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("{address}?{parameter}")
}

/// Takes a part of a message. Results wait for the end of their step, because a step can have several calls.
fn take(recorder: &mut Recorder<'_>, message: &Value, part: Value, results: &mut Vec<Value>) {
    let is_user = text(message, "role") == "user";
    match text(&part, "type") {
        "text" if is_user => {
            flush(recorder, results);
            recorder.user(|| text(&part, "text").to_owned());
        }
        "text" => recorder.assistant(|| text(&part, "text").to_owned()),
        "compaction" => {
            flush(recorder, results);
            recorder.compaction(Remainder::Within(String::new()));
        }
        "step-start" => {
            flush(recorder, results);
            recorder.close();
            if let Some(tree) = part.get("snapshot").and_then(Value::as_str) {
                recorder.snapshot(tree.to_owned());
            }
        }
        "tool" => {
            recorder.call(text(&part, "callID"), text(&part, "tool"), &part["state"]["input"]);
            results.push(part);
        }
        "step-finish" => {
            let tokens = &part["tokens"];
            let number = |pointer| tokens.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            recorder.usage(Some(number("/input") + number("/cache/read") + number("/cache/write")));
            flush(recorder, results);
        }
        "reasoning" | "patch" | "file" | "snapshot" | "agent" | "subtask" | "retry" => {}
        _ => recorder.problems.unknown += 1,
    }
}

fn flush(recorder: &mut Recorder<'_>, results: &mut Vec<Value>) {
    for part in results.drain(..) {
        let state = &part["state"];
        let output = text(state, "output");
        recorder.result(text(&part, "callID"), || output.to_owned());
        let loaded = state.pointer("/metadata/loaded").and_then(Value::as_array);
        let loaded: Vec<&str> = loaded.into_iter().flatten().filter_map(Value::as_str).collect();
        for (path, body) in nested(output) {
            // A file can contain such a reminder itself; the list of loaded files shows the real ones.
            if loaded.is_empty() || loaded.contains(&path.as_str()) {
                recorder.instructions(InstructionText {
                    path: Some(path.into()),
                    text: body,
                    when: DeliveryTime::Reading,
                    layer: Layer::Conversation,
                    origin: Origin::File,
                    record: None,
                });
            }
        }
    }
}

/// Returns the files that a read has loaded, as path and text.
fn nested(output: &str) -> Vec<(String, String)> {
    let Some(start) = output.rfind(REMINDER) else { return Vec::new() };
    let body = &output[start + REMINDER.len()..];
    let body = &body[..body.rfind(CLOSE).unwrap_or(body.len())];
    let files = body.split(NEXT).filter_map(|section| section.split_once('\n'));
    files.map(|(path, text)| (path.trim().to_owned(), text.trim_end().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_files_are_found_at_the_end_of_a_result() {
        let output = "<content>\n1: x\n</content>\n\n<system-reminder>\nInstructions from: /r/a/AGENTS.md\n# A\n\n\
                      Instructions from: /r/AGENTS.md\n# R\n\n</system-reminder>";
        let expected = [("/r/a/AGENTS.md", "# A"), ("/r/AGENTS.md", "# R")];
        assert_eq!(nested(output), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(nested("nothing"), []);
    }

    #[test]
    fn reading_a_database_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a?b #.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "wal").unwrap();
        writer.execute_batch("CREATE TABLE session (id TEXT, directory TEXT, time_updated INTEGER)").unwrap();
        writer.execute_batch("INSERT INTO session VALUES ('s', '/r', 1)").unwrap();
        // Only the log has the row, as after an agent was killed.
        let log = std::fs::read(directory.path().join("a?b #.db-wal")).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let left = directory.path().join("left");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("o.db"), bytes).unwrap();
        std::fs::write(left.join("o.db-wal"), log).unwrap();
        for path in [path, left.join("o.db")] {
            let before: Vec<_> = names(path.parent().unwrap());
            let rows = Database::open(&path).unwrap().sessions().unwrap();
            assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["s"]);
            assert_eq!(names(path.parent().unwrap()), before);
        }
    }

    fn names(directory: &Path) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }
}
