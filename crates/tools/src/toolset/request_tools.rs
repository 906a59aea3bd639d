//! Tools that are hidden until a model requests them by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use parking_lot::{Mutex, MutexGuard};
use protocol::similar;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Needs, Tool, ToolArguments, ToolContext, ToolDescription, ToolOutput, ToolSpec, Toolbox};

/// Name of the tool.
pub const REQUEST_TOOLS: &str = "request_tools";
/// Most names in one call.
const MAX_NAMES: usize = 64;
/// Most hidden tools of a thread. Each is described in every later request.
const MAX_REQUESTED: usize = 128;
/// Most characters of a name repeated in an answer.
const MAX_SHOWN_CHARS: usize = 100;

/// The hidden tools of a turn and the ones its thread has requested. Clones share state, so that a call of [`RequestTools`]
/// takes effect in the next round.
#[derive(Debug, Clone, Default)]
pub struct RequestedTools(Arc<Mutex<RequestedState>>);

#[derive(Debug, Default)]
struct RequestedState {
    /// Every hidden tool, with the reason if this turn cannot have it.
    hidden: BTreeMap<String, Option<String>>,
    /// Tools that are in every request of this turn.
    visible: BTreeSet<String>,
    /// Requested tools in the order of their requests. New ones are appended, so that the descriptions before them keep their
    /// position and the cached prefix stays valid.
    requested: Vec<String>,
}

impl RequestedTools {
    /// Creates the state of a thread that requested tools before.
    pub fn new(requested: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(RequestedState { requested, ..RequestedState::default() })))
    }

    /// Sets the tools that can be requested from now on, each with the reason if this turn cannot have it, and the tools that
    /// are visible anyway.
    pub fn set_offer(
        &self,
        hidden: impl IntoIterator<Item = (String, Option<String>)>,
        visible: impl IntoIterator<Item = String>,
    ) {
        let mut state = self.state();
        state.hidden = hidden.into_iter().collect();
        state.visible = visible.into_iter().collect();
    }

    /// Returns all requested tools in the order of their requests, also those that no longer exist.
    pub fn names(&self) -> Vec<String> {
        self.state().requested.clone()
    }

    /// Requests tools that the user selected for the turn. Tools beyond the limit are ignored.
    pub fn choose(&self, names: impl IntoIterator<Item = String>) {
        let mut state = self.state();
        for name in names {
            // A name that is already requested keeps its position: moving it would change the order of the descriptions
            // and lose the cached prefix.
            if state.requested.len() < MAX_REQUESTED && !state.requested.contains(&name) {
                state.requested.push(name);
            }
        }
    }

    /// Returns true if a tool is listed as hidden.
    pub(crate) fn is_hidden(&self, name: &str) -> bool {
        self.state().hidden.contains_key(name)
    }

    /// Returns the reason why a hidden tool cannot be used in this turn.
    pub(crate) fn refusal(&self, name: &str) -> Option<String> {
        self.state().hidden.get(name).cloned().flatten()
    }

    fn state(&self) -> MutexGuard<'_, RequestedState> {
        self.0.lock()
    }

    /// Adds the requested tools. Each name is judged separately, so that a wrong one does not affect the others.
    fn request(&self, names: &[String]) -> ToolOutput {
        let mut state = self.state();
        let mut added: Vec<&str> = Vec::new();
        let mut present: Vec<&str> = Vec::new();
        let mut refused: Vec<(&str, String)> = Vec::new();
        // A set, so that a name repeated in one call is neither added twice nor reported as already present.
        let distinct: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        for name in distinct {
            match state.judge(name) {
                RequestVerdict::Add => {
                    state.requested.push(name.to_owned());
                    added.push(name);
                }
                RequestVerdict::Present => present.push(name),
                RequestVerdict::Refuse(reason) => refused.push((name, reason)),
            }
        }
        answer(&added, &present, &refused)
    }
}

enum RequestVerdict {
    Add,
    Present,
    Refuse(String),
}

impl RequestedState {
    fn judge(&self, name: &str) -> RequestVerdict {
        match self.hidden.get(name) {
            Some(Some(reason)) => RequestVerdict::Refuse(reason.clone()),
            Some(None) if self.requested.iter().any(|known| known == name) => RequestVerdict::Present,
            Some(None) if self.requested.len() >= MAX_REQUESTED => RequestVerdict::Refuse(format!(
                "this thread has asked for {MAX_REQUESTED} hidden tools, and no more are given out"
            )),
            Some(None) => RequestVerdict::Add,
            None if self.visible.contains(name) => RequestVerdict::Present,
            None => {
                // Comparing costs the product of the lengths, and the name comes from the model.
                let near = (name.len() <= MAX_SHOWN_CHARS)
                    .then(|| similar(name, self.hidden.keys().map(String::as_str)))
                    .flatten();
                RequestVerdict::Refuse(match near {
                    Some(near) => format!("there is no such tool; did you mean `{near}`?"),
                    None => "there is no such tool; use a name as it is listed under Hidden Tool Domains"
                        .to_owned(),
                })
            }
        }
    }
}

fn answer(added: &[&str], present: &[&str], refused: &[(&str, String)]) -> ToolOutput {
    let mut text = String::new();
    if !added.is_empty() {
        let _ = writeln!(text, "Added, to be called from now on: {}", added.join(", "));
    }
    if !present.is_empty() {
        let _ = writeln!(text, "Already here: {}", present.join(", "));
    }
    if !refused.is_empty() {
        text.push_str("Not added:\n");
        for (name, reason) in refused {
            let shown: String = name.chars().take(MAX_SHOWN_CHARS).collect();
            let _ = writeln!(text, "- {}: {reason}", shown.replace(['\n', '\r'], " "));
        }
    }
    let is_error = added.is_empty() && present.is_empty();
    ToolOutput { is_error, ..ToolOutput::text(text) }
}

/// Tool that adds hidden tools from the next round on.
pub struct RequestTools(RequestedTools);

impl RequestTools {
    /// Creates the tool of one turn.
    pub fn new(requested: RequestedTools) -> Self {
        Self(requested)
    }

    /// Returns a toolbox with this tool alone.
    pub fn toolbox(requested: RequestedTools) -> Toolbox {
        Toolbox::of_described(&DESCRIPTION, Self::new(requested))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Exact names of hidden tools, as the prompt lists them.
    tools: Vec<String>,
}

static DESCRIPTION: LazyLock<ToolDescription> = LazyLock::new(|| {
    ToolDescription::of_our_own::<Parameters>(
        REQUEST_TOOLS,
        "Adds hidden tools to this thread by their exact names. They can be called as soon as this call has answered, and \
         stay. Ask for all that a task needs at once, and for nothing else.",
    )
});

impl Tool for RequestTools {
    fn spec(&self) -> ToolSpec {
        DESCRIPTION.spec().clone()
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        // Permission for a requested tool is decided when it is called.
        Needs::Nothing
    }

    async fn call(&self, _: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let Parameters { tools } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        match tools.len() {
            0 => ToolOutput::error("no tool was named; name at least one"),
            asked if asked > MAX_NAMES => ToolOutput::error(format!(
                "{asked} tools were named, and nothing was added: at most {MAX_NAMES} are taken in a call; ask for \
                 those that the task needs"
            )),
            _ => self.0.request(&tools),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Router, ToolCall, Toolbox};

    fn offered() -> RequestedTools {
        let requested = RequestedTools::new(vec!["gone".to_owned(), "memory_list".to_owned()]);
        let hidden = [
            ("memory_get", None),
            ("memory_list", None),
            ("memory_search", None),
            ("memory_forget", Some("memory is off in this turn")),
        ];
        let hidden = hidden.map(|(name, refusal)| (name.to_owned(), refusal.map(str::to_owned)));
        requested.set_offer(hidden, ["read_file".to_owned()]);
        requested
    }

    async fn call(requested: &RequestedTools, name: &str, arguments: serde_json::Value) -> ToolOutput {
        let mut toolbox = Toolbox::new();
        toolbox.add(RequestTools::new(requested.clone())).unwrap();
        let router = Router::all(&toolbox, ToolContext::without_directory()).with_hidden(requested.clone());
        router.call(ToolCall { id: "1".into(), name: name.into(), arguments: arguments.to_string() }).await
    }

    async fn request(requested: &RequestedTools, names: &[&str]) -> ToolOutput {
        call(requested, REQUEST_TOOLS, json!({ "tools": names })).await
    }

    #[tokio::test]
    async fn names_are_judged_separately() {
        let requested = offered();
        let names = ["memory_search", "memory_forget", "memory_serach", "read_file", "nonsense\nNext: x"];
        let output = request(&requested, &names).await;
        assert_eq!(
            output.text,
            "Added, to be called from now on: memory_search\n\
             Already here: read_file\n\
             Not added:\n\
             - memory_forget: memory is off in this turn\n\
             - memory_serach: there is no such tool; did you mean `memory_search`?\n\
             - nonsense Next: x: there is no such tool; use a name as it is listed under Hidden Tool Domains\n"
        );
        assert!(!output.is_error);
        assert_eq!(requested.names(), ["gone", "memory_list", "memory_search"]);
        let again = request(&requested, &["memory_search", "memory_search", "memory_get"]).await;
        assert_eq!(again.text, "Added, to be called from now on: memory_get\nAlready here: memory_search\n");
    }

    #[tokio::test]
    async fn request_that_adds_nothing_is_an_error() {
        let requested = offered();
        assert!(request(&requested, &["memory_forget"]).await.is_error);
        assert!(request(&requested, &[]).await.is_error);
        let many: Vec<String> = (0..1_000).map(|number| format!("tool_{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let output = request(&requested, &many).await;
        assert!(output.is_error && output.text.starts_with("1000 tools were named"), "{}", output.text);
        assert!(call(&requested, REQUEST_TOOLS, json!({ "tools": "memory_get" })).await.is_error);
        assert_eq!(requested.names().len(), 2);
    }

    #[tokio::test]
    async fn thread_has_a_limit_of_hidden_tools() {
        let requested = RequestedTools::default();
        let names: Vec<String> = (0..=MAX_REQUESTED).map(|number| format!("tool_{number:03}")).collect();
        requested.set_offer(names.iter().map(|name| (name.clone(), None)), []);
        for part in names.chunks(MAX_NAMES) {
            let part: Vec<&str> = part.iter().map(String::as_str).collect();
            request(&requested, &part).await;
        }
        assert_eq!(requested.names().len(), MAX_REQUESTED);
        let output = request(&requested, &["tool_128"]).await;
        assert!(output.is_error && output.text.contains("no more are given out"), "{}", output.text);
    }

    #[tokio::test]
    async fn call_of_a_hidden_tool_explains_the_request() {
        let output = call(&offered(), "memory_search", json!({})).await;
        assert!(output.text.starts_with("`memory_search` is a tool of a hidden domain"), "{}", output.text);
        assert!(output.text.contains("call request_tools with this name first"), "{}", output.text);
        let output = call(&offered(), "memory_forget", json!({})).await;
        assert_eq!(output.text, "`memory_forget` cannot be used: memory is off in this turn");
    }
}
