//! A scripted model server over HTTP that speaks three APIs.
//!
//! It can drip, cut, stall and send garbage, and it records requests. Answers are given in the order of the script, whichever API
//! a request uses.
//!
//! ```
//! use scripted_model::{Answer, ScriptedModel, Wire};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let model = ScriptedModel::start().await?;
//! model.answer(Answer::rate_limited("0"));
//! model.answer(Answer::text("Hello.").in_deltas(2).tool_call("call_1", "read_file", r#"{"path":"a"}"#));
//! // … let something talk to it …
//! assert!(model.base_url(Wire::OpenaiCompatible).ends_with("/v1"));
//! assert!(model.requests().is_empty());
//! # anyhow::Ok(()) }).unwrap();
//! ```

mod answer;
mod listener;
mod playback;
mod record;
mod trial;
mod wire;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use parking_lot::{Mutex, MutexGuard};

pub use self::answer::{Answer, Release, Stop, Tokens};
pub use self::record::{KEPT_REQUESTS, RecordedRequest};
pub use self::trial::Trial;
pub use self::wire::Wire;

/// The server, which ends on drop.
pub struct ScriptedModel {
    address: SocketAddr,
    stage: Arc<SharedScript>,
    task: tokio::task::JoinHandle<()>,
}

/// State shared by the server and the test.
#[derive(Default)]
struct SharedScript {
    script: Mutex<Script>,
    dropped_connections: Arc<AtomicUsize>,
    abandoned: Arc<AtomicUsize>,
}

type Author = Box<dyn FnMut(&RecordedRequest) -> Answer + Send>;

#[derive(Default)]
struct Script {
    answers: VecDeque<Answer>,
    author: Option<Author>,
    key: Option<String>,
    requests: Vec<RecordedRequest>,
}

impl ScriptedModel {
    /// Starts a server on a free port of the loopback address.
    pub async fn start() -> anyhow::Result<Self> {
        let stage = Arc::new(SharedScript::default());
        let listener = listener::DroppingListener::bind(Arc::clone(&stage.dropped_connections)).await?;
        let address = listener.address()?;
        let router = Router::new().fallback(serve).with_state(Arc::clone(&stage));
        let task = tokio::spawn(async move {
            // It serves until the task is aborted, so an error has no receiver.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, stage, task })
    }

    /// Returns the base URL of an API.
    pub fn base_url(&self, wire: Wire) -> String {
        format!("http://{}{}", self.address, wire.base_path())
    }

    /// Appends an answer to the script.
    pub fn answer(&self, answer: Answer) {
        self.script().answers.push_back(answer);
    }

    /// Sets a function that answers after the end of the script, for example depending on the request.
    pub fn answer_by(&self, author: impl FnMut(&RecordedRequest) -> Answer + Send + 'static) {
        self.script().author = Some(Box::new(author));
    }

    /// Accepts only this key from now on.
    pub fn require_key(&self, key: &str) {
        self.script().key = Some(key.to_owned());
    }

    /// Drops the next connections before reading a request.
    pub fn drop_connections(&self, count: usize) {
        self.stage.dropped_connections.store(count, Ordering::SeqCst);
    }

    /// Returns all requests, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.script().requests.clone()
    }

    /// Returns and removes all requests. A long run would otherwise keep everything in memory.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.script().requests)
    }

    /// Returns the number of answers that clients dropped before their end.
    pub fn abandoned(&self) -> usize {
        self.stage.abandoned.load(Ordering::SeqCst)
    }

    /// Returns the number of answers left in the script.
    pub fn remaining(&self) -> usize {
        self.script().answers.len()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.stage.script()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SharedScript {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock()
    }
}

async fn serve(
    State(stage): State<Arc<SharedScript>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let wire = Wire::of(uri.path());
    let answer = {
        let mut script = stage.script();
        let request = RecordedRequest::new(&method, &uri, &headers, &body);
        // Recorded before the answer is chosen, so requests with a wrong path or key appear as well. Tests check that
        // such a request was made only once.
        script.requests.push(request.clone());
        match (&script.key, wire) {
            // A request that is not checked would seem to be valid, so its test fails.
            _ if record::keep(&request).is_err() => {
                Answer::raw(418, "text/plain", "the request was not kept")
            }
            (_, None) => Answer::unknown_model(),
            (Some(key), _) if !record::has_key(&headers, key) => Answer::wrong_key(),
            _ => next(&mut script, &request),
        }
    };
    playback::respond(answer, wire.unwrap_or(Wire::OpenaiCompatible), Arc::clone(&stage.abandoned)).await
}

fn next(script: &mut Script, request: &RecordedRequest) -> Answer {
    match (script.answers.pop_front(), &mut script.author) {
        (Some(answer), _) => answer,
        (None, Some(author)) => author(request),
        // Not a status that clients retry, so that a test fails immediately.
        (None, None) => Answer::raw(418, "text/plain", "the script has no answer left"),
    }
}
