//! Test clients that hide nothing, and helpers for waiting.

mod http;
mod log;
mod socket;
mod stage;
mod world;

use protocol::error::ErrorObject;
use std::future::Future;
use std::time::{Duration, Instant};

use client::Client;
use rpc::CallError;
use serde::Serialize;
use serde_json::Value;

pub(crate) use http::{HttpAnswer, get, metric, post, request};
pub(crate) use log::Log;
pub(crate) use socket::Socket;
pub(crate) use stage::{MODEL, Setting, Stage, texts, unconfined_shell, with_model, writing};
pub(crate) use world::{World, id};

/// Time limit for anything that should be immediate, generous because test machines are busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that should be immediate.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// Polls until the condition holds.
pub(crate) async fn until(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !reached().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Calls a method through the typed client's connection with arbitrary parameters.
pub(crate) async fn ask(client: &Client, method: &str, params: impl Serialize) -> Result<Value, ErrorObject> {
    match soon(method, client.caller().call(method, &params)).await {
        Ok(result) => Ok(result),
        Err(CallError::Answered(error)) => Err(error),
        Err(error) => panic!("`{method}` was not answered: {error}"),
    }
}

/// Returns true for a time in wire format: RFC 3339, UTC, milliseconds.
pub(crate) fn is_wire_time(value: &Value) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd.dddZ";
    value.as_str().is_some_and(|text| {
        text.len() == pattern.len()
            && text.chars().zip(pattern.chars()).all(|(character, expected)| match expected {
                'd' => character.is_ascii_digit(),
                expected => character == expected,
            })
    })
}

/// Returns true if a value contains `null` anywhere; optional fields must be absent instead.
pub(crate) fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.iter().any(holds_null),
        Value::Object(members) => members.values().any(holds_null),
        _ => false,
    }
}
