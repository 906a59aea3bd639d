//! Calls of every method by every role, with parameters made at random from the method's own schema: each is answered, no
//! answer is the gateway's own failure, and nobody is shown another workspace.

mod invention;

use gateway::{Database, GatewaySettings};
use protocol::method::METHODS;
use protocol::{ErrorKind, Role};
use scripted_model::{Answer, ScriptedModel};
use serde_json::{Value, json};
use test_gateway::TestGateway;
use test_postgres::test_database;

use self::invention::{Inventor, Known};
use crate::support::{Setting, Socket, World, ask, with_model};

/// Calls of each method by each caller.
const CALLS: usize = 8;
/// Stands only in what one workspace has, and in no parameter.
const SECRET: &str = "only for those who may see it";

/// Every error says what kind it is, by a code that fits, and it is never the gateway's own.
fn check(what: &str, answer: &Result<Value, Value>) {
    let Err(error) = answer else { return };
    let kind = serde_json::from_value::<ErrorKind>(error["data"]["kind"].clone());
    let kind = kind.unwrap_or_else(|_| panic!("an error without a kind: {error}\n{what}"));
    assert_eq!(error["code"], kind.code(), "{error}\n{what}");
    assert_ne!(kind, ErrorKind::InternalError, "{error}\n{what}");
    assert_ne!(error["message"].as_str().unwrap_or_default(), "", "{error}\n{what}");
}

async fn call_at_random(database: Option<Database>, seed: u64) {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_by(|_| Answer::text("yes"));
    let gateway = TestGateway::start_with(|settings: &mut GatewaySettings| {
        with_model(settings, &model, &Setting::default());
        settings.database = database;
    })
    .await
    .unwrap();
    let owner = gateway.owner_in_memory();
    let schemas = protocol::schema::all();
    let mut inventor = Inventor::new(seed);
    let (mut called, mut succeeded, mut secrets) = (0, 0, 0);
    for role in Role::ALL {
        for binding in ["all", "this", "another"] {
            // Whoever is asking may destroy everything that it finds.
            let here = World::new(&gateway, &format!("here, {role} of {binding}")).await;
            let elsewhere = World::new(&gateway, &format!("elsewhere, {role} of {binding}")).await;
            let save = here.with(json!({ "folder_id": here.folder, "content": SECRET }));
            ask(&owner, "thread/agents_doc/save", save).await.unwrap();
            let ids = (here.workspace.parse().unwrap(), here.thread.parse().unwrap());
            let turn = gateway.silent_turn(&ids.0, &ids.1).await.unwrap();
            let known = Known::of(&[&here, &elsewhere], turn.as_str());

            let bound_to = match binding {
                "all" => None,
                "this" => Some(here.workspace.parse().unwrap()),
                _ => Some(elsewhere.workspace.parse().unwrap()),
            };
            let who = format!("{role} of {binding}");
            let secret = gateway.token(&who, role, bound_to).await.unwrap();
            let mut socket = Socket::connect(&gateway, &secret).await;
            for method in METHODS {
                let schema = serde_json::to_value(&schemas[method.params_type]).unwrap();
                for _ in 0..CALLS {
                    let params = inventor.params(&schema, &known);
                    let answer = socket.call(method.name, &params).await;
                    let what = format!("seed {seed}, {} by {who}: {params}", method.name);
                    check(&what, &answer);
                    called += 1;
                    succeeded += usize::from(answer.is_ok());
                    let shown = answer.unwrap_or_else(|error| error).to_string();
                    if shown.contains(SECRET) {
                        assert_ne!(binding, "another", "{shown}\n{what}");
                        secrets += 1;
                    }
                }
            }
        }
    }
    // Enough of what is invented must get past the parameters, or little is tried.
    assert!(succeeded * 10 > called, "{succeeded} of {called} calls succeeded");
    assert!(secrets > 0, "those who may see the secret never did");
}

#[tokio::test]
async fn calls_at_random_are_answered_and_never_fail_inside_on_sqlite() {
    call_at_random(None, 1).await;
}

#[tokio::test]
async fn calls_at_random_are_answered_and_never_fail_inside_on_postgresql() {
    let Some(database) = test_database() else { return };
    call_at_random(Some(Database::Postgres(database.url().to_owned())), 2).await;
}
