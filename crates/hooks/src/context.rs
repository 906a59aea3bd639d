//! What a hook is told about the turn it runs in.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Phase;

/// What the caller of a phase tells its hooks: which turn it is, and whatever the domains agreed on.
#[derive(Clone, Default)]
pub struct PhaseContext {
    pub(crate) workspace_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) turn_id: Option<String>,
    values: Map<String, Value>,
    extensions: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl PhaseContext {
    /// A context that tells nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the workspace.
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.workspace_id = Some(id.into());
        self
    }

    /// Names the thread.
    pub fn thread(mut self, id: impl Into<String>) -> Self {
        self.thread_id = Some(id.into());
        self
    }

    /// Names the turn.
    pub fn turn(mut self, id: impl Into<String>) -> Self {
        self.turn_id = Some(id.into());
        self
    }

    /// Adds a named value.
    pub fn value(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Adds something that hooks find by its type; one of each type.
    pub fn extension<T: Send + Sync + 'static>(mut self, extension: Arc<T>) -> Self {
        self.extensions.insert(TypeId::of::<T>(), extension);
        self
    }
}

impl fmt::Debug for PhaseContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PhaseContext")
            .field("workspace_id", &self.workspace_id)
            .field("thread_id", &self.thread_id)
            .field("turn_id", &self.turn_id)
            .field("values", &self.values.keys().collect::<Vec<_>>())
            .field("extensions", &self.extensions.len())
            .finish()
    }
}

/// What a hook is told when it runs; cheap to clone.
#[derive(Debug, Clone)]
pub struct HookContext {
    pub(crate) told: Arc<PhaseContext>,
    pub(crate) phase: Phase,
    pub(crate) deadline: Instant,
    pub(crate) cancellation: CancellationToken,
}

impl HookContext {
    /// The phase that is running.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The workspace, if the phase belongs to one.
    pub fn workspace_id(&self) -> Option<&str> {
        self.told.workspace_id.as_deref()
    }

    /// The thread, if the phase belongs to one.
    pub fn thread_id(&self) -> Option<&str> {
        self.told.thread_id.as_deref()
    }

    /// The turn, if the phase belongs to one.
    pub fn turn_id(&self) -> Option<&str> {
        self.told.turn_id.as_deref()
    }

    /// A named value.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.told.values.get(name)
    }

    /// What the caller added of a type.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.told.extensions.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    /// When the hook is given up.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Cancelled when the hook is given up, for work that an abort of its task does not reach.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }
}
