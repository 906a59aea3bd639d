//! Any input is either answered with valid JSON-RPC or ignored.

#![expect(clippy::unwrap_used, reason = "what tests share fails the test that uses it")]

use std::sync::Arc;

use proptest::prelude::*;
use protocol::error::ErrorObject;
use rpc::{Reply, Service, dispatch};
use serde_json::value::RawValue;
use serde_json::{Value, json};

struct Echo;

impl Service for Echo {
    type Peer = ();

    async fn call(&self, _: &Arc<()>, method: &str, params: Option<&RawValue>) -> Result<Reply, ErrorObject> {
        match method {
            "echo" => Ok(Reply::new(params.map(RawValue::to_owned))),
            other => Err(rpc::no_method(other)),
        }
    }
}

fn answer(text: &str) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answer = runtime.block_on(dispatch(&Echo, &Arc::new(()), text));
    answer.frame.map(|frame| serde_json::from_str(frame.as_str()).unwrap())
}

/// Returns true if a value is a single response.
fn is_response(value: &Value) -> bool {
    let error_has_code =
        value.get("error").is_none_or(|error| error["code"].is_i64() && error["message"].is_string());
    value["jsonrpc"] == "2.0"
        && value.get("id").is_some()
        && value.get("result").is_some() != value.get("error").is_some()
        && error_has_code
}

/// Generates values that are sometimes valid for a member.
fn member(right: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Option<Value>> {
    let wrong = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Few digits, so that the number survives the round trip through text exactly.
        any::<i16>().prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        ".*".prop_map(Value::from),
        Just(json!([1])),
        Just(json!({ "a": 1 })),
    ];
    prop_oneof![4 => right.prop_map(Some), 1 => wrong.prop_map(Some), 1 => Just(None)]
}

/// Generates values that resemble a request.
fn request() -> impl Strategy<Value = Value> {
    let id = prop_oneof![any::<u64>().prop_map(Value::from), "[a-z]{0,3}".prop_map(Value::from)];
    let method = prop_oneof![Just(json!("echo")), Just(json!("nothing"))];
    let members = (member(Just(json!("2.0"))), member(id), member(method), member(Just(json!({}))));
    members.prop_map(|(jsonrpc, id, method, params)| {
        let members = [("jsonrpc", jsonrpc), ("id", id), ("method", method), ("params", params)];
        let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(present.collect())
    })
}

proptest! {
    #[test]
    fn any_text_is_answered_with_a_response(text in any::<String>()) {
        let answered = answer(&text);
        // Random text is practically never a notification, so it must always be answered.
        prop_assert!(answered.as_ref().is_some_and(|value| is_response(value) || value.is_array()), "{answered:?}");
    }

    #[test]
    fn anything_like_a_request_is_answered_once(request in request()) {
        let is_id = |id: &Value| id.is_string() || id.is_number();
        let is_sound = request["jsonrpc"] == "2.0"
            && request["method"].is_string()
            && request.get("params").is_none_or(|params| params.is_object() || params.is_array());
        match answer(&request.to_string()) {
            None => prop_assert!(is_sound && request.get("id").is_none(), "not answered: {request}"),
            Some(answer) => {
                prop_assert!(is_response(&answer), "{answer}");
                let expected = request.get("id").filter(|id| is_id(id)).unwrap_or(&Value::Null);
                prop_assert_eq!(&answer["id"], expected);
                let expected = match (is_sound && is_id(&request["id"]), &request["method"]) {
                    (true, method) if method == "echo" => Value::Null,
                    (true, _) => json!(-32601),
                    (false, _) => json!(-32600),
                };
                prop_assert_eq!(&answer["error"]["code"], &expected);
            }
        }
    }

    #[test]
    fn a_batch_is_answered_request_by_request(requests in prop::collection::vec(request(), 1..8)) {
        let alone: Vec<Value> = requests.iter().filter_map(|request| answer(&request.to_string())).collect();
        match answer(&Value::Array(requests).to_string()) {
            None => prop_assert!(alone.is_empty()),
            Some(together) => prop_assert_eq!(together, Value::Array(alone)),
        }
    }
}
