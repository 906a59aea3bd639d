//! What a tool is.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{SandboxLevel, ToolSpec};

use crate::{Arguments, Permission, ToolContext, ToolOutput};

/// What a call does to something on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes exactly this path.
    Write,
    /// It runs something there that may write anywhere.
    Run,
}

/// A path that a call is about to touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The path: as the arguments have it when a tool says so, absolute when a router does.
    pub path: PathBuf,
    /// What is done to it.
    pub access: Access,
}

/// What a call needs, as its tool declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Needs {
    /// The tool does not say, so the call asks, as a write does.
    #[default]
    Undeclared,
    /// No path of the workspace, and it changes nothing.
    Nothing,
    /// No path of the workspace, but what a rule of the tool's own says. Where nothing may be written at all, it is denied
    /// whatever the rule allows.
    Rule {
        /// What happens to the call.
        permission: Permission,
        /// The rule, as whoever is asked reads it.
        text: String,
    },
    /// These paths and nothing else. An empty list says nothing, and the call asks.
    Paths(Vec<Touch>),
}

impl Needs {
    /// A path that is read.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Read }])
    }

    /// A path that is written.
    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Write }])
    }

    /// A directory in which something is run.
    pub fn run(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![Touch { path: path.into(), access: Access::Run }])
    }

    /// The paths, if there are any.
    pub fn touches(&self) -> &[Touch] {
        match self {
            Self::Paths(touches) => touches,
            Self::Undeclared | Self::Nothing | Self::Rule { .. } => &[],
        }
    }
}

/// Something a model can call.
///
/// The router calls it with arguments that fit its schema, and only after what it [needs](Tool::needs) was allowed.
/// Several calls may run at the same time. Dropping the future of a call is how a call is cancelled; what must be put right
/// after it goes on in a task of its own.
pub trait Tool: Send + Sync + 'static {
    /// How it is described to a model.
    fn spec(&self) -> ToolSpec;

    /// What a call with these arguments needs. Only what is declared here is granted; a tool that declares nothing asks.
    fn needs(&self, arguments: &Arguments) -> Needs {
        let _ = arguments;
        Needs::Undeclared
    }

    /// Paths that a call names without declaring them, such as the words of a command. They may be anything, also no
    /// paths at all, and nothing is granted by them.
    fn mentions(&self, arguments: &Arguments) -> Vec<PathBuf> {
        let _ = arguments;
        Vec::new()
    }

    /// How far what a call runs is kept apart from the machine; none for a tool that runs nothing. Whoever is asked is
    /// told.
    fn sandbox(&self) -> Option<SandboxLevel> {
        None
    }

    /// The answer to a call that could not run whatever somebody decides, so that nobody is asked in vain.
    fn refuse(&self, arguments: &Arguments) -> Option<ToolOutput> {
        let _ = arguments;
        None
    }

    /// What the file that a call writes would contain afterwards, now that it contains `current`: shown to whoever is
    /// asked. None where that is not known before the call runs.
    fn preview(&self, arguments: &Arguments, current: &[u8]) -> Option<Vec<u8>> {
        let _ = (arguments, current);
        None
    }

    /// Runs once. A panic inside is a failure of this call alone.
    fn call(&self, context: ToolContext, arguments: Arguments) -> impl Future<Output = ToolOutput> + Send;
}

/// [`Tool`] in a form that can be kept beside others.
pub(crate) trait AnyTool: Send + Sync + 'static {
    fn needs(&self, arguments: &Arguments) -> Needs;
    fn mentions(&self, arguments: &Arguments) -> Vec<PathBuf>;
    fn sandbox(&self) -> Option<SandboxLevel>;
    fn refuse(&self, arguments: &Arguments) -> Option<ToolOutput>;
    fn preview(&self, arguments: &Arguments, current: &[u8]) -> Option<Vec<u8>>;
    fn start(self: Arc<Self>, context: ToolContext, arguments: Arguments) -> BoxFuture<'static, ToolOutput>;
}

impl<T: Tool> AnyTool for T {
    fn needs(&self, arguments: &Arguments) -> Needs {
        Tool::needs(self, arguments)
    }

    fn mentions(&self, arguments: &Arguments) -> Vec<PathBuf> {
        Tool::mentions(self, arguments)
    }

    fn sandbox(&self) -> Option<SandboxLevel> {
        Tool::sandbox(self)
    }

    fn refuse(&self, arguments: &Arguments) -> Option<ToolOutput> {
        Tool::refuse(self, arguments)
    }

    fn preview(&self, arguments: &Arguments, current: &[u8]) -> Option<Vec<u8>> {
        Tool::preview(self, arguments, current)
    }

    fn start(self: Arc<Self>, context: ToolContext, arguments: Arguments) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move { self.call(context, arguments).await })
    }
}
