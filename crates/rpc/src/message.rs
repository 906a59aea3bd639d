//! Parsing of requests, notifications and batches without copying their parameters.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{Frame, error};
use protocol::error::ErrorObject;

/// Id of a request, kept verbatim so that it is returned unchanged.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(Box<RawValue>);

/// A request, or a notification if it has no id.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) id: Option<Id>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// Input to be answered with an error, under its id if one could be read.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<Id>,
    pub(crate) error: ErrorObject,
}

pub(crate) enum Message<'a> {
    Single(Result<Call<'a>, Malformed>),
    Batch(Vec<Result<Call<'a>, Malformed>>),
}

impl From<ErrorObject> for Malformed {
    fn from(error: ErrorObject) -> Self {
        Self { id: None, error }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// Distinguishes an explicit `null` from a missing member, which `Option` alone cannot.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses a message. A batch of more than `max_calls` is rejected.
pub(crate) fn parse(text: &str, max_calls: usize) -> Message<'_> {
    // Raw values are skipped without recursion, so deep nesting cannot exhaust the stack, and the parameters are parsed
    // only once, by the method they belong to.
    let raw: &RawValue = match serde_json::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            return Message::Single(Err(error::not_json(format!("the message is not JSON: {error}")).into()));
        }
    };
    if !raw.get().starts_with('[') {
        return Message::Single(parse_call(raw));
    }
    match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        Ok(elements) if elements.is_empty() => {
            Message::Single(Err(error::no_request("a batch must not be empty").into()))
        }
        Ok(elements) if elements.len() > max_calls => {
            Message::Single(Err(error::batch_too_long(max_calls, elements.len()).into()))
        }
        Ok(elements) => Message::Batch(elements.into_iter().map(parse_call).collect()),
        Err(error) => Message::Single(Err(error::not_json(error.to_string()).into())),
    }
}

fn parse_call(raw: &RawValue) -> Result<Call<'_>, Malformed> {
    if !raw.get().starts_with('{') {
        return Err(error::no_request("a request must be an object").into());
    }
    let envelope: Envelope<'_> = serde_json::from_str(raw.get())
        .map_err(|error| error::no_request(format!("not a request: {error}")))?;
    let id = match envelope.id {
        None => None,
        Some(raw)
            if raw.get().starts_with(['"', '-']) || raw.get().starts_with(|c: char| c.is_ascii_digit()) =>
        {
            Some(Id(raw.to_owned()))
        }
        Some(_) => return Err(error::no_request("`id` must be a string or a number").into()),
    };
    let refuse = |message: &str| Malformed { id: id.clone(), error: error::no_request(message) };
    let version: Option<Cow<'_, str>> = envelope.jsonrpc.and_then(|raw| serde_json::from_str(raw.get()).ok());
    if version.as_deref() != Some("2.0") {
        return Err(refuse("`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = envelope.method else {
        return Err(refuse("`method` is missing"));
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(refuse("`method` must be a string"));
    };
    if let Some(params) = envelope.params
        && !params.get().starts_with(['{', '['])
    {
        return Err(refuse("`params` must be an object or an array"));
    }
    Ok(Call { id, method: Cow::Owned(method), params: envelope.params })
}

pub fn notification(method: &str, params: &impl Serialize) -> Result<Frame, serde_json::Error> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    let mut text = serde_json::to_string(&Notification { jsonrpc: "2.0", method, params })?;
    // The frame may be kept in memory for later subscribers, and a buffer that grew while it was written can have twice
    // the capacity it needs.
    text.shrink_to_fit();
    Ok(Frame::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i32, Option<String>) {
        match parse(text, 64) {
            Message::Single(Err(Malformed { id, error })) => (error.code, id.map(|id| id.0.get().to_owned())),
            _ => panic!("accepted: {text}"),
        }
    }

    #[test]
    fn malformed_messages_get_the_standard_codes() {
        assert_eq!(refused(""), (-32700, None));
        assert_eq!(refused("{\"jsonrpc\":"), (-32700, None));
        assert_eq!(refused("[]"), (-32600, None));
        assert_eq!(refused("1"), (-32600, None));
        assert_eq!(refused("{}"), (-32600, None));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#), (-32600, None));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#), (-32600, None));
        assert_eq!(refused(r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#), (-32600, Some("7".into())));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":"a"}"#), (-32600, Some("\"a\"".into())));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":2}"#), (-32600, Some("1".into())));
        assert_eq!(
            refused(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":3}"#),
            (-32600, Some("1".into()))
        );
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#), (-32600, None));
    }

    #[test]
    fn ids_come_back_as_they_were_written() {
        for id in ["1", "-5", "1.50", "123456789012345678901234567890", "\"a\\u00e9\""] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\"}}");
            let Message::Single(Ok(call)) = parse(&text, 64) else { panic!("{id}") };
            assert_eq!(serde_json::to_string(&call.id).unwrap(), id);
        }
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        let deep = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}{}}}",
            "[".repeat(400_000),
            "]".repeat(400_000)
        );
        assert!(matches!(parse(&deep, 64), Message::Single(_)));
    }
}
