//! Sources of tools: in chats, without a directory, and with a list that changes between rounds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::TurnStatus;
use protocol::prompt::{PromptDiagnosticCode, PromptManifest, RoundNote};
use scripted_model::Answer;
use serde_json::{Value, json};
use tools::{
    Needs, RoundContext, Tool, ToolArguments, ToolContext, ToolOutput, ToolSource, ToolSpec, Toolbox,
};

use crate::conversation::Conversation;

/// A tool that answers with its name.
struct Named(&'static str);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: self.0.to_owned(), description: "Says its name.".to_owned(), schema }
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        Needs::Nothing
    }

    async fn call(&self, _: ToolContext, _: ToolArguments) -> ToolOutput {
        ToolOutput::text(self.0)
    }
}

/// Offers `ping` at first, and `pong` as well from the second round on.
struct Growing {
    first: Toolbox,
    later: Toolbox,
    asked: Mutex<Vec<RoundContext>>,
}

impl Growing {
    fn new() -> Arc<Self> {
        let mut first = Toolbox::new();
        first.add(Named("ping")).unwrap();
        let mut later = first.clone();
        later.add(Named("pong")).unwrap();
        Arc::new(Self { first, later, asked: Mutex::default() })
    }
}

impl ToolSource for Growing {
    fn name(&self) -> &str {
        "growing"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async move {
            // Yield once, because a real source may have to wait.
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.asked.lock().unwrap().push(round.clone());
            if round.round == 1 { self.first.clone() } else { self.later.clone() }
        })
    }
}

fn listed(body: &Value) -> Vec<&str> {
    body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn chat_tools_can_change_between_rounds() {
    let source = Growing::new();
    let chat = {
        let directory = tempfile::tempdir().unwrap();
        let database = store::Database::Sqlite(directory.path().join("foreword.db"));
        let sources = [Arc::clone(&source) as Arc<dyn ToolSource>];
        // Memory would offer tools of its own.
        let change = |settings: &mut agent::AgentSettings| settings.memory.enabled = false;
        Conversation::chat_set(&database, directory, sources, [], change).await
    };
    let read = r#"{"path":"x"}"#;
    chat.model.answer(Answer::empty().tool_call("a", "ping", "{}"));
    chat.model.answer(Answer::empty().tool_call("b", "pong", "{}").tool_call("c", "read_file", read));
    chat.model.answer(Answer::text("done"));
    let ended = chat.ask("go").await;

    assert_eq!((ended.turn.status, ended.turn.answer.as_deref()), (TurnStatus::Completed, Some("done")));
    let results: Vec<(&str, bool)> = ended
        .steps
        .iter()
        .flat_map(|step| &step.results)
        .map(|result| (result.text.lines().next().unwrap(), result.is_error))
        .collect();
    assert_eq!(results, [("ping", false), ("pong", false), ("there is no tool `read_file`", true)]);

    let requests = chat.model.requests();
    let lists: Vec<Vec<&str>> = requests.iter().map(|request| listed(&request.body)).collect();
    assert_eq!(lists, [vec!["ping"], vec!["ping", "pong"], vec!["ping", "pong"]]);
    let manifests = chat.store.manifests(&chat.workspace_id, &ended.turn.id).await.unwrap();
    assert_eq!(manifests.len(), 3, "one a round");
    let offered: Vec<Vec<&str>> = manifests
        .iter()
        .map(|round| round.manifest.request.as_ref().unwrap())
        .map(|request| request.tools.iter().map(|tool| tool.name.as_str()).collect())
        .collect();
    assert_eq!(offered, lists);
    let notes: Vec<&[RoundNote]> =
        manifests.iter().map(|round| round.manifest.request.as_ref().unwrap().notes.as_slice()).collect();
    assert_eq!(notes, [&[][..], &[], &[RoundNote::Retry]]);
    let asked = source.asked.lock().unwrap();
    assert_eq!(asked.iter().map(|round| round.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(
        asked
            .iter()
            .all(|round| round.scope.actor.as_deref() == Some("ada") && round.scope.directory.is_none())
    );
}

/// A source that always panics.
struct Broken;

impl ToolSource for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn offer<'a>(&'a self, _: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn the_manifest_lists_missing_tools() {
    let sources: [Arc<dyn ToolSource>; 3] = [Arc::new(Broken), Growing::new(), Growing::new()];
    let chat = Conversation::chat(sources).await;
    chat.model.answer(Answer::text("done"));
    let ended = chat.ask("go").await;
    assert_eq!(ended.turn.status, TurnStatus::Completed);
    let manifest: PromptManifest =
        chat.agent.manifest(&chat.workspace_id, &ended.turn.id, Some(1)).await.unwrap();
    let said: Vec<&str> = manifest.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert!(said.contains(&"tool source `broken` panicked; its tools are left out"), "{said:?}");
    let taken = "a tool of source `growing` is left out: ";
    assert!(said.iter().any(|it| it.starts_with(taken) && it.contains("ping")), "{said:?}");
    let codes = manifest.diagnostics.iter().filter(|it| it.code == PromptDiagnosticCode::ToolsOmitted);
    assert_eq!(codes.count(), 2, "{:?}", manifest.diagnostics);
}
