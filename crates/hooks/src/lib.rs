//! Hooks: code that contributes to a turn at a named phase, and can hurt only as far as it declared.
//!
//! A [`HookPackage`] brings [`HookSubscription`]s: which [`Hook`] runs in which [`Phase`], how it is waited for
//! ([`Execution`]), what its failure means ([`FailurePolicy`]), what it runs before and after, and which kinds of
//! [`Contribution`] it may make. The [`HookRegistry`] refuses what could not work; the [`HookRuntime`] runs a phase
//! and answers with what was contributed, in an order that does not depend on who was faster.
//!
//! Whatever a hook does (fail, panic, hang, return far too much), the phase ends in bounded time, and exactly one
//! [`HookRun`] records how it ended. Nothing here knows what any hook is about.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hooks::{
//!     ContributionKind, HookContext, HookPackage, HookRegistry, HookRuntime, HookSubscription, HookLimits,
//!     MemoryRecorder, Phase, PromptSection, TurnContext,
//! };
//! use protocol::{ThreadId, TurnScope, WorkspaceId};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let greeting = HookSubscription::new("example.greeting", Phase::PrePromptCompile, |context: HookContext| async move {
//!     let actor = context.turn.scope.actor.as_deref().unwrap_or("stranger");
//!     Ok(vec![PromptSection::new("greeting", "greeting", "Greeting", format!("Hello, {actor}.")).into()])
//! })
//! .may_contribute([ContributionKind::PromptSection]);
//!
//! let mut registry = HookRegistry::new();
//! registry.register(HookPackage::new("example", "example.domain").with(greeting))?;
//!
//! let recorder = Arc::new(MemoryRecorder::default());
//! let runtime = HookRuntime::new(registry, recorder.clone(), HookLimits::default());
//! let scope = TurnScope {
//!     actor: Some("Ada".to_owned()),
//!     ..TurnScope::new(WorkspaceId::new(), ThreadId::new())
//! };
//! let turn = Arc::new(TurnContext::new(scope));
//! let outcome = runtime.run_phase(Phase::PrePromptCompile, turn).await?;
//!
//! assert_eq!(outcome.sections().next().unwrap().1.content, "Hello, Ada.");
//! assert_eq!(recorder.runs().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod admission;
mod background;
mod contribution;
mod error;
mod hook;
mod job;
mod merge;
mod order;
mod preview;
mod record;
mod registry;
mod runtime;
mod subscription;

pub use admission::{Budget, MAX_CONTRIBUTIONS};
pub use background::Drained;
pub use contribution::{
    BackgroundJob, Capabilities, Contributed, Contribution, PhaseOutcome, Policy, ToolBundle,
};
pub use error::{FailureCause, HookError, RegistrationError};
pub use hook::{Hook, HookContext, HookFailure, HookResult, TurnContext};
pub use job::{JobContext, JobWorker};
pub use preview::{MAX_PREVIEW_CHARS, preview};
/// Hook vocabulary shared with the wire and the store.
pub use protocol::hook::{
    ContributionKind, Execution, FailurePolicy, HookRun, Phase, PromptSection, RunStatus, Visibility,
};
pub use record::{MemoryRecorder, Recorder};
pub use registry::{HookRegistry, MAX_ID_BYTES};
pub use runtime::{HookLimits, HookRuntime};
pub use subscription::{HookPackage, HookSubscription, MAX_TIMEOUT, Retries};
