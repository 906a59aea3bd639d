//! Delegation: a turn gives work to other agents, each with its own thread, session and limits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use parking_lot::Mutex;
use protocol::method::TurnStartParams;
use protocol::{Hint, ThreadMode, ToolSpec, Turn, TurnId, TurnScope, TurnStatus, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{NewChildThread, TurnActor};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tools::{
    Needs, RoundContext, Tool, ToolArguments, ToolContext, ToolDescription, ToolOutput, ToolSource, Toolbox,
};

use crate::agent::Agent;
use crate::blocking::joined;
use crate::error::AgentError;
use crate::prompt::prepare::PromptRequest;
use crate::settings::DelegationSettings;
use crate::subject::PromptSubject;
use crate::turn::handles::TurnHandle;
use crate::turn::listener::TurnListener;
use crate::turn::running::{RunningTurn, TurnOrigin};
use crate::turn::start::EndOnDrop;

/// Name of the tool.
pub(crate) const DELEGATE: &str = "delegate";
/// Name of its source, and of its domain when it is hidden.
const DOMAIN: &str = "delegation";
/// Maximum length of a child thread's title, in characters.
const TITLE_CHARS: usize = 80;

/// Limits of a child, never wider than those of its parent.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildLimits {
    /// Names of the tools that may be offered; `None` allows all that the settings allow.
    pub(crate) tools: Option<Arc<BTreeSet<String>>>,
    /// Maximum number of rounds; `None` uses the settings.
    pub(crate) max_rounds: Option<u32>,
    /// Number of tasks delegated since the user's request, by all turns together.
    given_out: Arc<AtomicUsize>,
}

impl ChildLimits {
    fn allow(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|names| names.contains(tool))
    }
}

impl PromptSubject {
    /// Returns true if its turns can have `delegate`.
    pub(crate) fn delegates(&self, settings: &DelegationSettings) -> bool {
        settings.enabled
            && self.thread.mode == ThreadMode::Agent
            && self.directory.is_some()
            && self.depth < settings.max_depth
            && self.limits.allow(DELEGATE)
    }
}

/// Offers `delegate` to one turn.
pub(crate) struct DelegationTools {
    toolbox: Toolbox,
    is_hidden: bool,
}

impl DelegationTools {
    /// Creates the source for a running turn.
    fn of(parent: Arc<ParentTurn>, settings: &DelegationSettings) -> Arc<dyn ToolSource> {
        Self::with(Some(parent), settings)
    }

    /// Creates the source for a preview, in which nothing is called.
    pub(crate) fn described(settings: &DelegationSettings) -> Arc<dyn ToolSource> {
        Self::with(None, settings)
    }

    fn with(parent: Option<Arc<ParentTurn>>, settings: &DelegationSettings) -> Arc<dyn ToolSource> {
        let toolbox = Toolbox::of_described(&DESCRIPTION, Delegate { parent });
        Arc::new(Self { toolbox, is_hidden: settings.hidden })
    }
}

impl ToolSource for DelegationTools {
    fn name(&self) -> &str {
        DOMAIN
    }

    fn hidden_domain(&self) -> Option<&str> {
        self.is_hidden.then_some(DOMAIN)
    }

    fn offer<'a>(&'a self, _: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        ready(self.toolbox.clone()).boxed()
    }
}

/// Gives work to another agent, and waits for it.
struct Delegate {
    parent: Option<Arc<ParentTurn>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The whole task: what to do, what is known, and what to return. The other agent sees nothing of this conversation.
    goal: String,
    /// Directory to work in, relative to yours; yours if absent.
    cwd: Option<String>,
    /// Names of the tools that it may use, among yours; all of yours if absent.
    tools: Option<Vec<String>>,
    /// True to give it the thread's AGENTS.md document as well.
    #[serde(default)]
    inherit_document: bool,
    /// Maximum number of rounds before it must answer.
    #[schemars(range(min = 1))]
    max_rounds: Option<u32>,
}

/// Reason that work cannot be delegated.
#[derive(Debug, thiserror::Error)]
enum DelegationRefusal {
    #[error("the goal is empty")]
    NoGoal,
    #[error("you do not have tool `{name}`, so you cannot delegate it")]
    UnknownTool { name: String, names: String },
    #[error("`max_rounds` must be at least 1")]
    NoRounds,
    #[error("delegation is not available here")]
    NoParent,
    #[error(
        "delegation limit reached: {limit} tasks since the user's request, including those of other agents"
    )]
    TooMany { limit: usize },
    #[error("could not start the work: {0}")]
    NotBegun(#[from] AgentError),
}

impl Hint for DelegationRefusal {
    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::UnknownTool { names, .. } => Some(format!("your tools are {names}").into()),
            Self::NotBegun(AgentError::OutsideWorkspace { .. } | AgentError::Directory { .. }) => {
                Some("name a directory that exists inside the workspace's, relative to yours".into())
            }
            Self::NotBegun(error) => error.hint(),
            Self::NoGoal => Some("describe what to do, what is known, and what to answer".into()),
            Self::TooMany { .. } => Some("do the rest yourself, or report what is left".into()),
            Self::NoRounds | Self::NoParent => None,
        }
    }
}

static DESCRIPTION: LazyLock<ToolDescription> = LazyLock::new(|| {
    ToolDescription::of_our_own::<Parameters>(
        DELEGATE,
        "Gives a self-contained task to another agent, waits for it, and returns its last message. Several calls in one answer \
         run at the same time.",
    )
});

impl Tool for Delegate {
    fn spec(&self) -> ToolSpec {
        DESCRIPTION.spec().clone()
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        // The other agent's calls request their own permissions.
        Needs::Nothing
    }

    async fn call(&self, _: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let parameters = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let run = async {
            let parent = self.parent.as_ref().ok_or(DelegationRefusal::NoParent)?;
            parent.delegate(parameters).await
        };
        run.await.unwrap_or_else(|refusal| ToolOutput::failed(&refusal))
    }
}

/// A turn that may delegate work.
pub(crate) struct ParentTurn {
    agent: Arc<Agent>,
    scope: Arc<TurnScope>,
    workspace: Workspace,
    stored: Turn,
    cwd: PathBuf,
    actor: TurnActor,
    depth: u32,
    limits: ChildLimits,
    handle: TurnHandle,
    offered: OfferedTools,
    /// Slots for children that run concurrently; others wait.
    slots: Semaphore,
    children: TaskTracker,
}

/// Names of the tools of a turn's current round.
#[derive(Clone, Default)]
pub(crate) struct OfferedTools(Arc<Mutex<Vec<String>>>);

impl OfferedTools {
    pub(crate) fn set(&self, specs: &[ToolSpec]) {
        *self.0.lock() = specs.iter().map(|spec| spec.name.clone()).collect();
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl Agent {
    /// Returns a source that describes `delegate` in a preview.
    pub(crate) fn described_delegation(&self, subject: &PromptSubject) -> Option<Arc<dyn ToolSource>> {
        let settings = &self.settings.delegation;
        subject.delegates(settings).then(|| DelegationTools::described(settings))
    }
}

impl RunningTurn {
    /// Returns the source of `delegate` for this turn; `None` if it may not delegate.
    pub(crate) fn delegation(&self) -> Option<Arc<dyn ToolSource>> {
        let agent = &self.agent;
        let subject = &self.subject;
        let settings = &agent.settings.delegation;
        let directory = subject.directory.as_ref().filter(|_| subject.delegates(settings))?;
        let parent = Arc::new(ParentTurn {
            agent: Arc::clone(agent),
            scope: Arc::clone(&subject.scope),
            workspace: subject.workspace.clone(),
            stored: self.stored.clone(),
            cwd: directory.cwd.clone(),
            actor: self.actor.clone(),
            depth: subject.depth,
            limits: subject.limits.clone(),
            handle: self.handle.clone(),
            offered: self.offered.clone(),
            slots: Semaphore::new(settings.max_parallel.clamp(1, Semaphore::MAX_PERMITS)),
            children: self.children.clone(),
        });
        Some(DelegationTools::of(parent, settings))
    }
}

/// A running child and its task.
struct RunningChild {
    turn_id: TurnId,
    task: tokio::task::JoinHandle<()>,
}

impl ParentTurn {
    /// Gives work to another agent and waits for it. Dropping the future stops the work.
    async fn delegate(self: &Arc<Self>, mut parameters: Parameters) -> Result<ToolOutput, DelegationRefusal> {
        // PostgreSQL cannot store a zero byte in a text.
        parameters.goal = parameters.goal.replace('\0', "\u{fffd}");
        if parameters.goal.trim().is_empty() {
            return Err(DelegationRefusal::NoGoal);
        }
        if parameters.max_rounds == Some(0) {
            return Err(DelegationRefusal::NoRounds);
        }
        let limits = self.limits_for(&parameters)?;
        let limit = self.agent.settings.delegation.max_given_out;
        // Count before waiting for a slot. The counter is shared by all descendants, so concurrent calls cannot
        // exceed the limit together.
        if limits.given_out.fetch_add(1, Ordering::Relaxed) >= limit {
            return Err(DelegationRefusal::TooMany { limit });
        }
        // The semaphore is never closed, so a permit is always granted.
        let _slot = self.slots.acquire().await;
        let stop = self.handle.stop.child_token();
        // Stopping the parent drops this future, and the guard then stops the child.
        let _stop_when_dropped = stop.clone().drop_guard();
        // Begin in a separate task. If the parent is stopped in the middle, a half-created child still starts, sees
        // the cancelled token, and ends properly.
        let parent = Arc::clone(self);
        let token = self.children.token();
        let beginning = async move { parent.begin(parameters, limits, stop, token).await };
        let RunningChild { turn_id, task } = joined(self.agent.running.tasks.spawn(beginning)).await?;
        joined(task).await;
        self.result(&turn_id).await
    }

    /// Returns the limits of a child: those requested, within the limits of this turn.
    fn limits_for(&self, parameters: &Parameters) -> Result<ChildLimits, DelegationRefusal> {
        let max_rounds = [self.limits.max_rounds, parameters.max_rounds].into_iter().flatten().min();
        let own = ChildLimits { max_rounds, ..self.limits.clone() };
        let Some(wanted) = &parameters.tools else {
            return Ok(own);
        };
        let names = self.offered.names();
        if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
            let name = unknown.chars().take(100).collect();
            return Err(DelegationRefusal::UnknownTool { name, names: names.join(", ") });
        }
        Ok(ChildLimits { tools: Some(Arc::new(wanted.iter().cloned().collect())), ..own })
    }

    /// Stores the child's thread and turn, and starts it.
    async fn begin(
        &self,
        parameters: Parameters,
        limits: ChildLimits,
        stop: CancellationToken,
        token: TaskTrackerToken,
    ) -> Result<RunningChild, AgentError> {
        let agent = &self.agent;
        let parent = &self.stored;
        let cwd = parameters.cwd.as_ref().map_or_else(|| self.cwd.clone(), |cwd| self.cwd.join(cwd));
        let cwd = cwd.to_string_lossy().into_owned();
        // Check the directory first, so that an unusable one leaves no thread behind.
        let found = agent.directory(&self.workspace, Some(&cwd)).await?;
        if let Some(path) = found.map(|found| found.cwd).filter(|path| !path.is_dir()) {
            let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(AgentError::Directory { path, source });
        }
        let model = agent.turn_model(parent.model.as_deref())?;
        agent.check_tokens(&parent.workspace_id).await?;
        let new = NewChildThread {
            workspace_id: parent.workspace_id.clone(),
            parent_thread_id: parent.thread_id.clone(),
            parent_turn_id: parent.id.clone(),
            title: title(&parameters.goal),
            inherits_document: parameters.inherit_document,
        };
        let thread = agent.store.create_child_thread(new, self.actor.name.as_deref()).await?;
        let scope = TurnScope {
            thread_id: thread.id.clone(),
            turn_id: None,
            skills: Vec::new(),
            tool_domains: Vec::new(),
            input: Some(parameters.goal.clone()),
            // The goal is all that a delegate gets of the conversation.
            context: None,
            ..TurnScope::clone(&self.scope)
        };
        let request = PromptRequest { scope, cwd: Some(cwd.clone()) };
        let subject = PromptSubject { limits, depth: self.depth + 1, ..agent.load(&request).await? };
        let start = TurnStartParams {
            cwd: Some(cwd),
            model: Some(model.name.to_string()),
            ..TurnStartParams::new(&parent.workspace_id, &thread.id, parameters.goal)
        };
        let actor = TurnActor { parent_turn_id: Some(parent.id.clone()), ..self.actor.clone() };
        // No workspace limit: the parent already has a slot and waits for this child, so waiting for another slot
        // could deadlock.
        let turn = agent.store.create_turn(start, agent.lease(), None, actor.clone()).await?;
        let turn_id = turn.id.clone();
        let origin = TurnOrigin { actor, stop, listener: Arc::new(NoListener) };
        let turn = RunningTurn::new(Arc::clone(agent), subject, turn, model, origin);
        let ended = EndOnDrop { agent: Arc::clone(agent), turn_id: turn_id.clone() };
        let costs =
            CountWithParent { child: turn.handle.clone(), parent: self.handle.clone(), _token: token };
        let task = agent.running.tasks.spawn(async move {
            turn.run(None, None).await;
            drop((ended, costs));
        });
        Ok(RunningChild { turn_id, task })
    }

    /// Returns the result of a finished child for the parent's model.
    async fn result(&self, turn_id: &TurnId) -> Result<ToolOutput, DelegationRefusal> {
        let turn = self.agent.turn_view(&self.stored.workspace_id, turn_id).await?.turn;
        let failed = |why: String| {
            let so_far = turn.answer.as_deref().filter(|text| !text.trim().is_empty());
            let so_far = so_far.map(|text| format!("; before that it said:\n{text}")).unwrap_or_default();
            ToolOutput::error(format!("the delegated work has no result: {why}{so_far}"))
        };
        Ok(match (turn.status, &turn.error) {
            (TurnStatus::Completed, _) => ToolOutput::text(turn.answer.clone().unwrap_or_default()),
            (TurnStatus::Cancelled, _) => failed("it was stopped".to_owned()),
            (TurnStatus::Failed, Some(error)) => failed(error.message.clone()),
            (TurnStatus::Failed, None) => failed("it failed".to_owned()),
            (TurnStatus::Running, _) => failed("its end was not recorded".to_owned()),
        })
    }
}

/// Adds the cost of a child to its parent, however the child ends. The tracker token makes the parent's end wait for
/// it.
struct CountWithParent {
    child: TurnHandle,
    parent: TurnHandle,
    _token: TaskTrackerToken,
}

impl Drop for CountWithParent {
    fn drop(&mut self) {
        self.parent.spend(self.child.usage());
    }
}

/// Returns the title of a child's thread: the first line of its goal.
fn title(goal: &str) -> String {
    let shown = |line: &str| line.chars().filter(|character| !character.is_control()).collect::<String>();
    let mut lines = goal.lines().map(|line| shown(line).trim().to_owned());
    let line = lines.find(|line| !line.is_empty()).unwrap_or_else(|| "work".to_owned());
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    line.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
}

/// A listener without recipients. A child's progress is in the change log, and its answer is the parent's to report.
struct NoListener;

impl TurnListener for NoListener {
    fn delta<'a>(&'a self, _: &'a TurnId, _: u64, _: &'a str) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    fn retrying<'a>(
        &'a self,
        _: &'a TurnId,
        _: u32,
        _: std::time::Duration,
        _: &'a str,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    fn is_gone(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_of_a_goal() {
        assert_eq!(title("\n  Count the books.\nAnd more.\n"), "Count the books.");
        assert_eq!(title(" \n\u{1}\n"), "work");
        let long = title(&"é".repeat(200));
        assert!(long.chars().count() == TITLE_CHARS && long.ends_with('…'));
    }
}
