//! Retries, and errors without one.

use std::time::Duration;

use protocol::Hint as _;
use provider::{ChatEvent, ErrorKind, Provider};
use scripted_model::Answer;

use crate::stage::{KINDS, Stage, hello, outcome};

#[tokio::test]
async fn busy_and_failing_providers_are_retried() {
    for &kind in KINDS {
        let failures = [500, 502, 503, 504, 529].map(Answer::failure);
        for answer in [Answer::rate_limited("0"), Answer::too_many_requests()].into_iter().chain(failures) {
            let stage = Stage::with(kind, [answer.clone(), answer, Answer::text("Hello.")]).await;
            let outcome = stage.ask().await;
            assert_eq!(outcome.response().message.text(), "Hello.", "{kind:?}");
            assert_eq!((outcome.retries(), stage.model.requests().len()), (2, 3));
            let bodies: Vec<_> = stage.model.requests().into_iter().map(|request| request.body).collect();
            // A retry with other bytes would miss the cached prefix and might even be another request.
            assert!(bodies.iter().all(|body| *body == bodies[0]));
        }
    }
}

#[tokio::test]
async fn last_error_is_returned() {
    for &kind in KINDS {
        let stage =
            Stage::with(kind, [Answer::failure(502), Answer::failure(500), Answer::rate_limited("0")]).await;
        let outcome = stage.ask().await;
        let error = outcome.error();
        assert_eq!((error.kind, error.status, error.retryable), (ErrorKind::RateLimited, Some(429), true));
        assert_eq!((outcome.retries(), stage.model.requests().len()), (2, 3), "{kind:?}");
        assert!(error.to_string().starts_with("provider `tested`: HTTP 429: too many requests"), "{error}");
    }
}

#[tokio::test]
async fn errors_are_classified_by_status() {
    let after = Some(Duration::from_secs(3600));
    for &kind in KINDS {
        for (answer, expected, retry_after) in [
            (Answer::rate_limited("3600"), ErrorKind::RateLimited, after),
            (Answer::too_many_requests(), ErrorKind::RateLimited, None),
            (Answer::failure(529), ErrorKind::Overloaded, None),
            (Answer::failure(529).header("retry-after", "3600"), ErrorKind::Overloaded, after),
            (Answer::failure(503), ErrorKind::Overloaded, None),
            (Answer::failure(500), ErrorKind::Server, None),
            (Answer::text("x").cut_after_bytes(0), ErrorKind::Interrupted, None),
        ] {
            let stage = Stage::with(kind, [answer.clone(), answer.clone(), answer]).await;
            let outcome = stage.ask().await;
            let error = outcome.error();
            assert_eq!(
                (error.kind, error.retry_after, error.retryable),
                (expected, retry_after, true),
                "{kind:?} {error}"
            );
            assert_eq!(error.partial, None);
        }
    }
}

#[tokio::test]
async fn retry_after_is_honoured() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::rate_limited("0.3"), Answer::text("Hello.")]).await;
        let outcome = stage.ask().await;
        let requests = stage.model.requests();
        assert!(requests[1].at - requests[0].at >= Duration::from_millis(300), "{kind:?}");
        let retried = outcome.events.iter().find_map(|event| match event {
            ChatEvent::Retrying { attempt, delay, error } => Some((attempt, delay, error)),
            _ => None,
        });
        let (attempt, delay, error) = retried.unwrap();
        assert_eq!(*attempt, 1);
        assert!(*delay >= Duration::from_millis(300));
        assert_eq!(error.retry_after, Some(Duration::from_millis(300)));
    }
}

#[tokio::test]
async fn overlong_retry_after_is_returned() {
    let stage = Stage::with(KINDS[0], [Answer::rate_limited("3600")]).await;
    let outcome = stage.ask().await;
    assert_eq!(outcome.error().retry_after, Some(Duration::from_secs(3600)));
    assert!(outcome.error().retryable);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test]
async fn connections_broken_before_an_answer_are_retried() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::text("Hello.")]).await;
        stage.model.drop_connections(2);
        let outcome = stage.ask().await;
        assert_eq!(outcome.response().message.text(), "Hello.", "{kind:?}");
        assert_eq!(outcome.retries(), 2);

        // Headers have arrived, but no part of the answer.
        let stage =
            Stage::with(kind, [Answer::text("Hello.").cut_after_bytes(0), Answer::text("Hello.")]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.response().message.text(), "Hello.", "{kind:?}");
        assert_eq!(outcome.retries(), 1);
    }
}

#[tokio::test]
async fn refused_connection_is_retried() {
    let mut config = Stage::new(KINDS[0]).await.config();
    // Port 1 is reserved and closed on ordinary machines, so the connection is refused immediately instead of timing
    // out.
    config.base_url = "http://127.0.0.1:1".to_owned();
    let outcome = outcome(&Provider::new(config).unwrap(), &hello()).await;
    let error = outcome.error();
    assert_eq!((error.kind, error.status, outcome.retries()), (ErrorKind::Connection, None, 2));
    assert!(error.message.starts_with("could not connect to 127.0.0.1: "), "{error}");
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    for &kind in KINDS {
        for (answer, expected) in [
            (Answer::wrong_key(), ErrorKind::Authentication),
            (Answer::unknown_model(), ErrorKind::NotFound),
            (Answer::context_too_long(), ErrorKind::ContextTooLong),
            (Answer::quota_used_up(), ErrorKind::Quota),
            (Answer::raw(422, "text/plain", "no"), ErrorKind::InvalidRequest),
            (
                Answer::raw(307, "text/plain", "").header("location", "http://127.0.0.1:9/"),
                ErrorKind::InvalidRequest,
            ),
        ] {
            let stage = Stage::with(kind, [answer]).await;
            let outcome = stage.ask().await;
            let error = outcome.error();
            assert_eq!((error.kind, error.retryable), (expected, false), "{kind:?} {error}");
            assert_eq!(stage.model.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn wrong_keys_and_models_have_a_hint() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::wrong_key(), Answer::unknown_model()]).await;
        let error = stage.ask().await.result.unwrap_err();
        assert!(error.message.starts_with("the key was not accepted: "), "{error}");
        assert!(error.with_hint().ends_with("\nhint: check TESTED_API_KEY"), "{error}");
        let error = stage.ask().await.result.unwrap_err();
        assert!(error.with_hint().contains("\nhint: check the model's name `scripted-model`"), "{error}");

        let mut config = stage.config();
        config.api_key = None;
        let error = Provider::new(config).unwrap().complete(&hello()).await.unwrap_err();
        assert!(error.with_hint().ends_with("\nhint: there is no key; set TESTED_API_KEY"), "{error}");
    }
}
