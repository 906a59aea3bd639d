//! Connects an agent with us in its own settings, and disconnects it.

use std::path::{Path, PathBuf};

use instructions::HomeDirectories;
use serde_json::{Value, json};

use crate::agent::{Connected, Entries, HookShape, HookedEvent};
use crate::change::{Change, ChangeError, Content, Journal, Undone, inside};
use crate::json_text::{JsonText, Object};

/// Our program's name, which is what a project's settings say: where it is differs from one machine to the next.
const PROGRAM: &str = "foreword";
/// The key of our MCP server.
const SERVER: &str = "foreword";

/// For whom an agent is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the user's own settings, for all projects.
    User,
    /// In a project's settings, for everybody who works on it.
    Project,
}

/// An agent and where it is connected.
pub struct Installation<'a> {
    /// Which agent.
    pub agent: &'static Connected,
    /// For whom.
    pub scope: Scope,
    /// Where agents keep their users' settings.
    pub homes: &'a HomeDirectories,
    /// The project's root.
    pub project: &'a Path,
    /// Our own program, as an absolute path.
    pub program: &'a Path,
}

impl Installation<'_> {
    /// What it is called in the journal.
    pub fn reason(&self) -> String {
        format!("install {}", self.agent.profile.name)
    }

    /// The settings file: the first that is there, else the first. Where it is a link, what that leads to.
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
        let paths = || names.iter().map(|name| directory.join(name));
        let path =
            paths().find(|path| path.symlink_metadata().is_ok()).unwrap_or_else(|| directory.join(names[0]));
        match self.scope {
            Scope::Project => inside(self.project, &path),
            Scope::User if path.is_symlink() => {
                path.canonicalize().map_err(ChangeError::io("follow the link", &path))
            }
            Scope::User => Ok(path),
        }
    }

    /// What has to be changed; none where the agent is connected as it should be.
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

    /// What undoing changes; none where nothing of ours is there.
    pub fn undoing(&self, journal: &Journal<'_>) -> Result<Option<(Change, Undone)>, ChangeError> {
        journal.undoing(&self.file()?, |text| self.without_ours(text))
    }

    /// What to write into the file by hand, where it cannot be done here.
    pub fn by_hand(&self) -> String {
        self.edited("").unwrap_or_default()
    }

    fn edited(&self, text: &str) -> Result<String, String> {
        match &self.agent.entries {
            Entries::Hooks { events, shape, timeout } => {
                let hook = json!({ "type": "command", "command": self.command(), (timeout.0): timeout.1 });
                if self.has_hooks(&JsonText::parse(text)?, events, *shape, &hook)? {
                    return Ok(text.to_owned());
                }
                // One that was there before is replaced: the program may have moved.
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

    /// The command as a shell takes it.
    fn command(&self) -> String {
        format!("{} hook {}", shell_word(&self.program()), self.agent.profile.name)
    }

    /// Whether our hooks are there exactly as they should be, and none besides.
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
                // Of an event that we do not need it is none of our business.
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

    /// Whether a hook runs us for this agent, wherever our program is.
    fn is_our_hook(&self, hook: &Value) -> bool {
        let keys = ["command", "bash", "powershell"];
        let command = keys.iter().find_map(|key| hook.get(key)?.as_str()).unwrap_or_default();
        let Some(program) = command.trim().strip_suffix(&format!(" hook {}", self.agent.profile.name)) else {
            return false;
        };
        self.is_our_program(program.trim().trim_matches(['\'', '"']))
    }

    /// Takes our hooks out, and what is empty without them. Whether there were any.
    fn remove_hooks(&self, root: &Object, shape: HookShape) -> Result<bool, String> {
        let Some(hooks) = root.child("hooks")? else { return Ok(false) };
        let mut was_found = false;
        for name in hooks.names() {
            // What is no list there is none of ours.
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
                        if inner.is_empty() && before > 0 {
                            group.leave();
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

    /// Whether a program is ours: this one, or one of our name, as another version's is.
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

/// A word as a shell takes it literally.
fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
