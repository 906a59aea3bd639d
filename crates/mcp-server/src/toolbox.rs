//! Foreword's tools and resources: instructions for a path, explanations, comparisons, and documents.

use std::path::PathBuf;

use compare::{Absent, Explained, Shown};
use instructions::{Profile, Resolution};
use protocol::method::{DocumentGetResult, DocumentSaveResult};
use protocol::{Comparison, Version, WhyReport, mcp_client, similar};
use rmcp::model::{Resource, ResourceTemplate, Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::address::{Address, DocumentAddress};
use super::server::MARKDOWN;
use super::{McpCatalog, Refusal, ToolAnswer};

/// Permission to save documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// The tool is offered.
    Allowed,
    /// The tool is not offered.
    Refused,
}

/// Location that a call refers to.
#[derive(Debug, Clone, Default)]
pub struct PlaceAsked {
    /// Workspace by name or id, if the source has workspaces.
    pub workspace: Option<String>,
    /// A directory, or a file in it.
    pub path: Option<PathBuf>,
    /// Rules to apply; `None` for the configured ones.
    pub profile: Option<&'static Profile>,
}

/// Parameters of a comparison.
#[derive(Debug, Clone, Default)]
pub struct CompareAsked {
    /// Workspace by name or id, if the source has workspaces.
    pub workspace: Option<String>,
    /// A directory, or a file in it.
    pub path: Option<PathBuf>,
    /// A file that a tool reads there.
    pub reading: Option<PathBuf>,
    /// Agents to compare; empty for all.
    pub agents: Vec<&'static Profile>,
}

/// Question about an ignored rule.
#[derive(Debug, Clone)]
pub struct WhyAsked {
    /// Text of the rule, or `FILE:LINE`.
    pub rule: String,
    /// A directory in the project.
    pub path: Option<PathBuf>,
    /// Words of the violation.
    pub when: Option<String>,
    /// Name of the client, which is an agent itself.
    pub client: String,
}

/// Parameters of a save.
#[derive(Debug, Clone)]
pub struct SaveAsked {
    pub document: DocumentAddress,
    /// The complete new text.
    pub content: String,
    /// Version that the text is based on.
    pub expected_version: Version,
    /// Description of the change.
    pub message: Option<String>,
}

/// Backend of the toolbox.
pub trait Source: Send + Sync + 'static {
    /// Returns whether this client may save.
    fn saving(&self) -> Saving;
    /// Describes for models how paths are resolved.
    fn about_paths(&self) -> &'static str;
    /// Returns true if calls may name a workspace.
    fn has_workspaces(&self) -> bool;
    fn resolve(&self, place: &PlaceAsked) -> Result<Resolution, Refusal>;
    fn compare(&self, asked: &CompareAsked) -> Result<Comparison, Refusal>;
    fn document(&self, document: &DocumentAddress) -> Result<DocumentGetResult, Refusal>;
    /// Saves a document on behalf of an author.
    fn save(&self, client: &str, save: SaveAsked) -> Result<DocumentSaveResult, Refusal>;
    /// Returns addresses of resources to list.
    fn addresses(&self) -> Vec<Address>;
    /// Returns true if the transcripts of this machine can be read.
    fn reads_transcripts(&self) -> bool {
        false
    }
    /// Answers why agents ignored a rule.
    fn why(&self, _: &WhyAsked) -> Result<WhyReport, Refusal> {
        Err(Refusal::new("transcripts cannot be read here"))
    }
    /// Returns false once the client may not use the source any longer.
    fn is_open(&self) -> bool {
        true
    }
}

/// Foreword's catalog over a source.
#[derive(Debug)]
pub struct Toolbox<S>(pub S);

impl<S: Source> Toolbox<S> {
    fn properties(&self) -> (Value, Value) {
        let path = json!({ "type": "string", "description": self.0.about_paths() });
        let workspace = json!({ "type": "string", "description": "Name or id; the one that the path is in, or the only one, when absent" });
        (path, workspace)
    }

    /// Returns the arguments of a call after rejecting unknown names.
    fn arguments<'a>(&self, tool: &str, given: &'a Value) -> Result<CallArguments<'a>, Refusal> {
        let Value::Object(given) = given else {
            return Err(Refusal::new("the arguments must be an object"));
        };
        let tools = self.tools();
        let taken = tools.iter().find(|known| known.name == tool);
        let taken = taken.and_then(|tool| tool.input_schema.get("properties")?.as_object());
        // Models misspell arguments. Ignoring an unknown one would answer for another directory than the model meant,
        // without any sign of it.
        for name in given.keys() {
            if taken.is_some_and(|taken| !taken.contains_key(name)) {
                let known: Vec<&str> = taken.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let meant = similar(name, known.iter().copied())
                    .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                let known = known.join(", ");
                return Err(Refusal::new(format!(
                    "`{tool}` has no argument `{name}`{meant} (its arguments are {known})"
                )));
            }
        }
        Ok(CallArguments(given))
    }
}

impl<S: Source> McpCatalog for Toolbox<S> {
    fn tools(&self) -> Vec<Tool> {
        let (path, workspace) = self.properties();
        let agent = json!({ "type": "string", "description": "Whose rules: foreword when absent, or codex, claude-code, gemini-cli, …" });
        let mut place = json!({ "path": path, "agent": agent });
        let mut compared = json!({
            "path": path,
            "reading": { "type": "string", "description": "A file that a tool reads after the start, from `path`" },
            "agents": { "type": "array", "items": { "type": "string" } },
        });
        if self.0.has_workspaces() {
            place["workspace"] = workspace.clone();
            compared["workspace"] = workspace.clone();
        }
        let scope = json!({
            "workspace": workspace,
            "folder": { "type": "string", "description": "Path or id; the workspace's root when absent" },
        });
        let schema = |properties: &Value, required: &[&str]| {
            Map::from_iter([
                ("type".to_owned(), json!("object")),
                ("properties".to_owned(), properties.clone()),
                ("required".to_owned(), json!(required)),
                ("additionalProperties".to_owned(), json!(false)),
            ])
        };
        let reading = ToolAnnotations::new().read_only(true).open_world(false);
        let tool = |name: &'static str, description: &'static str, input_schema| {
            Tool::new(name, description, input_schema).with_annotations(reading.clone())
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
                schema(&compared, &[]),
            ),
            tool(
                "document_get",
                "The AGENTS.md document that people keep for a workspace or a folder of it, with its version.",
                schema(&scope, &[]),
            ),
        ];
        if self.0.reads_transcripts() {
            let asked = json!({
                "rule": { "type": "string", "description": "Text of the rule as it is written, or FILE:LINE" },
                "path": path,
                "when": { "type": "string", "description": "Words of the tool call or answer that ignored it, or /EXPRESSION/" },
            });
            tools.push(tool(
                "why",
                "Whether a rule of an instruction file was in front of the model when it was ignored, and why not, from the transcripts of this machine.",
                schema(&asked, &["rule"]),
            ));
        }
        if self.0.saving() == Saving::Allowed {
            let mut properties = scope;
            properties["content"] = json!({ "type": "string", "description": "The whole new text" });
            properties["expected_version"] = json!({ "type": "integer", "minimum": 0, "description": "The version that the text is based on; 0 for a new document" });
            properties["allow_empty"] =
                json!({ "type": "boolean", "description": "Whether the text may be empty" });
            properties["message"] = json!({ "type": "string", "description": "What the change is for" });
            let saving = ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
            let save = tool(
                "document_save",
                "Saves the document of a workspace or a folder, unless another version was saved since.",
                schema(&properties, &["content", "expected_version"]),
            );
            tools.push(save.with_annotations(saving));
        }
        tools
    }

    fn call(&self, client: &str, tool: &str, arguments: &Value) -> Result<ToolAnswer, Refusal> {
        let arguments = self.arguments(tool, arguments)?;
        match tool {
            "effective_instructions" => {
                let resolution = self.0.resolve(&arguments.place()?)?;
                let text = resolution.text.clone();
                let text = text.unwrap_or_else(|| "No instructions apply here.".to_owned());
                Ok(ToolAnswer { text, data: Some(data(&Shown::new(&resolution))?) })
            }
            "explain" => {
                let resolution = self.0.resolve(&arguments.place()?)?;
                as_data(&Explained::new(&resolution, Absent::LeftOut))
            }
            "why" => {
                let rule = arguments.owned("rule")?.ok_or_else(|| Refusal::new("`rule` is missing"))?;
                let when = arguments.owned("when")?;
                let path = arguments.path("path")?;
                as_data(&self.0.why(&WhyAsked { rule, path, when, client: client.to_owned() })?)
            }
            "compare" => as_data(&self.0.compare(&arguments.compared()?)?),
            "document_get" => {
                let found = self.0.document(&arguments.document()?)?;
                let mut answer = as_data(&found)?;
                if found.explicit.is_none() {
                    answer.text = format!(
                        "There is no document here yet; a first one is saved over version 0.\n{}",
                        answer.text
                    );
                }
                Ok(answer)
            }
            // Only `document_save` can arrive here: the session rejects every tool that is not listed, and this one is
            // listed only if saving is allowed.
            _ => as_data(&self.0.save(&mcp_client(client), arguments.save()?)?),
        }
    }

    fn resources(&self) -> Vec<Resource> {
        let listed = |address: Address| {
            let uri = address.to_string();
            let (name, description) = match address {
                Address::Effective(_) => {
                    ("effective instructions".to_owned(), "The instructions that apply to this directory.")
                }
                Address::Document(DocumentAddress { workspace, .. }) => (
                    format!("document of {}", workspace.unwrap_or_default()),
                    "The AGENTS.md document that people keep for this workspace.",
                ),
            };
            Resource::new(uri, name).with_description(description).with_mime_type(MARKDOWN)
        };
        self.0.addresses().into_iter().map(listed).collect()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, description: &str| {
            ResourceTemplate::new(uri, name).with_description(description).with_mime_type(MARKDOWN)
        };
        vec![
            template(
                Address::OF_DIRECTORIES,
                "effective instructions",
                "The instructions that apply to a directory, by its absolute path, percent-encoded.",
            ),
            template(Address::OF_WORKSPACES, "document", "The document of a workspace."),
            template(Address::OF_FOLDERS, "document of a folder", "The document of a folder, by its path."),
        ]
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }

    fn read(&self, uri: &str) -> Result<String, Refusal> {
        match Address::parse(uri)? {
            Address::Effective(path) => {
                let place = PlaceAsked { path: Some(path), ..PlaceAsked::default() };
                Ok(self.0.resolve(&place)?.text.unwrap_or_default())
            }
            Address::Document(document) => {
                let found = self.0.document(&document)?.explicit;
                Ok(found.map(|document| document.content).unwrap_or_default())
            }
        }
    }
}

struct CallArguments<'a>(&'a Map<String, Value>);

impl<'a> CallArguments<'a> {
    fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::new(format!("`{name}` must be a text"))),
        }
    }

    fn owned(&self, name: &str) -> Result<Option<String>, Refusal> {
        Ok(self.text(name)?.map(str::to_owned))
    }

    fn path(&self, name: &str) -> Result<Option<PathBuf>, Refusal> {
        Ok(self.text(name)?.map(PathBuf::from))
    }

    fn place(&self) -> Result<PlaceAsked, Refusal> {
        let profile = self.text("agent")?.map(|name| profiles(Some(&[name.to_owned()]))).transpose()?;
        let profile = profile.and_then(|profiles| profiles.first().copied());
        Ok(PlaceAsked { workspace: self.owned("workspace")?, path: self.path("path")?, profile })
    }

    fn compared(&self) -> Result<CompareAsked, Refusal> {
        let agents: Option<Vec<String>> = match self.0.get("agents") {
            None | Some(Value::Null) => None,
            Some(agents) => Some(
                serde_json::from_value(agents.clone())
                    .map_err(|_| Refusal::new("`agents` must be a list of names"))?,
            ),
        };
        Ok(CompareAsked {
            workspace: self.owned("workspace")?,
            path: self.path("path")?,
            reading: self.path("reading")?,
            agents: profiles(agents.as_deref())?,
        })
    }

    fn document(&self) -> Result<DocumentAddress, Refusal> {
        Ok(DocumentAddress { workspace: self.owned("workspace")?, folder: self.owned("folder")? })
    }

    fn save(&self) -> Result<SaveAsked, Refusal> {
        let content = self.owned("content")?.ok_or_else(|| Refusal::new("`content` is missing"))?;
        // A model that lost its text, for example in a truncated call, would erase the document. An empty text must be
        // meant.
        if content.trim().is_empty() && self.0.get("allow_empty") != Some(&json!(true)) {
            return Err(Refusal::new(
                "`content` is empty; pass `allow_empty`: true if nothing is to be left of the text",
            ));
        }
        // Required, unlike in our own protocol: a save without it could replace an edit by a person that the model has
        // never seen.
        let expected = self.0.get("expected_version");
        let what = if expected.is_none() { "is missing" } else { "must be a whole number of 0 or more" };
        let expected = expected.and_then(Value::as_u64).ok_or_else(|| {
            Refusal::new(format!(
                "`expected_version` {what}: name the version that the text is based on, 0 for a new document"
            ))
        })?;
        Ok(SaveAsked {
            document: self.document()?,
            content,
            expected_version: Version(expected),
            message: self.owned("message")?,
        })
    }
}

fn profiles(names: Option<&[String]>) -> Result<Vec<&'static Profile>, Refusal> {
    compare::agents(names).map_err(|error| Refusal::new(error.to_string()))
}

fn data(value: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| Refusal::new(format!("could not write the answer: {error}")))
}

/// Returns an answer whose text is its data as JSON.
fn as_data(value: &impl Serialize) -> Result<ToolAnswer, Refusal> {
    let data = data(value)?;
    Ok(ToolAnswer { text: data.to_string(), data: Some(data) })
}
