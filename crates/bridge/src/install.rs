//! Adds Foreword to an agent's settings and removes it again.

use std::path::{Path, PathBuf};

use instructions::HomeDirectories;
use serde_json::{Value, json};

use crate::agent::{Connected, Entries, HookShape, HookedEvent};
use crate::change::{Change, ChangeError, Content, Journal, Undone, inside};
use crate::json_text::{JsonText, Object};

/// Program name used in project settings, because absolute paths differ between machines.
const PROGRAM: &str = "foreword";
/// Key of our MCP server.
const SERVER: &str = "foreword";

/// Settings to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own settings, for all projects.
    User,
    /// A project's settings, shared by everyone who works on it.
    Project,
}

/// Connection of one agent in one settings file.
pub struct Installation<'a> {
    pub agent: &'static Connected,
    pub scope: Scope,
    pub homes: &'a HomeDirectories,
    pub project: &'a Path,
    /// Absolute path of our program.
    pub program: &'a Path,
}

impl Installation<'_> {
    /// Returns the reason recorded in the journal.
    pub fn reason(&self) -> String {
        format!("install {}", self.agent.profile.name)
    }

    /// Returns the settings file: the first existing candidate, else the first. Links are resolved.
    pub fn file(&self) -> Result<PathBuf, ChangeError> {
        let (directory, names) = match self.scope {
            Scope::User => (self.homes.of(self.agent.profile), self.agent.user_files),
            Scope::Project => (Some(self.project), self.agent.project_files),
        };
        let Some(directory) = directory else {
            let title = self.agent.profile.agent.title;
            let reason = format!("there is no home directory in which {title} could keep its settings");
            return Err(ChangeError::refused(Path::new(names[0]), reason));
        };
        // A user who has only the second file must not get a second settings file beside it.
        let paths = || names.iter().map(|name| directory.join(name));
        let path =
            paths().find(|path| path.symlink_metadata().is_ok()).unwrap_or_else(|| directory.join(names[0]));
        match self.scope {
            Scope::Project => inside(self.project, &path),
            // Dotfile managers link settings into the home directory, and the user's own link may lead anywhere. In a
            // project, the author of the link may be someone else.
            Scope::User if path.is_symlink() => {
                path.canonicalize().map_err(ChangeError::io("follow the link", &path))
            }
            Scope::User => Ok(path),
        }
    }

    /// Returns the change to make; `None` if the agent is already connected.
    pub fn change(&self) -> Result<Option<Change>, ChangeError> {
        let path = self.file()?;
        let before = Content::at(&path)?;
        let text = match &before {
            Content::Text(text) => text.as_str(),
            Content::Absent | Content::Link(_) => "",
        };
        let edited = self.edited(text).map_err(|reason| ChangeError::refused(&path, reason))?;
        let after = Content::Text(edited);
        Ok((before != after).then_some(Change { path, before, after }))
    }

    /// Returns the change that removes our entries; `None` if there are none.
    pub fn undoing(&self, journal: &Journal<'_>) -> Result<Option<(Change, Undone)>, ChangeError> {
        journal.undoing(&self.file()?, |text| self.without_ours(text))
    }

    /// Returns the entries for manual installation.
    pub fn by_hand(&self) -> String {
        self.edited("").unwrap_or_default()
    }

    fn edited(&self, text: &str) -> Result<String, String> {
        match &self.agent.entries {
            Entries::Hooks { events, shape, timeout } => {
                let hook = json!({ "type": "command", "command": self.command(), (timeout.0): timeout.1 });
                // Checked first, because removing and adding the same entries could still move them within the file.
                if self.has_hooks(&JsonText::parse(text)?, events, *shape, &hook)? {
                    return Ok(text.to_owned());
                }
                // Existing entries are replaced, because the program may have moved.
                let json = JsonText::parse(&self.without_ours(text)?)?;
                let root = json.object();
                if *shape == HookShape::List && root.value("version")?.is_none() {
                    root.set("version", &json!(1))?;
                }
                let hooks = root.child_or_new("hooks")?;
                for event in *events {
                    hooks.list_or_new(event.name)?.push(&entry(event, *shape, &hook));
                }
                Ok(with_line_end(json.text()))
            }
            Entries::Server => {
                let json = JsonText::parse(text)?;
                let servers = json.object().child_or_new("mcp")?;
                let server = json!({ "type": "local", "command": [self.program(), "mcp"], "enabled": true });
                if servers.value(SERVER)?.as_ref() == Some(&server) {
                    return Ok(text.to_owned());
                }
                if servers.value(SERVER)?.is_some_and(|there| !self.is_our_server(&there)) {
                    return Err(format!("`mcp.{SERVER}` is another server, which would be replaced"));
                }
                servers.set(SERVER, &server)?;
                Ok(with_line_end(json.text()))
            }
        }
    }

    fn without_ours(&self, text: &str) -> Result<String, String> {
        let json = JsonText::parse(text)?;
        let root = json.object();
        let was_found = match &self.agent.entries {
            Entries::Hooks { shape, .. } => self.remove_hooks(&root, *shape)?,
            Entries::Server => self.remove_server(&root)?,
        };
        Ok(if was_found { json.text() } else { text.to_owned() })
    }

    fn program(&self) -> String {
        match self.scope {
            Scope::User => self.program.to_string_lossy().into_owned(),
            Scope::Project => PROGRAM.to_owned(),
        }
    }

    /// Returns the command line for a shell.
    fn command(&self) -> String {
        format!("{} hook {}", shell_word(&self.program()), self.agent.profile.name)
    }

    /// Returns true if exactly the expected hooks are present.
    fn has_hooks(
        &self,
        json: &JsonText,
        events: &[HookedEvent],
        shape: HookShape,
        hook: &Value,
    ) -> Result<bool, String> {
        let Some(hooks) = json.object().child("hooks")? else { return Ok(false) };
        let is_ours = |value: &Value| match shape {
            HookShape::List => self.is_our_hook(value),
            HookShape::Groups => value
                .get("hooks")
                .and_then(Value::as_array)
                .is_some_and(|hooks| hooks.iter().any(|hook| self.is_our_hook(hook))),
        };
        for name in hooks.names() {
            let wanted =
                events.iter().find(|event| event.name == name).map(|event| entry(event, shape, hook));
            let list = match hooks.list(&name) {
                Ok(Some(list)) => list,
                // Events we do not use may have any content.
                Ok(None) | Err(_) if wanted.is_none() => continue,
                Ok(None) => return Ok(false),
                Err(reason) => return Err(reason),
            };
            let ours: Vec<Value> = list.values().into_iter().filter(is_ours).collect();
            if ours != wanted.into_iter().collect::<Vec<_>>() {
                return Ok(false);
            }
        }
        let names = hooks.names();
        Ok(events.iter().all(|event| names.iter().any(|name| name == event.name)))
    }

    /// Returns true if a hook runs our program for this agent, at any path.
    fn is_our_hook(&self, hook: &Value) -> bool {
        // Copilot accepts all three keys. We write the first, but hooks that were added by hand must be found too.
        let keys = ["command", "bash", "powershell"];
        let command = keys.iter().find_map(|key| hook.get(key)?.as_str()).unwrap_or_default();
        let Some(program) = command.trim().strip_suffix(&format!(" hook {}", self.agent.profile.name)) else {
            return false;
        };
        self.is_our_program(program.trim().trim_matches(['\'', '"']))
    }

    /// Removes our hooks and containers that become empty. Returns true if there were any.
    fn remove_hooks(&self, root: &Object, shape: HookShape) -> Result<bool, String> {
        let Some(hooks) = root.child("hooks")? else { return Ok(false) };
        let mut was_found = false;
        for name in hooks.names() {
            // An entry that is not a list cannot contain our hooks.
            let Ok(Some(list)) = hooks.list(&name) else { continue };
            let of_event = list.values().len();
            match shape {
                HookShape::List => list.remove_where(|value| self.is_our_hook(value)),
                HookShape::Groups => {
                    for group in list.objects() {
                        let Ok(Some(inner)) = group.list("hooks") else { continue };
                        let before = inner.values().len();
                        inner.remove_where(|value| self.is_our_hook(value));
                        was_found |= inner.values().len() < before;
                        // A group or list that was empty before is the user's and stays.
                        if inner.is_empty() && before > 0 {
                            group.detach();
                        }
                    }
                }
            }
            was_found |= list.values().len() < of_event;
            if list.is_empty() && of_event > 0 {
                hooks.remove(&name)?;
            }
        }
        if was_found && hooks.is_empty() {
            root.remove("hooks")?;
        }
        if was_found && shape == HookShape::List && root.names() == ["version"] {
            root.remove("version")?;
        }
        Ok(was_found)
    }

    fn is_our_server(&self, server: &Value) -> bool {
        let command = server.get("command").and_then(Value::as_array).cloned().unwrap_or_default();
        let words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
        matches!(words[..], [program, "mcp"] if self.is_our_program(program))
    }

    /// Returns true for our program at any path, including other versions.
    fn is_our_program(&self, program: &str) -> bool {
        let name = Path::new(program).file_name().and_then(|name| name.to_str());
        Path::new(program) == self.program || name.is_some_and(|name| name.starts_with(PROGRAM))
    }

    fn remove_server(&self, root: &Object) -> Result<bool, String> {
        let Some(servers) = root.child("mcp")? else { return Ok(false) };
        if !servers.value(SERVER)?.is_some_and(|server| self.is_our_server(&server)) {
            return Ok(false);
        }
        servers.remove(SERVER)?;
        if servers.is_empty() {
            root.remove("mcp")?;
        }
        Ok(true)
    }
}

fn entry(event: &HookedEvent, shape: HookShape, hook: &Value) -> Value {
    match (shape, event.matcher) {
        (HookShape::List, _) => hook.clone(),
        (HookShape::Groups, None) => json!({ "hooks": [hook] }),
        (HookShape::Groups, Some(matcher)) => json!({ "matcher": matcher, "hooks": [hook] }),
    }
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Quotes a word for a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
