//! Hooks: code that contributes to a turn at a named phase, and can hurt only as far as it declared.
//!
//! A [`HookPackage`] brings [`HookSubscription`]s: which [`Hook`] runs in which [`Phase`], how it is waited for
//! ([`Execution`]), what its failure means ([`Failure`]), what it stands before and after, and which kinds of
//! [`Contribution`] it may make. The [`HookRegistry`] refuses what could not work; the [`HookRuntime`] runs a phase
//! and answers with what was contributed, in an order that does not depend on who was faster.
//!
//! Whatever a hook does (fail, panic, hang, return far too much), the phase ends in bounded time, and exactly one
//! [`HookRun`] tells what became of it. Nothing here knows what any hook is about.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hooks::{
//!     ContributionKind, HookContext, HookPackage, HookRegistry, HookRuntime, HookSubscription, Limits,
//!     MemoryRecorder, Phase, PhaseContext, PromptSection,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let greeting = HookSubscription::new("example.greeting", Phase::PrePromptCompile, |context: HookContext| async move {
//!     let thread = context.thread_id().unwrap_or("nobody").to_owned();
//!     Ok(vec![PromptSection::new("greeting", "greeting", "Greeting", format!("Hello, {thread}.")).into()])
//! })
//! .may_contribute([ContributionKind::PromptSection]);
//!
//! let mut registry = HookRegistry::new();
//! registry.register(HookPackage::new("example", "example.domain").with(greeting))?;
//!
//! let recorder = Arc::new(MemoryRecorder::default());
//! let runtime = HookRuntime::new(registry, recorder.clone(), Limits::default());
//! let context = PhaseContext::new().thread("thread-1");
//! let outcome = runtime.run_phase(Phase::PrePromptCompile, context).await?;
//!
//! assert_eq!(outcome.sections().next().unwrap().1.content, "Hello, thread-1.");
//! assert_eq!(recorder.runs().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod admission;
mod background;
mod budget;
mod capability;
mod context;
mod contribution;
mod diagnostic;
mod error;
mod execution;
mod hook;
mod identifier;
mod merge;
mod order;
mod outcome;
mod package;
mod phase;
mod policy;
mod preview;
mod record;
mod registry;
mod runtime;
mod subscription;

pub use background::Drained;
pub use budget::{Budget, MAX_CONTRIBUTIONS, Truncation};
pub use capability::Capabilities;
pub use context::{HookContext, PhaseContext};
pub use contribution::{
    Audit, BackgroundJob, Contribution, ContributionKind, ManifestDiagnostic, Policy, PromptContext,
    PromptSection, SourceReference, ToolBundle,
};
pub use diagnostic::{Diagnostic, DiagnosticCode};
pub use error::{FailureCause, HookError, RegistrationError};
pub use hook::{Hook, HookFailure, HookResult};
pub use identifier::MAX_ID_BYTES;
pub use outcome::{Contributed, PhaseOutcome};
pub use package::HookPackage;
pub use phase::Phase;
pub use policy::{Execution, Failure, MAX_TIMEOUT, Visibility};
pub use preview::{MAX_PREVIEW_CHARS, preview};
pub use record::{HookRun, MemoryRecorder, Recorder, RunStatus};
pub use registry::HookRegistry;
pub use runtime::{HookRuntime, Limits};
pub use subscription::HookSubscription;
