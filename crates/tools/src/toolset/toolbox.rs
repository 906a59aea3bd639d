//! A set of tools by name.

use std::borrow::Cow;
use std::sync::Arc;

use protocol::Hint;

use crate::call::arguments::ArgumentSchema;
use crate::toolset::tool::AnyTool;
use crate::{EditFile, ListDir, Needs, ReadFile, Search, Tool, ToolArguments, ToolCall, ToolSpec, WriteFile};

/// Most characters of a tool's name; a limit of several providers.
pub const MAX_NAME_CHARS: usize = 64;

/// Tools by name, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<OfferedTool>>,
}

pub(crate) struct OfferedTool {
    description: ToolDescription,
    pub(crate) tool: Arc<dyn AnyTool>,
}

impl OfferedTool {
    pub(crate) fn spec(&self) -> &ToolSpec {
        &self.description.0.spec
    }

    pub(crate) fn schema(&self) -> &ArgumentSchema {
        &self.description.0.schema
    }
}

/// A tool's description with its compiled schema. Compiling takes longer than most calls, so a tool of which every turn has
/// its own value is described once.
#[derive(Clone)]
pub struct ToolDescription(Arc<CompiledSpec>);

struct CompiledSpec {
    spec: ToolSpec,
    schema: ArgumentSchema,
}

impl ToolDescription {
    /// Checks the name and compiles the schema.
    pub fn new(spec: ToolSpec) -> Result<Self, ToolboxError> {
        let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
        if spec.name.is_empty() || spec.name.len() > MAX_NAME_CHARS || !spec.name.chars().all(allowed) {
            return Err(ToolboxError::Name(spec.name));
        }
        let schema = ArgumentSchema::new(&spec.schema)
            .map_err(|source| ToolboxError::Schema { name: spec.name.clone(), source })?;
        Ok(Self(Arc::new(CompiledSpec { spec, schema })))
    }

    /// Describes a built-in tool.
    #[expect(
        clippy::expect_used,
        reason = "a built-in tool with an invalid schema fails every test that uses it"
    )]
    pub fn of_our_own<A: schemars::JsonSchema>(name: &str, description: &str) -> Self {
        Self::new(ToolSpec::of::<A>(name, description)).expect("our own tools have names and schemas")
    }

    /// Returns the description for models.
    pub fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }
}

/// Reason why a tool cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// Providers would reject the name.
    #[error("`{0}` cannot be a tool's name")]
    Name(String),
    /// Another tool has the name.
    #[error("there is a tool `{0}` already")]
    Taken(String),
    /// The schema of the arguments is invalid or refers to another document.
    #[error("the schema of tool `{name}` cannot be used: {source}")]
    Schema {
        /// Name of the tool.
        name: String,
        /// Problem of the schema.
        source: Box<jsonschema::ValidationError<'static>>,
    },
}

impl Hint for ToolboxError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = || format!("letters, digits, `_` and `-`, at most {MAX_NAME_CHARS}");
        matches!(self, Self::Name(_)).then(|| hint().into())
    }
}

impl Toolbox {
    /// Creates an empty toolbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the file tools: `read_file`, `list_dir`, `search`, `write_file` and `edit_file`.
    pub fn files() -> Self {
        let mut toolbox = Self::new();
        let added = toolbox
            .add(ReadFile)
            .and_then(|()| toolbox.add(ListDir))
            .and_then(|()| toolbox.add(Search))
            .and_then(|()| toolbox.add(WriteFile))
            .and_then(|()| toolbox.add(EditFile));
        debug_assert!(added.is_ok(), "our own tools have names and schemas of their own");
        toolbox
    }

    /// Adds a tool after checking its name and schema.
    pub fn add(&mut self, tool: impl Tool) -> Result<(), ToolboxError> {
        let spec = tool.spec();
        if self.find(&spec.name).is_some() {
            return Err(ToolboxError::Taken(spec.name));
        }
        let description = ToolDescription::new(spec)?;
        self.tools.push(Arc::new(OfferedTool { description, tool: Arc::new(tool) }));
        Ok(())
    }

    /// Returns a toolbox with one tool that is already described.
    pub fn of_described(description: &ToolDescription, tool: impl Tool) -> Self {
        let description = description.clone();
        Self { tools: vec![Arc::new(OfferedTool { description, tool: Arc::new(tool) })] }
    }

    /// Adds the tools of another toolbox, and returns errors for those whose names are taken.
    pub fn extend(&mut self, other: Toolbox) -> Vec<ToolboxError> {
        let mut refused = Vec::new();
        for entry in other.tools {
            // The first tool of a name wins, so a server that is added later cannot replace a built-in tool with its
            // own.
            match self.find(&entry.spec().name) {
                Some(_) => refused.push(ToolboxError::Taken(entry.spec().name.clone())),
                None => self.tools.push(entry),
            }
        }
        refused
    }

    /// Returns the tools for which `keep` is true, in their order.
    pub fn filtered(&self, mut keep: impl FnMut(&ToolSpec) -> bool) -> Toolbox {
        Self { tools: self.tools.iter().filter(|entry| keep(entry.spec())).cloned().collect() }
    }

    /// Returns true if both contain the same tools in the same order.
    pub fn is_same(&self, other: &Toolbox) -> bool {
        // Compared by pointer, which is cheap enough for every round. Sources return clones of one toolbox as long as
        // nothing changes.
        let pairs = self.tools.iter().zip(&other.tools);
        self.tools.len() == other.tools.len() && pairs.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns true if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the descriptions of the tools, in their order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|entry| entry.spec())
    }

    /// Returns the requirements of a call. `None` if there is no such tool. A call with invalid arguments cannot run, so it needs
    /// nothing.
    pub fn needs(&self, call: &ToolCall) -> Option<Needs> {
        let entry = self.find(&call.name)?;
        let arguments = ToolArguments::parse(&call.arguments, entry.schema());
        Some(arguments.map_or(Needs::Nothing, |arguments| entry.tool.needs(&arguments)))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<OfferedTool>> {
        self.tools.iter().find(|entry| entry.spec().name == name)
    }

    pub(crate) fn entries(&self) -> &[Arc<OfferedTool>] {
        &self.tools
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.specs().map(|spec| &spec.name)).finish()
    }
}
