//! A WebSocket client that shows every message, and every way a connection ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

use futures_util::{SinkExt as _, StreamExt as _};
use jsonschema::Validator;
use protocol::notification::NOTIFICATIONS;
use serde::Serialize;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::{holds_null, soon};

/// Schemas of the notifications by method. A field that a schema does not have is a problem here: clients generate their types
/// from the schemas.
static NOTIFICATION_SCHEMAS: LazyLock<BTreeMap<&'static str, Validator>> = LazyLock::new(|| {
    let schemas = protocol::schema::all();
    let closed = |name: &str| {
        let mut schema = serde_json::to_value(&schemas[name]).unwrap();
        schema["unevaluatedProperties"] = json!(false);
        jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
    };
    NOTIFICATIONS.iter().map(|known| (known.name, closed(known.params_type))).collect()
});

/// Checks a message against its schema if it is a notification.
fn check_notification(message: &Value) {
    let (Some(method), None) = (message["method"].as_str(), message.get("id")) else { return };
    let schema = NOTIFICATION_SCHEMAS.get(method).unwrap_or_else(|| panic!("unknown notification {method}"));
    let problems: Vec<String> = schema.iter_errors(&message["params"]).map(|it| it.to_string()).collect();
    assert!(problems.is_empty(), "{method} does not match its schema: {problems:#?}\n{message:#}");
}

/// A connection, and everything that went over it.
pub(crate) struct Socket {
    stream: WebSocketStream<TcpStream>,
    next_id: u64,
    /// Notifications that arrived while an answer was waited for.
    early: VecDeque<Value>,
    /// Sent and received messages, in order.
    pub(crate) traffic: Vec<Value>,
}

impl Socket {
    /// Connects with a token.
    pub(crate) async fn connect(gateway: &TestGateway, secret: &str) -> Self {
        let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
        Self::over(stream, secret).await
    }

    /// Connects as the owner.
    pub(crate) async fn owner(gateway: &TestGateway) -> Self {
        Self::connect(gateway, &gateway.owner_secret().unwrap()).await
    }

    /// Connects over an existing TCP stream.
    pub(crate) async fn over(stream: TcpStream, secret: &str) -> Self {
        let authorization = format!("Bearer {secret}");
        Self::upgrade(stream, &[("authorization", &authorization)]).await.unwrap().0
    }

    /// Requests an upgrade with the given headers; an `Err` is the gateway's refusal.
    pub(crate) async fn upgrade(
        stream: TcpStream,
        headers: &[(&'static str, &str)],
    ) -> Result<(Self, Response), Box<Error>> {
        let mut request = "ws://localhost/rpc".into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (stream, response) = soon("an upgrade", client_async(request, stream)).await?;
        Ok((Self { stream, next_id: 1, early: VecDeque::new(), traffic: Vec::new() }, response))
    }

    /// Sends a text frame.
    pub(crate) async fn send(&mut self, text: impl Into<String>) {
        self.send_message(Message::text(text.into())).await.unwrap();
    }

    pub(crate) async fn send_message(&mut self, message: Message) -> Result<(), Error> {
        soon("room to send", self.stream.send(message)).await
    }

    /// Returns the next text frame, or the close code and reason; `None` if there was no close frame.
    pub(crate) async fn text(&mut self) -> Result<String, Option<(u16, String)>> {
        soon("a message", async {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                    Some(Ok(Message::Close(frame))) => {
                        return Err(frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned())));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Err(None),
                }
            }
        })
        .await
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let text = self.text().await.unwrap_or_else(|closed| panic!("the connection was closed: {closed:?}"));
        let message: Value = serde_json::from_str(&text).unwrap();
        // Checked for every notification of every test.
        check_notification(&message);
        self.traffic.push(message.clone());
        message
    }

    /// Sends a request without waiting for the answer, and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: impl Serialize) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(message.to_string()).await;
        self.traffic.push(message);
        id
    }

    /// Returns the answer to a request, keeping notifications for [`Socket::notification`].
    pub(crate) async fn answer(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let mut message = self.receive().await;
            if message["id"] != id {
                // Requests of a connection are answered in order, so another id here means a lost or repeated answer.
                assert!(message.get("id").is_none(), "not the answer to {id}: {message}");
                self.early.push_back(message);
                continue;
            }
            if let Some(error) = message.get_mut("error") {
                return Err(error.take());
            }
            let result = message["result"].take();
            // Checked for every answer of every test: clients distinguish an absent field from `null`, and the schemas
            // allow only the former.
            assert!(!holds_null(&result), "optional fields are absent, not null: {result}");
            return Ok(result);
        }
    }

    /// Makes a request and returns its result or its error.
    pub(crate) async fn call(&mut self, method: &str, params: impl Serialize) -> Result<Value, Value> {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    /// Makes a request that must succeed.
    pub(crate) async fn ok(&mut self, method: &str, params: impl Serialize) -> Value {
        self.call(method, params).await.unwrap_or_else(|error| panic!("`{method}` was refused: {error}"))
    }

    /// Makes a request that must be refused with `code`, and returns the error's data.
    pub(crate) async fn refused(&mut self, code: i64, method: &str, params: impl Serialize) -> Value {
        let Err(error) = self.call(method, params).await else { panic!("`{method}` should be refused") };
        assert_eq!(error["code"], code, "{error}");
        let kind = protocol::ErrorKind::from_code(i32::try_from(code).unwrap()).unwrap();
        assert_eq!(error["data"]["kind"], json!(kind), "{error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
        error["data"].clone()
    }

    pub(crate) async fn notification(&mut self) -> Value {
        let message = match self.early.pop_front() {
            Some(message) => message,
            None => self.receive().await,
        };
        assert!(message.get("id").is_none() && message["method"].is_string(), "no notification: {message}");
        message
    }

    /// Forgets notifications that arrived while an answer was waited for.
    pub(crate) fn forget_early(&mut self) {
        self.early.clear();
    }

    /// Returns the sequence numbers of the next notifications.
    pub(crate) async fn sequences(&mut self, count: usize) -> Vec<u64> {
        let mut sequences = Vec::with_capacity(count);
        for _ in 0..count {
            sequences.push(self.notification().await["params"]["seq"].as_u64().unwrap());
        }
        sequences
    }

    /// Checks that nothing is waiting to be read, and that the connection is alive.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        // The answer is queued behind everything that was sent before, so no pause is needed to be sure that nothing is
        // coming.
        self.ok("initialize", json!({})).await;
        self.early.is_empty()
    }

    /// Reads until the connection ends, and returns the close code and reason.
    pub(crate) async fn closed(&mut self) -> Option<(u16, String)> {
        loop {
            if let Err(closed) = self.text().await {
                return closed;
            }
        }
    }
}
