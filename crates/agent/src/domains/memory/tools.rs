//! The tools with which a model reads and changes memory.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use memory::{MemorySettings, Policy, QueryTerms};
use protocol::limits::DEFAULT_MEMORY_SEARCH;
use protocol::{CallEffects, MemoryItem, MemoryItemId, MemoryScope, ToolSpec, TurnScope};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{MemoryFilter, MemoryPlace, MemoryView, NewMemory, StoreError, WordMatch};
use tools::{Needs, RoundContext, Tool, ToolArguments, ToolContext, ToolOutput, ToolSource, Toolbox};

use crate::domains::memory::{MemoryDomain, view};

/// Maximum number of items per answer.
const MAX_ITEMS: u32 = 50;
/// The tool that a user can switch off for a turn.
pub(crate) const REMEMBER: &str = "memory_remember";
/// Answer to a call without a caller. Calls of turns always have one.
const NO_SCOPE: &str = "memory is not available: the call has no turn";

/// Offers the memory tools, in chats as well.
pub(crate) struct MemoryTools {
    settings: MemorySettings,
    toolbox: Toolbox,
}

/// The domain a tool works on; `None` in a preview, in which nothing is called.
type Memory = Option<Arc<MemoryDomain>>;

impl MemoryTools {
    pub(crate) fn new(domain: Arc<MemoryDomain>) -> Self {
        Self::with(domain.settings, Some(domain))
    }

    /// Creates the source for a preview without a database.
    pub(crate) fn described(settings: MemorySettings) -> Self {
        Self::with(settings, None)
    }

    fn with(settings: MemorySettings, memory: Memory) -> Self {
        let mut toolbox = Toolbox::new();
        let added = toolbox
            .add(SearchMemory(memory.clone()))
            .and_then(|()| toolbox.add(ListMemory(memory.clone())))
            .and_then(|()| toolbox.add(GetMemory(memory.clone())))
            .and_then(|()| toolbox.add(Remember(memory.clone())))
            .and_then(|()| toolbox.add(Forget(memory)));
        debug_assert!(added.is_ok(), "our own tools have names and schemas");
        Self { settings, toolbox }
    }
}

impl ToolSource for MemoryTools {
    fn name(&self) -> &str {
        "memory"
    }

    fn offer<'a>(&'a self, _: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async { self.toolbox.clone() })
    }

    fn hidden_domain(&self) -> Option<&str> {
        self.settings.hidden.then_some("memory")
    }

    fn refusal(&self, round: &RoundContext, tool: &str) -> Option<String> {
        let is_refused =
            tool == REMEMBER && !Policy::of(&self.settings, round.scope.off_the_record.is_some()).remember;
        is_refused.then(|| "the user asked not to remember anything of this turn".to_owned())
    }
}

/// The memory that a call can see.
struct VisibleMemory<'a> {
    domain: &'a MemoryDomain,
    scope: &'a TurnScope,
    view: MemoryView,
}

fn visible_memory<'a>(memory: &'a Memory, context: &'a ToolContext) -> Option<VisibleMemory<'a>> {
    let domain = memory.as_deref()?;
    let scope = context.scope()?;
    Some(VisibleMemory { domain, scope, view: view(scope) })
}

/// Returns an answer with items and records their ids. Forgetting an item later finds the answer, and private items
/// are not sent again in turns of other users.
fn answer(view: &MemoryView, text: String, items: &[MemoryItem]) -> ToolOutput {
    let memory = items.iter().map(|item| item.id.clone()).collect();
    let has_own = items.iter().any(|item| item.scope == MemoryScope::User);
    let memory_owner = view.owner.clone().filter(|_| has_own);
    let effects = CallEffects { memory, memory_owner, ..CallEffects::default() };
    ToolOutput { effects, ..ToolOutput::text(text) }
}

fn failed(error: &StoreError) -> ToolOutput {
    ToolOutput::error(error.to_string())
}

/// Formats items for a model: one per paragraph, each with its id. The router neutralises tags in them.
fn shown(items: &[MemoryItem]) -> String {
    let lines = items.iter().map(|item| {
        let text = item.text.as_deref().unwrap_or_default().lines().collect::<Vec<_>>().join("\n  ");
        format!("- id {} ({}, {}): {text}", item.id, item.scope, item.category)
    });
    lines.collect::<Vec<_>>().join("\n")
}

struct SearchMemory(Memory);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParameters {
    /// Words to search for, in any language.
    query: String,
    /// Maximum number of facts to return; 20 if absent.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

impl Tool for SearchMemory {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<SearchParameters>(
            "memory_search",
            "Searches the facts that were remembered in earlier turns, by words.",
        )
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        // Memory is in the gateway's database, and the view already excludes everything the caller may not see.
        Needs::Nothing
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let SearchParameters { query, limit } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let Some(VisibleMemory { domain, view, .. }) = visible_memory(&self.0, &context) else {
            return ToolOutput::error(NO_SCOPE);
        };
        let terms = QueryTerms::of(&query);
        let limit = u64::from(limit.unwrap_or(DEFAULT_MEMORY_SEARCH).min(MAX_ITEMS));
        // Prefer items with all words, but fall back to any: a model's query often has words that no item contains.
        match domain.store.search_memory(&view, &terms, WordMatch::AllElseAny, limit).await {
            Ok(items) if items.is_empty() => ToolOutput::text("no remembered item matches these words"),
            Ok(items) => answer(&view, shown(&items), &items),
            Err(error) => failed(&error),
        }
    }
}

struct ListMemory(Memory);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Only facts of this category, spelled exactly as they show it.
    category: Option<String>,
    /// Only facts older than the one with this id, which is the last one of an earlier list.
    before: Option<String>,
}

impl Tool for ListMemory {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<ListParameters>(
            "memory_list",
            "Lists the facts that were remembered in earlier turns, newest first, at most 50 at a time.",
        )
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        Needs::Nothing
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let ListParameters { category, before } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let before = match before.map(|id| item_id(&id)).transpose() {
            Ok(before) => before,
            Err(unknown) => return *unknown,
        };
        let Some(VisibleMemory { domain, view, .. }) = visible_memory(&self.0, &context) else {
            return ToolOutput::error(NO_SCOPE);
        };
        let filter = MemoryFilter { category, before, limit: MAX_ITEMS.into(), ..MemoryFilter::default() };
        match domain.store.memories(&view, filter).await {
            Ok(items) if items.is_empty() => ToolOutput::text("nothing is remembered"),
            Ok(items) => answer(&view, shown(&items), &items),
            Err(error) => failed(&error),
        }
    }
}

struct GetMemory(Memory);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IdParameters {
    /// Id of the fact.
    id: String,
}

impl Tool for GetMemory {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<IdParameters>("memory_get", "Reads one remembered fact in full, by its id.")
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        Needs::Nothing
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let id = match arguments.get().map(|IdParameters { id }| item_id(&id)) {
            Ok(Ok(id)) => id,
            Ok(Err(unknown)) => return *unknown,
            Err(error) => return ToolOutput::failed(&error),
        };
        let Some(VisibleMemory { domain, view, .. }) = visible_memory(&self.0, &context) else {
            return ToolOutput::error(NO_SCOPE);
        };
        match domain.store.memory(&view, &id).await {
            Ok(item) if item.text.is_none() => {
                ToolOutput::error("this item was forgotten, and its text is gone")
            }
            Ok(item) => answer(&view, shown(std::slice::from_ref(&item)), std::slice::from_ref(&item)),
            Err(error) => failed(&error),
        }
    }
}

/// Parses an id written by a model.
fn item_id(id: &str) -> Result<MemoryItemId, Box<ToolOutput>> {
    let unknown =
        |_| Box::new(ToolOutput::error("invalid id; use one shown by memory_search or memory_list"));
    id.parse().map_err(unknown)
}

struct Remember(Memory);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RememberParameters {
    /// The fact, in one sentence that can be understood without this conversation.
    text: String,
    /// Its kind in one word: preference, fact or decision. A preference is recalled in every turn.
    category: String,
    /// Where it applies: `workspace`, `thread` for this thread only, or `user` for this user in all workspaces; `workspace` if absent.
    scope: Option<MemoryScope>,
    /// Id of a fact that it replaces.
    replaces: Option<String>,
}

impl Tool for Remember {
    fn spec(&self) -> ToolSpec {
        let description = "Remembers one fact for later turns. Never remember a key, token or password.";
        ToolSpec::of::<RememberParameters>(REMEMBER, description)
    }

    // The default `Needs::Undeclared` applies: no path describes this call, so it needs approval like a write.

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let RememberParameters { text, category, scope, replaces } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let supersedes = match replaces.map(|id| item_id(&id)).transpose() {
            Ok(supersedes) => supersedes,
            Err(unknown) => return *unknown,
        };
        let Some(VisibleMemory { domain, scope: turn, view }) = visible_memory(&self.0, &context) else {
            return ToolOutput::error(NO_SCOPE);
        };
        let scope = scope.unwrap_or_default();
        let thread_id = (scope == MemoryScope::Thread).then(|| turn.thread_id.clone());
        let Ok(place) = MemoryPlace::of(&view, scope, thread_id) else {
            return ToolOutput::error(
                "the token of this turn is bound to one workspace and has no private memory; \
                 use the scope workspace or thread",
            );
        };
        let source_turn = turn.turn_id.clone();
        let new = NewMemory { place, category, text, source_turn, expires_at: None, supersedes };
        match domain.store.add_memory(&view, new, turn.actor.as_deref()).await {
            Ok(added) if added.was_there => {
                let text = format!("already remembered as {}", added.item.id);
                answer(&view, text, std::slice::from_ref(&added.item))
            }
            Ok(added) => {
                let text = format!("remembered as {}", added.item.id);
                answer(&view, text, std::slice::from_ref(&added.item))
            }
            Err(error) => failed(&error),
        }
    }
}

struct Forget(Memory);

impl Tool for Forget {
    fn spec(&self) -> ToolSpec {
        let description = "Forgets one remembered fact, by its id, for good and wherever it was recalled. Only if the user asks \
                           for it.";
        ToolSpec::of::<IdParameters>("memory_forget", description)
    }

    // The default `Needs::Undeclared` applies, so the call needs approval like a write.

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let id = match arguments.get().map(|IdParameters { id }| item_id(&id)) {
            Ok(Ok(id)) => id,
            Ok(Err(unknown)) => return *unknown,
            Err(error) => return ToolOutput::failed(&error),
        };
        let Some(VisibleMemory { domain, scope: turn, view }) = visible_memory(&self.0, &context) else {
            return ToolOutput::error(NO_SCOPE);
        };
        match domain.store.forget_memory(&view, &id, turn.actor.as_deref()).await {
            Ok(_) => ToolOutput::text("forgotten; your own words about it in this conversation remain"),
            Err(error) => failed(&error),
        }
    }
}
