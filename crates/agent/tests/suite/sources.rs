//! Tools that come from anywhere: in chats, without a directory, and others in the next round.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, Settings, TurnListener};
use futures_util::future::BoxFuture;
use protocol::method::TurnStartParams;
use protocol::{ThreadMode, TurnId, TurnStatus};
use provider::{Provider, ProviderConfig, ProviderKind};
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::{Value, json};
use store::{Database, NewThread, NewWorkspace, Store};
use tools::{Arguments, Needs, RoundContext, Tool, ToolContext, ToolOutput, ToolSource, ToolSpec, Toolbox};

/// Answers with its name.
struct Named(&'static str);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: self.0.to_owned(), description: "Says its name.".to_owned(), schema }
    }

    fn needs(&self, _: &Arguments) -> Needs {
        Needs::Nothing
    }

    async fn call(&self, _: ToolContext, _: Arguments) -> ToolOutput {
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
    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async move {
            // A source may have to wait for somebody.
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.asked.lock().unwrap().push(round.clone());
            if round.round == 1 { self.first.clone() } else { self.later.clone() }
        })
    }
}

struct Nobody;

impl TurnListener for Nobody {
    fn delta<'a>(&'a self, _: &'a TurnId, _: u64, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn retrying<'a>(&'a self, _: &'a TurnId, _: u32, _: Duration, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn is_gone(&self) -> bool {
        false
    }
}

fn listed(body: &Value) -> Vec<&str> {
    body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn a_chat_without_a_directory_can_have_tools_that_change_between_rounds() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&Database::Sqlite(directory.path().join("foreword.db"))).await.unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let config = ProviderConfig::new("scripted", ProviderKind::Anthropic, model.base_url(Wire::Anthropic));
    let mut settings = Settings::new(directory.path().join("home"));
    settings.providers = [Provider::new(config).unwrap()].into_iter().collect();
    settings.default_model = Some("scripted/model".to_owned());
    let source = Growing::new();
    let agent = Agent::new(store.clone(), settings, []).unwrap();
    let agent = Arc::new(agent.with_tools(Arc::clone(&source) as _));

    let new = NewWorkspace { name: "w".to_owned(), root_path: None, agents: None };
    let workspace_id = store.create_workspace(new, None).await.unwrap().id;
    let new = NewThread { folder_id: None, title: "t".to_owned(), mode: ThreadMode::Chat };
    let thread_id = store.create_thread(&workspace_id, new, None).await.unwrap().id;

    model.answer(Answer::empty().tool_call("a", "ping", "{}"));
    model.answer(Answer::empty().tool_call("b", "pong", "{}").tool_call("c", "read_file", r#"{"path":"x"}"#));
    model.answer(Answer::text("done"));
    let start = TurnStartParams {
        workspace_id: workspace_id.clone(),
        thread_id,
        input: "go".to_owned(),
        cwd: None,
        model: None,
        skills: Vec::new(),
        mcp: Vec::new(),
    };
    let turn = agent.start_turn(start, Some("ada".to_owned()), Arc::new(Nobody)).await.unwrap();
    let ended = loop {
        let view = agent.turn_view(&workspace_id, &turn.id).await.unwrap();
        if view.turn.status != TurnStatus::Running {
            break view;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };

    assert_eq!((ended.turn.status, ended.turn.answer.as_deref()), (TurnStatus::Completed, Some("done")));
    let results: Vec<(&str, bool)> = ended
        .steps
        .iter()
        .flat_map(|step| &step.results)
        .map(|result| (result.text.lines().next().unwrap(), result.is_error))
        .collect();
    assert_eq!(results, [("ping", false), ("pong", false), ("there is no tool `read_file`", true)]);

    let bodies: Vec<Value> = model.requests().iter().map(|request| request.body.clone()).collect();
    let lists: Vec<Vec<&str>> = bodies.iter().map(listed).collect();
    assert_eq!(lists, [vec!["ping"], vec!["ping", "pong"], vec!["ping", "pong"]]);
    assert_eq!(store.manifests(&workspace_id, &turn.id).await.unwrap().len(), 3, "one a round");
    let asked = source.asked.lock().unwrap();
    assert_eq!(asked.iter().map(|round| round.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(asked.iter().all(|round| round.actor.as_deref() == Some("ada") && round.directory.is_none()));
}
