//! What an agent's settings in JSON say about instruction files, as its profile describes them.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value};

use crate::cache::CacheEvidence;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{self, Bounds, Found};
use crate::profile::{
    BrokenSettings, ByteOrderMark, FolderTrust, JsonSettings, OwnNames, Profile, SettingsPlace,
};
use crate::resolve::resolution::Request;
use crate::settings::file::SettingsFileError;

/// Largest file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Names that are taken from a setting; nobody has so many.
const MAX_NAMES: usize = 32;

/// A settings file, and what it says.
type SettingsObject = (PathBuf, Map<String, Value>);

/// What settings say.
#[derive(Debug, Default)]
pub(crate) struct FromSettings {
    pub(crate) named: Option<NamedFiles>,
    /// Why project files are not read, if the user does not trust the folder.
    pub(crate) distrusted: Option<String>,
    /// Settings that are not followed.
    pub(crate) notes: Vec<Diagnostic>,
}

/// Names of instruction files that settings list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedFiles {
    /// All that are read, in the order of the agent.
    pub(crate) names: Vec<String>,
    /// Those that are there because of the setting.
    added: Vec<String>,
    from: PathBuf,
    key: &'static str,
}

impl NamedFiles {
    /// Puts the names into the beginning of a block, where the agent names them.
    pub(crate) fn name_in_heading(&self, text: &mut String, profile: &Profile) {
        let setting = profile.json_settings.and_then(|settings| settings.names);
        let Some(heading) = setting.and_then(|setting| setting.heading) else { return };
        if text.starts_with(heading) {
            let named = heading.replace(&profile.names.join(", "), &self.names.join(", "));
            text.replace_range(..heading.len(), &named);
        }
    }

    /// Why a name is read, if it is because of the setting.
    pub(crate) fn reason(&self, name: &str) -> Option<String> {
        let is_added = self.added.iter().any(|added| added == name);
        is_added.then(|| format!("`{}` in {} names it", self.key, self.from.display()))
    }
}

/// Reads what the user's own files and those of the project say.
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
    // The last that has the key wins, also where it names nothing.
    let named = files.iter().rev().find_map(|(path, object)| reading.named(path, object)).flatten();
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
        let (user, workspace) =
            (self.request.settings.homes.user(), self.request.settings.bounds.workspace());
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

    /// The object that a file has; none where there is no such file, or nothing can be said about it.
    fn object(
        &mut self,
        path: PathBuf,
        broken: BrokenSettings,
        bounds: &Bounds<'_>,
    ) -> Result<Option<SettingsObject>, SettingsFileError> {
        let looked_at = SystemTime::now();
        let problem = match file::read(&path, bounds, MAX_BYTES) {
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

    /// Why the folder is not trusted, if its user said so.
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

    /// The names that a file lists; none where it does not have the key, and within that none where the key says nothing.
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
        let own = self.request.settings.profile.names;
        let is_own = |name: &&String| own.contains(&name.as_str());
        let added = names.iter().filter(|name| !is_own(name)).cloned().collect();
        if setting.own_names == OwnNames::ComeLast {
            let missing: Vec<String> =
                own.iter().map(|name| (*name).to_owned()).filter(|name| !names.contains(name)).collect();
            names.extend(missing);
        }
        Some(Some(NamedFiles { names, added, from: path.to_owned(), key: setting.key }))
    }
}

/// A name as a path below a directory; none where it leads out of it, or can be no path.
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

/// The value of a key with dots in it.
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
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(values)) => !values.is_empty(),
        Some(_) => true,
    }
}

/// The object of a settings file: JSON in which comments may stand, and nothing else.
pub fn settings_object(bytes: &[u8], mark: ByteOrderMark) -> serde_json::Result<Map<String, Value>> {
    let text = crate::text::decode(bytes, mark).text;
    serde_json::from_str(&without_comments(&text))
}

/// The text with spaces in the place of comments, so that lines and columns stay what they are.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find(['"', '/']) {
        let (before, at) = rest.split_at(found);
        plain.push_str(before);
        let length = match at.as_bytes() {
            [b'"', ..] => {
                let end = end_of_string(at);
                plain.push_str(&at[..end]);
                rest = &at[end..];
                continue;
            }
            [b'/', b'/', ..] => at.find('\n').unwrap_or(at.len()),
            [b'/', b'*', rest @ ..] => {
                rest.windows(2).position(|two| two == b"*/").map_or(at.len(), |end| end + "/**/".len())
            }
            _ => {
                plain.push('/');
                rest = &at[1..];
                continue;
            }
        };
        plain.extend(at[..length].chars().map(|character| if character == '\n' { '\n' } else { ' ' }));
        rest = &at[length..];
    }
    plain.push_str(rest);
    plain
}

/// Where a string that begins here ends.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a file about folders says not to trust a directory, or one above it; the nearest that is named counts. What cannot
/// be understood is a problem, in words.
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
    // Trust in a parent is written down for the folder that was asked about.
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
