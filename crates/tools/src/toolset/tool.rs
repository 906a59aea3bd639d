//! The interface of tools.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{SandboxLevel, ToolSpec};

use crate::{Permission, ToolArguments, ToolContext, ToolOutput};

/// Effect of a call on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The call reads the path.
    Read,
    /// The call writes exactly this path.
    Write,
    /// The call runs a program there, which may write anywhere.
    Run,
}

/// A path that a call will access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Path as in the arguments if it comes from a tool, absolute if it comes from a router.
    pub path: PathBuf,
    /// Kind of access.
    pub access: Access,
}

/// Requirements of a call, as declared by its tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Needs {
    /// The tool declares nothing, so the call requires approval like a write.
    #[default]
    Undeclared,
    /// No path, and nothing changes.
    Nothing,
    /// No path, but a rule of the tool's own. If writes are denied in general, the call is denied whatever the rule allows.
    Rule {
        /// Permission of the call.
        permission: Permission,
        /// Wording of the rule in the approval request.
        text: String,
    },
    /// These paths and nothing else. An empty list counts as undeclared.
    Paths(Vec<Touch>),
}

impl Needs {
    /// Declares a path that is read.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Read }])
    }

    /// Declares a path that is written.
    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Write }])
    }

    /// Declares a directory in which a program runs.
    pub fn run(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Run }])
    }

    /// Returns the declared paths.
    pub fn touches(&self) -> &[Touch] {
        match self {
            Self::Paths(touches) => touches,
            Self::Undeclared | Self::Nothing | Self::Rule { .. } => &[],
        }
    }
}

/// A tool that a model can call.
///
/// The router calls it with valid arguments, and only after its [needs](Tool::needs) were granted. Several calls may run
/// concurrently. Dropping the future of a call cancels it; cleanup that must still happen belongs in a task of its own.
pub trait Tool: Send + Sync + 'static {
    /// Returns the description for models.
    fn spec(&self) -> ToolSpec;

    /// Returns the requirements of a call. Only what is declared is granted; a tool that declares nothing requires approval.
    fn needs(&self, arguments: &ToolArguments) -> Needs {
        let _ = arguments;
        Needs::Undeclared
    }

    /// Returns paths that a call names without declaring them, such as the words of a command. They may not be paths at all, and
    /// nothing is granted by them.
    fn mentions(&self, arguments: &ToolArguments) -> Vec<PathBuf> {
        let _ = arguments;
        Vec::new()
    }

    /// Returns the sandbox level of commands, for the approval request. `None` for a tool that runs no commands.
    fn sandbox(&self) -> Option<SandboxLevel> {
        None
    }

    /// Returns the answer to a call that cannot run even if approved, so that no approval is requested in vain.
    fn refuse(&self, arguments: &ToolArguments) -> Option<ToolOutput> {
        let _ = arguments;
        None
    }

    /// Returns the answer to a call that would fail in the present state of the files, so that no approval is requested in vain.
    /// May block.
    fn validate(&self, context: &ToolContext, arguments: &ToolArguments) -> Option<ToolOutput> {
        let _ = (context, arguments);
        None
    }

    /// Returns the content of the written file after the call, given its `current` content, for the approval request. `None` if
    /// it is not known before the call runs.
    fn preview(&self, arguments: &ToolArguments, current: &[u8]) -> Option<Vec<u8>> {
        let _ = (arguments, current);
        None
    }

    /// Runs the call once. A panic fails this call alone.
    fn call(&self, context: ToolContext, arguments: ToolArguments)
    -> impl Future<Output = ToolOutput> + Send;
}

/// Object-safe form of [`Tool`].
pub(crate) trait AnyTool: Send + Sync + 'static {
    fn needs(&self, arguments: &ToolArguments) -> Needs;
    fn mentions(&self, arguments: &ToolArguments) -> Vec<PathBuf>;
    fn sandbox(&self) -> Option<SandboxLevel>;
    fn refuse(&self, arguments: &ToolArguments) -> Option<ToolOutput>;
    fn validate(&self, context: &ToolContext, arguments: &ToolArguments) -> Option<ToolOutput>;
    fn preview(&self, arguments: &ToolArguments, current: &[u8]) -> Option<Vec<u8>>;
    fn start(
        self: Arc<Self>,
        context: ToolContext,
        arguments: ToolArguments,
    ) -> BoxFuture<'static, ToolOutput>;
}

impl<T: Tool> AnyTool for T {
    fn needs(&self, arguments: &ToolArguments) -> Needs {
        Tool::needs(self, arguments)
    }

    fn mentions(&self, arguments: &ToolArguments) -> Vec<PathBuf> {
        Tool::mentions(self, arguments)
    }

    fn sandbox(&self) -> Option<SandboxLevel> {
        Tool::sandbox(self)
    }

    fn refuse(&self, arguments: &ToolArguments) -> Option<ToolOutput> {
        Tool::refuse(self, arguments)
    }

    fn validate(&self, context: &ToolContext, arguments: &ToolArguments) -> Option<ToolOutput> {
        Tool::validate(self, context, arguments)
    }

    fn preview(&self, arguments: &ToolArguments, current: &[u8]) -> Option<Vec<u8>> {
        Tool::preview(self, arguments, current)
    }

    fn start(
        self: Arc<Self>,
        context: ToolContext,
        arguments: ToolArguments,
    ) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move { self.call(context, arguments).await })
    }
}
