//! Bound on the memory of answers that clients have not read yet.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream;
use protocol::error::{ErrorKind, ErrorObject};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failure;
use crate::access::Actor;
use crate::access::per_token::PerToken;

/// Unit of the limits.
const UNIT: usize = 1024;
/// Bytes of unread answers per token.
const OF_TOKEN: usize = 48 * 1024 * 1024;
/// Bytes of unread answers to all clients.
const OF_ALL: usize = 192 * 1024 * 1024;
/// Answers up to this size are not counted: connections are limited, so these cannot use much, and a client whose answers
/// are small must not wait for one whose answers are large.
const SMALL: usize = 16 * 1024;
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
    /// Returns a response with a JSON text, or an error in its place if the client has too much left to read.
    pub(crate) fn respond(&self, actor: &Actor, status: StatusCode, text: impl Into<Bytes>) -> Response {
        let text: Bytes = text.into();
        let length = text.len();
        let counted = if length <= SMALL { Some(None) } else { self.count(actor, length).map(Some) };
        let Some(counted) = counted else {
            return failure(StatusCode::SERVICE_UNAVAILABLE, &too_much(length));
        };
        let parts = stream::unfold((text, counted), async |(mut text, counted)| {
            let part = text.split_to(PART.min(text.len()));
            (!part.is_empty()).then_some((Ok::<_, Infallible>(part), (text, counted)))
        });
        let mut response = Response::new(Body::from_stream(parts));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        response
    }

    fn count(&self, actor: &Actor, bytes: usize) -> Option<[OwnedSemaphorePermit; 2]> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        let of_token = self.of_token.share(actor.token_id.as_ref()).try_acquire_many_owned(units).ok()?;
        let of_all = Arc::clone(&self.of_all).try_acquire_many_owned(units).ok()?;
        Some([of_token, of_all])
    }
}

fn too_much(bytes: usize) -> ErrorObject {
    let message = format!(
        "the call was made, but its answer of {bytes} bytes was dropped: too many answers are unread"
    );
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

    fn actor() -> Actor {
        Actor { token_id: Some(TokenId::new()), ..Actor::stdio() }
    }

    fn respond(unread: &UnreadAnswers, actor: &Actor, bytes: usize) -> Response {
        unread.respond(actor, StatusCode::OK, vec![b'x'; bytes])
    }

    #[tokio::test]
    async fn unread_answers_of_a_token_are_limited() {
        const LARGE: usize = 8 * 1024 * 1024;
        let unread = UnreadAnswers::default();
        let ada = actor();
        let mut held: Vec<Response> = (0..6).map(|_| respond(&unread, &ada, LARGE)).collect();
        assert!(held.iter().all(|response| response.status() == StatusCode::OK));
        assert_eq!(respond(&unread, &ada, LARGE).status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(respond(&unread, &ada, 100).status(), StatusCode::OK, "small answers are always sent");
        assert_eq!(
            respond(&unread, &actor(), LARGE).status(),
            StatusCode::OK,
            "another token has its own share"
        );
        let read = to_bytes(held.remove(0).into_body(), usize::MAX).await.unwrap();
        assert_eq!(read.len(), LARGE);
        assert_eq!(respond(&unread, &ada, LARGE).status(), StatusCode::OK, "a read answer makes room");
    }

    #[test]
    fn unread_answers_of_all_tokens_are_limited() {
        let unread = UnreadAnswers::default();
        let held: Vec<Response> = (0..100).map(|_| respond(&unread, &actor(), 8 * 1024 * 1024)).collect();
        let sent = held.iter().filter(|response| response.status() == StatusCode::OK).count();
        assert_eq!(sent, OF_ALL / (8 * 1024 * 1024));
    }
}
