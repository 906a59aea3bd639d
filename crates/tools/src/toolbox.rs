//! All tools there are, by name.

use std::sync::Arc;

use crate::tool::AnyTool;
use crate::{EditFile, ListDir, ReadFile, Search, Tool, ToolSpec, WriteFile};

/// Most characters of a tool's name.
pub const MAX_NAME_CHARS: usize = 64;

/// Tools by name, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<Entry>>,
}

pub(crate) struct Entry {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: Arc<dyn AnyTool>,
}

/// Why a tool cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// Models' interfaces would refuse its name.
    #[error("`{0}` cannot be a tool's name\nhint: letters, digits, `_` and `-`, at most {MAX_NAME_CHARS}")]
    Name(String),
    /// Another tool has its name.
    #[error("there is a tool `{0}` already")]
    Taken(String),
}

impl Toolbox {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools for files: `read_file`, `list_dir`, `search`, `write_file` and `edit_file`.
    pub fn files() -> Self {
        let mut toolbox = Self::new();
        toolbox.push(ReadFile);
        toolbox.push(ListDir);
        toolbox.push(Search);
        toolbox.push(WriteFile);
        toolbox.push(EditFile);
        toolbox
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: impl Tool) -> Result<(), ToolboxError> {
        let spec = tool.spec();
        let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
        if spec.name.is_empty() || spec.name.len() > MAX_NAME_CHARS || !spec.name.chars().all(allowed) {
            return Err(ToolboxError::Name(spec.name));
        }
        if self.find(&spec.name).is_some() {
            return Err(ToolboxError::Taken(spec.name));
        }
        self.push(tool);
        Ok(())
    }

    fn push(&mut self, tool: impl Tool) {
        self.tools.push(Arc::new(Entry { spec: tool.spec(), tool: Arc::new(tool) }));
    }

    /// How the tools are described, in their order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|entry| &entry.spec)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tools.iter().find(|entry| entry.spec.name == name)
    }

    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.tools
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.specs().map(|spec| &spec.name)).finish()
    }
}
