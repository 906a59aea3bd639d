//! Routes a model's calls: only to tools of this round, with valid arguments, and with permission.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::Hint;

use crate::call::authorisation::{authorise, called};
use crate::toolset::toolbox::OfferedTool;
use crate::{
    ArgumentError, Needs, ToolArguments, ToolCall, ToolContext, ToolOutput, ToolSpec, Toolbox, Touch,
};
use crate::{REQUEST_TOOLS, RequestedTools};

/// A round names a tool that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{0}`")]
pub struct UnknownTool(pub String);

/// The callable tools of one round.
///
/// Cheap to clone. Calls may run concurrently; dropping the future of one cancels it.
#[derive(Clone)]
pub struct Router {
    callable: Arc<[Arc<OfferedTool>]>,
    /// Tools that are not in this round but become available if the model requests them.
    hidden: Option<RequestedTools>,
    context: ToolContext,
}

/// A call with valid arguments, which can be run once.
pub struct CheckedCall {
    call: ToolCall,
    touches: Vec<Touch>,
    mentions: Vec<PathBuf>,
    /// Everything needed to run the call, or the error that answers it.
    ready: Result<Ready, ToolCallError>,
}

struct Ready {
    entry: Arc<OfferedTool>,
    arguments: ToolArguments,
    needs: Needs,
}

impl CheckedCall {
    /// Returns the call as the model made it.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the absolute paths that the call would access. Empty for a call that cannot run.
    ///
    /// Needed before the call runs, for example to resolve instruction files.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// Returns further absolute paths inside the workspace that the call names. They may not exist.
    pub fn mentions(&self) -> &[PathBuf] {
        &self.mentions
    }
}

impl Router {
    /// Creates a round in which only the named tools can be called.
    pub fn new<N: AsRef<str>>(
        toolbox: &Toolbox,
        callable: impl IntoIterator<Item = N>,
        context: ToolContext,
    ) -> Result<Self, UnknownTool> {
        let mut names = Vec::new();
        for name in callable {
            let name = name.as_ref();
            toolbox.find(name).ok_or_else(|| UnknownTool(name.to_owned()))?;
            names.push(name.to_owned());
        }
        let callable = toolbox.entries().iter().filter(|entry| names.contains(&entry.spec().name)).cloned();
        Ok(Self { callable: callable.collect(), hidden: None, context })
    }

    /// Creates a round in which every tool can be called.
    pub fn all(toolbox: &Toolbox, context: ToolContext) -> Self {
        Self { callable: toolbox.entries().into(), hidden: None, context }
    }

    /// Adds hidden tools, so that a call of one is answered with the way to request it.
    pub fn with_hidden(self, hidden: RequestedTools) -> Self {
        Self { hidden: Some(hidden), ..self }
    }

    /// Lowers the limit of an answer's characters.
    pub fn with_output_chars(&self, limit: usize) -> Self {
        let mut limits = *self.context.limits();
        limits.output_chars = limits.output_chars.min(limit);
        Self { context: self.context.clone().with_limits(limits), ..self.clone() }
    }

    /// Protects more files from now on, in every round of the turn.
    pub fn protect<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) {
        self.context.protect(paths);
    }

    /// Returns true if the workspace's path still leads to the opened directory, or if there is none.
    pub fn is_in_place(&self) -> bool {
        self.context.is_in_place()
    }

    /// Returns the descriptions of the round's tools, in the order of the toolbox.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.callable.iter().map(|entry| entry.spec())
    }

    /// Checks a call and runs it. Failures are answers, too.
    pub async fn call(&self, call: ToolCall) -> ToolOutput {
        self.run(self.check(call)).await
    }

    /// Parses and validates a call's arguments, which happens only here.
    pub fn check(&self, call: ToolCall) -> CheckedCall {
        let ready = self.ready(&call);
        let touches = ready.iter().flat_map(|ready| ready.needs.touches());
        let touches =
            touches.map(|touch| Touch { path: self.context.absolute(&touch.path), ..touch.clone() });
        let touches = touches.collect();
        let mentions = ready.iter().flat_map(|ready| ready.entry.tool.mentions(&ready.arguments));
        let mentions = mentions.map(|path| self.context.absolute(&path));
        let mentions = mentions.filter(|path| self.context.is_written_inside(path)).collect();
        CheckedCall { touches, mentions, call, ready }
    }

    /// Runs a call that was checked in this round.
    pub fn run(&self, call: CheckedCall) -> BoxFuture<'_, ToolOutput> {
        self.run_unless(call, Box::pin(std::future::ready(None)))
    }

    /// Runs a call unless `otherwise` yields another answer after the call was approved. Approval may take hours, and
    /// other instructions may apply by then.
    pub fn run_unless<'a>(
        &'a self,
        call: CheckedCall,
        otherwise: BoxFuture<'a, Option<ToolOutput>>,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.run_or_cancel(call, otherwise))
    }

    async fn run_or_cancel(
        &self,
        call: CheckedCall,
        otherwise: BoxFuture<'_, Option<ToolOutput>>,
    ) -> ToolOutput {
        // Cancelling drops the tool's future. Tools that work outside of it, on a blocking thread or in another
        // process, must stop that work when this happens.
        let cancellation = self.context.cancellation().clone();
        let output = tokio::select! {
            output = self.run_to_end(call, otherwise) => output,
            () = cancellation.cancelled() => ToolOutput::error("the call was cancelled"),
        };
        output.finish(self.context.limits().output_chars)
    }

    async fn run_to_end(
        &self,
        CheckedCall { call, ready, .. }: CheckedCall,
        otherwise: BoxFuture<'_, Option<ToolOutput>>,
    ) -> ToolOutput {
        let call = &call;
        let Ready { entry, arguments, needs } = match ready {
            Ok(ready) => ready,
            Err(error) => return ToolOutput::failed(&error),
        };
        // A tool's own refusal comes before the permissions: a user must not be asked about a call that cannot run.
        if let Some(refusal) = entry.tool.refuse(&arguments) {
            return refusal;
        }
        let granted = match authorise(&self.context, call, &arguments, needs, &entry.tool).await {
            Ok(granted) => granted,
            Err(denied) => return *denied,
        };
        if let Some(answer) = otherwise.await {
            return answer;
        }
        // Checked last, right before the tool starts: the lease of the turn may have expired during the approval.
        if let Err(reason) = self.context.check_gate().await {
            return ToolOutput::error(format!("this call did not run: {reason}"));
        }
        let running = entry.tool.clone().start(self.context.granting(call, granted), arguments);
        // A panicking tool must not end the turn. Its state is dropped here, so nothing observes it half changed.
        match AssertUnwindSafe(running).catch_unwind().await {
            Ok(output) => output,
            Err(_) => {
                tracing::error!(tool = entry.spec().name, "a tool panicked");
                ToolOutput::failed(&ToolCallError::Fault { call: called(call) })
            }
        }
    }

    fn ready(&self, call: &ToolCall) -> Result<Ready, ToolCallError> {
        let entry = self.callable.iter().find(|entry| entry.spec().name == call.name);
        let entry = entry.ok_or_else(|| self.unknown(&call.name))?;
        let actual = call.arguments.len();
        let limit = self.context.limits().argument_bytes;
        // Checked before parsing, which would need several times the size of the text in memory.
        if actual > limit {
            return Err(ToolCallError::TooLong { actual, limit });
        }
        let arguments = ToolArguments::parse(&call.arguments, entry.schema())
            .map_err(|source| ToolCallError::ToolArguments { call: called(call), source })?;
        let needs = entry.tool.needs(&arguments);
        Ok(Ready { entry: Arc::clone(entry), arguments, needs })
    }

    /// Returns the error for a tool that is not in this round, whether or not it exists.
    fn unknown(&self, name: &str) -> ToolCallError {
        if let Some(hidden) = self.hidden.as_ref().filter(|hidden| hidden.is_hidden(name)) {
            let name = name.to_owned();
            return match hidden.refusal(&name) {
                Some(reason) => ToolCallError::Refused { name, reason },
                None => ToolCallError::Hidden { name },
            };
        }
        let names: Vec<&str> = self.specs().map(|spec| spec.name.as_str()).collect();
        ToolCallError::UnknownTool {
            // The name is echoed to the model and stored, so it is cut.
            name: name.chars().take(100).collect(),
            meant: protocol::similar(name, names.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
            names: names.join(", "),
        }
    }
}

/// Error of a call that does not start or that panicked.
#[derive(Debug, thiserror::Error)]
enum ToolCallError {
    #[error("there is no tool `{name}`{meant}")]
    UnknownTool {
        name: String,
        meant: String,
        /// Names of the tools in the round.
        names: String,
    },
    #[error("`{name}` is a tool of a hidden domain, so it is not in this request")]
    Hidden { name: String },
    #[error("`{name}` cannot be used: {reason}")]
    Refused { name: String, reason: String },
    #[error("arguments are {actual} bytes; the limit is {limit}")]
    TooLong { actual: usize, limit: usize },
    #[error("{call} was not run: {source}")]
    ToolArguments { call: String, source: ArgumentError },
    #[error("{call} failed by a fault of its own, not of the arguments")]
    Fault { call: String },
}

impl Hint for ToolCallError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::UnknownTool { names, .. } if names.is_empty() => {
                Some("no tool can be called in this round".into())
            }
            Self::UnknownTool { names, .. } => Some(format!("the tools of this round are {names}").into()),
            Self::Hidden { .. } => {
                Some(format!("call {REQUEST_TOOLS} with this name first; then it can be called").into())
            }
            Self::Refused { .. } => None,
            Self::TooLong { .. } => Some("put a long text into several calls".into()),
            Self::Fault { .. } => Some("it would fail again: try another way, and tell the user".into()),
            Self::ToolArguments { source, .. } => source.hint(),
        }
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.specs().map(|spec| spec.name.as_str()).collect();
        formatter.debug_struct("Router").field("callable", &names).field("context", &self.context).finish()
    }
}
