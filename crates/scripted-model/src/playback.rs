//! Sends an answer with its scripted defects.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;

use crate::Wire;
use crate::answer::{Answer, AnswerContent, CutAt, Delivery, MessageForm, Release};

/// Time for the bytes before a cut to be sent: breaking a connection discards buffered data.
const BEFORE_A_CUT: Duration = Duration::from_millis(20);

/// A step of sending the body.
enum Action {
    Send(Vec<u8>),
    Pause(Duration),
    Hold(Release),
    Cut,
    Stall,
}

/// An answer that is being sent. Dropping it early counts as abandoned.
struct Playback {
    actions: VecDeque<Action>,
    abandoned: Arc<AtomicUsize>,
}

pub(crate) async fn respond(answer: Answer, wire: Wire, abandoned: Arc<AtomicUsize>) -> Response {
    let (status, content_type, events) = match &answer.content {
        AnswerContent::Message(script) if script.form == MessageForm::Whole => {
            (200, "application/json".to_owned(), vec![wire.whole(script).to_string().into_bytes()])
        }
        AnswerContent::Message(script) => (200, "text/event-stream".to_owned(), wire.events(script)),
        AnswerContent::Error(error) => {
            let (status, body) = wire.error(*error);
            (status, "application/json".to_owned(), vec![body.to_string().into_bytes()])
        }
        AnswerContent::Raw { status, content_type, body } => {
            (*status, content_type.clone(), vec![body.clone()])
        }
    };
    let playback = Playback { actions: actions(events, &answer.delivery), abandoned };
    // The playback already exists here, so a client that gives up before any header still drops it and counts as
    // abandoned.
    if answer.delivery.silent {
        std::future::pending::<()>().await;
    }
    let body =
        stream::unfold(playback, async |mut playback| playback.next().await.map(|item| (item, playback)));
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let headers = answer.headers.into_iter().chain([
        ("content-type", content_type),
        // Each request uses its own connection, so that dropping connections affects whole requests.
        ("connection", "close".to_owned()),
    ]);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

impl Playback {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            match self.actions.pop_front()? {
                Action::Send(bytes) => return Some(Ok(bytes.into())),
                Action::Pause(time) => tokio::time::sleep(time).await,
                Action::Hold(release) => release.0.notified().await,
                Action::Cut => {
                    self.actions.clear();
                    tokio::time::sleep(BEFORE_A_CUT).await;
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                Action::Stall => {
                    // Kept in the queue, so that dropping the playback now counts as abandoned.
                    self.actions.push_front(Action::Stall);
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

impl Drop for Playback {
    fn drop(&mut self) {
        if !self.actions.is_empty() {
            self.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn actions(mut events: Vec<Vec<u8>>, delivery: &Delivery) -> VecDeque<Action> {
    let end = |place: CutAt, events: &[Vec<u8>]| match place {
        CutAt::Bytes(count) => count,
        CutAt::Events(count) => events.iter().take(count).map(Vec::len).sum(),
    };
    // Positions count events before insertion, so that a test can insert garbage without moving the cut.
    let stop = match (delivery.cut, delivery.stall) {
        (Some(place), _) => Some((end(place, &events), Action::Cut)),
        (None, Some(place)) => Some((end(place, &events), Action::Stall)),
        (None, None) => None,
    };
    for (after, bytes) in &delivery.inserts {
        events.insert((*after).min(events.len()), bytes.clone());
    }
    if let Some((end, _)) = &stop {
        truncate(&mut events, *end);
    }
    // After the cut, because pieces ignore the borders of events and the position of the cut is counted in the original
    // bytes.
    if let Some(size) = delivery.piece {
        events = events.concat().chunks(size).map(<[u8]>::to_vec).collect();
    }
    let before = |number: usize| {
        let held = delivery.hold.clone().filter(|(count, _)| *count == number);
        held.map(|(_, release)| Action::Hold(release)).into_iter().chain(delivery.pause.map(Action::Pause))
    };
    let sends = events
        .into_iter()
        .enumerate()
        .flat_map(|(number, event)| before(number).chain([Action::Send(event)]));
    sends.chain(stop.map(|(_, action)| action)).collect()
}

/// Keeps only the first `bytes` bytes.
fn truncate(events: &mut Vec<Vec<u8>>, mut bytes: usize) {
    for event in events.iter_mut() {
        event.truncate(bytes);
        bytes -= event.len();
    }
    events.retain(|event| !event.is_empty());
}
