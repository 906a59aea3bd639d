//! Rate limits: the error for a token over its limit contains the time to wait.

use std::num::NonZeroU32;
use std::time::Duration;

use protocol::Role;
use serde_json::json;
use test_gateway::TestGateway;

use crate::support::{Socket, metric};

#[tokio::test]
async fn too_many_requests_are_refused_with_the_time_to_wait() {
    let gateway = TestGateway::start_with(|settings| settings.rate_limit = NonZeroU32::new(5)).await.unwrap();
    let secret = gateway.token("busy", Role::Reader, None).await.unwrap();
    let other = gateway.token("calm", Role::Reader, None).await.unwrap();
    let mut busy = Socket::connect(&gateway, &secret).await;
    // Each call of a batch counts as a request, so all of them arrive at the same moment.
    let batch: Vec<_> =
        (0..50).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/list" })).collect();
    busy.send(json!(batch).to_string()).await;
    let answers = busy.receive().await;
    let refused: Vec<_> =
        answers.as_array().unwrap().iter().filter_map(|answer| answer.get("error")).collect();
    // A slow machine gets new permits while the batch runs, so the exact number of refusals is not fixed.
    assert!(refused.len() >= 20, "{} of 50 were refused", refused.len());
    for error in &refused {
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32029), &json!("rate_limited")));
    }
    let wait = refused.last().unwrap()["data"]["retry_after_ms"].as_u64().unwrap();
    assert!((1..=1_000).contains(&wait), "{wait}");

    // Other tokens are not affected, and a client that waits for the given time gets an answer.
    Socket::connect(&gateway, &other).await.ok("workspace/list", json!({})).await;
    tokio::time::sleep(Duration::from_millis(wait)).await;
    busy.ok("workspace/list", json!({})).await;
    let counted = "foreword_requests_total{method=\"workspace/list\",outcome=\"-32029\"}";
    assert_eq!(metric(&gateway, counted).await, Some(refused.len() as f64));
}

#[tokio::test]
async fn without_a_limit_nothing_is_held_up() {
    let gateway = TestGateway::start().await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    for _ in 0..300 {
        socket.ok("workspace/list", json!({})).await;
    }
}
