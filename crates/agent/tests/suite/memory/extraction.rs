//! Extraction: after a turn, one gateway asks a model once what to remember.

use agent::{Agent, AgentSettings};
use protocol::turn::JobStatus;
use protocol::{MemoryItem, Timestamp};
use scripted_model::Answer;
use store::{Database, MemoryFilter, MemoryView};

use crate::conversation::Conversation;

const FOUND: &str = r#"[{"category":"decision","text":"Releases are cut on Mondays"}]"#;

async fn chat(change: impl FnOnce(&mut AgentSettings)) -> Conversation {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(directory.path().join("foreword.db"));
    Conversation::chat_set(&database, directory, [], [], |settings| {
        settings.memory.extract = true;
        change(settings);
    })
    .await
}

async fn remembered(chat: &Conversation) -> Vec<MemoryItem> {
    let view = MemoryView { workspace_id: chat.workspace_id.clone(), owner: None, thread_id: None };
    let filter = MemoryFilter { limit: 9, ..MemoryFilter::default() };
    chat.store.memories(&view, filter).await.unwrap()
}

async fn do_jobs(agent: &Agent) -> usize {
    agent.run_due_jobs().await.unwrap()
}

#[tokio::test]
async fn a_decision_is_remembered_once() {
    let chat = chat(|_| {}).await;
    chat.model.answer(Answer::text("On Mondays, then."));
    let turn = chat.ask("When do we release? Say Mondays.").await.turn;
    chat.model.answer(Answer::text(FOUND));
    assert_eq!((do_jobs(&chat.agent).await, do_jobs(&chat.agent).await), (1, 0));
    let items = remembered(&chat).await;
    let shown: Vec<_> = items.iter().map(|item| (item.category.as_str(), item.text.as_deref())).collect();
    assert_eq!(shown, [("decision", Some("Releases are cut on Mondays"))]);
    assert_eq!(
        (items[0].source_turn.as_ref(), items[0].created_by.as_deref()),
        (Some(&turn.id), Some("ada"))
    );
    let asked = chat.model.requests().last().unwrap().body.to_string();
    assert!(
        asked.contains("User: When do we release?") && asked.contains("Assistant: On Mondays"),
        "{asked}"
    );
}

#[tokio::test]
async fn two_gateways_run_a_job_once() {
    let mut settings = None;
    let chat = chat(|own| settings = Some(own.clone())).await;
    chat.model.answer_by(|request| {
        let is_extraction = request.body.to_string().contains("JSON array");
        Answer::text(if is_extraction { FOUND } else { "yes" })
    });
    for _ in 0..3 {
        chat.run("Is it so?").await;
    }
    let other = Agent::new(chat.store.clone(), settings.unwrap(), []).unwrap();
    let (one, two) = tokio::join!(do_jobs(&chat.agent), do_jobs(&other));
    assert_eq!(one + two, 3);
    // Three turns with the same finding leave one item.
    assert_eq!(remembered(&chat).await.len(), 1);
    let extractions =
        chat.model.requests().iter().filter(|it| it.body.to_string().contains("JSON array")).count();
    assert_eq!(extractions, 3);
}

#[tokio::test]
async fn extraction_runs_only_when_wanted() {
    let off = chat(|settings| settings.memory.extract = false).await;
    off.model.answer(Answer::text("yes"));
    off.run("Is it so?").await;
    assert_eq!(do_jobs(&off.agent).await, 0);

    let on = chat(|_| {}).await;
    on.model.answer(Answer::text("yes"));
    on.run("Off the record: is it so?").await;
    assert_eq!(do_jobs(&on.agent).await, 0, "the user said no");
    on.model.answer(Answer::wrong_key());
    on.run("Does this fail?").await;
    assert_eq!(do_jobs(&on.agent).await, 0, "there is no answer");
}

#[tokio::test]
async fn an_invalid_extraction_is_retried_later() {
    let chat = chat(|_| {}).await;
    chat.model.answer(Answer::text("yes"));
    let turn = chat.ask("Is it so?").await.turn;
    chat.model.answer(Answer::text(r#"Here you are: [{"category":"decision","text":"Relea"#));
    assert_eq!(do_jobs(&chat.agent).await, 0);
    // The job waits for its next attempt without blocking others.
    assert_eq!(do_jobs(&chat.agent).await, 0);
    assert_eq!(remembered(&chat).await, []);
    assert_eq!(chat.model.requests().len(), 2);
    let jobs = chat.agent.explain(&chat.workspace_id, &turn.id).await.unwrap().jobs;
    assert_eq!(jobs[0].error.as_deref(), Some("the model's answer contains no valid JSON array"));
    assert_eq!((jobs[0].status, jobs[0].attempts), (JobStatus::Waiting, 1));
}

#[tokio::test]
async fn an_empty_extraction_still_counts_its_tokens() {
    let chat = chat(|_| {}).await;
    chat.model.answer(Answer::text("yes"));
    let turn = chat.ask("Is it so?").await.turn;
    let since = Timestamp::from_milliseconds(0);
    let before = chat.store.usage_since(&chat.workspace_id, since).await.unwrap();
    chat.model.answer(Answer::text("There is nothing to remember."));
    assert_eq!((do_jobs(&chat.agent).await, remembered(&chat).await), (1, vec![]));
    let jobs = chat.agent.explain(&chat.workspace_id, &turn.id).await.unwrap().jobs;
    let spent = jobs[0].usage.unwrap();
    assert_eq!((jobs[0].status, jobs[0].error.as_deref()), (JobStatus::Done, None));
    let after = chat.store.usage_since(&chat.workspace_id, since).await.unwrap();
    assert!(spent.input > 0 && spent.output > 0);
    assert_eq!((after.input, after.output), (before.input + spent.input, before.output + spent.output));
}
