//! Background jobs of hooks in other packages: done by a gateway with the package, retried, never lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Agent, AgentSettings};
use hooks::{
    BackgroundJob, Contribution, ContributionKind, HookContext, HookFailure, HookPackage, HookSubscription,
    JobContext, Phase, Retries,
};
use scripted_model::Answer;
use serde_json::json;
use store::Database;

use crate::conversation::Conversation;

/// Jobs that ran, with the number of the attempt.
type Done = Arc<Mutex<Vec<(String, u32)>>>;

/// Requests a job after every turn. The first attempt fails, the second panics.
fn package(done: &Done) -> HookPackage {
    let after_turn = async |_: HookContext| {
        let job = BackgroundJob { kind: "note".to_owned(), payload: json!({ "text": "hello" }) };
        Ok(vec![Contribution::from(job)])
    };
    let retries = Retries { max_attempts: 3, back_off: Duration::ZERO };
    let hook = HookSubscription::new("test.note", Phase::PostTurn, after_turn)
        .retries(retries)
        .may_contribute([ContributionKind::BackgroundJob]);
    let done = Arc::clone(done);
    HookPackage::new("test.notes", "test.notes").with(hook).doing("note", move |job: JobContext| {
        let done = Arc::clone(&done);
        async move {
            let text = job.payload["text"].as_str().unwrap().to_owned();
            match job.attempt {
                1 => Err(HookFailure::new("not yet")),
                2 => panic!("on purpose"),
                attempt => {
                    done.lock().unwrap().push((text, attempt));
                    Ok(())
                }
            }
        }
    })
}

#[tokio::test]
async fn a_gateway_with_the_package_runs_its_job_once() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(directory.path().join("foreword.db"));
    let done = Done::default();
    let mut settings: Option<AgentSettings> = None;
    let chat = Conversation::chat_set(&database, directory, [], [package(&done)], |own| {
        settings = Some(own.clone());
    })
    .await;
    chat.model.answer(Answer::text("yes"));
    chat.run("Is it so?").await;
    let settings = settings.unwrap();
    // A version of the program without the package must leave the job to one that has it.
    let without = Agent::new(chat.store.clone(), settings.clone(), []).unwrap();
    assert_eq!(without.run_due_jobs().await.unwrap(), 0);
    let restarted = Agent::new(chat.store.clone(), settings, [package(&done)]).unwrap();
    assert_eq!(restarted.run_due_jobs().await.unwrap(), 1);
    assert_eq!(*done.lock().unwrap(), [("hello".to_owned(), 3)]);
    assert_eq!(chat.agent.run_due_jobs().await.unwrap(), 0);
}
