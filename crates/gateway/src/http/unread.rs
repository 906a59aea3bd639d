//! Bound on the memory of answers that are being made or that clients have not read yet.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream;
use protocol::error::{ErrorKind, ErrorObject};
use rpc::{Reserved, UNIT};
use tokio::sync::Semaphore;

use crate::access::Actor;
use crate::access::per_token::PerToken;

/// Bytes of unread answers per token.
const OF_TOKEN: usize = 48 * 1024 * 1024;
/// Bytes of unread answers to all clients.
const OF_ALL: usize = 192 * 1024 * 1024;
/// Time to wait for room. A client that reads makes some in this time, and its calls then only take longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Part of an answer that is handed to the connection. The rest counts as unread until the connection has room.
const PART: usize = 64 * 1024;

pub(crate) struct UnreadAnswers {
    of_all: Arc<Semaphore>,
    of_token: PerToken,
}

impl Default for UnreadAnswers {
    fn default() -> Self {
        Self { of_all: Arc::new(Semaphore::new(OF_ALL / UNIT)), of_token: PerToken::new(OF_TOKEN / UNIT) }
    }
}

impl UnreadAnswers {
    /// Sets room for an answer aside, waiting for a while if its token or all clients together have too much unread.
    pub(crate) async fn reserve(&self, actor: &Actor, bytes: usize) -> Result<Reserved, ErrorObject> {
        // An answer above the whole limit takes all of it, so it waits until the others are read instead of forever.
        let units = u32::try_from(bytes.min(OF_TOKEN).div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = async {
            // The token's share comes first: a token that waits for its own room keeps none that others could use.
            let of_token = self.of_token.share(actor.token_id.as_ref()).acquire_many_owned(units).await;
            let of_all = Arc::clone(&self.of_all).acquire_many_owned(units).await;
            Reserved::new(of_token.into_iter().chain(of_all))
        };
        tokio::time::timeout(PATIENCE, room).await.map_err(|_| too_much(bytes))
    }
}

/// Returns a response with a JSON text, which keeps its memory reserved until it was handed to the connection.
pub(crate) fn respond(reserved: Reserved, status: StatusCode, text: impl Into<Bytes>) -> Response {
    let text: Bytes = text.into();
    let length = text.len();
    let parts = stream::unfold((text, reserved), async |(mut text, reserved)| {
        let part = text.split_to(PART.min(text.len()));
        (!part.is_empty()).then_some((Ok::<_, Infallible>(part), (text, reserved)))
    });
    let mut response = Response::new(Body::from_stream(parts));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn too_much(bytes: usize) -> ErrorObject {
    let message =
        format!("there is no room for an answer of up to {bytes} bytes: too many answers are unread");
    ErrorObject::with(ErrorKind::LimitReached, message, |data| {
        data.limit = Some(OF_TOKEN as u64);
        data.actual = Some(bytes as u64);
        data.hint = Some("read the answers to earlier calls first".to_owned());
    })
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use protocol::TokenId;

    use super::*;

    const LARGE: usize = 8 * 1024 * 1024;

    fn actor() -> Actor {
        Actor { token_id: Some(TokenId::new()), ..Actor::stdio() }
    }

    async fn held(unread: &UnreadAnswers, actor: &Actor) -> Option<Response> {
        let reserved = unread.reserve(actor, LARGE).await.ok()?;
        Some(respond(reserved, StatusCode::OK, vec![b'x'; LARGE]))
    }

    #[tokio::test(start_paused = true)]
    async fn unread_answers_of_a_token_are_limited() {
        let unread = UnreadAnswers::default();
        let ada = actor();
        let mut all = Vec::new();
        for _ in 0..6 {
            all.extend(held(&unread, &ada).await);
        }
        assert_eq!(all.len(), 6);
        assert!(held(&unread, &ada).await.is_none());
        assert!(held(&unread, &actor()).await.is_some(), "another token has its own share");
        let read = to_bytes(all.remove(0).into_body(), usize::MAX).await.unwrap();
        assert_eq!(read.len(), LARGE);
        assert!(held(&unread, &ada).await.is_some(), "a read answer makes room");
    }

    // The room is taken before the answer is made: without that, answers that are being made would have no limit.
    #[tokio::test(start_paused = true)]
    async fn room_is_released_to_those_who_wait() {
        let unread = Arc::new(UnreadAnswers::default());
        let ada = actor();
        let mut reserved = Vec::new();
        for _ in 0..6 {
            reserved.push(unread.reserve(&ada, LARGE).await.unwrap());
        }
        let waiting = tokio::spawn({
            let (unread, ada) = (Arc::clone(&unread), ada.clone());
            async move { unread.reserve(&ada, LARGE).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        reserved[0].shrink_to(100);
        assert!(waiting.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn unread_answers_of_all_tokens_are_limited() {
        let unread = UnreadAnswers::default();
        let mut all = Vec::new();
        for _ in 0..40 {
            all.extend(held(&unread, &actor()).await);
        }
        assert_eq!(all.len(), OF_ALL / LARGE);
    }
}
