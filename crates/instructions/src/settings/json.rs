//! An agent's own settings files in JSON, as described by its profile.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use serde_json::{Map, Value};

use crate::cache::CacheEvidence;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{self, Bounds, Found};
use crate::profile::{
    BrokenSettings, ByteOrderMark, FolderTrust, JsonSettings, OwnNames, Profile, SettingsPlace,
};
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::Request;
use crate::settings::file::SettingsFileError;

/// Largest settings file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most names taken from a setting.
const MAX_NAMES: usize = 32;

/// Path and content of a settings file.
type SettingsObject = (PathBuf, Map<String, Value>);

/// Settings that affect the resolution.
#[derive(Debug, Default)]
pub(crate) struct FromSettings {
    pub(crate) named: Option<NamedFiles>,
    /// Reason for ignoring project files; `None` if the folder is trusted.
    pub(crate) distrusted: Option<String>,
    /// Diagnostics for unsupported settings.
    pub(crate) notes: Vec<Diagnostic>,
}

/// File names listed by a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedFiles {
    /// All names, in the agent's order.
    pub(crate) names: Vec<String>,
    /// Names that are read only because of the setting.
    added: Vec<String>,
    from: PathBuf,
    key: &'static str,
    /// The names are listed in a heading of the text.
    in_heading: bool,
}

impl NamedFiles {
    /// Replaces the names in the heading of a block, for agents that list them there.
    pub(crate) fn name_in_heading(&self, text: &mut String, profile: &Profile) {
        let setting = profile.json_settings().and_then(|settings| settings.names);
        let Some(heading) = setting.and_then(|setting| setting.heading) else { return };
        if self.in_heading && text.starts_with(heading.start) {
            let named = heading
                .start
                .replace(&profile.main_names().collect::<Vec<_>>().join(", "), &self.names.join(", "));
            text.replace_range(..heading.start.len(), &named);
        }
    }

    /// Returns the reason for reading a name, or `None` if the agent reads it by default.
    pub(crate) fn reason(&self, name: &str) -> Option<DecisionReason> {
        let is_added = self.added.iter().any(|added| added == name);
        is_added.then(|| DecisionReason::NamedBySetting { key: self.key, file: self.from.clone() })
    }
}

/// Reads the settings files of the user and the project.
pub(crate) fn read(
    described: &JsonSettings,
    request: &Request<'_>,
    evidence: &mut CacheEvidence,
) -> Result<FromSettings, SettingsFileError> {
    let settings = request.settings;
    let home = settings.homes.of(settings.profile);
    let mut reading = Reading { described, request, evidence, notes: Vec::new() };
    let mut own = Vec::new();
    for path in described.own.iter().filter_map(|name| Some(home?.join(name))) {
        own.extend(reading.object(path, described.broken.0, &Bounds::default())?);
    }
    let mut distrusted = None;
    if let (Some(trust), Some(home)) = (described.trust, home) {
        distrusted = reading.distrust(trust, home, &own)?;
    }
    let mut in_project = Vec::new();
    for path in reading.project_files() {
        let bounds = match settings.links_inside(request.cwd) {
            Some(inside) => Bounds::inside(inside),
            None => Bounds::default(),
        };
        in_project.extend(reading.object(
            path,
            described.broken.1,
            &bounds.without(&settings.private_paths),
        )?);
    }
    // The project's files are read even if they are ignored afterwards, because a broken one can keep the agent from
    // starting without regard to trust.
    if distrusted.is_some() {
        in_project.clear();
    }
    let files: Vec<SettingsObject> = own.into_iter().chain(in_project).collect();
    for (path, object) in &files {
        for key in described.unfollowed.iter().filter(|key| is_set(at(object, key))) {
            let title = settings.profile.agent.title;
            reading.note(path, format!("`{key}` changes what {title} reads, and is not followed here"));
        }
    }
    // The last file with the key wins, even if its list is empty.
    let mut named = files.iter().rev().find_map(|(path, object)| reading.named(path, object)).flatten();
    if let (Some(named), Some(heading)) = (&mut named, described.names.and_then(|names| names.heading)) {
        let model = files.iter().rev().find_map(|(_, object)| at(object, heading.model_key)?.as_str());
        named.in_heading =
            model.is_none_or(|model| !heading.fixed_for.iter().any(|start| model.starts_with(start)));
    }
    Ok(FromSettings { named, distrusted, notes: reading.notes })
}

struct Reading<'a, 'b> {
    described: &'a JsonSettings,
    request: &'a Request<'b>,
    evidence: &'a mut CacheEvidence,
    notes: Vec<Diagnostic>,
}

impl Reading<'_, '_> {
    fn project_files(&self) -> Vec<PathBuf> {
        let cwd = self.request.cwd;
        let user = self.request.settings.homes.user();
        let workspace = self.request.settings.bounds.workspace();
        let directories: Vec<&Path> = match self.described.place {
            SettingsPlace::WorkingDirectory => [cwd].into_iter().filter(|cwd| Some(*cwd) != user).collect(),
            SettingsPlace::EveryDirectory => {
                let mut above: Vec<&Path> = cwd
                    .ancestors()
                    .take_while(|above| workspace.is_none_or(|workspace| above.starts_with(workspace)))
                    .collect();
                above.reverse();
                above
            }
        };
        let in_one = |directory: &Path| {
            self.described.in_project.iter().map(|path| directory.join(path)).collect::<Vec<_>>()
        };
        directories.into_iter().flat_map(in_one).collect()
    }

    /// Returns the object in a file, or `None` if the file does not exist or is ignored.
    fn object(
        &mut self,
        path: PathBuf,
        broken: BrokenSettings,
        bounds: &Bounds<'_>,
    ) -> Result<Option<SettingsObject>, SettingsFileError> {
        let looked_at = SystemTime::now();
        let problem = match self.request.settings.source.read(&path, bounds, MAX_BYTES) {
            Found::File { stamp, content } => {
                self.evidence.state(&path, stamp, looked_at);
                if !content.whole {
                    self.note(&path, format!("it has more than {MAX_BYTES} bytes, and is not followed"));
                    return Ok(None);
                }
                match settings_object(&content.bytes, self.described.byte_order_mark) {
                    Ok(object) => return Ok(Some((path, object))),
                    Err(error) => error.to_string(),
                }
            }
            Found::Absent => {
                self.evidence.nothing(&path);
                return Ok(None);
            }
            other => {
                // The result for such an entry cannot be checked cheaply later on, so the answer is not cached at all.
                *self.evidence = CacheEvidence::unknown();
                match other {
                    Found::NotAFile { kind, .. } => format!("it is a {kind} and no file"),
                    Found::Unreadable { reason } => format!("it cannot be read: {reason}"),
                    _ => return Ok(None),
                }
            }
        };
        match broken {
            BrokenSettings::Refused => Err(self.refused(path, problem)),
            BrokenSettings::Empty => {
                let title = self.request.settings.profile.agent.title;
                self.note(&path, format!("{title} takes it for empty: {problem}"));
                Ok(None)
            }
            BrokenSettings::Unknown => Ok(None),
        }
    }

    fn refused(&self, path: PathBuf, message: String) -> SettingsFileError {
        SettingsFileError { agent: self.request.settings.profile.name, path, message }
    }

    fn note(&mut self, path: &Path, message: String) {
        let code = DiagnosticCode::SettingNotFollowed;
        self.notes.push(Diagnostic::new(code, Severity::Warning, path, message));
    }

    /// Returns the reason for ignoring project files if the user does not trust the folder.
    fn distrust(
        &mut self,
        trust: FolderTrust,
        home: &Path,
        own: &[SettingsObject],
    ) -> Result<Option<String>, SettingsFileError> {
        let (key, default) = trust.switch;
        let set = own.iter().rev().find_map(|(_, object)| at(object, key)?.as_bool());
        if !set.unwrap_or(default) {
            return Ok(None);
        }
        let path = home.join(trust.file);
        let looked_at = SystemTime::now();
        match rustix::fs::stat(&path) {
            Ok(stat) => self.evidence.state(&path, file::Stamp::of(&stat), looked_at),
            Err(_) => self.evidence.nothing(&path),
        }
        match is_distrusted(&path, self.request.cwd) {
            Ok(true) => Ok(Some(format!("{} says that it is not trusted", path.display()))),
            Ok(false) => Ok(None),
            Err(problem) => Err(self.refused(path, problem)),
        }
    }

    /// Returns the names listed in a file. The outer `None` means that the file lacks the key, the inner one
    /// that its list is empty.
    fn named(&mut self, path: &Path, object: &Map<String, Value>) -> Option<Option<NamedFiles>> {
        let setting = self.described.names?;
        let listed: Vec<&str> = match at(object, setting.key)? {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        if listed.iter().all(|name| name.trim().is_empty()) {
            return Some(None);
        }
        let mut names: Vec<String> = Vec::new();
        for name in listed.iter().take(MAX_NAMES).map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match below(name) {
                Some(name) if names.contains(&name) => {}
                Some(name) => names.push(name),
                None => self
                    .note(path, format!("`{name}` leads out of its directory, and is not looked for here")),
            }
        }
        let own = self.request.settings.profile.main_names().collect::<Vec<_>>();
        let is_own = |name: &&String| own.contains(&name.as_str());
        let added = names.iter().filter(|name| !is_own(name)).cloned().collect();
        if setting.own_names == OwnNames::ComeLast {
            let missing: Vec<String> =
                own.iter().map(|name| (*name).to_owned()).filter(|name| !names.contains(name)).collect();
            names.extend(missing);
        }
        Some(Some(NamedFiles { names, added, from: path.to_owned(), key: setting.key, in_heading: true }))
    }
}

/// Normalizes a name to a relative path, or returns `None` if it leads out of the directory.
fn below(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(name.trim_start_matches('/')).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty() && !name.contains('\0')).then(|| parts.join("/"))
}

/// Returns the value of a dotted key.
fn at<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let value = object.get(first)?;
    match rest {
        Some(rest) => at(value.as_object()?, rest),
        None => Some(value),
    }
}

fn is_set(value: Option<&Value>) -> bool {
    match value {
        // An empty list or `false` is the default of these keys, and a note about it would only alarm.
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(values)) => !values.is_empty(),
        Some(_) => true,
    }
}

/// Parses the object in a settings file: strict JSON, except for comments.
pub fn settings_object(bytes: &[u8], mark: ByteOrderMark) -> serde_json::Result<Map<String, Value>> {
    let text = crate::text::decode(bytes, mark).text;
    serde_json::from_str(&without_comments(&text))
}

/// Replaces comments by spaces, so that the lines and columns of errors stay correct.
// Only comments are taken from jsonc-parser. The values are parsed by serde_json, which is as strict as the
// agents, limits nesting, and reports the line that `foreword check` shows.
fn without_comments(text: &str) -> String {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut plain = String::with_capacity(text.len());
    let mut position = 0;
    let mut blank = |range: std::ops::Range<usize>| {
        plain.push_str(&text[position..range.start]);
        position = range.end;
        plain.extend(text[range].chars().map(|character| if character == '\n' { '\n' } else { ' ' }));
    };
    loop {
        match scanner.scan() {
            Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {
                blank(scanner.token_start()..scanner.token_end());
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            // A comment that is never closed reaches to the end. Anything else is left for serde_json to report.
            Err(_) if text[scanner.token_start()..].starts_with("/*") => {
                blank(scanner.token_start()..text.len());
                break;
            }
            Err(_) => break,
        }
    }
    plain.push_str(&text[position..]);
    plain
}

/// Returns true if the nearest entry for a directory or its ancestors in a trust file is `DO_NOT_TRUST`.
/// Fails with a description if the file is broken.
pub fn is_distrusted(file: &Path, directory: &Path) -> Result<bool, String> {
    let folders = match file::read(file, &Bounds::default(), MAX_BYTES) {
        Found::Absent => return Ok(false),
        Found::File { content, .. } if content.whole => {
            settings_object(&content.bytes, ByteOrderMark::Stripped).map_err(|error| error.to_string())?
        }
        Found::File { .. } => return Err("it is too large".to_owned()),
        Found::NotAFile { kind, .. } => return Err(format!("it is a {kind} and no file")),
        Found::Unreadable { reason } => return Err(format!("it cannot be read: {reason}")),
        Found::Outside | Found::Private => return Err("it cannot be read".to_owned()),
    };
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    // Trust in a parent is stored under the folder that the question was about.
    let about = |directory: &Path| folders.get(directory.to_str()?)?.as_str();
    Ok(real.ancestors().find_map(about) == Some("DO_NOT_TRUST"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_nothing_else() {
        let text = "{ // one\n \"a//b\": \"\\\"/*\", /* two\n */ \"c\": 1 }";
        let plain = without_comments(text);
        assert_eq!(plain.len(), text.len());
        let object: Map<String, Value> = serde_json::from_str(&plain).unwrap();
        assert_eq!(object["a//b"], "\"/*");
        assert_eq!(object["c"], 1);
        assert_eq!(without_comments("{/*/ x */}"), "{        }");
        for open in ["/*", "\"", "\"\\", "/", "//", ""] {
            assert_eq!(without_comments(open).len(), open.len(), "{open}");
        }
    }

    #[test]
    fn names_stay_below_their_directory() {
        for (name, expected) in [
            ("AGENTS.md", Some("AGENTS.md")),
            ("./docs//A.md", Some("docs/A.md")),
            ("/A.md", Some("A.md")),
            ("a/../B.md", Some("B.md")),
            ("../A.md", None),
            ("a/../../B.md", None),
            (".", None),
            ("a\0b", None),
        ] {
            assert_eq!(below(name).as_deref(), expected, "{name}");
        }
    }
}
