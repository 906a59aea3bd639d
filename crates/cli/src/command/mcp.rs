//! `foreword mcp`: an MCP server on standard input and output, for agents without command hooks and for whoever asks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge::mcp::{Answer, Offer, Resource, Tool, serve};
use instructions::{FileSettings, Request, Resolution, survey};
use protocol::Version;
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::arguments::{InScope, InWorkspace, Mcp};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Absent, Explained, Files, Shown, directory, named_profile};

/// How often resources that a client follows are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const EFFECTIVE: &str = "foreword://effective/";
const DOCUMENT: &str = "foreword://document/";
/// Characters of a client's name that a revision's message has.
const MAX_CLIENT: usize = 100;

pub(crate) async fn run(context: &Context, arguments: &Mcp) -> Result<Exit, Failure> {
    let offer = Local {
        context,
        settings: Files::new(context)?.settings,
        here: directory(None)?,
        saving: if arguments.allow_save { Saving::Allowed } else { Saving::Refused },
        runtime: Handle::current(),
    };
    let serving = || {
        let input = std::io::BufReader::new(std::io::stdin());
        serve(&offer, env!("CARGO_PKG_VERSION"), LOOK_EVERY, input, std::io::stdout())
    };
    match tokio::task::block_in_place(serving) {
        Ok(()) => Ok(Exit::Done),
        // A client that has gone has had what it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::caused_by(Exit::Failed, "could not serve", error)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Saving {
    Allowed,
    Refused,
}

/// The files of this machine, and the documents of the gateway that other commands would ask.
struct Local<'a> {
    context: &'a Context,
    settings: FileSettings,
    here: PathBuf,
    saving: Saving,
    runtime: Handle,
}

impl Local<'_> {
    /// The directory and the rules that a call is about.
    fn survey(&self, arguments: &Value) -> Result<Resolution, Failure> {
        let cwd = self.directory(arguments.get("path"))?;
        let mut settings = self.settings.clone();
        if let Some(name) = text(arguments, "agent")? {
            settings = compare::settings_for(named_profile(name, "the argument `agent`")?, &settings);
        }
        survey(&Request { cwd: &cwd, settings: &settings }).map_err(|error| Failure::usage(error.to_string()))
    }

    /// A directory that was named; of a file the one that it is in.
    fn directory(&self, path: Option<&Value>) -> Result<PathBuf, Failure> {
        let path = match path {
            None | Some(Value::Null) => return Ok(self.here.clone()),
            Some(Value::String(path)) => instructions::path::normalise(Path::new(path), &self.here),
            Some(_) => return Err(Failure::usage("`path` must be a text")),
        };
        let is_file = path.metadata().is_ok_and(|metadata| !metadata.is_dir());
        Ok(if is_file { path.parent().map(Path::to_owned).unwrap_or(path) } else { path })
    }

    fn effective(&self, arguments: &Value) -> Result<Answer, Failure> {
        let resolution = self.survey(arguments)?;
        let text = resolution.text.clone().unwrap_or_else(|| "No instructions apply here.".to_owned());
        Ok(Answer { text, data: Some(data(&Shown::new(&resolution))?) })
    }

    fn explain(&self, arguments: &Value) -> Result<Answer, Failure> {
        let resolution = self.survey(arguments)?;
        as_data(&Explained::new(&resolution, Absent::LeftOut))
    }

    fn compare(&self, arguments: &Value) -> Result<Answer, Failure> {
        let cwd = self.directory(arguments.get("path"))?;
        let reading = text(arguments, "reading")?
            .map(|file| instructions::path::normalise(Path::new(file), &self.here));
        let agents: Option<Vec<String>> = match arguments.get("agents") {
            None | Some(Value::Null) => None,
            Some(agents) => Some(
                serde_json::from_value(agents.clone())
                    .map_err(|_| Failure::usage("`agents` must be a list of names"))?,
            ),
        };
        let agents = compare::agents(agents.as_deref())
            .map_err(|error| Failure::usage(format!("there is no agent `{}`", error.name)))?;
        let request = compare::CompareRequest {
            cwd: &cwd,
            reading: reading.as_deref(),
            agents: &agents,
            settings: &self.settings,
        };
        let compared = compare::compare(&request).map_err(|error| Failure::usage(error.to_string()))?;
        as_data(&compared.comparison)
    }

    fn scope(arguments: &Value) -> Result<InScope, Failure> {
        let owned = |name| Ok::<_, Failure>(text(arguments, name)?.map(str::to_owned));
        Ok(InScope { folder: owned("folder")?, workspace: InWorkspace { workspace: owned("workspace")? } })
    }

    async fn document(&self, scope: &InScope) -> Result<protocol::method::DocumentGetResult, Failure> {
        let client = self.context.connect().await?;
        let (workspace_id, folder_id) = self.context.scope(&client, scope).await?;
        Ok(client.call::<DocumentGet>(&DocumentScopeParams { workspace_id, folder_id }).await?)
    }

    async fn save(&self, client_name: &str, arguments: &Value) -> Result<Answer, Failure> {
        let content = text(arguments, "content")?.ok_or_else(|| Failure::usage("`content` is missing"))?;
        let expected = arguments.get("expected_version").and_then(Value::as_u64).ok_or_else(|| {
            Failure::usage("`expected_version` is missing: name the version that the text is based on, 0 for a new document")
        })?;
        let client = self.context.connect().await?;
        let (workspace_id, folder_id) = self.context.scope(&client, &Self::scope(arguments)?).await?;
        let named: String =
            client_name.chars().filter(|character| !character.is_control()).take(MAX_CLIENT).collect();
        let said = text(arguments, "message")?.map_or_else(String::new, |message| format!(": {message}"));
        let params = DocumentSaveParams {
            workspace_id,
            folder_id,
            content: content.to_owned(),
            expected_version: Some(Version(expected)),
            save_reason: None,
            message: Some(format!("mcp:{named}{said}").chars().take(500).collect()),
        };
        as_data(&client.call::<DocumentSave>(&params).await?)
    }
}

impl Offer for Local<'_> {
    fn tools(&self) -> Vec<Tool> {
        let path = json!({ "type": "string", "description": "A directory, or a file in it; the server's own directory when absent" });
        let agent = json!({ "type": "string", "description": "Whose rules: foreword when absent, or codex, claude-code, gemini-cli, …" });
        let place = json!({ "path": path, "agent": agent });
        let scope = json!({
            "workspace": { "type": "string", "description": "Name or id; the one of the server's directory when absent" },
            "folder": { "type": "string", "description": "Path or id; the workspace's root when absent" },
        });
        let schema = |properties: &Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let reading = json!({ "readOnlyHint": true, "openWorldHint": false });
        let tool = |name, description, input_schema| Tool {
            name,
            description,
            input_schema,
            annotations: reading.clone(),
        };
        let mut tools = vec![
            tool(
                "effective_instructions",
                "The instructions (AGENTS.md and the like) that apply to a path. Ask before you work in a directory that is new to you.",
                schema(&place, &[]),
            ),
            tool(
                "explain",
                "Every instruction file that was considered for a path: used, shadowed, cut or ignored, and why.",
                schema(&place, &[]),
            ),
            tool(
                "compare",
                "What each coding agent would read in a directory, and the differences in words.",
                schema(
                    &json!({
                        "path": path,
                        "reading": { "type": "string", "description": "A file that a tool reads after the start" },
                        "agents": { "type": "array", "items": { "type": "string" } },
                    }),
                    &[],
                ),
            ),
            tool(
                "document_get",
                "The AGENTS.md document that people keep for a workspace or a folder of it, with its version.",
                schema(&scope, &[]),
            ),
        ];
        if self.saving == Saving::Allowed {
            let mut properties = scope;
            properties["content"] = json!({ "type": "string", "description": "The whole new text" });
            properties["expected_version"] = json!({ "type": "integer", "minimum": 0, "description": "The version that the text is based on; 0 for a new document" });
            properties["message"] = json!({ "type": "string", "description": "What the change is for" });
            tools.push(Tool {
                name: "document_save",
                description: "Saves the document of a workspace or a folder, if nobody has saved another version since.",
                input_schema: schema(&properties, &["content", "expected_version"]),
                annotations: json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false }),
            });
        }
        tools
    }

    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<Answer, String> {
        let answer = match tool {
            "effective_instructions" => self.effective(arguments),
            "explain" => self.explain(arguments),
            "compare" => self.compare(arguments),
            "document_get" => Self::scope(arguments)
                .and_then(|scope| as_data(&self.runtime.block_on(self.document(&scope))?)),
            _ => self.runtime.block_on(self.save(client, arguments)),
        };
        answer.map_err(described)
    }

    fn resources(&self) -> Vec<Resource> {
        let uri = format!("{EFFECTIVE}{}", percent_encoded(&self.here));
        let description = "The instructions that apply to this directory.";
        vec![Resource { uri, name: "effective instructions".to_owned(), description }]
    }

    fn templates(&self) -> Vec<Resource> {
        let template =
            |uri: String, name: &str, description| Resource { uri, name: name.to_owned(), description };
        vec![
            template(
                format!("{EFFECTIVE}{{path}}"),
                "effective instructions",
                "The instructions that apply to a directory, by its absolute path, percent-encoded.",
            ),
            template(format!("{DOCUMENT}{{workspace}}"), "document", "The document of a workspace."),
            template(
                format!("{DOCUMENT}{{workspace}}/{{folder}}"),
                "document of a folder",
                "The document of a folder, by its path.",
            ),
        ]
    }

    fn read(&self, uri: &str) -> Result<String, String> {
        if let Some(path) = uri.strip_prefix(EFFECTIVE) {
            let path = percent_decoded(path).filter(|path| path.is_absolute());
            let path = path.ok_or_else(|| format!("{uri} names no absolute path"))?;
            let request = Request { cwd: &path, settings: &self.settings };
            let resolution = survey(&request).map_err(|error| error.to_string())?;
            return Ok(resolution.text.unwrap_or_default());
        }
        let Some(place) = uri.strip_prefix(DOCUMENT) else {
            return Err(format!("there is no resource {uri}"));
        };
        let (workspace, folder) =
            place.split_once('/').map_or((place, None), |(workspace, folder)| (workspace, Some(folder)));
        let decoded = |text: &str| percent_decoded(text).and_then(|path| path.to_str().map(str::to_owned));
        let scope = InScope {
            folder: folder.filter(|folder| !folder.is_empty()).and_then(decoded),
            workspace: InWorkspace { workspace: decoded(workspace) },
        };
        let found = self.runtime.block_on(self.document(&scope)).map_err(described)?;
        Ok(found.explicit.map(|document| document.content).unwrap_or_default())
    }
}

/// What went wrong and what to do, for a model.
fn described(failure: Failure) -> String {
    let hints = failure.hints.iter().map(|hint| format!("\nhint: {hint}"));
    format!("{}{}", failure.message, hints.collect::<String>())
}

fn text<'a>(arguments: &'a Value, name: &str) -> Result<Option<&'a str>, Failure> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Failure::usage(format!("`{name}` must be a text"))),
    }
}

fn data(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value)
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not write the answer", error))
}

/// An answer that is data, for programs and for models.
fn as_data(value: &impl Serialize) -> Result<Answer, Failure> {
    let data = data(value)?;
    Ok(Answer { text: data.to_string(), data: Some(data) })
}

fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut encoded = String::new();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn percent_decoded(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_its_address() {
        for path in ["/a/b", "/with space/ü%20/\n"] {
            assert_eq!(percent_decoded(&percent_encoded(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(percent_encoded(Path::new("/a b")), "%2Fa%20b");
        assert_eq!(percent_decoded("/a%2"), None);
        assert_eq!(percent_decoded("%+1"), None);
        assert_eq!(percent_decoded("%é1"), None);
    }
}
