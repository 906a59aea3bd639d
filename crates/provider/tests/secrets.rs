//! Keys reach the provider and nothing else.

use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use protocol::Hint as _;
use provider::{BuiltIn, KeyFileError, Provider, ProviderConfig, ProviderKind, key_from_file};
use scripted_model::Answer;
use secrecy::{ExposeSecret as _, SecretString};

use crate::stage::{KEY, KINDS, Stage, hello};

const HEADER: &str = "proxy-secret-0123456789";

#[tokio::test]
async fn keys_and_headers_are_sent() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::text("Hello.")]).await;
        let mut config = stage.config();
        config.headers.insert("X-Team".to_owned(), SecretString::from("blue"));
        // The server rejects any other key.
        Provider::new(config).unwrap().complete(&hello()).await.unwrap();
        let request = stage.model.requests().remove(0);
        assert_eq!((request.method.as_str(), request.headers["x-team"].as_str()), ("POST", "blue"));
        assert!(!format!("{request:?}").contains(KEY));
        if kind.0 == ProviderKind::Anthropic {
            assert_eq!(request.headers["anthropic-version"], "2023-06-01");
        }
    }
}

#[tokio::test]
async fn keys_are_never_shown() {
    for &kind in KINDS {
        // A server that quotes everything it received.
        let quoting = format!("you sent {KEY} and {HEADER} and Bearer {KEY}");
        let event = format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{quoting}\"}}}}\n\n");
        let answers = [
            Answer::raw(401, "text/plain", quoting.clone()),
            Answer::raw(400, "application/json", format!("{{\"error\":{{\"message\":\"{quoting}\"}}}}")),
            Answer::text("Hello.").insert(4, event),
        ];
        let stage = Stage::with(kind, answers).await;
        let mut config = stage.config();
        config.headers.insert("x-proxy".to_owned(), SecretString::from(HEADER));
        let provider = Provider::new(config.clone()).unwrap();
        let mut shown = vec![format!("{config:?} {provider:?} {provider:#?}")];
        for _ in 0..3 {
            let error = provider.complete(&hello()).await.unwrap_err();
            assert!(error.message.contains("you sent [redacted] and [redacted]"), "{error}");
            shown.push(format!("{error} {error:?} {error:#?}"));
        }
        for text in shown {
            assert!(!text.contains(KEY) && !text.contains(HEADER), "{text}");
        }
    }
}

#[test]
fn addresses_with_passwords_are_rejected() {
    for url in [
        "https://user:hunter2-hunter2@api.example/v1",
        "hunter2-hunter2@nonsense",
        "ftp://x/?key=hunter2-hunter2",
    ] {
        let config = ProviderConfig::new("tested", ProviderKind::Openai, url);
        assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
        let error = Provider::new(config).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn invalid_keys_are_rejected_without_showing_them() {
    for &(kind, _) in KINDS {
        let mut config = ProviderConfig::new("tested", kind, "https://api.example");
        config.api_key = Some(SecretString::from("half a key\nand the other half"));
        let error = Provider::new(config).unwrap_err();
        assert!(error.message.starts_with("the key contains characters"), "{error}");
        assert!(!format!("{error:?}").contains("half"));

        let mut config = ProviderConfig::new("tested", kind, "https://api.example");
        config.headers.insert("x-proxy".to_owned(), SecretString::from("half a secret\n"));
        let error = Provider::new(config).unwrap_err();
        assert!(error.message.contains("x-proxy") && !error.message.contains("half"), "{error}");
    }
}

#[test]
fn built_in_providers_use_the_variables_of_their_sdks() {
    let nothing = |_: &str| None;
    let openai = ProviderConfig::built_in("openai", nothing).unwrap();
    assert_eq!((openai.kind, openai.base_url.as_str()), (ProviderKind::Openai, "https://api.openai.com/v1"));
    assert!(openai.api_key.is_none());
    assert!(ProviderConfig::built_in("ollama", nothing).is_none());

    let set = |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some(format!(" {KEY}\n")),
        "ANTHROPIC_BASE_URL" => Some("http://127.0.0.1:9".to_owned()),
        _ => None,
    };
    let anthropic = ProviderConfig::built_in("anthropic", set).unwrap();
    assert_eq!(anthropic.base_url, "http://127.0.0.1:9");
    assert_eq!(anthropic.api_key.unwrap().expose_secret(), KEY);

    for row in BuiltIn::TABLE {
        Provider::new(ProviderConfig::built_in(row.name, nothing).unwrap()).unwrap();
    }
}

#[test]
fn key_files_must_be_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let file = |text: &str, mode: u32| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        key_from_file(&path)
    };
    assert_eq!(file(&format!("{KEY}\n"), 0o600).unwrap().expose_secret(), KEY);
    assert_eq!(file(KEY, 0o400).unwrap().expose_secret(), KEY);
    for mode in [0o640, 0o604, 0o620, 0o644, 0o700] {
        let error = file(KEY, mode).unwrap_err();
        assert!(matches!(error, KeyFileError::Exposed { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("chmod 600 /")), "{error}");
    }
    for text in ["", " \n", "two words", "line\nline", &"x".repeat(20_000)] {
        assert!(matches!(file(text, 0o600).unwrap_err(), KeyFileError::NotAKey(_)));
    }
    assert!(matches!(key_from_file(directory.path()).unwrap_err(), KeyFileError::NotAFile(_)));
    let missing = key_from_file(&directory.path().join("missing")).unwrap_err();
    assert!(matches!(missing, KeyFileError::Unreadable { .. }));
    // Opening a pipe without a writer must not block.
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status().unwrap().success());
    assert!(matches!(key_from_file(&pipe).unwrap_err(), KeyFileError::NotAFile(_)));
}

/// Collects all log output.
#[derive(Default)]
struct Log(Mutex<Vec<u8>>);

impl Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn keys_and_texts_are_not_logged() {
    for &kind in KINDS {
        let quoting = Answer::raw(500, "text/plain", format!("you sent {KEY}"));
        let stage = Stage::with(
            kind,
            [quoting, Answer::text("A confidential answer.").tool_call("a", "f", "nonsense")],
        )
        .await;
        let log = Arc::new(Log::default());
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        let guard = tracing::subscriber::set_default(subscriber.with_writer(Arc::clone(&log)).finish());
        stage.provider().complete(&hello()).await.unwrap();
        drop(guard);
        let lines = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(lines.contains("asking a model again: provider `tested`: HTTP 500"), "{lines}");
        assert!(lines.contains("not a JSON object"), "{lines}");
        for secret in [KEY, "confidential", "Hello."] {
            assert!(!lines.contains(secret), "{lines}");
        }
    }
}
