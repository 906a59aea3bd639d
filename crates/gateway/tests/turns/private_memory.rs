//! A user's private memory items in turns that others can read.

use scripted_model::Answer;
use serde_json::json;

use crate::support::{Setting, Socket, Stage};

#[tokio::test]
async fn private_memory_is_hidden_from_other_readers() {
    let mut stage = Stage::set(Setting::default()).await;
    let own = stage.with(json!({ "scope": "user", "category": "preference", "text": "Pays in pesos" }));
    stage.socket.ok("memory/add", own).await;
    stage.model.answer(Answer::empty().tool_call("a", "request_tools", r#"{"tools":["memory_search"]}"#));
    stage.model.answer(Answer::empty().tool_call("b", "memory_search", r#"{"query":"pesos"}"#));
    stage.model.answer(Answer::text("You know it."));
    let turn = stage.ask("What do I pay in?").await;
    let id = turn["turn"]["id"].clone();
    // The item reaches the model twice, by recall and by search, so both records have to be hidden from others.
    assert_eq!(stage.bodies().last().unwrap().to_string().matches("Pays in pesos").count(), 2);
    stage.model.answer(Answer::text("Yes."));
    let next = stage.ask("Sure?").await["turn"]["id"].clone();

    let made = stage.with(json!({ "name": "rita", "role": "reader" }));
    let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
    let mut rita = Socket::connect(&stage.gateway, &secret).await;
    let asked = stage.with(json!({ "turn_id": id }));
    let manifest = stage.socket.ok("turn/manifest", &asked).await.to_string();
    assert!(!manifest.contains("Pays in"), "{manifest}");
    for (method, told) in [("turn/get", 1), ("turn/explain", 1)] {
        let owner = stage.socket.ok(method, &asked).await.to_string();
        assert!(owner.contains("Pays in pesos"), "{method}: {owner}");
        let other = rita.ok(method, &asked).await.to_string();
        assert!(!other.contains("pesos\""), "{method}: {other}");
        assert!(!other.contains("Pays in"), "{method}: {other}");
        assert_eq!(other.matches("has remembered for themselves").count(), told, "{method}: {other}");
    }
    stage.socket.ok("prompt/rebuild", &asked).await;
    rita.refused(-32003, "prompt/rebuild", &asked).await;
    let both = stage.with(json!({ "thread_id": stage.thread, "turn_id": id, "other_turn_id": next }));
    let other = rita.ok("prompt/diff", both).await.to_string();
    assert!(!other.contains("Pays in"), "{other}");
}
