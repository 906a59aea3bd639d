//! Background jobs of other packages' hooks: done by whoever has the package, tried again, and not lost.

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

/// What was done, and how often it was tried.
type Done = Arc<Mutex<Vec<(String, u32)>>>;

/// Has something noted after every turn. The first attempt of each job fails, the second panics.
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
async fn a_packages_job_is_done_once_by_a_gateway_that_has_the_package() {
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
    // Another version of the program, without the package, leaves it alone; one that has it does it.
    let without = Agent::new(chat.store.clone(), settings.clone(), []).unwrap();
    assert_eq!(without.run_due_jobs().await.unwrap(), 0);
    let restarted = Agent::new(chat.store.clone(), settings, [package(&done)]).unwrap();
    assert_eq!(restarted.run_due_jobs().await.unwrap(), 1);
    assert_eq!(*done.lock().unwrap(), [("hello".to_owned(), 3)]);
    assert_eq!(chat.agent.run_due_jobs().await.unwrap(), 0);
}
